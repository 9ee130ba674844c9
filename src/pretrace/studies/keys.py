"""The keys of the files of config/: of a study, of the run-wide settings, and of the
registries.

A key's type checks it, and the text under it is its description: in complaints, in the
JSON schemas of workflow/schemas/ and in the tables of docs/keys.md, which
`.ci/write_keys.py` writes.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_validator,
)

from pretrace.models.entries import ApiUrl, Concurrency, KeyName
from pretrace.render.catalogue import Options
from pretrace.runtime.names import check_study_name
from pretrace.runtime.schema import (
    Count,
    Hub,
    Keys,
    Language,
    Maybe,
    NotNegative,
    Positive,
    Some,
    Titled,
    Unique,
    Whole,
)

PaperId = Literal["dc_pdd", "con_recall", "surp", "de_cop"]
Selection = Some[list[Literal["held_out", "default", "best_on_test"]]]
EvaluationSetName = Literal["all", "without_prefixes", "balanced"]
Names = list[str]
Several = Some[Unique[str]]


class Server(Keys):
    """Your own OpenAI-compatible inference server for a model."""

    base_url: ApiUrl
    """The server's address, as http://node7:8000/v1."""
    model: Maybe[Some[str]] = None
    """The model's name there (default, its `hub`)."""
    endpoint: Literal["chat", "completions"] = "completions"
    """`chat`: the server applies the model's chat template, as a local job does."""
    echo: Maybe[bool] = None
    """The server returns log-probabilities of the prompt. vLLM's completions do,
    llama.cpp's server does not; without them only methods that ask questions run
    (default, true for `completions` if the entry has a `tokenizer`)."""
    top40: Maybe[Literal["prompt_logprobs"]] = None
    """How the server gives the 40 most likely tokens at each place of a text, as
    `top40` of an API's entry (default, it does not)."""
    key_env: Maybe[KeyName] = None
    """The NAME of the environment variable that holds the server's key (default, no
    key)."""
    concurrency: Concurrency = 8
    """Requests of one job that are in flight at once."""


class Config(Keys):
    """Which study runs, and run-wide settings; the defaults are those of
    config/config.yaml."""

    study: str
    """A name under `studies/`, or the path of a study file."""
    texts: Maybe[Some[str]] = None
    """Of the study `audit`: your works (a folder, or a document), or your file of
    passages. [docs/audit.md](audit.md) explains these keys."""
    model: Maybe[Some[str]] = None
    """Of the study `audit`: the model, a name of models.yaml, a folder with a
    checkpoint or a LoRA adapter, or an id of the Hugging Face hub."""
    base: Maybe[Some[str]] = None
    """Of the study `audit`: the model that `model` was tuned from, named in the same
    ways. Each token's likelihood is compared with the one that it has there (default,
    the base that an adapter names; of other models, none)."""
    known: Maybe[Some[str]] = None
    """Of the study `audit`: a second folder or file, with texts that the model cannot
    have read (default, those with label 0)."""
    language: Maybe[Language] = None
    """Of the study `audit`: the language of the texts, an ISO 639-1 code (default, told
    by their script: Chinese, Japanese, Thai, Lao, Khmer or Burmese, else English)."""
    unreadable: Maybe[Literal["stop", "leave_out"]] = None
    """Of the study `audit`: what is done if works cannot be read: `stop` and name all
    of them (default), or `leave_out` and go on with the others."""
    whole_works: Maybe[bool] = None
    """Of the study `audit`: read whole works, for what the model gives back of them
    (default, true). This takes most of the time of an audit. The answer does not need
    it and comes first."""
    seed: Whole = 0
    """Seed of folds and samples."""
    resamples: Annotated[int, Field(ge=100)] = 1000
    """Bootstrap resamples behind every interval and test, and relabellings behind
    permutation tests."""
    threads: Annotated[int, Field(ge=1, le=1024)] = 2
    """Torch threads of one forward pass. A bf16 result depends on them, so they are set
    here and not by `--cores`."""
    batch_tokens: Annotated[int, Field(ge=64)] | Literal["auto"] = "auto"
    """Tokens in one batch of a forward pass. `auto`: 8,192 on a GPU, 2,048 elsewhere.
    The number is halved when memory runs out, and the log says so."""
    device: Annotated[str, Field(pattern="^(auto|cpu|cuda|cuda:[0-9]+)$")] = "auto"
    """`auto`, `cpu`, `cuda` or `cuda:N`."""
    max_runtime: Count = 1440
    """The most minutes that a job of passes or questions asks a scheduler for: the time
    limit of your cluster's partition. A job that needs more goes on in its next
    attempt."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    """Attempts for a download that fails."""
    nodes_download: bool = False
    """The compute nodes of a cluster have a network: each fetches files of corpora by
    itself (default, false; the machine that starts the workflow fetches them, as many
    at once as the profile's `local-cores`)."""
    budget_usd: NotNegative = 0
    """US dollars that all models behind APIs together may ever cost. The costs recorded
    in `results/api/` count. With 0, only free models are asked."""
    paths: dict[str, Some[str]] = {}
    """Slug of a model, benchmark or corpus -> your own file or folder, which is read in
    place of a download: a checkpoint's folder, answers, or a data set's files under
    their own names. Relative to the working directory."""
    servers: dict[str, Server] = {}
    """Slug of a model -> your own inference server that answers for it, with its
    `base_url`: [docs/clusters.md](clusters.md#large-models-behind-your-own-server)."""
    revisions: Maybe[Some[str]] = None
    """A file with commits that replace the `revision` of entries:
    [below](#pinned-commits)."""
    available: Unique[str] = []
    """Slugs of models and benchmarks whose entries say `unavailable` but that you can
    ask or fetch."""
    without: Unique[str] = []
    """Slugs of models, benchmarks and corpora to leave out as if they were unavailable,
    as one that cannot be fetched today: runs lose what needs them, and go on."""
    trust_remote_code: bool = False
    """`true` lets models with `remote_code` run their own code. Without it these models
    are unavailable."""
    papers: Unique[PaperId] = []
    """Run a part of the study: only the artifacts of these papers, as `[surp]`, and
    only the runs that they need. Artifacts of no paper show the results of these
    runs."""
    only: Unique[str] = []
    """Run a part of the study: only these artifacts, as `[surp_table1]`, or those of an
    ablation, as `[shots]`."""
    max_parameters: Maybe[Positive] = None
    """Run a part of the study: only models with at most this many parameters, as
    7e9."""


Delta = Annotated[float, Field(ge=-1, le=1)]


class Deltas(Keys):
    """The number that `de_cop` adds to the probability of each letter."""

    A: Delta
    B: Delta
    C: Delta
    D: Delta


class Extraction(Keys):
    """Which windows of texts `extraction` measures, in tokens of the model, and which
    of them are extractable."""

    suffix: Count = 20
    """Tokens of a window, which the model would have to emit (small models give back 20
    tokens of what they know by heart, and not 50)."""
    context: Count = 20
    """The least number of tokens before a window; a start token is one of them. The
    model always reads all that there are, as many as fit into its context."""
    stride: Count = 1
    """Tokens from the beginning of a window to the beginning of the next (1: a window
    begins at every token)."""
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.001
    """A window is extractable above this probability."""
    tries: Count = 100
    """Number of samples that should contain the suffix at least once, with a
    probability of one half."""


class GivenBack(Keys):
    """From how many places in each work a model behind an API is asked to go on."""

    places: Count = 20
    """Places in a work, at most: where an audit's passages of 64 words begin."""
    tries: Count = 3
    """Times that a place is asked, until words are given back or the model refuses."""


class Listed(Keys):
    """Keys that may be lists, for a product of their values: the key that is written
    first varies slowest."""

    _order: tuple[str, ...] = PrivateAttr(())

    @model_validator(mode="wrap")
    @classmethod
    def _remember_order(
        cls, value: Any, handler: ModelWrapValidatorHandler[Self]
    ) -> Self:
        made = handler(value)
        if isinstance(value, dict):
            made._order = tuple(value)
        return made

    def expand(self, keys: Sequence[str]) -> list[Self]:
        """Return a copy for each combination of the values that are listed under
        `keys`."""
        copies = [self]
        for key in self._order:
            values = getattr(self, key) if key in keys else None
            if not isinstance(values, list):
                continue
            expanded = []
            for copy in copies:
                for value in values:
                    expanded.append(copy.model_copy(update={key: value}))
            copies = expanded
        return copies


class RunKeys(Keys):
    """Keys of a run that are the same in a study file and in a resolved run."""

    id: Some[str] = ""
    """A name for the run. Panels can give it in place of model, benchmark, start token
    and references (default, no name)."""
    subsets: Maybe[Several] = None
    """Only these subsets of the benchmark (default, all)."""
    lengths: Maybe[Some[list[Count]]] = None
    """Only these lengths in words (default, all)."""
    start_token: Some[str] = "tokenizer"
    """`none`; `tokenizer`: the token that the tokenizer puts first (a BOS token for
    Llama and OPT, none for Pythia); or a token's text, as `<|endoftext|>`."""
    inner_start: bool = False
    """Repeat the start token between a prefix and the text."""
    views: Several = ["original"]
    """Views: how the texts are changed before the model reads them."""
    references: Names = []
    """Reference models for `ref` (default, none)."""
    neighbours: Names = []
    """Views that `neighbor` uses as neighbours, as `neighbours_by_MODEL-25` (default,
    none)."""
    shadows: Names = []
    """Models trained on this benchmark, whose [shadow models](#trained-models) `rmia`
    compares with (default, none)."""
    inputs: dict[str, Names] = {}
    """Further inputs of methods, as `{KIND: [NAME]}`, for kinds without a key of their
    own (default, none)."""
    calibrate_on: Maybe[str] = None
    """The benchmark whose known non-members (label 0) calibrate this run. The same
    model must read it in another run. Its non-members give `de_cop`'s calibration and
    the p-values of unlabelled texts (default, the run's own non-members; `de_cop` is
    then cross-fitted on them, and marked)."""
    calibration: Maybe[Deltas] = None
    """For models with `source: answers`: the number that `de_cop` adds to the
    probability of each letter, `{A: .., B: .., C: .., D: ..}`, from those who collected
    the answers. These numbers hold for one prompt and one way to read the letters. A
    model that is asked here is therefore calibrated on its own answers (default,
    none)."""


class WrittenRun(RunKeys, Listed):
    """Which model reads which benchmark, and which methods score it."""

    model: str | Several
    """The model; a list makes one run for each."""
    benchmark: str | Several
    """The benchmark; a list makes one run for each."""
    serves: Annotated[Several, Field(alias="for")] = []
    """The artifacts that need this run. If `papers` or `only` select none of them, the
    run is left out (default, the artifacts that show its model and benchmark)."""
    corpora: Names = []
    """Reference corpora for `dc_pdd`. Each has its own rows; tables show the first
    (default, none)."""
    draws: Maybe[Some[list[Whole]]] = None
    """Draws of shots for methods with a prefix, by number (default, the first draw and
    all placebos')."""
    paraphraser: Maybe[str] = None
    """The view whose texts are the wrong options of questions (default, `paraphrase`;
    for collected answers, all paraphrasers in the file)."""
    methods: Maybe[
        Some[list[str | Annotated[dict[str, Any], Field(min_length=1, max_length=1)]]]
    ] = None
    """Ids of methods, or maps that narrow a grid or set a switch: `- dc_pdd: {a:
    [0.01], first_occurrence: [false]}` (default, all methods whose inputs the run has;
    the report lists the others with the reason; for a run with `extraction`, none)."""
    given_back: Maybe[GivenBack] = None
    """For models with `source: openai`: measure how much of whole works the model
    [gives back](#given-back) when it is asked to go on: `{}`, or the keys below
    (default, do not)."""
    extraction: Maybe[Extraction] = None
    """Measure [which passages the model gives back](#extraction): `{}`, or the keys
    below (default, do not)."""


class WrittenPanel(Listed):
    """The contents of a column or panel. Lists make one panel for each combination; the
    key written first varies slowest."""

    run: Maybe[str] = None
    """The id of runs. The panel shows their models and benchmarks (only those named by
    `model` or `benchmark`, if given), with their first start token and references. A
    panel may be just this id as text."""
    model: Maybe[str | Several] = None
    """A model, or several."""
    benchmark: Maybe[str | Several] = None
    """A benchmark, or several."""
    subset: Maybe[str | Several] = None
    """A subset, or several; `""` is all subsets together, `"*"` makes one panel for
    each (default, each)."""
    length: Maybe[Count | Some[list[Count]]] = None
    """A length in words, or several (default, each length)."""
    start_token: Maybe[str] = None
    """The start token (default, as in the first run of the model and benchmark)."""
    references: Maybe[Names] = None
    """Corpora and reference models (default, the first of each kind that the runs
    name)."""
    label: Maybe[str] = None
    """The panel's heading."""
    settings: Maybe[dict[str, str]] = None
    """For `ablation_bars`: label -> setting, for this panel in place of
    `options.settings`."""

    @model_validator(mode="after")
    def _placed(self) -> Self:
        if self.run is None and (self.model is None or self.benchmark is None):
            raise ValueError("missing key 'model' and 'benchmark' or 'run'")
        return self


Panels = Some[list[str | WrittenPanel]]


class WrittenArtifact(Keys):
    """A table or figure. A study overrides the keys that artifacts.yaml gives, or
    defines one of its own."""

    title: Maybe[str] = None
    """The heading. Needed in artifacts.yaml."""
    renderer: Maybe[str] = None
    """The renderer, a table or figure of `src/pretrace/render/`. Needed in
    artifacts.yaml."""
    caption: Maybe[str] = None
    """The caption, printed under it."""
    metric: Maybe[str] = None
    """The metric that it shows (default, `auc`)."""
    evaluation_set: Maybe[EvaluationSetName] = None
    """The texts that are evaluated (default, `all` if the slug begins with `dc_pdd_`,
    `surp_` or `de_cop_`, otherwise `without_prefixes`)."""
    selection: Maybe[Selection] = None
    """How hyperparameters are chosen. A table of methods shows all of these (default,
    all three). A figure shows the first; score curves cannot show `held_out`, because
    each fold has its own setting."""
    methods: Maybe[Several] = None
    """Only these methods, in this order."""
    baseline: Maybe[str] = None
    """The method to compare with: a star marks a significant gain over it."""
    options: Options = Options()
    """Options of the renderer; docs/reference.md lists them."""
    panels: Maybe[Panels] = None
    """The columns or panels (default, one for every run)."""
    inferred: Maybe[str] = None
    """Settings that the paper does not state and that are guessed here; printed under
    it."""
    limits: Maybe[str] = None
    """What this study's models or texts cannot show of it; printed under it."""
    unavailable: Maybe[str] = None
    """Why it cannot be rendered; printed in its place."""
    ablations: Maybe[Unique[str]] = None
    """What it varies, as `[shots]`. `only` takes these names too, for all artifacts
    that have one."""


class StudyFile(Keys):
    """What a study runs: entries of the registries and entries of its own."""

    study: Annotated[Titled, AfterValidator(check_study_name)]
    """The study's name and its folder in `results/`, of at most 100 bytes in UTF-8.
    Names of shared folders there, as `models` and `api`, are refused."""
    title: Maybe[str] = None
    """The report's heading."""
    first: Unique[str] = []
    """Artifacts that are made before all others (default, none)."""
    minutes: Maybe[Positive] = None
    """Measured wall time from an empty results/ on 2 cores; printed at the start."""
    models: dict[str, Any] = {}
    """The study's own models, with the keys of models.yaml."""
    benchmarks: dict[str, Any] = {}
    """The study's own benchmarks, with the keys of benchmarks.yaml."""
    corpora: dict[str, Any] = {}
    """The study's own corpora, with the keys of corpora.yaml."""
    runs: Some[list[WrittenRun]]
    """The runs, with the keys below."""
    artifacts: Maybe[Names | dict[str, WrittenArtifact | Panels | None]] = None
    """Slugs of `artifacts.yaml`, each with one panel for every run; or a map from slug
    to a list of panels, or to the keys below, and then also artifacts of the study's
    own (default, `headline`, `results_auc` and `results_tpr`; `de_cop_table1` and
    `de_cop_table3` if runs only ask questions)."""


class Download(Keys):
    """A file of the Python package index."""

    package: str
    """The project's name on the index."""
    version: str
    """The exact version."""
    file: Annotated[str, Field(pattern="^[A-Za-z0-9._+-]+$")]
    """The file's name on the index."""
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """SHA-256 of the file in hex."""
    licence: Maybe[str] = None
    """The file's licence."""


Commits = dict[
    Hub,
    Annotated[
        str, Field(pattern=r"^([0-9a-f]{40}|(?![0-9a-f]+$)(?!(main|master)$)\S+)$")
    ],
]


class Revisions(Keys):
    """Commits in place of the revisions of the registries, as
    results/{study}/revisions.yaml after a run."""

    models: Commits = {}
    """Models of the hub, as EleutherAI/pythia-70m, and 40 hex digits of a commit, or a
    tag."""
    datasets: Commits = {}
    """Data sets of the hub, as swj0419/WikiMIA, and 40 hex digits of a commit, or a
    tag."""
