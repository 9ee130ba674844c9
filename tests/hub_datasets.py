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
    made = []
    for place in range(count):
        word = "".join(draw.choices(_SYLLABLES, k=draw.randint(1, 3)))
        if place % 9 == 0:
            word = word.capitalize()
        if place % 9 == 8:
            word += "."
        made.append(word)
    return " ".join(made)


def synonyms() -> list[list[str]]:
    """Made-up words of two syllables, in pairs that a made-up WordNet has as
    synonyms."""
    pairs = []
    for first, second in combinations(_SYLLABLES, 2):
        pairs.append([first + second, second + first])
    return pairs


def parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    import pyarrow as pa

    return _written(pa.Table.from_pylist(list(rows)))


def parquet_of(names: Sequence[str], *columns: Sequence[Any]) -> bytes:
    """Parquet with columns of these names, which may be equal."""
    import pyarrow as pa

    arrays = [pa.array(column) for column in columns]
    return _written(pa.Table.from_arrays(arrays, names=list(names)))


def _written(table: Any) -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(table, out)
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
    draw = random.Random(seed)
    rows_of = _of_each(LENGTHS, rows)
    files = {}
    for length in LENGTHS:
        texts = [words(draw, length) for _ in range(rows_of[length])]
        file = f"{name}_length{length}-00000-of-00001-{length:016x}.parquet"
        files[f"data/{file}"] = parquet(_by_turns(texts))
    return files | LICENCE


def _by_turns(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of non-members and members by turns."""
    rows = []
    for number, text in enumerate(texts):
        rows.append({"input": text, "label": number % 2})
    return rows


def wikimia_views(
    rows: int | Mapping[int, int] = 8, neighbours: int = 10
) -> dict[str, bytes]:
    """One paraphrase and several neighbours of each text of the three lengths that have
    them, in order."""
    draw = random.Random(1)
    rows_of = _of_each(LENGTHS, rows)
    kinds = {
        "paraphrased": 1,
        "perturbed": neighbours,
        "paraphrased_perturbed": neighbours,
    }
    files = {}
    for length in LENGTHS[:3]:
        for kind, count in kinds.items():
            views = []
            for number in range(rows_of[length]):
                for other in range(count):
                    text = f"{kind} {number} {other} " + words(draw, length - 3)
                    views.append({"input": text, "label": number % 2})
            files |= split(f"WikiMIA_length{length}_{kind}", views)
    return files


def _of_each(keys: Iterable[Any], rows: int | Mapping[Any, int]) -> Mapping[Any, int]:
    return dict.fromkeys(keys, rows) if isinstance(rows, int) else rows


def bookmia(books: int = 6, snippets: int = 2) -> dict[str, bytes]:
    """Books of either class; each one's first snippet holds the control characters that
    Jane Eyre has."""
    draw = random.Random(2)
    rows = []
    for book in range(books):
        for number in range(snippets):
            control = "\x00ab\x14" if number == 0 else ""
            rows.append(
                {
                    "book_id": book,
                    "book": f"Book_{book}.txt",
                    "snippet_id": number,
                    "snippet": control + words(draw, 512),
                    "label": book % 2,
                }
            )
    return {"book_data.jsonl": jsonl(rows)} | LICENCE


def mimir_sets() -> list[str]:
    """The names of MIMIR's sets, by split or month."""
    names = []
    for name in MIMIR_SETS:
        names += [f"{name}_ngram_7_0.2", f"{name}_ngram_13_0.8"]
    names += [f"temporal_arxiv_{month}" for month in MIMIR_MONTHS]
    return [*names, "temporal_wiki"]


def mimir(rows: int | Mapping[str, int] = 6, length: int = 40) -> dict[str, bytes]:
    """Every set, split and month, with 25 neighbours of each text; and the script,
    which raises where it is run.

    `rows`: texts of each class, of all sets or by a set's name. `length`: words of a
    text.
    """
    draw = random.Random(3)
    rows_of = _of_each(mimir_sets(), rows)
    files = {"mimir.py": b"raise RuntimeError('the script was run')\n"}
    for name in mimir_sets():
        for folder in ("train", "test"):
            made = []
            near = []
            for number in range(rows_of[name]):
                text = f"{name} {folder} {number} " + words(draw, length)
                made.append(text)
                near.append([f"{other} near {text}" for other in range(NEIGHBOURS)])
            place = f"cache_100_200_1000_512/{folder}"
            files[f"{place}/{name}.jsonl"] = jsonl(made)
            swaps = f"{name}_neighbors_25_bert_in_place_swap.jsonl"
            files[f"{place}_neighbors/{swaps}"] = jsonl(near)
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
    sizes = {"small": 60, "medium": 120, "large": 240} if books else {"": 90}
    rows = []
    for document in range(documents):
        own_passages = int((document + 1) * passages) - int(document * passages)
        name = f"Paper {document}"
        if books:
            name = f"Title_{document}_-_Author_{document}"
            if document < len(NAMED_BOOKS):
                name = NAMED_BOOKS[document]
        for size, count in sizes.items():
            for _ in range(own_passages):
                row = {}
                for letter in "ABCD":
                    text = words(draw, int(share_of_words * count))
                    row[f"Example_{letter}"] = _with_a_name(text)
                row |= {"Answer": "A", "ID": name, "Label": str(document % 2)}
                if books:
                    row["Length"] = size
                rows.append(row)
    byte_order_mark = "" if books else "\ufeff"
    return byte_order_mark.encode() + comma_separated(rows)


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
        texts = [chinese(draw, characters) for _ in range(rows)]
        for name, data in {
            "data/PatentMIA.jsonl": jsonl(_by_turns(texts)),
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
    rows = []
    for number in range(documents):
        text = words(draw, draw.randint(5, longest))
        rows.append({field: text, "url": f"https://example.org/{number}"})
    return rows


def c4(shards: int = 20, documents: int = 20, longest: int = 60) -> dict[str, bytes]:
    files = {}
    for shard in range(shards):
        lines = jsonl(corpus_shard(documents, shard, longest=longest))
        name = f"en/c4-train.{shard:05d}-of-01024.json.gz"
        files[name] = gzip.compress(lines, mtime=0)
    return files


def chinesewebtext(shards: int = 5, documents: int = 20) -> dict[str, bytes]:
    draw = random.Random(6)
    files = {}
    for shard in range(shards):
        rows = []
        for _ in range(documents):
            text = chinese(draw, 80)
            rows.append({"title": "", "score": 0.9, "text": text, "url": ""})
        files[f"cleaner_subset/2021-43/part-{shard:04d}.jsonl"] = jsonl(rows)
    return files


def case_law(
    shards: int = 19, documents: int = 20, longest: int = 60
) -> dict[str, bytes]:
    files = {}
    for shard in range(shards):
        rows = corpus_shard(documents, shard, "document", longest)
        files[f"data/us-{shard:05d}-of-{shards:05d}.parquet"] = parquet(rows)
    return files


def gutenberg(hub: Hub, books: int = 6, before: int = 2, *, length: int = 3200) -> None:
    """Project Gutenberg's catalogue and texts among the hub's pages: `before` of them
    are older than 2024."""
    draw = random.Random(7)
    out = io.StringIO()
    catalogue = csv.writer(out)
    catalogue.writerow(["Text#", "Type", "Issued", "Title", "Language", "Authors"])
    for number in range(books + before):
        released = "2023-12-31" if number < before else f"2024-0{number % 9 + 1}-01"
        id = 70000 + number
        title = f"Title {number}"
        catalogue.writerow([id, "Text", released, title, "en", f"Author {number}"])
        text = gutenberg_text(title, words(draw, length))
        hub.pages[f"/cache/epub/{id}/pg{id}.txt"] = text
    catalogue.writerow([80000, "Sound", "2024-05-01", "A reading", "en", ""])
    catalogue.writerow([80001, "Text", "2024-05-01", "Ein Buch", "de", ""])
    hub.pages["/cache/epub/feeds/pg_catalog.csv"] = out.getvalue().encode()


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
        made = []
        for number in range(books):
            id = f"{file}-{number}"
            text = words(draw, length)
            made.append({"id": id, "source": "gutenberg", "text": text})
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
    sets = {
        "wikimia": each,
        "wikimia_24": each,
        "mimir": dict.fromkeys(mimir_sets(), rows),
        "patents": rows,
        "books": max(rows, 6),
    }
    return PaperRows(**sets | more)


def as_released(share: float, share_of_small: float = 1) -> PaperRows:
    """The released numbers: `share_of_small` of WikiMIA's and PatentMIA's, `share` of
    the others'; enough for shots."""

    def part(rows: int, least: int = 1) -> int:
        return max(round(share * rows), least)

    def small(rows_of: Mapping[int, int]) -> dict[int, int]:
        parts = {}
        for length, rows in rows_of.items():
            parts[length] = max(round(share_of_small * rows), 24)
        return parts

    sets = dict.fromkeys(mimir_sets(), part(1000, least=12))
    for name, rows in MIMIR_FEWER_SHARED.items():
        sets[f"{name}_ngram_7_0.2"] = part(rows, least=12)
    return PaperRows(
        wikimia=small(WIKIMIA),
        wikimia_24=small(WIKIMIA_24),
        mimir=sets,
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
    made = []
    for dose in DOSES:
        for number in range(rows):
            text = words(draw, 24)
            meta = json.dumps({"uuid": f"{dose}-{number}"})
            made.append({"text": text, "meta": meta, "duplicates": dose})
    return split("train", made[rows:]) | split("test", made[:rows])


def copyright_traps(rows: int = 6) -> dict[str, bytes]:
    """Nine splits by length and repetitions, members and non-members by turns."""
    draw = random.Random(6)
    files = {}
    for length in (25, 50, 100):
        for times in (10, 100, 1000):
            made = []
            for number in range(2 * rows):
                text = words(draw, length // 2)
                bucket = {"perplexity_bucket": 10 * number}
                made.append(bucket | {"text": text, "label": number % 2})
            files |= split(f"seq_len_{length}_n_rep_{times}", made)
    return files


def before_after(rows: int = 6) -> dict[str, bytes]:
    """Token ids and what they spell, before and after a checkpoint."""
    draw = random.Random(7)
    made = []
    for _ in range(2 * rows):
        tokens = draw.choices(range(300), k=30)
        made.append({"tokens": tokens, "text": words(draw, 30)})
    return split("member", made[:rows]) | split("nonmember", made[rows:])


def dataset_inference(rows: int = 6) -> dict[str, bytes]:
    """Two of the twenty configurations, with two of the six columns of changed
    texts."""
    draw = random.Random(8)
    columns = ("text", "synonym_substitution", "butter_fingers")
    configs = []
    files = {}
    for fold in ("arxiv", "wikipedia"):
        data_files = []
        for part in ("train", "val"):
            data_files.append({"split": part, "path": f"{fold}/{part}-*"})
            made = []
            for _ in range(rows):
                made.append({column: words(draw, 40) for column in columns})
            files[f"{fold}/{part}-00000-of-00001.parquet"] = parquet(made)
        configs.append({"config_name": fold, "data_files": data_files})
    card = yaml.safe_dump({"configs": configs}, sort_keys=False)
    return {"README.md": f"---\n{card}---\n".encode()} | files


def frontier_study(hub: Hub, rows: int = 6) -> None:
    hubbles = ("biographies_yago", "passages_wikipedia", "testset_mmlu")
    for seed, name in enumerate(hubbles):
        hub.add("datasets", f"allegrolab/{name}", hubble(rows, seed))
    hub.add("datasets", "imperial-cpg/copyright-traps", copyright_traps(rows))
    hub.add(
        "datasets",
        "jeffreygwang/pythia_dedupe_mia_89975-89990_90010-90025",
        before_after(rows),
    )
    hub.add("datasets", "pratyushmaini/llm_dataset_inference", dataset_inference(rows))


OLMO_DETECT = {
    "pretraining/dclm": ["dclm"],
    "pretraining/pes2o": ["pes2o"],
    "pretraining/openwebmath": ["openwebmath"],
    "pretraining/starcoder": ["starcoder_python", "starcoder_java"],
    "midtraining/gsm8k": ["gsm8k"],
    "midtraining/gsm8k_qonly": ["gsm8k_qonly"],
    "midtraining/stackexchange": ["stackexchange_math", "stackexchange_stackoverflow"],
    "posttraining/sft": ["sft"],
    "posttraining/dpo": ["dpo_7b_chosen", "dpo_7b_rejected", "dpo_7b_pair"],
    "posttraining/rlvr": ["cot-gsm8k", "cot-math"],
}
"""STAGE/DOMAIN -> the names in its files."""


def olmo_detect(rows: int) -> dict[str, bytes]:
    """OLMo-Detect as its README describes it: folders say what a text is, and no row
    does. A text is its file's name and its number."""
    files = {"README.md": b"# OLMo-Detect\n", "results/scores.jsonl": b'{"auc": 1}\n'}
    for place, names in OLMO_DETECT.items():
        stage, _, domain = place.partition("/")
        has_shifted = domain not in ("gsm8k", "gsm8k_qonly", "rlvr")
        for name in names:
            for part in ("dev", "test"):
                kinds = ["matched", "shifted"] if has_shifted else ["matched"]
                stored = {
                    f"member/{kind}/{part}": f"member_{stage}_{name}_{kind}_{part}"
                    for kind in kinds
                }
                stored[f"non-member/{part}"] = f"non-member_{stage}_{name}_{part}"
                for folder, file in stored.items():
                    path = f"benchmark/{place}/{folder}/{file}.jsonl"
                    files[path] = _of_olmo_detect(file, rows)
    return files


def _of_olmo_detect(file: str, rows: int) -> bytes:
    lines = []
    for number in range(rows):
        row: dict[str, Any] = {"id": number, "text": f"{file} {number}"}
        if "_pair_" in file:
            row = {"chosen_text": "a", "rejected_text": "b"}
        elif file.startswith("non-member"):
            row |= {"1b_13-gram_overlap_score": 0.1, "created": "2025-06-01"}
        lines.append(json.dumps(row))
    return "\n".join(lines).encode()
