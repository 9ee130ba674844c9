"""Malformed files of the user's: each gives an error for users (or is read), never a traceback, and nothing is written.

By hand, and seeded by hypothesis from good files: `refuses` fails at any other exception than `InputError`. More files
of texts: test_fuzz_inputs.py.
"""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from spoiling import damaged, refuses, seeds, spoiled

import hub_datasets as made
from pretrace import benchmarks
from pretrace.benchmarks.loaders.local import check_texts
from pretrace.questions.collected import check_answers
from pretrace.questions.prompts import Wording
from pretrace.questions.written_views import ParaphrasePrompts
from pretrace.runtime.files import read_json, read_parquet, write_text
from pretrace.runtime.schema import read_keys
from pretrace.studies import load_study
from pretrace.studies.plan import Plan
from pretrace.studies.study import Study
from pretrace.views.zero_access import Openings

ROOT = Path(__file__).parents[2]
CONFIG = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
STUDY = yaml.safe_load((ROOT / "config" / "studies" / "embedded.yaml").read_text(encoding="utf-8")) | {
    "study": "mine"
}
REGISTRIES = ("models", "benchmarks", "corpora", "artifacts", "downloads")


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bad") / "config"
    shutil.copytree(ROOT / "config", folder)
    return folder


def planned(study: Study) -> None:
    """What the Snakefile asks of a study while it plans."""
    plan = Plan(study)
    for run in study.runs:
        pair = plan.pair(run.model, run.benchmark)
        for parameters in (pair.pass_requests, pair.answer_requests, pair.method_input_files):
            assert isinstance(parameters, list)
    for artifact in study.artifacts:
        assert isinstance(plan.artifact(artifact).reads, list)
    assert isinstance(plan.records_of_hub, list)


def load(config: Path, study: Any) -> str:
    path = config.parent / "study.yaml"
    path.write_bytes(study if isinstance(study, bytes) else yaml.safe_dump(study).encode())
    before = sorted(config.parent.rglob("*"))
    said = refuses(lambda: planned(load_study(CONFIG | {"study": str(path)}, config)))
    assert sorted(config.parent.rglob("*")) == before, "reading a study writes nothing"
    return said


@pytest.mark.parametrize("kind", REGISTRIES)
@seeds(4)
def test_a_spoiled_registry_is_refused_or_read(config, kind, seed):
    path = config / f"{kind}.yaml"
    good = path.read_text(encoding="utf-8")
    path.write_text(yaml.safe_dump(spoiled(yaml.safe_load(good), random.Random(seed))), encoding="utf-8")
    try:
        load(config, STUDY)
    finally:
        path.write_text(good, encoding="utf-8")


GOOD_STUDY = yaml.safe_dump(STUDY).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\0", b"- a\n- b\n", b"just words", b"{", b"a: [1,", b"a: &a [*a]", b"\xff\xfe", b"study: \x00\n",
        b"study: !!python/object/apply:os.system ['true']", b"%YAML 9.9\n---\nstudy: a", b"study: a\nstudy: b\n",
        b"? {a: b}\n: c\n", b"study: a\n\tbad: tab\n", b"[" * 5000, b"study: mine\nruns: 5\n", b"study: mine\n",
        b"a: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]\n", b"study: 2026-11-22\nruns: []\n", b"--- a\n--- b\n",
        "study: mine".encode("utf-16"), "study: é".encode("latin-1"), GOOD_STUDY[: len(GOOD_STUDY) // 2] + b"\n {",
        "study: mine".encode("utf-32"), b"study: .nan\nruns: []\n", b"<<: 5\n", b"study: " + b"x" * 1_000_000,
    ],
)  # fmt: skip
def test_what_is_no_study_file_is_refused(config, content):
    assert load(config, content)


TEXTS = [
    {"id": f"t{number}", "input": f"text number {number} of the file", "label": number % 2, "subset": "a", "length": 6,
     "document": f"d{number}"} for number in range(12)
]  # fmt: skip


def reading(path: Path, content: bytes) -> str:
    """What refuses a file of texts: the check before any job, and then the job itself."""
    path.write_bytes(content)
    said = refuses(lambda: check_texts(path, metrics=True))
    built = refuses(lambda: benchmarks.build("mine", {"source": "local", "path": "mine.jsonl"}, [path]))
    assert said or not built, "the job refuses what the check let pass"
    assert not said or path.name in said
    return said


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-32", "cp1252", "gb18030", "shift_jis", "cp037", "utf-7"]
)
@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_another_encoding_is_refused_with_its_line(tmp_path, encoding, ending):
    text = "日本語" if encoding == "shift_jis" else "café"
    lines = [f'{{"input": "{text}", "label": 1}}', '{"input": "b", "label": 0}']
    if ending == "csv":
        lines = ["text,label", f"{text},1", "b,0"]
    said = reading(tmp_path / f"t.{ending}", "\n".join(lines).encode(encoding))
    assert said or encoding == "utf-7", "UTF-7 is ASCII: it reads, as other words"


@pytest.mark.parametrize(
    "text",
    [
        "a", "語", "\u202eright to left\u202c", "שלום עולם", "مرحبا بالعالم", "e" + "\u0301" * 500, "👩‍👩‍👧‍👦" * 50,
        "\ufeffmark", "a\u2028b", "\x1b[31mred", "<script>alert(1)</script>", "\\input{/etc/passwd}",
        "%s %d {0}", "\ufffd" * 20, "a" * 1_000_000, "word " * 200_000, "NaN",
        "\U0001d573\U0001d58a", "ﷺ" * 100, "a\rb", "=1+1", "\U0010ffff",
    ],
    ids=range(22),
)  # fmt: skip
def test_odd_but_honest_texts_are_kept_as_they_are(tmp_path, text):
    path = tmp_path / "t.jsonl"
    rows = [{"input": text, "label": 1}, {"input": "another", "label": 0}]
    assert not reading(path, made.jsonl(rows))
    assert text in set(benchmarks.build("mine", {"source": "local", "path": "mine.jsonl"}, [path])["text"])


WRONG_TYPES = {
    "label bytes": {"label": pa.array([b"0", b"1"])},
    "label booleans": {"label": pa.array([True, False])},
    "text bytes": {"text": pa.array([b"a", b"b"])},
    "text maps": {"text": pa.array([{"a": 1}, {"a": 2}])},
    "text nulls": {"text": pa.nulls(2, pa.string())},
    "text dates": {"text": pa.array([0, 1], pa.date32())},
    "length infinite": {"length": pa.array([float("inf"), 8.0])},
    "document times": {"document": pa.array([0, 1], pa.timestamp("ns"))},
    "id times": {"id": pa.array([0, 1], pa.duration("s"))},
    "no text": {"text": None},
}
"""What Parquet alone can hold; test_benchmarks_local.py has what JSON and CSV can."""


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_parquet_of_wrong_types_is_refused(tmp_path, name):
    columns = {"text": pa.array(["a", "b"]), "label": pa.array([0, 1])} | WRONG_TYPES[name]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({key: value for key, value in columns.items() if value is not None}), path)
    assert reading(path, path.read_bytes())


ANSWERS = [
    {"document": f"d{number % 2}", "label": number % 2, "passage": number, "permutation": number, "true_answer": "A",
     "answer": "B", "p_a": 0.1, "p_b": 0.6, "p_c": 0.2, "p_d": 0.1} for number in range(6)
]  # fmt: skip


@seeds(80)
def test_spoiled_answers_are_refused_or_read(tmp_path_factory, seed):
    path = tmp_path_factory.mktemp("answers") / "answers.jsonl"
    rows = spoiled(ANSWERS, random.Random(seed))
    path.write_bytes(made.jsonl(rows))
    refuses(lambda: check_answers(path, metrics=True))


@seeds(40)
def test_a_damaged_result_is_refused_or_read(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("result")
    draw = random.Random(seed)
    table, record = folder / "t.parquet", folder / "t.json"
    table.write_bytes(damaged(made.parquet(TEXTS), draw))
    record.write_bytes(damaged(json.dumps({"a": [1, "é"]}).encode(), draw))
    refuses(lambda: read_parquet(table))
    refuses(lambda: read_json(record))


PROMPTS = {
    "con_recall_zero_access": Openings,
    "de_cop": Wording,
    "paraphrase": ParaphrasePrompts,
}


@pytest.mark.parametrize("kind", PROMPTS)
@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "holds nothing; a mapping of keys is needed"),
        (b"- a\n- b\n", "holds a list; a mapping of keys is needed"),
        (None, "does not exist"),
    ],
)
def test_what_is_no_file_of_prompts_is_named(tmp_path, kind, data, says):
    path = tmp_path / "given.yaml"
    if data is not None:
        path.write_bytes(data)
    said = refuses(lambda: read_keys(path, PROMPTS[kind]))
    assert "given.yaml" in said
    assert says in said


@seeds(60)
def test_a_spoiled_or_damaged_file_of_prompts_is_refused_or_read(tmp_path_factory, seed):
    draw = random.Random(seed)
    path = tmp_path_factory.mktemp("prompts") / "given.yaml"
    for kind, keys in PROMPTS.items():
        good = (ROOT / "config" / "prompts" / f"{kind}.yaml").read_bytes()
        path.write_text(yaml.safe_dump(spoiled(yaml.safe_load(good), draw)), encoding="utf-8")
        refuses(lambda keys=keys: read_keys(path, keys))
        path.write_bytes(damaged(good, draw))
        refuses(lambda keys=keys: read_keys(path, keys))


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "t.txt", "\ud800")
    assert not list(tmp_path.iterdir())
