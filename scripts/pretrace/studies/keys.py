"""The keys of the files of config/: of a study, of the run-wide settings, and of the registries.

A key's type is what it is checked by, and the text under it is its description: in complaints, in the JSON schemas of
workflow/schemas/ and in the tables of config/README.md, which `pretrace.studies.documented` writes.
"""

from typing import Annotated, Any, Literal, Required

from pydantic import AfterValidator, Field

from pretrace.models.entries import Concurrency, KeyName, Url
from pretrace.runtime.schema import Count, Hub, Keys, Slug, Some, Unique

SHARED_FOLDERS = (
    "answers", "api", "benchmarks", "completions", "corpora", "downloads", "logs", "models", "passes", "prefixes",
    "tokenizers", "views",
)  # fmt: skip
"""The folders of results/ that studies share."""

Paper = Literal["dc_pdd", "con_recall", "surp", "de_cop"]
Selection = Some[list[Literal["held_out", "default", "best_on_test"]]]
Words = list[str]
Several = Some[list[str]]


class Server(Keys, total=False):
    """Your own OpenAI-compatible inference server for a model."""

    base_url: Required[Url]
    """The server's address, as http://node7:8000/v1."""
    model: Some[str]
    """The model's name there (default, its `hub`)."""
    endpoint: Literal["chat", "completions"]
    """`chat`: the server applies the model's chat template, as a local job does (default, `completions`)."""
    echo: bool
    """The server returns log-probabilities of the prompt. vLLM's completions do, llama.cpp's server does not; without
    them only methods that ask questions run (default, true for `completions`)."""
    key_env: KeyName
    """The NAME of the environment variable that holds the server's key (default, no key)."""
    concurrency: Concurrency
    """Requests of one job that are in flight at once (default, 8)."""


class Config(Keys, total=False):
    """Which study runs, and run-wide settings."""

    study: Required[str]
    """A name under `studies/`, or the path of a study file."""
    texts: Some[str]
    """Of the study `audit`: your file of texts. [docs/audit.md](../docs/audit.md) explains the three keys."""
    model: Some[str]
    """Of the study `audit`: the model, a name of models.yaml, a folder with a checkpoint, or an id of the Hugging Face
    hub."""
    known: Some[str]
    """Of the study `audit`: a second file, with texts that the model cannot have read (default, those with label 0)."""
    seed: Required[Annotated[int, Field(ge=0)]]
    """Seed of folds and samples."""
    resamples: Required[Annotated[int, Field(ge=100)]]
    """Bootstrap resamples behind every interval and test, and relabellings behind permutation tests."""
    threads: Required[Count]
    """Torch threads of one forward pass. A bf16 result depends on them, so they are set here and not by `--cores`."""
    batch_tokens: Required[Annotated[int, Field(ge=64)]]
    """Tokens in one batch of a forward pass. The number is halved when memory runs out, and the log says so."""
    device: Required[Annotated[str, Field(pattern="^(auto|cpu|cuda|cuda:[0-9]+)$")]]
    """`auto`, `cpu`, `cuda` or `cuda:N`."""
    attempts: Required[Annotated[int, Field(ge=1, le=10)]]
    """Attempts for a download that fails."""
    nodes_download: bool
    """The compute nodes of a cluster have a network: each fetches files of corpora by itself (default, false; the
    machine that starts the workflow fetches them, as many at once as the profile's `local-cores`)."""
    budget_usd: Required[Annotated[float, Field(ge=0)]]
    """US dollars that all models behind APIs together may ever cost. The costs recorded in `results/api/` count.
    With 0, only free models are asked."""
    paths: dict[str, Some[str]]
    """Slug of a model, benchmark or corpus -> your own file or folder, which is read in place of a download: a
    checkpoint's folder, answers, or a data set's files under their own names. Relative to the working directory."""
    servers: dict[str, Server]
    """Slug of a model -> your own inference server that answers for it, with its `base_url`:
    [docs/clusters.md](../docs/clusters.md#large-models-behind-your-own-server)."""
    revisions: Some[str]
    """A file with commits that replace the `revision` of entries: [below](#pinned-commits)."""
    available: Unique[str]
    """Slugs of models that `models.yaml` marks as unavailable but that you can ask."""
    trust_remote_code: bool
    """`true` lets models with `remote_code` run their own code. Without it these models are unavailable."""
    papers: Unique[Paper]
    """Run a part of the study: only the artifacts of these papers, as `[surp]`, and only the runs that they need.
    Artifacts of no paper show the results of these runs."""
    only: Unique[str]
    """Run a part of the study: only these artifacts, as `[surp_table1]`."""
    max_parameters: Annotated[float, Field(gt=0)]
    """Run a part of the study: only models with at most this many parameters, as 7e9."""
    gpu_flops: Annotated[float, Field(gt=0)]
    """Floating-point operations per second that a GPU sustains (an A100 about a third of its 3e14). `snakemake
    --cores 1 compute_estimate` computes GPU hours from it."""


Delta = Annotated[float, Field(ge=-1, le=1)]


class Deltas(Keys, total=False):
    """The number that `de_cop` adds to the probability of each letter."""

    A: Required[Delta]
    B: Required[Delta]
    C: Required[Delta]
    D: Required[Delta]


class Windows(Keys, total=False):
    """Which windows of texts `extraction` measures, in tokens of the model, and which of them are extractable."""

    suffix: Count
    """Tokens of a window, which the model would have to emit (default, 20: small models give back 20 tokens of what
    they know by heart, and not 50; with `prefix`, 50, as in the literature)."""
    context: Count
    """The least number of tokens before a window; a start token is one of them. The model always reads all that there
    are, as many as fit into its context (default, 20). Not with `prefix`."""
    prefix: Count
    """Cut the texts: the model reads only this many tokens before a window, and each window is a forward pass of its
    own. A start token is one of them. 50 is usual (default, all tokens before a window are read)."""
    stride: Count
    """Tokens from the beginning of a window to that of the next (default, 1: a window begins at every token; with
    `prefix`, as many as the suffix)."""
    threshold: Annotated[float, Field(gt=0, lt=1)]
    """A window is extractable above this probability (default, 0.001)."""
    tries: Count
    """Number of samples that should contain the suffix at least once, with a probability of one half (default, 100)."""


class WrittenRun(Keys, total=False):
    """Which model reads which benchmark, and which methods score it."""

    id: Some[str]
    """A name for the run. Panels can give it in place of model, benchmark, start token and references (default, no
    name)."""
    serves: Annotated[Several, Field(alias="for")]
    """The artifacts that need this run. If `papers` or `only` select none of them, the run is left out (default,
    the artifacts that show its model and benchmark)."""
    model: Required[str | Several]
    """The model; a list makes one run for each."""
    benchmark: Required[str | Several]
    """The benchmark; a list makes one run for each."""
    subsets: Several
    """Only these subsets of the benchmark (default, all)."""
    lengths: Some[list[Count]]
    """Only these lengths in words (default, all)."""
    corpus: str
    """Short for `corpora` with one entry."""
    corpora: Words
    """Reference corpora for `dc_pdd`. Each has its own rows; tables show the first (default, none)."""
    references: Words
    """Reference models for `ref` (default, none)."""
    shadows: Words
    """Models trained on this benchmark, whose [shadow models](#trained-models) `rmia` compares with (default,
    none)."""
    start_token: Some[str]
    """`none`; `tokenizer`: the token that the tokenizer puts first (a BOS token for Llama and OPT, none for
    Pythia); or a token's text, as `<|endoftext|>` (default, `tokenizer`)."""
    neighbours: Words
    """Views that `neighbor` uses as neighbours, as `word_swaps-25` (default, none)."""
    continuations: Words
    """Views in which a model continues the first half of each text, for `samia` and `ngram_coverage`:
    `continuations_by_MODEL-10` has ten samples by MODEL, usually the run's own model (default, none)."""
    inputs: dict[str, Words]
    """Further inputs of methods, as `{KIND: [NAME]}`, for kinds without a key of their own (default, none)."""
    inner_start: bool
    """Repeat the start token between a prefix and the text (default, false)."""
    views: Several
    """Views: how the texts are changed before the model reads them (default, `[original]`)."""
    draws: Some[list[Annotated[int, Field(ge=0)]]]
    """Draws of shots for methods with a prefix, by number (default, the first draw and those of all placebos)."""
    paraphraser: str
    """The view whose texts are the wrong options of questions (default, `paraphrase`; for collected answers, all
    paraphrasers in the file)."""
    calibration: Deltas
    """For models with `source: answers`: the number that `de_cop` adds to the probability of each letter, `{A: ..,
    B: .., C: .., D: ..}`, from those who collected the answers. These numbers hold for one prompt and one way to
    read the letters. A model that is asked here is therefore calibrated on its own answers (default, none)."""
    calibrate_on: str
    """The benchmark whose known non-members (label 0) calibrate this run. The same model must read it in another
    run. Its non-members give `de_cop`'s calibration and the p-values of unlabelled texts (default, the run's own
    non-members; `de_cop` is then cross-fitted on them, and marked)."""
    methods: Some[list[str | Annotated[dict[str, Any], Field(min_length=1, max_length=1)]]]
    """Ids of methods, or maps that narrow a grid or set a switch: `- dc_pdd: {a: [0.01], first_occurrence:
    [false]}` (default, all methods whose inputs the run has; the report lists the others with the reason; for a
    run with `extraction`, none)."""
    extraction: Windows
    """Measure [which passages the model gives back](#extraction): `{}`, or the keys below (default, do not)."""


class WrittenPanel(Keys, total=False):
    """The contents of a column or panel. Lists make one panel for each combination; the key written first varies
    slowest."""

    run: str
    """The id of runs. The panel shows their models and benchmarks (only those named by `model` or `benchmark`, if
    given), with their first start token and references. A panel may be just this id as text."""
    model: str | Several
    """A model, or several."""
    benchmark: str | Several
    """A benchmark, or several."""
    subset: str | Several
    """A subset, or several; `""` is all subsets together, `"*"` makes one panel for each (default, each)."""
    length: Count | Some[list[Count]]
    """A length in words, or several (default, each length)."""
    start_token: str
    """The start token (default, that of the first run of the model and benchmark)."""
    references: Words
    """Corpora and reference models (default, the first of each kind that the runs name)."""
    label: str
    """The panel's heading."""
    settings: dict[str, str]
    """For `ablation_bars`: label -> setting, for this panel in place of `options.settings`."""
    redraws: Count
    """For `corpus_test`: redraw the labels this often and show how often p is at most 0.05, which an exact test keeps
    to 5 % (default, do not)."""


def _placed(panel: dict[str, Any]) -> dict[str, Any]:
    if "run" not in panel and not {"model", "benchmark"} <= panel.keys():
        raise ValueError("missing key 'model' and 'benchmark' or 'run'")
    return panel


Panels = Some[list[str | Annotated[WrittenPanel, AfterValidator(_placed)]]]


class ArtifactKeys(Keys, total=False):
    """Keys that artifacts.yaml gives an artifact and a study can override."""

    caption: str
    """The caption, printed under it."""
    selection: Selection
    """How hyperparameters are chosen. A table of methods shows all of these (default, all three). A figure shows
    the first; score curves cannot show `held_out`, because each fold has its own setting."""
    methods: Several
    """Only these methods, in this order."""
    options: dict[str, Any]
    """Options of the renderer; docs/reference.md lists them."""
    unavailable: str
    """Why it cannot be rendered; printed in its place."""


class WrittenArtifact(ArtifactKeys, total=False):
    """Keys of an artifact in a study."""

    panels: Panels
    """The columns or panels (default, one for every run)."""
    title: str
    """The heading."""
    inferred: str
    """Settings that the paper does not state and that are guessed here; printed under it."""


def _free(name: str) -> str:
    if name in SHARED_FOLDERS:
        raise ValueError(f"{name!r} is reserved; choose another")
    return name


class StudyFile(Keys, total=False):
    """What a study runs: entries of the registries and entries of its own."""

    study: Required[Annotated[Slug, AfterValidator(_free)]]
    """The study's name and its folder in `results/`. Names of shared folders there, as `models` and `api`, are
    refused."""
    title: str
    """The report's heading."""
    minutes: Annotated[float, Field(gt=0)]
    """Measured wall time from an empty results/ on 2 cores; printed at the start."""
    models: dict[str, Any]
    """The study's own models, with the keys of models.yaml."""
    benchmarks: dict[str, Any]
    """The study's own benchmarks, with the keys of benchmarks.yaml."""
    corpora: dict[str, Any]
    """The study's own corpora, with the keys of corpora.yaml."""
    runs: Required[Some[list[WrittenRun]]]
    """The runs, with the keys below."""
    positive_control: bool
    """An audit of a model of the hub, of a wheel or of a folder also scores passages that such models surely read: the
    benchmark `famous_passages` (default, true if the texts are English)."""
    artifacts: Words | dict[str, WrittenArtifact | Panels | None]
    """Slugs of `artifacts.yaml`, each with one panel for every run; or a map from slug to a list of panels, or to
    the keys below (default, `headline`, `results_auc` and `results_tpr`; `de_cop_table1` and `de_cop_table3` if
    runs only ask questions)."""


class ArtifactEntry(ArtifactKeys, total=False):
    """A table or figure."""

    title: Required[str]
    """The heading in the report."""
    renderer: Required[str]
    """The renderer, a table or figure of `scripts/pretrace/render/`."""
    metric: str
    """The metric that it shows (default, `auc`)."""
    evaluation_set: Literal["all", "without_prefixes", "balanced"]
    """The texts that are evaluated (default, `all` if the slug begins with `dc_pdd_`, `surp_` or `de_cop_`,
    otherwise `without_prefixes`)."""
    baseline: str
    """The method to compare with: a star marks a significant gain over it."""


class Download(Keys, total=False):
    """A file of the Python package index."""

    package: Required[str]
    """The project's name on the index."""
    version: Required[str]
    """The exact version."""
    file: Required[Annotated[str, Field(pattern="^[A-Za-z0-9._+-]+$")]]
    """The file's name on the index."""
    sha256: Required[Annotated[str, Field(pattern="^[0-9a-f]{64}$")]]
    """SHA-256 of the file in hex."""
    licence: str
    """The file's licence."""


Commits = dict[Hub, Annotated[str, Field(pattern=r"^([0-9a-f]{40}|(?![0-9a-f]+$)(?!(main|master)$)\S+)$")]]


class Revisions(Keys, total=False):
    """Commits in place of the revisions of the registries, as results/{study}/revisions.yaml after a run."""

    models: Commits
    """Models of the hub, as EleutherAI/pythia-70m, and 40 hex digits of a commit, or a tag."""
    datasets: Commits
    """Data sets of the hub, as swj0419/WikiMIA, and 40 hex digits of a commit, or a tag."""
