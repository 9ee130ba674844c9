"""Models of the hub: what is fetched, what is refused, what is recorded."""

import json

import pytest
import torch
from made_up_studies import CONFIG, FREE

from pretrace.models.checkpoint import read_checkpoint
from pretrace.models.entries import MODELS, AnswersModel, ApiModel, LocalModel
from pretrace.models.fetching import check_model, fetch_model
from pretrace.models.target import load_checkpoint
from pretrace.runtime.errors import InputError
from pretrace.runtime.hub import use_pins
from pretrace.runtime.schema import parse_entry
from pretrace.studies.keys import Config
from pretrace.studies.registries import Registry, override

ID = "EleutherAI/pythia-70m"
TITLE = "Adding `safetensors` variant of this model"


@pytest.fixture
def tiny(tiny_checkpoint):
    return tiny_checkpoint("gpt_neox").parent / "model"


def files(folder, *, without=()):
    contents = {}
    for path in folder.iterdir():
        if not path.name.endswith(tuple(without)):
            contents[path.name] = path.read_bytes()
    return contents


def test_a_model_is_recorded_with_its_commit_and_loads(hub, tiny, tmp_path):
    beside = dict.fromkeys(
        ("pytorch_model.bin", "modeling.py", "flax_model.msgpack", "README.md"),
        b"raise",
    )
    sha = hub.add("models", ID, files(tiny) | beside)
    checkpoint = fetch_model(ID, "main", tmp_path / "checkpoint.json")
    assert checkpoint == read_checkpoint(tmp_path / "checkpoint.json")
    assert checkpoint.source == f"hub:{ID}@{sha}"
    assert "model.safetensors" in checkpoint.files
    requested = {
        path.rpartition("/")[2] for _, path, _ in hub.asked if "/resolve/" in path
    }
    assert not requested & set(beside), "neither pickles nor code are fetched"
    target = load_checkpoint(
        tmp_path / "checkpoint.json", dtype="float32", device="cpu"
    )
    input_ids = torch.tensor([[1, 2, 3]])
    assert target.load()(input_ids=input_ids).logits.shape[-1] == target.vocabulary


def test_an_adapter_of_the_hub_is_refused_with_what_to_do(hub, tiny, tmp_path):
    adapter = {"adapter_config.json": b"{}", "adapter_model.safetensors": b""}
    hub.add("models", "anna/lora", adapter | files(tiny, without=["config.json"]))
    told = r"anna/lora is an adapter .*hf download anna/lora --local-dir lora, and"
    with pytest.raises(InputError, match=told):
        check_model("anna/lora", "main")
    with pytest.raises(InputError, match=told):
        fetch_model("anna/lora", "main", tmp_path / "checkpoint.json")


def test_whole_weights_beside_an_index_are_refused_before_they_are_fetched(
    hub, tiny, tmp_path
):
    index = {"weight_map": {"lm_head.weight": "model-00001-of-00001.safetensors"}}
    beside = {"model.safetensors.index.json": json.dumps(index).encode()}
    hub.add("models", ID, files(tiny) | beside)
    with pytest.raises(InputError, match="which weights count is not clear"):
        fetch_model(ID, "main", tmp_path / "checkpoint.json")
    assert not any(path.endswith("/model.safetensors") for _, path, _ in hub.asked)


def proposed(
    hub, number, content, *, title=TITLE, author="SFconvertbot", status="open"
):
    """The commit of a pull request to the model with these files."""
    hub.propose(ID, number, content, title=title, author=author, status=status)
    return hub.repositories["models", ID].revisions[f"refs/pr/{number}"]


PICKLE = {"pytorch_model.bin": b"pickle"}


def test_the_hubs_own_conversion_stands_for_a_revision_without_safetensors(
    hub, tiny, tmp_path
):
    hub.add("models", ID, files(tiny, without=[".safetensors"]) | PICKLE)
    converted = files(tiny) | PICKLE
    proposed(hub, 3, converted, author="somebody")
    proposed(hub, 4, converted, status="closed")
    with pytest.raises(
        InputError,
        match=r"no safetensors at 'main'.*no conversion by SFconvertbot.*Access: open",
    ):
        fetch_model(ID, "main", tmp_path / "checkpoint.json", access="open")
    assert not (tmp_path / "checkpoint.json").exists()
    sha = proposed(hub, 31, converted | {"README.md": b"later"})
    assert (
        fetch_model(ID, "main", tmp_path / "checkpoint.json").source
        == f"hub:{ID}@{sha}"
    )


@pytest.mark.parametrize(
    ("differs", "there"),
    [
        ("pytorch_model.bin", PICKLE),
        ("config.json", {"config.json": b"{}"}),
        (
            "pytorch_model-00002-of-00002.bin",
            {"pytorch_model-00002-of-00002.bin": b"more"},
        ),
    ],
)
def test_a_conversion_of_other_files_never_stands_for_a_revision(
    hub, tiny, tmp_path, differs, there
):
    """As of main, where the revision is a step of the training."""
    pickled = files(tiny, without=[".safetensors"]) | {
        "pytorch_model.bin": b"of the step"
    }
    hub.add("models", ID, pickled, revision="step90000")
    proposed(hub, 2, files(tiny) | {"pytorch_model.bin": b"of the step"} | there)
    with pytest.raises(
        InputError, match=rf"'step90000', and the conversion refs/pr/2 .* \({differs}\)"
    ):
        fetch_model(ID, "step90000", tmp_path / "checkpoint.json")
    assert not (tmp_path / "checkpoint.json").exists()
    sha = proposed(hub, 5, files(tiny) | {"pytorch_model.bin": b"of the step"})
    step = hub.repositories["models", ID].revisions["step90000"]
    (tmp_path / "pins.yaml").write_text(f"models: {{{ID}: {step}}}")
    with use_pins(str(tmp_path / "pins.yaml")):
        assert (
            fetch_model(ID, "step90000", tmp_path / "checkpoint.json").source
            == f"hub:{ID}@{sha}"
        )


def test_code_is_fetched_and_recorded_only_where_it_may_run(hub, tiny, tmp_path):
    hub.add("models", ID, files(tiny) | {"modeling.py": b"x = 1\n"})
    plain = fetch_model(ID, "main", tmp_path / "plain.json")
    coded = fetch_model(ID, "main", tmp_path / "coded.json", remote_code=True)
    assert (plain.remote_code, "modeling.py" in plain.files) == (False, False)
    assert (coded.remote_code, "modeling.py" in coded.files) == (True, True)
    assert read_checkpoint(tmp_path / "coded.json").remote_code
    assert plain.digest != coded.digest


def overridden(entries, **config):
    """The models of a registry after the configuration replaced sources."""
    parsed = {}
    for slug, entry in entries.items():
        parsed[slug] = parse_entry(slug, entry, MODELS, "m")
    models = Registry("models", parsed)
    override(
        models,
        Registry("benchmarks", {}),
        Registry("corpora", {}),
        Config(**CONFIG | config),
    )
    return models.entries


def test_configuration_gives_paths_and_says_what_is_available(tmp_path):
    (tmp_path / "answers.parquet").touch()
    api = FREE | {"endpoint": "chat"}
    given = {
        "claude": {"source": "answers", "unavailable": "retired"},
        "davinci": {"source": "openai", "api": api, "unavailable": "shut down"},
        "opt": {"source": "hub", "hub": "facebook/opt-6.7b", "title": "O"},
        "baichuan": {
            "source": "hub",
            "hub": "baichuan-inc/Baichuan2-7B-Base",
            "remote_code": True,
        },
    }
    paths = {"claude": str(tmp_path / "answers.parquet"), "opt": str(tmp_path)}
    entries = overridden(given, paths=paths, available=["davinci"])
    assert entries["claude"] == AnswersModel(source="answers", path=paths["claude"])
    assert entries["opt"] == LocalModel(source="local", path=paths["opt"], title="O")
    assert entries["davinci"].unavailable is None
    assert "trust_remote_code" in entries["baichuan"].unavailable
    with pytest.raises(
        InputError, match=r"paths\.opd: no entry has that name: did you mean .opt."
    ):
        overridden(given, paths={"opd": "x"})


def test_a_server_answers_for_a_model_with_weights():
    given = {
        "llama": {
            "source": "hub",
            "hub": "a/b",
            "tokenizer": "small",
            "title": "L",
            "resources": {"gpu": 4},
        },
        "claude": {"source": "answers", "unavailable": "retired"},
    }
    url = "http://node7:8000/v1"
    server = {"llama": {"base_url": url}}
    api = {
        "base_url": url,
        "model": "a/b",
        "endpoint": "completions",
        "echo": True,
        "top_logprobs": 20,
        "price": {"input": 0, "output": 0},
    }
    served = ApiModel(source="openai", tokenizer="small", title="L", api=api)
    assert overridden(given, servers=server)["llama"] == served
    assert overridden(given, servers=server, paths={"llama": "."})["llama"] == served, (
        "its name on the hub stays"
    )
    bare = {"bare": {"source": "hub", "hub": "a/b"}}
    assert not overridden(bare, servers={"bare": {"base_url": url}})["bare"].api.echo, (
        "its tokens are unknown"
    )
    with pytest.raises(
        InputError, match=r"servers: bare: api\.echo needs the key 'tokenizer'"
    ):
        overridden(bare, servers={"bare": {"base_url": url, "echo": True}})
    mistakes = {
        "claude": r"servers\.claude: .* weights of their own",
        "lama": r"servers\.lama: .* did you mean .llama.",
    }
    for slug, says in mistakes.items():
        with pytest.raises(InputError, match=says):
            overridden(given, servers={slug: {"base_url": url}})
    with pytest.raises(InputError, match="source: openai"):
        overridden({"llama": served.to_json(defaults=False)}, servers=server)


def test_what_is_trained_further_from_a_served_model_is_unavailable_and_nothing_else_is_refused():
    training = {
        "benchmark": "texts",
        "from": "llama",
        "window": 8,
        "learning_rate": 1e-3,
        "epochs": 1,
        "seed": 0,
    }
    given = {
        "llama": {"source": "hub", "hub": "a/b"},
        "further": {"source": "trained", "training": training},
    }
    entries = overridden(given, servers={"llama": {"base_url": "http://node7:8000/v1"}})
    assert "starts with the weights of llama" in entries["further"].unavailable
    assert entries["llama"].unavailable is None
    assert overridden(given)["further"].unavailable is None
