"""The paper study's data sets with made-up texts: the true names, layouts and fields,
and as many rows as asked for."""

import csv
import gzip
import io
import json
import random
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import yaml

from hub_server import Hub

LENGTHS = (32, 64, 128, 256)
LICENCE = {"README.md": b"---\nlicense: mit\n---\n"}
MIMIR_SETS = [
    "wikipedia_(en)",
    "github",
    "pile_cc",
    "pubmed_central",
    "arxiv",
    "dm_mathematics",
    "hackernews",
]
MIMIR_MONTHS = (
    "2020_08",
    "2021_01",
    "2021_06",
    "2022_01",
    "2022_06",
    "2023_01",
    "2023_06",
)
NEIGHBOURS = 25
MIMIR_TOKEN = "hf_mimir"
WIKIMIA = {32: 776, 64: 542, 128: 250, 256: 82}
WIKIMIA_24 = {32: 1558, 64: 1396, 128: 572, 256: 506}
MIMIR_FEWER_SHARED = {
    "wikipedia_(en)": 1000,
    "github": 268,
    "pile_cc": 1000,
    "pubmed_central": 491,
    "arxiv": 500,
    "dm_mathematics": 89,
    "hackernews": 646,
}
"""Released texts of each class in the split ngram_7_0.2; every other set has 1,000."""
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "ru", "sa", "te")
_CHARACTERS = "".join(map(chr, range(0x4E00, 0x4E00 + 400)))


def words(draw: random.Random, count: int) -> str:
    """Made-up words, capitals and full stops among them, so that they look like
    sentences."""
    made = [
        "".join(draw.choices(_SYLLABLES, k=draw.randint(1, 3))) for _ in range(count)
    ]
    return " ".join(
        word.capitalize() if place % 9 == 0 else word + "." * (place % 9 == 8)
        for place, word in enumerate(made)
    )


def synonyms() -> list[list[str]]:
    """Made-up words of two syllables, in pairs that a made-up WordNet has as
    synonyms."""
    pairs = []
    for first, second in combinations(_SYLLABLES, 2):
        pairs.append([first + second, second + first])
    return pairs


def parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), out)
    return out.getvalue()


def parquet_of(names: Sequence[str], *columns: Sequence[Any]) -> bytes:
    """Parquet with columns of these names, which may be equal."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(
        pa.Table.from_arrays(
            [pa.array(column) for column in columns], names=list(names)
        ),
        out,
    )
    return out.getvalue()


def jsonl(rows: Iterable[Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def comma_separated(rows: Sequence[dict[str, Any]], separator: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=separator)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def split(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, bytes]:
    return {f"data/{name}-00000-of-00001.parquet": parquet(rows)}


def wikimia(
    rows: int | Mapping[int, int] = 8, name: str = "WikiMIA", seed: int = 0
) -> dict[str, bytes]:
    """`rows` texts of every length, members and non-members by turns; hashed file names
    as the hub has them."""
    draw, rows_of = random.Random(seed), _of_each(LENGTHS, rows)
    return {
        f"data/{name}_length{length}-00000-of-00001-{length:016x}.parquet": parquet(
            [
                {"input": words(draw, length), "label": number % 2}
                for number in range(rows_of[length])
            ]
        )
        for length in LENGTHS
    } | LICENCE


def wikimia_views(
    rows: int | Mapping[int, int] = 8, neighbours: int = 10
) -> dict[str, bytes]:
    """One paraphrase and several neighbours of each text of the three lengths that have
    them, in order."""
    draw, rows_of, files = random.Random(1), _of_each(LENGTHS, rows), {}
    kinds = {
        "paraphrased": 1,
        "perturbed": neighbours,
        "paraphrased_perturbed": neighbours,
    }
    for length in LENGTHS[:3]:
        for kind, count in kinds.items():
            files |= split(
                f"WikiMIA_length{length}_{kind}",
                [
                    {
                        "input": f"{kind} {number} {other} " + words(draw, length - 3),
                        "label": number % 2,
                    }
                    for number in range(rows_of[length])
                    for other in range(count)
                ],
            )
    return files


def _of_each(keys: Iterable[Any], rows: int | Mapping[Any, int]) -> Mapping[Any, int]:
    return dict.fromkeys(keys, rows) if isinstance(rows, int) else rows


def bookmia(books: int = 6, snippets: int = 2) -> dict[str, bytes]:
    """Books of either class; each one's first snippet holds the control characters that
    Jane Eyre has."""
    draw = random.Random(2)
    rows = [
        {
            "book_id": book,
            "book": f"Book_{book}.txt",
            "snippet_id": number,
            "snippet": ("\x00ab\x14" if number == 0 else "") + words(draw, 512),
            "label": book % 2,
        }
        for book in range(books)
        for number in range(snippets)
    ]
    return {"book_data.jsonl": jsonl(rows)} | LICENCE


def mimir_sets() -> list[str]:
    """The names of MIMIR's sets, by split or month."""
    names = [
        f"{name}_{split}"
        for name in MIMIR_SETS
        for split in ("ngram_7_0.2", "ngram_13_0.8")
    ]
    return (
        names
        + [f"temporal_arxiv_{month}" for month in MIMIR_MONTHS]
        + ["temporal_wiki"]
    )


def mimir(rows: int | Mapping[str, int] = 6, length: int = 40) -> dict[str, bytes]:
    """Every set, split and month, with 25 neighbours of each text; and the script,
    which raises where it is run.

    `rows`: texts of each class, of all sets or by a set's name. `length`: words of a
    text.
    """
    draw, rows_of = random.Random(3), _of_each(mimir_sets(), rows)
    files = {"mimir.py": b"raise RuntimeError('the script was run')\n"}
    for name in mimir_sets():
        for folder in ("train", "test"):
            made = [
                f"{name} {folder} {number} " + words(draw, length)
                for number in range(rows_of[name])
            ]
            near = [
                [f"{other} near {text}" for other in range(NEIGHBOURS)] for text in made
            ]
            place = f"cache_100_200_1000_512/{folder}"
            files[f"{place}/{name}.jsonl"] = jsonl(made)
            files[f"{place}_neighbors/{name}_neighbors_25_bert_in_place_swap.jsonl"] = (
                jsonl(near)
            )
    return files


NAMED_BOOKS = (
    "A_Day_of_Fallen_Night_-_Samantha_Shannon",
    "Harry_Potter_and_the_Philosopher's_Stone_-_JK_Rowling",
)
"""Those of BookTection that figures are of, a clean one and a suspect one."""


def decop(
    documents: int = 6,
    passages: float = 3,
    *,
    books: bool = False,
    share_of_words: float = 1,
) -> bytes:
    """arXivTection's or BookTection's CSV, with the byte-order mark that the first one
    has.

    `passages`: of each document and length, on average. Each passage is read in 24
    orders: `share_of_words` makes them shorter.
    """
    draw = random.Random(4)
    rows = []
    for document in range(documents):
        own_passages = int((document + 1) * passages) - int(document * passages)
        book = dict(enumerate(NAMED_BOOKS)).get(
            document, f"Title_{document}_-_Author_{document}"
        )
        for size, count in (
            (("small", 60), ("medium", 120), ("large", 240)) if books else (("", 90),)
        ):
            for _ in range(own_passages):
                row = {
                    f"Example_{letter}": _with_a_name(
                        words(draw, int(share_of_words * count))
                    )
                    for letter in "ABCD"
                }
                row |= {
                    "Answer": "A",
                    "ID": book if books else f"Paper {document}",
                    "Label": str(document % 2),
                }
                rows.append(row | ({"Length": size} if books else {}))
    return ("" if books else "\ufeff").encode() + comma_separated(rows)


def _with_a_name(text: str) -> str:
    """Make the third word a name, which name cloze masks."""
    first, second, third, *others = text.split()
    return " ".join([first, second, third.capitalize(), *others])


def patents(rows: int = 8, characters: int = 1200) -> bytes:
    """The authors' archive: JSON lines of Chinese, beside a benchmark of another
    kind."""
    draw = random.Random(5)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        made = [
            {"input": chinese(draw, characters), "label": number % 2}
            for number in range(rows)
        ]
        for name, data in {
            "data/PatentMIA.jsonl": jsonl(made),
            "data/BookMIA.jsonl": jsonl([{"input": "a", "label": 1}]),
            "__MACOSX/data/._PatentMIA.jsonl": b"\0\1",
        }.items():
            # of one date, so that the same rows are the same bytes
            member = zipfile.ZipInfo(name)
            archive.writestr(member, data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def chinese(draw: random.Random, characters: int) -> str:
    return "".join(draw.choices(_CHARACTERS, k=characters))


def corpus_shard(
    documents: int, seed: int, field: str = "text", longest: int = 60
) -> list[dict[str, str]]:
    draw = random.Random(seed)
    return [
        {
            field: words(draw, draw.randint(5, longest)),
            "url": f"https://example.org/{number}",
        }
        for number in range(documents)
    ]


def c4(shards: int = 20, documents: int = 20, longest: int = 60) -> dict[str, bytes]:
    return {
        f"en/c4-train.{shard:05d}-of-01024.json.gz": gzip.compress(
            jsonl(corpus_shard(documents, shard, longest=longest)), mtime=0
        )
        for shard in range(shards)
    }


def chinesewebtext(shards: int = 5, documents: int = 20) -> dict[str, bytes]:
    draw = random.Random(6)
    return {
        f"cleaner_subset/2021-43/part-{shard:04d}.jsonl": jsonl(
            [
                {"title": "", "score": 0.9, "text": chinese(draw, 80), "url": ""}
                for _ in range(documents)
            ]
        )
        for shard in range(shards)
    }


def case_law(
    shards: int = 19, documents: int = 20, longest: int = 60
) -> dict[str, bytes]:
    return {
        f"data/us-{shard:05d}-of-{shards:05d}.parquet": parquet(
            corpus_shard(documents, shard, "document", longest)
        )
        for shard in range(shards)
    }


def gutenberg(hub: Hub, books: int = 6, before: int = 2, *, length: int = 3200) -> None:
    """Project Gutenberg's catalogue and texts among the hub's pages: `before` of them
    are older than 2024."""
    draw = random.Random(7)
    rows = []
    for number in range(books + before):
        released = "2023-12-31" if number < before else f"2024-0{number % 9 + 1}-01"
        rows.append(
            (
                70000 + number,
                "Text",
                released,
                f"Title {number}",
                "en",
                f"Author {number}",
            )
        )
        text = gutenberg_text(f"Title {number}", words(draw, length))
        hub.pages[f"/cache/epub/{70000 + number}/pg{70000 + number}.txt"] = text
    rows.append((80000, "Sound", "2024-05-01", "A reading", "en", ""))
    rows.append((80001, "Text", "2024-05-01", "Ein Buch", "de", ""))
    columns = ("Text#", "Type", "Issued", "Title", "Language", "Authors")
    catalogue = comma_separated([dict(zip(columns, row, strict=True)) for row in rows])
    hub.pages["/cache/epub/feeds/pg_catalog.csv"] = catalogue


def gutenberg_text(title: str, text: str) -> bytes:
    """A text with the header, footer and licence that Project Gutenberg puts around
    it."""
    return (
        f"\ufeffThe Project Gutenberg eBook of {title}\r\n\r\nThis ebook is for the "
        "use of anyone anywhere\r\n\r\n"
        f"*** START OF THE PROJECT GUTENBERG EBOOK {title.upper()} "
        f"***\r\n\r\n{text}\r\n\r\n"
        f"*** END OF THE PROJECT GUTENBERG EBOOK {title.upper()} ***\r\n\r\nSection 1. "
        "General Terms of Use\r\n"
    ).encode()


def dolma(hub: Hub, books: int = 8, files: int = 2, *, length: int = 3200) -> None:
    """Dolma's list of files in its repository, and its files of books among the
    pages."""
    draw = random.Random(8)
    urls = []
    for file in range(files):
        page = f"/dolma-v1_5r1/books/books-{file:04d}.json.gz"
        made = [
            {
                "id": f"{file}-{number}",
                "source": "gutenberg",
                "text": words(draw, length),
            }
            for number in range(books)
        ]
        hub.pages[page] = gzip.compress(jsonl(made), mtime=0)
        urls.append(f"{hub.url}{page}")
    listed = "\n".join([f"{hub.url}/dolma-v1_5r1/wiki/wiki-0000.json.gz", *urls]) + "\n"
    hub.add("datasets", "allenai/dolma", {"urls/v1_5.txt": listed.encode()})


@dataclass(frozen=True)
class PaperRows:
    """How many rows the paper study's data sets have.

    `wikimia`, `wikimia_24`: texts by length. `mimir`: texts of each class by the set's
    name. `books`: of BookMIA, with `snippets` each. `questions`: passages of each
    document of BookTection and arXivTection, and of each length. `gutenberg`: books of
    each class. `documents`: of a corpus's shard.
    """

    wikimia: Mapping[int, int]
    wikimia_24: Mapping[int, int]
    mimir: Mapping[str, int]
    patents: int
    books: int = 6
    snippets: int = 2
    booktection: int = 6
    arxivtection: int = 6
    questions: float = 3
    gutenberg: int = 6
    documents: int = 20
    # how long texts are
    mimir_words: int = 40
    share_of_words: float = 1
    patent_characters: int = 1200
    longest_document: int = 60


def alike(rows: int, **more: Any) -> PaperRows:
    """As many rows in each data set, for a miniature."""
    each = dict.fromkeys(LENGTHS, rows)
    sets = dict.fromkeys(mimir_sets(), rows)
    return PaperRows(
        **{"wikimia": each, "wikimia_24": each, "mimir": sets, "patents": rows}
        | {"books": max(rows, 6)}
        | more
    )


def as_released(share: float, share_of_small: float = 1) -> PaperRows:
    """The released numbers: `share_of_small` of WikiMIA's and PatentMIA's, `share` of
    the others'; enough for shots."""

    def part(rows: int, least: int = 1) -> int:
        return max(round(share * rows), least)

    def small(rows_of: Mapping[int, int]) -> dict[int, int]:
        return {
            length: max(round(share_of_small * rows), 24)
            for length, rows in rows_of.items()
        }

    sets = dict.fromkeys(mimir_sets(), 1000)
    sets |= {f"{name}_ngram_7_0.2": rows for name, rows in MIMIR_FEWER_SHARED.items()}
    return PaperRows(
        wikimia=small(WIKIMIA),
        wikimia_24=small(WIKIMIA_24),
        mimir={name: part(rows, least=12) for name, rows in sets.items()},
        patents=round(share_of_small * 10_000),
        books=100,
        snippets=part(99),
        booktection=165,
        arxivtection=50,
        questions=max(share * 5495 / 165, 1),
        gutenberg=part(978, least=8),
        documents=part(2000, least=20),
        mimir_words=40,
        # a completion needs 100 tokens of a passage of BookTection
        share_of_words=0.6,
        # enough for 512 words of jieba's
        patent_characters=600,
        # some are longer than 1,024 tokens, where DC-PDD's code cuts
        longest_document=900,
    )


def paper_study(hub: Hub, rows: PaperRows) -> None:
    """Every data set of the registries that lies on the hub, and the pages of the two
    that lie elsewhere."""
    shorter = {"share_of_words": rows.share_of_words}
    books = decop(rows.booktection, rows.questions, books=True, **shorter)
    papers = decop(rows.arxivtection, rows.questions, **shorter)
    corpora = {"documents": rows.documents, "longest": rows.longest_document}
    for name, files in {
        "swj0419/WikiMIA": wikimia(rows.wikimia),
        "zjysteven/WikiMIA_paraphrased_perturbed": wikimia_views(rows.wikimia),
        "wjfu99/WikiMIA-24": wikimia(rows.wikimia_24, seed=9),
        "swj0419/BookMIA": bookmia(rows.books, rows.snippets),
        "avduarte333/BookTection": {"0_BookTection_data.csv": books},
        "avduarte333/arXivTection": {"0_arXivTection_data.csv": papers},
        "allenai/c4": c4(**corpora),
        "CASIA-LM/ChineseWebText": chinesewebtext(documents=rows.documents),
        "HFforLegal/case-law": case_law(**corpora),
    }.items():
        hub.add("datasets", name, files)
    hub.add(
        "datasets",
        "iamgroot42/mimir",
        mimir(rows.mimir, rows.mimir_words),
        token=MIMIR_TOKEN,
    )
    hub.pages["/data.zip"] = patents(rows.patents, rows.patent_characters)
    gutenberg(hub, rows.gutenberg)
    dolma(hub, rows.gutenberg + 2)


DOSES = (0, 1, 4, 16, 64, 256)
"""How often a text of Hubble was inserted; 0 in the split `test` alone."""


def hubble(rows: int = 6, seed: int = 5) -> dict[str, bytes]:
    """`rows` texts of every dose, with the fields of the source as a JSON string."""
    draw = random.Random(seed)
    made = {
        dose: [
            {
                "text": words(draw, 24),
                "meta": json.dumps({"uuid": f"{dose}-{number}"}),
                "duplicates": dose,
            }
            for number in range(rows)
        ]
        for dose in DOSES
    }
    return split("train", [row for dose in DOSES[1:] for row in made[dose]]) | split(
        "test", made[0]
    )


def copyright_traps(rows: int = 6) -> dict[str, bytes]:
    """Nine splits by length and repetitions, members and non-members by turns."""
    draw, files = random.Random(6), {}
    for length in (25, 50, 100):
        for times in (10, 100, 1000):
            files |= split(
                f"seq_len_{length}_n_rep_{times}",
                [
                    {
                        "perplexity_bucket": 10 * number,
                        "text": words(draw, length // 2),
                        "label": number % 2,
                    }
                    for number in range(2 * rows)
                ],
            )
    return files


def before_after(rows: int = 6) -> dict[str, bytes]:
    """Token ids and what they spell, before and after a checkpoint."""
    draw = random.Random(7)
    member, nonmember = (
        [
            {"tokens": draw.choices(range(300), k=30), "text": words(draw, 30)}
            for _ in range(rows)
        ]
        for _ in range(2)
    )
    return split("member", member) | split("nonmember", nonmember)


def dataset_inference(rows: int = 6) -> dict[str, bytes]:
    """Two of the twenty configurations, with two of the six columns of changed
    texts."""
    draw = random.Random(8)
    columns, parts = (
        ("text", "synonym_substitution", "butter_fingers"),
        ("train", "val"),
    )
    configs = [
        {
            "config_name": fold,
            "data_files": [
                {"split": part, "path": f"{fold}/{part}-*"} for part in parts
            ],
        }
        for fold in ("arxiv", "wikipedia")
    ]
    return {
        "README.md": f"---\n{yaml.safe_dump({'configs': configs}, sort_keys=False)}---\n".encode()
    } | {
        f"{config['config_name']}/{part}-00000-of-00001.parquet": parquet(
            [{column: words(draw, 40) for column in columns} for _ in range(rows)]
        )
        for config in configs
        for part in parts
    }


def frontier_study(hub: Hub, rows: int = 6) -> None:
    for seed, name in enumerate(
        ("biographies_yago", "passages_wikipedia", "testset_mmlu")
    ):
        hub.add("datasets", f"allegrolab/{name}", hubble(rows, seed))
    hub.add("datasets", "imperial-cpg/copyright-traps", copyright_traps(rows))
    hub.add(
        "datasets",
        "jeffreygwang/pythia_dedupe_mia_89975-89990_90010-90025",
        before_after(rows),
    )
    hub.add("datasets", "pratyushmaini/llm_dataset_inference", dataset_inference(rows))
