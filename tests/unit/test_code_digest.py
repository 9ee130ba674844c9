"""What changes the digest of a rule's code: statements do, words about them do not."""

import shutil
from pathlib import Path

import pytest

from pretrace.runtime import code

ROOT = Path(__file__).parents[2]


@pytest.fixture
def library(tmp_path, monkeypatch) -> Path:
    """A copy of the scripts and the library whose digests are taken."""
    for folder in ("scripts", "src"):
        shutil.copytree(
            ROOT / folder,
            tmp_path / folder,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    monkeypatch.setattr(code, "LIBRARY", tmp_path / "src" / "pretrace")
    return tmp_path


def digest(*rule: str) -> str:
    for cached in (code.code_digest, code._statements, code._imports, code._files_of):
        cached.cache_clear()
    return code.code_digest(*rule)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


SCORE = "score_methods"
IMPORT = ("import", "import sys\nimport")
WORDS = [
    (
        SCORE,
        "scripts/score_methods.py",
        '"""Score every text',
        '"""Give a score to every text',
    ),
    (SCORE, "src/pretrace/methods/min_k.py", '"""', '"""In other words: '),
    (
        SCORE,
        "src/pretrace/methods/min_k.py",
        "\nfrom pretrace",
        '\n# a comment with "quotes"\nfrom pretrace',
    ),
    (SCORE, "src/pretrace/methods/min_k.py", "\nfrom pretrace", "\n\n\nfrom pretrace"),
    (SCORE, "src/pretrace/runtime/logs.py", *IMPORT),
    (SCORE, "src/pretrace/render/names.py", '"""', '"""More: '),
    ("fetch_package", "src/pretrace/corpora/counts.py", *IMPORT),
]
"""Words, logs and code of other rules."""


DRAWING = (
    "draw_prefixes",
    "build_benchmark",
    "make_view",
    "evaluate_methods",
    "train_model",
    "answer_questions",
)


STATEMENTS = [
    (SCORE, "scripts/score_methods.py", "with run_job", "1 + 1\nwith run_job"),
    (SCORE, "src/pretrace/methods/min_k.py", "0.2", "0.3"),
    (SCORE, "src/pretrace/methods/statistics.py", *IMPORT),
    ("build_benchmark", "src/pretrace/benchmarks/loaders/wikimia.py", *IMPORT),
    ("write_documents", "src/pretrace/corpora/readers/packages.py", *IMPORT),
    ("render_artifact", "src/pretrace/render/figures/lines.py", *IMPORT),
    ("render_artifact", "src/pretrace/render/tables/methods.py", *IMPORT),
    ("render_report", "src/pretrace/render/report.html.jinja", "<", "<!-- new --><"),
    *((rule, "src/pretrace/seeds.py", "[:16]", "[16:32]") for rule in DRAWING),
]
"""Of files that the rule imports."""


@pytest.mark.parametrize(("rule", "file", "old", "new"), WORDS + STATEMENTS)
def test_statements_of_what_a_rule_imports_count_and_words_do_not(
    library, rule, file, old, new
):
    before = digest(rule)
    edit(library / file, old, new)
    assert (digest(rule) != before) == ((rule, file, old, new) in STATEMENTS)


@pytest.mark.parametrize(
    ("statistic", "counts"), [("letters", True), ("accuracy", True), ("corpus", False)]
)
def test_of_a_file_of_statistics_only_the_one_that_runs_counts(
    library, statistic, counts
):
    before = digest("compute_statistic", "evaluation/statistics.py", statistic)
    assert before != digest("compute_statistic", "evaluation/statistics.py", "roc")
    edit(
        library / "src" / "pretrace" / "evaluation" / "answers.py",
        "import",
        "import sys\nimport",
    )
    assert (
        digest("compute_statistic", "evaluation/statistics.py", statistic) != before
    ) is counts


@pytest.mark.parametrize("apart", ["", "passes/filling.py"])
def test_code_that_a_job_runs_apart_from_what_it_makes_does_not_count(library, apart):
    before = digest("train_model", "", "", apart)
    edit(library / "src" / "pretrace" / "passes" / "engine.py", *IMPORT)
    assert (digest("train_model", "", "", apart) == before) is bool(apart)
    edit(library / "src" / "pretrace" / "models" / "training" / "loop.py", *IMPORT)
    assert digest("train_model", "", "", apart) != before


def test_a_new_method_in_a_folder_of_plugins_counts(library):
    before = digest("score_methods")
    shutil.copy(
        library / "src" / "pretrace" / "methods" / "loss.py",
        library / "src" / "pretrace" / "methods" / "own.py",
    )
    assert digest("score_methods") != before


def test_in_a_wheel_the_scripts_are_in_the_library_and_have_the_same_digest(library):
    before = digest("score_methods")
    (library / "scripts").rename(library / "src" / "pretrace" / "scripts")
    assert digest("score_methods") == before


def test_renderers_of_another_room_count_in_what_draws():
    """The catalogue imports renderers by name, those of the room `audit` too."""
    files = code._imports(code.LIBRARY / "render" / "catalogue.py", "")
    assert code.LIBRARY / "audit" / "tables" / "audit.py" in files
