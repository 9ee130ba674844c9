"""The study `audit` is filled in from the command line, sealed, and beside a positive
control."""

import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from made_up_studies import CONFIG, FREE, ROOT, checkpoint, load_written, study

from made_up_books import prose
from pretrace.audit.design import names_of_parts
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import write_text
from pretrace.runtime.provenance import citation
from pretrace.studies import Plan, load_study
from pretrace.studies.audit.announcement import description
from pretrace.studies.audit.seal import (
    changed,
    cover_of_seal,
    digest_of,
    edited,
    lines_of_seals,
    marks_of,
    read_seals,
    repeats,
    sealed,
    sealed_again,
    short_names,
)
from pretrace.studies.audit.study import parameters_in
from pretrace.studies.stages.benchmarks import Benchmark
from pretrace.studies.user_files import CHECKED, check_user_files

CONFIG_FOLDER = ROOT / "config"


@pytest.fixture
def texts(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = ['{"text": "one two three", "label": null, "document": "mine"}']
    for n in range(4):
        rows.append(f'{{"text": "known {n} words", "label": 0, "document": "d{n}"}}')
    Path("my texts.jsonl").write_text("\n".join(rows) + "\n")
    return Path("my texts.jsonl")


def loaded(**given):
    return load_study(CONFIG | {"study": "audit"} | given, CONFIG_FOLDER)


def test_a_registered_model_a_hub_id_and_a_folder_are_models(texts):
    named = loaded(texts=str(texts), model="smollm2-135m")
    assert named.name.startswith("audit-my_texts-smollm2-135m-")
    assert {run.model for run in named.runs} == {"smollm2-135m"}
    hub = loaded(texts=str(texts), model="EleutherAI/pythia-1.4b")
    assert hub.name.startswith("audit-my_texts-pythia-1.4b-")
    entry = hub.models.entries[hub.runs[0].model]
    assert entry.source == "hub"
    assert entry.hub == "EleutherAI/pythia-1.4b"
    assert entry.parameters == 1.4e9
    checkpoint(Path("checkpoint"))
    local = loaded(texts=str(texts), model="checkpoint")
    assert Path(local.models.entries["checkpoint"].path).samefile("checkpoint")
    assert Path(local.benchmarks.entries["texts"].path).samefile(texts)


def test_each_file_and_model_has_a_folder_of_results_of_its_own(texts):
    files = [
        "novel.part1.jsonl",
        "novel.part2.jsonl",
        "Война и мир.jsonl",
        "Анна Каренина.jsonl",
        "甲.jsonl",
        "乙.jsonl",
        "a/texts.jsonl",
        "b/texts.jsonl",
        "Smith, J. - A.jsonl",
        "Smith, J. - B.jsonl",
    ]
    for file in files:
        Path(file).parent.mkdir(exist_ok=True)
        shutil.copy(texts, file)
    for folder in ("x/checkpoint-1000", "y/checkpoint-1000"):
        Path(folder).parent.mkdir()
        checkpoint(Path(folder))
    models = [
        "smollm2-135m",
        "A/pythia",
        "B/pythia",
        "x/checkpoint-1000",
        "y/checkpoint-1000",
    ]
    names = set()
    for file in files:
        for model in models:
            names.add(loaded(texts=file, model=model).name)
    assert len(names) == len(files) * len(models)
    assert any(name.startswith("audit-Война_и_мир-pythia-") for name in names)


@pytest.mark.parametrize(
    ("file", "model"),
    [
        ("书" * 60, "模" * 60),
        ("é" * 100, "x" * 200),
        ("m² of ½", "Ⅷ"),
        ("हिन्दी", "..."),
    ],
)
def test_a_file_and_a_model_of_any_name_make_a_name_that_file_systems_take(
    texts, file, model
):
    shutil.copy(texts, f"{file}.jsonl")
    Path("models").mkdir()
    checkpoint(Path("models", model))
    study = loaded(texts=f"{file}.jsonl", model=f"models/{model}")
    (shared,) = {study.models.shared[run.model] for run in study.runs}
    # a job's folder in Slurm's logs, and the longest name of a file, while it is
    # written
    Path(f"accuracy_by_order_{shared}_{study.name}~texts").mkdir()
    write_text(f"neighbours_by_{shared}-10.parquet", "")


def test_a_path_that_no_system_takes_is_refused(texts):
    for given in ({"texts": "x" * 5000}, {"known": "x" * 5000}, {"texts": "/dev/zero"}):
        with pytest.raises(InputError, match="does not exist"):
            loaded(**{"texts": str(texts), "model": "smollm2-135m"} | given)
    with pytest.raises(InputError, match="'/dev/zero' is neither a file"):
        load_study(CONFIG | {"study": "/dev/zero"}, CONFIG_FOLDER)


def test_a_language_without_spaces_is_told_by_its_script(texts):
    Path("zh.jsonl").write_text('{"text": "甲乙丙丁。戊己庚辛。"}\n', encoding="utf-8")
    assert (
        loaded(texts="zh.jsonl", model="smollm2-135m")
        .benchmarks.entries["texts"]
        .language
        == "zh"
    )
    given = loaded(texts="zh.jsonl", model="smollm2-135m", language="ja")
    assert given.benchmarks.entries["texts"].language == "ja"
    assert (
        loaded(texts=str(texts), model="smollm2-135m")
        .benchmarks.entries["texts"]
        .language
        == "en"
    )


@pytest.mark.parametrize("folder", ["results/models", "elsewhere"])
def test_a_model_of_ours_that_is_trained_anew_is_told(texts, folder):
    Path(folder).mkdir(parents=True)
    given = f"{folder}/pico-en-small-null"
    checkpoint(Path(given))
    plan = Plan(loaded(texts=str(texts), model=given))
    told = description(plan, CONFIG | {"model": given})
    lines = [line for line in told if "is trained anew first" in line]
    assert bool(lines) == (folder == "results/models")
    model = plan.model("pico-en-small-null")
    for line in lines:
        assert line.startswith(given)
        assert f"{model.training_texts}, which it is trained from, is not here" in line
    for file in (model.training_texts, *model.training_documents):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()
    assert "anew" not in " ".join(description(plan, CONFIG | {"model": given}))


def test_a_corpus_of_the_hub_that_was_deleted_after_use_is_not_missed(texts):
    config = shutil.copytree(CONFIG_FOLDER, Path("config"))
    models = (config / "models.yaml").read_text()
    changed = models.replace("tokenizer_corpus: sotu_historic", "tokenizer_corpus: c4")
    (config / "models.yaml").write_text(changed)
    given = "results/models/pico-en-small-null"
    Path(given).parent.mkdir(parents=True)
    checkpoint(Path(given))
    asked = CONFIG | {"study": "audit", "texts": str(texts), "model": given}
    plan = Plan(load_study(asked, config))
    training_texts = Path(plan.model("pico-en-small-null").training_texts)
    training_texts.parent.mkdir(parents=True)
    training_texts.touch()
    assert "anew" not in " ".join(description(plan, asked))


def test_a_second_file_holds_the_known_texts(texts):
    Path("known.jsonl").write_text('{"text": "never read"}\n')
    study = loaded(texts=str(texts), known="known.jsonl", model="smollm2-135m")
    files = [Path(file).name for file in Benchmark(study, "texts").source]
    assert files == ["my texts.jsonl", "known.jsonl"]
    told = description(Plan(study), CONFIG | {"model": "smollm2-135m"})[0]
    assert "1 text of 1 document?" in told
    assert "5 texts of 5 documents given as unread" in told
    assert "counted as 4 bytes each" in told
    assert "minutes" in told


GIVEN = {"texts": "my texts.jsonl", "model": "smollm2-135m"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"model": "smollm2-135m"},
            "the study audit needs texts=...: snakemake --cores all",
        ),
        ({"texts": "my texts.jsonl"}, "the study audit needs model=..."),
        (
            {"texts": "none.jsonl", "model": "smollm2-135m"},
            "texts: none.jsonl does not exist in /",
        ),
        (
            {"texts": "my texts.jsonl", "known": "no", "model": "smollm2-135m"},
            "known: no does not exist",
        ),
        (
            {"texts": "my texts.jsonl", "model": "chatgpt-released"},
            "chatgpt-released has only answers",
        ),
        ({"texts": "my texts.jsonl", "model": "."}, "model: . has no config.json"),
        (
            {"texts": "my texts.jsonl", "model": "https://huggingface.co/a/b"},
            "write model=a/b",
        ),
        (
            {"texts": "my texts.jsonl", "model": "smollm2-135"},
            "did you mean 'smollm2-135m'",
        ),
        (
            {"study": "embedded", "texts": "my texts.jsonl"},
            "texts belongs to the study audit",
        ),
        ({"study": "embedded", "base": "gpt2"}, "base belongs to the study audit"),
        (GIVEN | {"base": "smollm2-135m"}, "base: smollm2-135m is the model itself"),
        (GIVEN | {"base": "none"}, "base: 'none' is not a name of config/models.yaml"),
        (
            GIVEN | {"base": "chatgpt-released"},
            "base: chatgpt-released has only answers",
        ),
        (GIVEN | {"base": "."}, "base: . has no config.json"),
    ],
)
def test_mistakes_of_the_command_line_are_named(texts, given, message):
    with pytest.raises(InputError) as raised:
        loaded(**given)
    assert message.lower() in str(raised.value).lower()


def adapter(folder: Path, **settings: str) -> str:
    """Make a folder that a command may name as a LoRA adapter; its name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter_config.json").write_text(
        json.dumps({"peft_type": "LORA"} | settings)
    )
    (folder / "adapter_model.safetensors").touch()
    return str(folder)


@pytest.mark.parametrize(
    ("named", "given", "base"),
    [
        ("EleutherAI/pythia-1.4b", {}, "pythia-1.4b"),
        ("whole", {}, "whole"),
        ("/elsewhere/whole", {"base": "whole"}, "whole"),
        ("EleutherAI/pythia-1.4b", {"base": "smollm2-135m"}, "smollm2-135m"),
    ],
)
def test_an_adapter_is_read_on_the_base_that_it_names_or_that_is_given(
    texts, named, given, base
):
    checkpoint(Path("whole"))
    adapter(Path("lora"), base_model_name_or_path=named)
    study = loaded(texts=str(texts), model="lora", **given)
    entry = study.models.entries["lora"]
    assert entry.source == "adapter"
    assert Path(entry.path).name == "lora"
    assert entry.base == base
    assert [run.references for run in study.runs] == [[base]]
    methods = [item.method for item in study.runs[0].methods]
    assert methods == ["ref", "wbc", "ez_mia", "blind"], "blind is a control"
    plan = Plan(study)
    sealed_models = plan.sealed(CONFIG)["models"]
    assert {"lora", base} <= sealed_models.keys()
    assert len(plan.sealed_checkpoints) == 2
    told = description(plan, CONFIG | given | {"model": "lora"})
    assert f"base: {given.get('base', named)}" in " ".join(told)
    is_warned = any("was trained on" in line for line in told)
    assert is_warned == (given == {"base": "smollm2-135m"})


def test_an_adapter_is_read_on_the_revision_that_it_names(texts):
    named = "EleutherAI/pythia-1.4b"
    adapter(Path("lora"), base_model_name_or_path=named, revision="step3")
    plan = Plan(loaded(texts=str(texts), model="lora"))
    assert plan.study.models.entries["pythia-1.4b"].revision == "step3"
    told = description(plan, CONFIG | {"model": "lora"})
    assert not any("was trained on" in line for line in told)


GONE = (
    r"base: '/gone/model' is not.*\. It is what lora/adapter_config\.json names; .*"
    r"base=\.\.\."
)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "names no base_model_name_or_path"),
        ({"base_model_name_or_path": "/gone/model"}, GONE),
        ({"peft_type": "IA3", "base_model_name_or_path": "a/b"}, "peft_type is 'IA3'"),
    ],
)
def test_an_adapter_without_a_base_or_of_another_type_is_refused(
    texts, settings, message
):
    adapter(Path("lora"), **settings)
    with pytest.raises(InputError, match=message):
        loaded(texts=str(texts), model="lora")


def test_a_model_and_a_base_of_one_name_are_told_apart(texts):
    for folder in ("before/model", "after/model"):
        Path(folder).parent.mkdir()
        checkpoint(Path(folder))
    given = {"texts": str(texts), "model": "after/model"}
    study = loaded(**given, base="before/model")
    paths = {}
    for slug, entry in study.models.entries.items():
        if entry.source == "local" and slug.startswith("model"):
            paths[slug] = entry.path
    assert paths["model"].endswith("before/model")
    assert paths[study.runs[0].model].endswith("after/model")
    assert study.name != loaded(**given).name, "the folder of the audit without a base"
    with pytest.raises(InputError, match="is the model itself"):
        loaded(**given, base="./after/model")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("EleutherAI/pythia-1.4b", 1.4e9), ("pythia-70m", 7e7),
     ("meta-llama/Llama-3.1-8B", 8e9), ("gpt2", None),
     ("org/modelb-chat", None)],
)  # fmt: skip
def test_the_size_is_read_from_the_name(name, parameters):
    assert parameters_in(name) == pytest.approx(parameters)


def test_every_audit_has_a_positive_control_that_is_no_panel(texts):
    study = loaded(texts=str(texts), model="smollm2-135m")
    (control,) = [run for run in study.runs if run.benchmark == "famous_passages"]
    (audited,) = [run for run in study.runs if run.benchmark == "texts"]
    named = [item.method for item in audited.methods if item.method != "blind"]
    assert [item.method for item in control.methods if item.method != "blind"] == named
    assert control.start_token == audited.start_token
    assert (
        Plan(study).pair("smollm2-135m", "texts").positive.benchmark_slug
        == "famous_passages"
    )
    assert Plan(study).pair("smollm2-135m", "famous_passages").positive is None
    panels = set()
    for artifact in study.artifacts.values():
        for panel in artifact.panels:
            panels.add(panel.benchmark)
    assert panels == {"texts"}


def test_only_audits_of_ones_own_texts_are_sealed(texts):
    assert Plan(loaded(texts=str(texts), model="smollm2-135m")).is_sealed
    assert not Plan(load_study(CONFIG | {"study": "embedded"}, CONFIG_FOLDER)).is_sealed


def seal_of(plan_given, seals=(), **given):
    return sealed(
        seals,
        plan_given,
        **({"time": "2026-11-23 10:00:00", "scores_existed": False} | given),
    )


PLAN = {"files": {"texts.jsonl": "ab"},
        "checkpoints": {"target": {"hub": "a/b", "commit": "c0"}},
        "versions": {"torch": "2"}, "settings": {"seed": 0}}  # fmt: skip


def test_the_same_plan_is_sealed_once_and_a_changed_one_is_added():
    first = seal_of(PLAN)
    assert seal_of(PLAN, first, time="later") == first
    other = PLAN | {"settings": {"seed": 1}, "files": {"texts.jsonl": "cd"}}
    both = seal_of(other, first, time="2026-11-24 10:00:00", scores_existed=True)
    assert both[:1] == first
    assert both[1]["changes"] == ["files.texts.jsonl", "settings.seed"]
    assert lines_of_seals(both)[:3] == [
        ("Warning", "plan changed after scores"),
        (
            "Seal 1",
            f"SHA-256 {digest_of(PLAN)}; sealed 2026-11-23 10:00:00 (UTC), before any "
            "score",
        ),
        (
            "Seal 2",
            f"SHA-256 {digest_of(other)}; sealed 2026-11-24 10:00:00 (UTC), after "
            "scores existed; changed: files.texts.jsonl, settings.seed",
        ),
    ]


@pytest.mark.parametrize(
    ("existed", "warning"),
    [
        ([False], None),
        ([True], "plan sealed after scores"),
        ([False, False], None),
        ([True, True], "plan changed after scores"),
        ([False, True, True], "plan changed after scores"),
    ],
)
def test_the_page_warns_first_of_a_seal_after_scores(existed, warning):
    seals: list = []
    for seed, scores_existed in enumerate(existed):
        seals = seal_of(
            PLAN | {"settings": {"seed": seed}}, seals, scores_existed=scores_existed
        )
    assert dict(lines_of_seals(seals)).get("Warning") == warning
    assert [heading for heading, _ in lines_of_seals(seals)][: warning is not None] == [
        "Warning"
    ] * bool(warning)
    assert sum(
        heading.startswith("Seal") for heading, _ in lines_of_seals(seals)
    ) == len(existed)


def test_an_edited_record_is_told():
    seals = seal_of(PLAN)
    seals = seal_of(PLAN | {"settings": {"seed": 1}}, seals)
    for _, text in lines_of_seals(seals):
        assert "edited" not in text
    seals[0]["plan"]["settings"]["seed"] = 7
    page = dict(lines_of_seals(seals))
    assert "edited" in page["Seal 1"]
    assert "edited" not in page["Seal 2"]


def test_edited_code_is_told_beside_the_answer():
    seals = seal_of(PLAN | {"versions": {"pretrace": "c1", "code": "ab"}})
    assert edited(seals, "ab") == []
    assert "edited after the plan was sealed" in edited(seals, "cd")[0]
    (warning,) = edited(
        seal_of(PLAN | {"versions": {"pretrace": "c1-dirty", "code": "ab"}}), "ab"
    )
    assert "no commit holds" in warning


def test_a_plan_that_is_sealed_again_is_told_beside_the_answer():
    once = seal_of(PLAN)
    assert sealed_again(once) == []
    (texts,) = sealed_again(
        seal_of(PLAN | {"files": {"texts.jsonl": "cd"}}, once, scores_existed=True)
    )
    assert texts.startswith(
        "2 plans were sealed for this model and these texts, once scores existed: the "
        "texts changed"
    )
    assert "(texts.jsonl)" in texts
    (others,) = sealed_again(seal_of(PLAN | {"settings": {"seed": 1}}, once))
    assert "these texts: the texts are the same" in others


def test_the_first_page_has_the_seal_and_how_to_cite():
    seals = seal_of(PLAN | {"versions": {"pretrace": "c0ffee"}})
    (model, plan, page, cite_as) = cover_of_seal(
        seals, citation(ROOT / "CITATION.cff"), "2026-11-26"
    )
    assert model == ("Model", "target: a/b commit c0")
    assert page == ("This page", "made on 2026-11-26 (UTC)")
    assert digest_of(seals[0]["plan"]) in plan[1]
    assert "2026-11-23" in plan[1]
    version = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))[
        "version"
    ]
    assert f"version {version}, commit c0ffee" in cite_as[1]


def test_other_audits_of_the_same_texts_or_model_are_counted():
    own = seal_of(PLAN)
    others = {
        "other model": seal_of(
            PLAN | {"checkpoints": {"target": {"hub": "a/c", "commit": "c1"}}}
        ),
        "other texts": seal_of(PLAN | {"files": {"texts.jsonl": "cd"}}),
        "neither": seal_of(PLAN | {"checkpoints": {}, "files": {"texts.jsonl": "ef"}}),
    }
    (told_once,) = repeats(own, others)
    assert told_once.startswith(
        "2 other audits in results/ with texts (1) or the model (1)"
    )
    assert repeats(own, {"neither": others["neither"]}) == []


BOOKS = {f"book {number}": prose(4000, f"b{number}") for number in range(4)}
PASSAGES = {name: " ".join(text.split()[1000:1400]) for name, text in BOOKS.items()}
AGAIN = {
    "whole and in passages": PASSAGES,
    "in other signs": {
        name: text.upper().replace(".", " ...") for name, text in BOOKS.items()
    },
    "under other names": {f"x {name}": text for name, text in PASSAGES.items()},
    "at other places, by names": {name: prose(400, f"other {name}") for name in BOOKS},
}


@pytest.mark.parametrize("name", AGAIN)
def test_an_audit_of_the_same_works_cut_otherwise_is_counted(name):
    own = seal_of(PLAN | {"marks": marks_of(BOOKS.items())})
    other = {"files": {"a": "1"}, "checkpoints": {}, "versions": {}}
    same = seal_of(other | {"marks": marks_of(AGAIN[name].items())})
    others = {f"other {name}": prose(4000, f"o{name}") for name in BOOKS}
    unlike = seal_of(other | {"marks": marks_of(others.items())})
    (told_once,) = repeats(own, {"same": same, "unlike": unlike})
    assert told_once.startswith("1 other audit in results/ with texts (1)")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Пришла весна, и город ожил, и люди вышли на улицы", "und"),
        ("Der Bär ging in den Wald und sah die Tiere, die auf dem Weg waren", "und"),
        ("The man went into the wood and saw that it was good", "en"),
        ("qrst vwx bcd", "en"),
    ],
)
def test_verses_in_english_are_no_control_of_another_language(texts, text, language):
    rows = []
    for n in range(4):
        rows.append(
            json.dumps(
                {"text": f"{text} {n}", "label": n % 2 or None, "document": str(n)}
            )
        )
    texts.write_text(
        "\n".join(rows).replace('"label": 1', '"label": 0'), encoding="utf-8"
    )
    study = loaded(texts=str(texts), model="smollm2-135m")
    assert study.benchmarks.entries["texts"].language == language
    assert any(run.benchmark == "famous_passages" for run in study.runs) == (
        language == "en"
    )


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        (
            [
                "Henry IV Part 1",
                "Henry IV Part 2",
                "Capital Volume II",
                "CH4 in the Arctic",
            ],
            [],
        ),
        (
            ["Walden, chapter 1", "book-ch04", "Part 3"],
            ["Walden, chapter 1", "book-ch04", "Part 3"],
        ),
    ],
)
def test_titles_of_works_are_no_parts(names, parts):
    assert names_of_parts((name, "") for name in names) == parts
    assert names_of_parts([("a", "Chapter 1. It"), ("b", "CHAPTER I. He")]) == [], (
        "as whole works begin"
    )
    assert names_of_parts(
        [("a", "Chapter 1. It"), ("b", "Chapter 4. He"), ("c", "Part II: x")]
    ) == ["b", "c"]


def test_the_digest_depends_on_content_and_not_on_order():
    expected = digest_of({"a": [1, 2], "b": 1})
    assert digest_of({"b": 1, "a": [1, 2]}) == expected
    assert digest_of({"a": [2, 1]}) != digest_of({"a": [1, 2]})
    assert changed({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == ["a.1.b"]


def test_two_files_of_one_name_are_both_sealed():
    alone = Path("/data/mine/books.jsonl")
    assert short_names([alone, alone]) == {"books.jsonl": alone}
    both = short_names(
        [alone, Path("/data/known/books.jsonl"), Path("/data/other.csv")]
    )
    assert sorted(both) == ["data/other.csv", "known/books.jsonl", "mine/books.jsonl"]
    assert short_names([]) == {}


def test_the_command_of_the_guide_prints_the_hash_of_each_seal(tmp_path):
    seals = seal_of(
        PLAN | {"settings": {"seed": 1, "name": "\u00e9"}},
        seal_of(PLAN),
        time="2026-11-24 10:00:00",
    )
    (tmp_path / "seals.json").write_text(json.dumps(seals))
    guide = (ROOT / "docs" / "audit_details.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"`python3 -c '(import hashlib[^']*)'", guide)
    command = [
        sys.executable,
        "-c",
        code.replace("\n", " "),
        str(tmp_path / "seals.json"),
    ]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert printed.splitlines() == [
        f"{seal['sealed']} {seal['sha256']}" for seal in seals
    ]


@pytest.mark.parametrize(
    "content",
    [
        "",
        '[{"sha256": ',
        "null",
        '"text"',
        "{}",
        "[1]",
        '[{"sha256": "ab"}]',
        '[{"plan": {}}]',
        "\x00",
    ],
)
def test_a_file_of_seals_of_another_shape_is_one_line_with_the_remedy(
    content, tmp_path
):
    path = tmp_path / "seals.json"
    assert read_seals(path) == []
    path.write_text(content)
    with pytest.raises(
        InputError, match=r"seals.json does not hold the seals .* delete it: .*\.$"
    ):
        read_seals(path)
    seals = seal_of(
        PLAN | {"files": {}, "checkpoints": {}, "versions": {"pretrace": "c1"}}
    )
    path.write_text(json.dumps(seals))
    assert read_seals(path) == seals


@pytest.fixture
def works(texts) -> Path:
    for folder, count in (("books", 2), ("drafts", 3)):
        Path(folder).mkdir()
        for number in range(count):
            text = prose(900, f"{folder}{number}")
            Path(folder, f"{folder} {number}.txt").write_text(text)
    return texts


ASKED = {"model": "davinci-002", "available": ["davinci-002"]}
"""The registry's model behind an API."""


def passages(name: str, change) -> list[dict]:
    """Twelve documents in question and twelve known ones of five passages of one
    vocabulary; `change` writes those of known ones."""
    rng = random.Random(name)
    rows = []
    for number in range(24):
        known = number >= 12
        for _ in range(5):
            words = rng.choices(WORDS_OF_ALL, k=40)
            text = " ".join(words)
            rows.append(
                {
                    "text": change(text) if known else text,
                    "label": 0 if known else None,
                    "document": f"work {number}",
                }
            )
    return rows


WORDS_OF_ALL = [f"{a}{b}" for a in ("al", "be", "co", "di") for b in ("m", "rt", "st")]


@pytest.mark.parametrize(
    ("change", "says", "repaired"),
    [
        (
            lambda text: text,
            ["no check fails (the lowest p is 0.", "before any score"],
            "",
        ),
        (
            lambda text: text.replace(" bert ", " [bert] "),
            ["the comparison is invalid, whatever the model scores", "look different"],
            "Take known texts of the same kind",
        ),
        (
            lambda text: text.replace(" be", "\nbe"),
            ["the comparison is invalid", "look different from the known ones (line"],
            "of both sides alike",
        ),
        (
            lambda text: text.replace(" alm ", " tusk "),
            ["the comparison is invalid", "a single word tells"],
            "Take known texts of the same kind",
        ),
    ],
    ids=["alike", "brackets", "lines", "a word"],
)
def test_what_texts_look_like_is_compared_before_any_score(
    texts, monkeypatch, change, says, repaired
):
    monkeypatch.delenv(CHECKED, raising=False)
    rows = passages("seed", change)
    texts.write_text("\n".join(map(json.dumps, rows)))
    study = loaded(texts=str(texts), model="smollm2-135m")
    told = check_user_files(Plan(study), CONFIG | {"model": "smollm2-135m"})
    [line] = [line for line in told if "fails" in line or "invalid" in line]
    assert f"{texts}: " in line
    for part in [*says, repaired]:
        assert part in line
    named = re.findall(r"work \d+", line)
    assert bool(named) == bool(repaired)


def test_an_outlying_work_and_what_it_costs_are_told_before_any_score(
    texts, monkeypatch
):
    monkeypatch.delenv(CHECKED, raising=False)
    rows = []
    for row in passages("seed", str):
        number = int(row["document"].split()[1])
        if number not in (10, 11, 22, 23):
            is_odd = number == 3
            text = "\u0442\u0435\u043a\u0441\u0442 " * 40 if is_odd else row["text"]
            rows.append(row | {"text": text})
    texts.write_text("\n".join(map(json.dumps, rows)))
    study = loaded(texts=str(texts), model="smollm2-135m")
    told = check_user_files(Plan(study), CONFIG | {"model": "smollm2-135m"})
    [line] = [line for line in told if "left out" in line]
    assert "1 document in question (work 3) and 0 known ones" in line
    assert "cannot be evidence. Have at least 9 documents" in line
    assert not any("no check fails" in line for line in told)


def test_a_model_behind_an_api_is_asked_to_go_on_in_whole_works(works):
    study = loaded(texts="books", known="drafts", **ASKED)
    [run] = study.runs
    assert run.given_back.to_json() == {"places": 20, "tries": 3}
    assert run.methods == []
    assert run.questions == []
    assert run.extraction is None
    assert list(study.artifacts) == ["given_back_by_chat"]
    plan = Plan(study)
    assert plan.is_sealed
    reads = plan.rendering("given_back_by_chat").reads
    assert [kind for kind, *_ in reads] == ["given_back", "benchmarks"]
    told = "\n".join(description(plan, CONFIG | ASKED))
    assert "davinci-002 give back of 2 texts of 2 documents" in told
    assert "PASSAGES OF ALL THESE WORKS ARE SENT to https://api.openai.com/v1" in told
    # five works with about sixteen places each, asked three times
    assert "0.04 million tokens are read and 0.03 million written" in told
    assert "nothing is asked beyond budget_usd=0" in told
    assert "no p can be as low as 0.05: it takes at least 5 known documents" in told


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"texts": "my texts.jsonl"}, "davinci-002 is behind an API and is asked to"),
        ({"texts": "books", "known": "drafts", "base": "smollm2-135m"},
         "base: davinci-002 is behind an API .*cannot give probabilities"),
        ({"texts": "books"}, "known: an audit compares the works"),
    ],
)  # fmt: skip
def test_what_a_model_behind_an_api_cannot_be_asked_is_refused(works, given, says):
    with pytest.raises(InputError, match=says):
        loaded(**ASKED, **given)


def test_a_plan_of_de_cop_says_how_many_books_it_compares_and_takes(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(CHECKED, raising=False)
    rows = []
    for number in range(7):
        about = {"label": int(number < 2), "document": f"b{number}", "title": "B"}
        rows.append(about | {"author": "A", "text": prose(30, f"b{number}")})
    text = "\n".join(json.dumps(row) for row in rows)
    Path("books.jsonl").write_text(text)
    api = FREE | {"endpoint": "chat"}
    run = {"model": "far", "benchmark": "books", "methods": ["de_cop"]}
    models = {"far": {"source": "openai", "api": api}}
    benchmarks = {
        "books": {"source": "local", "path": "books.jsonl", "question": "book"}
    }
    written = study(
        models=models,
        benchmarks=benchmarks,
        runs=[run | {"paraphraser": "paraphrase_by_far"}],
    )
    told = check_user_files(Plan(load_written(tmp_path, written)), CONFIG)
    [line] = [line for line in told if "DE-COP" in line]
    assert "2 in question (label 1) with 5 that the model cannot have read" in line
    assert line.endswith("A p takes 5 of each: add books")
