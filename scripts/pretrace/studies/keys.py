"""What the files of config/ may say: the keys of a study, of the run-wide settings, and of the registries.

A key's type is what it is checked by, and the text under it is its description: in complaints, in the JSON schemas of
workflow/schemas/ and in the tables of config/README.md, which `pretrace.studies.documented` writes.
"""

from typing import Annotated, Any, Literal, Required

from pydantic import AfterValidator, Field

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


class Config(Keys, total=False):
    """Which study runs, and run-wide settings."""

    study: Required[str]
    """A name under `studies/`, or the path of a study file."""
    seed: Required[Annotated[int, Field(ge=0)]]
    """Seed of folds and samples."""
    resamples: Required[Annotated[int, Field(ge=100)]]
    """Bootstrap resamples behind every interval and test, and relabellings behind permutation tests."""
    threads: Required[Count]
    """Torch threads of one forward pass; part of a bf16 result, so it is configuration and never what
    `--cores` happens to be."""
    batch_tokens: Required[Annotated[int, Field(ge=64)]]
    """Tokens in one batch of a forward pass; halved by itself when memory runs out, and the log says so."""
    device: Required[Annotated[str, Field(pattern="^(auto|cpu|cuda|cuda:[0-9]+)$")]]
    """`auto`, `cpu`, `cuda` or `cuda:N`."""
    attempts: Required[Annotated[int, Field(ge=1, le=10)]]
    """How often a broken download is tried."""
    budget_usd: Required[Annotated[float, Field(ge=0)]]
    """US dollars that all models behind APIs together may ever cost, counted from what `results/api/` has
    stored; 0: only free ones are asked."""
    paths: dict[str, Some[str]]
    """Slug of a model, benchmark or corpus to a file or folder of your own that is used in place of what
    would be fetched: a checkpoint's folder, answers, a data set's files under their own names; relative to
    the working directory."""
    revisions: Some[str]
    """A file of commits that are read in place of the entries' `revision`: [below](#pinned-commits)."""
    available: Unique[str]
    """Slugs of models that `models.yaml` calls unavailable and that you can ask all the same."""
    trust_remote_code: bool
    """`true` lets models with `remote_code` run the code that they bring; without it they are unavailable."""
    papers: Unique[Paper]
    """A part of the study: only the artifacts of these papers, as `[surp]`; those of no paper show what is
    left. Only the runs that these need are run."""
    only: Unique[str]
    """A part of the study: only these artifacts, as `[surp_table1]`."""
    max_parameters: Annotated[float, Field(gt=0)]
    """A part of the study: no model with more parameters, as 7e9."""
    gpu_flops: Annotated[float, Field(gt=0)]
    """Floating-point operations that a GPU sustains per second (an A100 about a third of its 3e14);
    `snakemake --cores 1 compute_estimate` computes GPU hours from it."""


Delta = Annotated[float, Field(ge=-1, le=1)]


class Deltas(Keys, total=False):
    """What `de_cop` adds to the probability of each letter."""

    A: Required[Delta]
    B: Required[Delta]
    C: Required[Delta]
    D: Required[Delta]


class WrittenRun(Keys, total=False):
    """Which model reads which benchmark, and which methods score it."""

    id: Some[str]
    """What panels can name in place of model, benchmark, start token and references (default, none)."""
    serves: Annotated[Several, Field(alias="for")]
    """The artifacts that the run serves; where `papers` or `only` select none of them, it is left out
    (default, those that show its model and benchmark)."""
    model: Required[str | Several]
    """Who reads; a list is a run of each."""
    benchmark: Required[str | Several]
    """What is read; a list is a run of each."""
    subsets: Several
    """Only these subsets of the benchmark (default, all)."""
    lengths: Some[list[Count]]
    """Only these lengths in words (default, all)."""
    corpus: str
    """Short for `corpora` with one entry."""
    corpora: Words
    """Reference corpora for `dc_pdd`; each gets its own rows, tables use the first (default, none)."""
    references: Words
    """Reference models for `ref` (default, none)."""
    shadows: Words
    """Models trained on this benchmark, whose [shadow models](#trained-models) `rmia` compares with (default,
    none)."""
    start_token: Some[str]
    """`none`; `tokenizer`, what the tokenizer itself puts first (a start token for Llama and OPT, none for
    Pythia); or a token's text, as `<|endoftext|>` (default, `tokenizer`)."""
    neighbours: Words
    """Views that are neighbours for `neighbor`, as `word_swaps-25` (default, none)."""
    inner_start: bool
    """Repeat the start token between a prefix and the text (default, false)."""
    views: Several
    """What is done to the text first (default, `[original]`)."""
    draws: Some[list[Annotated[int, Field(ge=0)]]]
    """Draws of shots for methods with a prefix (default, the first and every placebo's)."""
    paraphraser: str
    """The view whose texts are the wrong options of questions (default, `paraphrase`; of answers collected
    elsewhere, all that they name)."""
    calibration: Deltas
    """Of models with `source: answers` only: what `de_cop` adds to the probability of each letter, `{A: ..,
    B: .., C: .., D: ..}`, as those who collected the answers found it; deltas hold for one prompt and one way
    to read the letters, so that a model that answers here is calibrated on its own answers (default,
    none)."""
    calibrate_on: str
    """The benchmark whose known non-members (label 0) calibrate this run, which the same model must read in
    another run: they give `de_cop`'s deltas (by default and without `calibration`, cross-fitted on the run's
    own non-members, and marked) and the p-values of unlabelled texts (default, the run's own)."""
    methods: Some[list[str | Annotated[dict[str, Any], Field(min_length=1, max_length=1)]]]
    """Ids, or maps that narrow a grid or set a switch: `- dc_pdd: {a: [0.01], first_occurrence: [false]}`
    (default, all that can be computed; the report lists the others with the reason)."""


class WrittenPanel(Keys, total=False):
    """What stands in a column or panel. Lists stand for their product; the key that is written first varies slowest."""

    run: str
    """The id of runs: their models and benchmarks (with `model` or `benchmark`, those of them), with the
    start token and the references that they name first. A panel that is a text is this key alone."""
    model: str | Several
    """A model, or several."""
    benchmark: str | Several
    """A benchmark, or several."""
    subset: str | Several
    """A subset, or several; `""` for all subsets together, `"*"` for each (default, every one)."""
    length: Count | Some[list[Count]]
    """A length in words, or several (default, every one)."""
    start_token: str
    """A start token (default, that of the first run of the model and benchmark)."""
    references: Words
    """Corpora and reference models shown (default, the first of each that the runs name)."""
    label: str
    """The panel's heading."""
    settings: dict[str, str]
    """`ablation_bars`: this panel's settings by label, in place of `options.settings`."""


def _placed(panel: dict[str, Any]) -> dict[str, Any]:
    if "run" not in panel and not {"model", "benchmark"} <= panel.keys():
        raise ValueError("missing key 'model' and 'benchmark' or 'run'")
    return panel


Panels = Some[list[str | Annotated[WrittenPanel, AfterValidator(_placed)]]]


class ArtifactKeys(Keys, total=False):
    """What artifacts.yaml says of an artifact, and a study can say in its place."""

    caption: str
    """What it shows; printed under it."""
    selection: Selection
    """How hyperparameters were chosen: `held_out`, `default`, `best_on_test` (default, all three in a table of
    methods); figures draw the first (curves of scores never `held_out`, which has a setting a fold)."""
    methods: Several
    """Only these methods, in this order."""
    options: dict[str, Any]
    """What the renderer alone understands."""
    unavailable: str
    """Why it cannot be rendered; shown in its place."""


class WrittenArtifact(ArtifactKeys, total=False):
    """What a study says of an artifact."""

    panels: Panels
    """What stands in its columns or panels (default, every run)."""
    title: str
    """Its heading."""
    inferred: str
    """What the paper does not state of it and is guessed here, printed under it."""


def _free(name: str) -> str:
    if name in SHARED_FOLDERS:
        raise ValueError(f"{name!r} is reserved; choose another")
    return name


class StudyFile(Keys, total=False):
    """What a study runs, chosen from the registries and from entries of its own."""

    study: Required[Annotated[Slug, AfterValidator(_free)]]
    """The study's name, which is its folder in `results/`; the names of the shared folders there, as `models`
    and `api`, are refused."""
    title: str
    """Heading of the report."""
    minutes: Annotated[float, Field(gt=0)]
    """Measured wall time from an empty results/ on 2 cores with bf16 instructions; printed at the start."""
    models: dict[str, Any]
    """Models of its own, with the keys of models.yaml."""
    benchmarks: dict[str, Any]
    """Benchmarks of its own, with the keys of benchmarks.yaml."""
    corpora: dict[str, Any]
    """Corpora of its own, with the keys of corpora.yaml."""
    runs: Required[Some[list[WrittenRun]]]
    """A list; the keys are below."""
    artifacts: Words | dict[str, WrittenArtifact | Panels | None]
    """A list of slugs of `artifacts.yaml` (their panels are then every run), or a map from slug to a list of
    panels, or to the keys below (default, `headline`, `results_auc` and `results_tpr`, or `de_cop_table1` and
    `de_cop_table3` where runs only ask questions)."""


class ArtifactEntry(ArtifactKeys, total=False):
    """A table or figure."""

    title: Required[str]
    """The heading in the report."""
    renderer: Required[str]
    """The name of a renderer of `scripts/pretrace/render/`, a table's or a figure's."""
    metric: str
    """The metric it prints (default, `auc`)."""
    evaluation_set: Literal["all", "without_prefixes", "balanced"]
    """Which texts are evaluated (default, `all` where the slug begins with `dc_pdd_`, `surp_` or `de_cop_`, else
    `without_prefixes`)."""
    start_token: str
    """Only rows with this start token (default, the run's)."""
    baseline: str
    """A star is a significant gain over this method."""


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
    """Under which terms it is published."""


Commits = dict[Hub, Annotated[str, Field(pattern=r"^([0-9a-f]{40}|(?![0-9a-f]+$)(?!(main|master)$)\S+)$")]]


class Revisions(Keys, total=False):
    """Commits in place of the revisions of the registries, as results/{study}/revisions.yaml after a run."""

    models: Commits
    """Models of the hub, as EleutherAI/pythia-70m, and 40 hex digits of a commit, or a tag."""
    datasets: Commits
    """Data sets of the hub, as swj0419/WikiMIA, and 40 hex digits of a commit, or a tag."""
