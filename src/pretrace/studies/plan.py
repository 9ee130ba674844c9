"""A study as the workflow's rules see it: its pairs, artifacts and shared stages, and
the files of the whole."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pretrace.documents.works import are_works, files_of_works, stored_works
from pretrace.models.entries import ApiModel
from pretrace.render.artifact import SUFFIXES, Artifact, Panel
from pretrace.render.catalogue import OF_A_PAIR
from pretrace.runtime.errors import InputError
from pretrace.runtime.files import JsonObject, read_json
from pretrace.studies.audit.study import BY_CHAT
from pretrace.studies.pairs import Pair, pair_of, shared_view, view_path
from pretrace.studies.priorities import FIRST
from pretrace.studies.registries import left_out_of, text_files_of
from pretrace.studies.stages.benchmarks import Benchmark
from pretrace.studies.stages.corpora import Corpus
from pretrace.studies.stages.models import Model
from pretrace.studies.stages.registered import File, Parameters
from pretrace.studies.stages.views import StoredView
from pretrace.studies.study import Study
from pretrace.studies.workload import amounts_of_passes
from pretrace.views import VIEWS

FEW_TOKENS = 10_000_000
"""Tokens that a model reads of a benchmark in a job with others, at most. Loading it
takes a GPU as long as half a million, a twentieth."""


class Rendering(NamedTuple):
    """The job that renders an artifact: `reads` are [kind, model or "", benchmark or
    "", path] of each of its `files`.

    `views` are [benchmark, view, path] of the stored views that it shows, `entries` the
    registry entries of the benchmarks, by slug.
    """

    artifact: Parameters
    reads: list[list[str]]
    views: list[list[str]]
    entries: Parameters
    priority: int

    @property
    def files(self) -> list[str]:
        return [path for *_, path in self.reads]

    @property
    def view_files(self) -> list[str]:
        return [path for *_, path in self.views]


@dataclass(frozen=True, eq=False)
class Plan:
    """A study with the names and files that rules ask for. Names are slugs of the study
    or of the shared stages.

    The lists of files and names are computed once: Snakemake asks for them again for
    each rule. `by_pair`: every pair is read by a job of its own, because the command
    asks for files of some.
    """

    study: Study
    by_pair: bool = False

    def names(self, kind: str) -> set[str]:
        """Return the slugs and the shared names of `models`, `benchmarks` or
        `corpora`."""
        shared: Mapping[str, str] = getattr(self.study, kind).shared
        return {*shared, *shared.values()}

    def pair(self, model: str, benchmark: str) -> Pair:
        return pair_of(
            self.study,
            self.study.models.slug_of(model),
            self.study.benchmarks.slug_of(benchmark),
        )

    def model(self, name: str) -> Model:
        return Model(self.study, self.study.models.slug_of(name))

    def benchmark(self, name: str) -> Benchmark:
        return Benchmark(self.study, self.study.benchmarks.slug_of(name))

    def corpus(self, name: str) -> Corpus:
        return Corpus(self.study, self.study.corpora.slug_of(name))

    def view(self, benchmark: str, name: str) -> StoredView:
        return StoredView(self.benchmark(benchmark), name)

    def download(self, file: str) -> Parameters:
        return next(
            entry.to_json()
            for entry in self.study.downloads.values()
            if entry.file == file
        )

    # pairs

    @cached_property
    def pairs(self) -> list[Pair]:
        return [self.pair(*slugs) for slugs in sorted(self.study.runs_by_pair)]

    @cached_property
    def reading_pairs(self) -> list[Pair]:
        """The pairs with forward passes: the runs' pairs, and each reference model on
        its run's benchmark."""
        return [self.pair(*slugs) for slugs in sorted(self.study.runs_by_reader)]

    @cached_property
    def asking_pairs(self) -> list[Pair]:
        return [pair for pair in self.pairs if pair.asks_questions]

    @cached_property
    def fills(self) -> dict[tuple[str, str], list[Pair]]:
        """The pairs that one job reads, by the slug of their model and their turn.

        Not those of much text, which others would wait for, nor those that wait for
        answers of the study. Models that are trained here read where they are trained.
        """
        fills = defaultdict(list)
        for pair in [] if self.by_pair else self.reading_pairs:
            model = pair.model
            is_apart = model.jobs > 1 or model.reads_where_trained
            if not model.is_local or is_apart or pair.answers_before:
                continue
            amounts = amounts_of_passes(pair, pair.requests)
            if sum(amount.read for amount in amounts.values()) <= FEW_TOKENS:
                fills[pair.model_slug, pair.turn].append(pair)
        return {key: pairs for key, pairs in fills.items() if len(pairs) > 1}

    @property
    def read_together(self) -> list[list[Pair]]:
        """The pairs with forward passes, in lists that one job reads, or several
        share."""
        together = list(self.fills.values())
        for pair in self.reading_pairs:
            if not self._is_filled(pair):
                together.append([pair])
        return together

    def fill(self, model: str, turn: str) -> list[Pair]:
        """Return the pairs of a model, by its name, that are read in a turn."""
        return self.fills[self.study.models.slug_of(model), turn]

    def filled_before(self, pair: Pair) -> list[str]:
        """Return the records of the jobs that fill the store for a pair."""
        if not self._is_filled(pair):
            return pair.shares_of("passes")
        return [f"results/passes/{pair.model.name}/{self.study.name}.{pair.turn}.json"]

    def _is_filled(self, pair: Pair) -> bool:
        return pair in self.fills.get((pair.model_slug, pair.turn), [])

    def filled_by(self, model: str) -> list[Pair]:
        """Return the pairs that are read where their model, by its name, is trained."""
        if not self.model(model).reads_where_trained:
            return []
        slug = self.study.models.slug_of(model)
        return [pair for pair in self.reading_pairs if pair.model_slug == slug]

    @property
    def left_out(self) -> list[Parameters]:
        """The methods that runs without a choice of methods could not have: panel,
        methods, reason."""
        lines = []
        names = self.study.benchmarks.titles | self.study.models.titles
        for pair in self.pairs:
            panel = Panel(
                model=pair.model_slug, benchmark=pair.benchmark_slug, names=names
            )
            for reason, methods in pair.methods_left_out.items():
                about = {"panel": panel.name, "methods": methods, "reason": reason}
                lines.append(about)
        return lines

    # names by what makes them

    def names_from(
        self, kind: str, *sources: str, but: Sequence[str] = ()
    ) -> list[str]:
        """Return the shared names of `models`, `benchmarks` or `corpora` from some
        sources, or from all `but` some."""
        registry = getattr(self.study, kind)
        names = []
        for slug, entry in registry.entries.items():
            is_among = entry.source in sources if sources else entry.source not in but
            if is_among:
                names.append(registry.shared[slug])
        return names

    def answers_about(self, benchmark: str) -> dict[str, File]:
        """Return the files of answers that a benchmark without texts is gathered from,
        by model."""
        slug = self.study.benchmarks.slug_of(benchmark)
        answers = {}
        for pair in self.asking_pairs:
            if pair.benchmark_slug == slug:
                answers[pair.model_slug] = pair.answers
        return answers

    @cached_property
    def benchmarks_with_shots(self) -> list[str]:
        """The benchmarks whose texts are read after shots that are drawn from them."""
        return sorted(
            {pair.benchmark_slug for pair in self.reading_pairs if pair.draws_shots}
        )

    def needs_classes(self, benchmark: str) -> bool:
        """Return whether a benchmark must hold texts of both classes: its metrics are
        shown, or shots are drawn."""
        if benchmark in self.benchmarks_with_shots:
            return True
        for artifact in self._rendered:
            if "metrics" in artifact.needs:
                for panel in artifact.panels:
                    if panel.benchmark == benchmark:
                        return True
        return False

    @cached_property
    def stored_views(self) -> list[StoredView]:
        """The stored views that are read, or that questions take their options from."""
        names = set()
        for pair in self.reading_pairs:
            for view in pair.stored_views:
                names.add((pair.benchmark_slug, view))
        for pair in self.asking_pairs:
            for view in pair.paraphrasers:
                names.add((pair.benchmark_slug, view))
        views = []
        for benchmark, name in sorted(names):
            views.append(self.view(benchmark, shared_view(self.study, benchmark, name)))
        return views

    @property
    def views_made(self) -> set[str]:
        """The views that models make here, each as benchmark/view."""
        paths = set()
        for view in self.stored_views:
            writer = view.writer
            if writer and writer.is_local:
                paths.add(view.path)
        return paths

    @property
    def views_got(self) -> set[str]:
        """The views that come from files, or from models behind APIs."""
        return {view.path for view in self.stored_views} - self.views_made

    # tables, figures and the report

    @property
    def _rendered(self) -> list[Artifact]:
        artifacts = self.study.artifacts.values()
        return [artifact for artifact in artifacts if not artifact.unavailable]

    @cached_property
    def listed(self) -> Pair | None:
        """The pair whose texts the page lists: the first with forward passes of which
        metrics are shown."""
        shown = set()
        for artifact in self._rendered:
            if "metrics" in artifact.needs:
                shown |= {panel.pair for panel in artifact.panels}
        for run in self.study.runs:
            pair = self.pair(run.model, run.benchmark)
            if pair.slugs in shown and pair in self.reading_pairs:
                return pair
        return None

    @property
    def listing(self) -> Parameters | None:
        """What the page says of the texts of this pair: its name, and whether it quotes
        them. It does not quote a user's own."""
        if self.listed is None:
            return None
        names = self.study.benchmarks.titles | self.study.models.titles
        model, benchmark = self.listed.slugs
        panel = Panel(model=model, benchmark=benchmark, names=names)
        is_own = self.listed.benchmark.entry.source == "local"
        return {"place": panel.name, "quoted": not is_own}

    def artifacts_of(self, *kinds: str) -> list[str]:
        """Return the artifacts of some kinds, `table` or `figure`, that can be
        rendered."""
        slugs = []
        for artifact in self._rendered:
            if artifact.kind in kinds:
                slugs.append(artifact.slug)
        return sorted(slugs)

    def _files_of(self, kind: str) -> list[str]:
        files = []
        for slug in self.artifacts_of(kind):
            for suffix in SUFFIXES[kind]:
                files.append(f"results/{self.study.name}/{kind}s/{slug}.{suffix}")
        return files

    @cached_property
    def tables(self) -> list[str]:
        return self._files_of("table")

    @cached_property
    def figures(self) -> list[str]:
        return self._files_of("figure")

    def records_of_rendering(self, target: str) -> list[str]:
        """Return the records of rendering of the artifacts of a target: `all`, `tables`
        or `figures`."""
        folder = f"results/{self.study.name}/rendered"
        records = []
        for artifact in self._rendered:
            if target in ("all", f"{artifact.kind}s"):
                records.append(f"{folder}/{artifact.slug}.json")
        return records

    def artifacts_at(self, targets: Iterable[str]) -> list[str]:
        """Return the artifacts that the targets are files of; [] if one is another
        file, or all results are to be kept.

        They are where a run of the whole study has ended: a plan for less would make
        its scores again, with fewer columns.
        """
        paths = {*map(os.path.normpath, targets)}
        files = {*self.tables, *self.figures, *self.records_of_rendering("all")}
        is_selected = _selects(self.study.settings.model_dump())
        if not paths <= files or is_selected or self._has_run_whole:
            return []
        return sorted({Path(path).stem for path in paths})

    @staticmethod
    def asks_for_pairs(targets: Iterable[str]) -> bool:
        """Return whether a target is a file of a pair, which lies two folders below
        that of its stage."""
        return any(len(Path(target).parts) > 4 for target in targets)

    @property
    def _has_run_whole(self) -> bool:
        record = Path("results", self.study.name, "provenance.json")
        if not record.is_file():
            return False
        try:
            return not _selects(recorded_config(record))
        except InputError:  # it may have been whole, and the record is made again
            return True

    @property
    def first(self) -> list[str]:
        """The files to look at of the artifacts that are made first."""
        folder = f"results/{self.study.name}"
        wanted = set()
        for slug in self.study.first:
            wanted |= {f"{folder}/tables/{slug}.md", f"{folder}/figures/{slug}.svg"}
        return [path for path in self.tables + self.figures if path in wanted]

    def tells_first(self, slug: str) -> bool:
        """Return whether an artifact is the answer of an audit that is printed before
        the rest of the study is done."""
        if slug not in self.study.first:
            return False
        return self.study.artifacts[slug].renderer == "audit"

    @property
    def prefixes(self) -> list[File]:
        return [self.benchmark(slug).prefixes for slug in self.benchmarks_with_shots]

    def pairs_of(self, artifact: Artifact) -> list[Pair]:
        """Return the models and benchmarks that an artifact's panels show."""
        shown = {panel.pair for panel in artifact.panels}
        return [self.pair(*slugs) for slugs in sorted(shown)]

    @cache  # noqa: B019  (one plan a process)
    def rendering(self, slug: str) -> "Rendering":
        """Return the inputs and the parameters of the job that renders an artifact."""
        artifact = self.study.artifacts[slug]
        pairs = self.pairs_of(artifact)
        entries = self.study.benchmarks.entries
        benchmarks = {}
        for pair in pairs:
            entry = entries[pair.benchmark_slug]
            benchmarks[pair.benchmark_slug] = entry.to_json(defaults=False)
        reads = []
        for kind, model, benchmark, path in self._files_shown(artifact, pairs):
            if isinstance(path, str):
                reads.append([kind, model, benchmark, path])
        return Rendering(
            artifact.to_json("ablations"),
            reads,
            self._views_shown(artifact, pairs),
            benchmarks,
            FIRST * (slug in self.study.first),
        )

    def _views_shown(self, artifact: Artifact, pairs: list[Pair]) -> list[list[str]]:
        """Return [benchmark, view, path] of the stored views that an artifact names or
        its methods compare with."""
        if "published" in artifact.needs:  # it says of each number whether there is one
            return []
        named: set[object] = {*artifact.options.across.get("view", ())}
        references: set[object] = {*artifact.options.across.get("reference", ())}
        for panel in artifact.panels:
            named.add(panel.view)
            references |= {panel.reference, *(panel.references or ())}
        if not any(name in VIEWS for name in named | references):
            return []
        methods = {name.partition(";")[0] for name in artifact.methods}
        shown = set()
        for pair in pairs:
            compared = pair.views_compared(methods or pair.methods) & references
            for view in {*pair.stored_views, *pair.paraphrasers} & (named | compared):
                shown.add((pair.benchmark_slug, view))
        views = []
        for slug, view in sorted(shown):
            views.append([slug, view, view_path(self.study, slug, view)])
        return views

    def _files_shown(
        self, artifact: Artifact, pairs: list[Pair]
    ) -> Iterable[tuple[str, str, str, File]]:
        """Yield the files that an artifact reads of its models and benchmarks: kind,
        model or "", benchmark or "", path."""
        needs = artifact.needs
        for pair in pairs:
            for kind in ("passes", "times", *OF_A_PAIR):
                if kind in needs:
                    yield kind, *pair.slugs, self._file_shown(artifact, pair, kind)
            # answers that have no text are counted under every table
            if isinstance(self.study.models.entries[pair.model_slug], ApiModel):
                yield "answers", *pair.slugs, pair.answers
        if "benchmarks" in needs:
            for slug in sorted({pair.benchmark_slug for pair in pairs}):
                yield "benchmarks", "", slug, self.benchmark(slug).table
        if "training" in needs:
            for slug in sorted({pair.model_slug for pair in pairs}):
                yield "training", slug, "", self.model(slug).curve
        if "published" in needs:
            folder = self.study.folder / "published"
            for path in [*sorted(folder.glob("*.csv")), folder / "papers.yaml"]:
                yield "published", "", path.stem, str(path)

    def _file_shown(self, artifact: Artifact, pair: Pair, kind: str) -> File:
        """Return the file of one kind that an artifact reads of a pair; [] if the pair
        has none."""
        match kind:
            case "passes":
                return pair.passes
            case "times":
                return pair.answer_times
            case "windows" | "extraction":
                is_measured = pair.extraction is not None
            case "given_back":
                is_measured = pair.given_back is not None
            case "letters":
                # the papers print letters of calibrated answers alone
                is_of_papers = "published" in artifact.needs
                is_measured = not is_of_papers or pair.deltas is not None
            case _:
                is_measured = True
        return pair.stage_file(kind) if is_measured else []

    # what the results rest on

    @cached_property
    def records_of_hub(self) -> list[str]:
        """The records of what was read of the hub: checkpoints, files of benchmarks,
        shards of corpora."""
        checkpoints = [str(model.checkpoint) for model in self.models_read]
        parts = {benchmark.record(part) for benchmark, part in self.parts_fetched}
        records = [*checkpoints, *sorted(parts)]
        for corpus in self.corpora_read:
            records += corpus.records
        return records

    @property
    def models_read(self) -> list[Model]:
        """The local models that read or are asked, and models of the hub that lend a
        tokenizer or make a view."""
        entries = self.study.models.entries
        models = {pair.model_slug for pair in self.reading_pairs + self.asking_pairs}
        lending = set()
        for run in self.study.runs:
            if run.corpora or isinstance(entries[run.model], ApiModel):
                lending.add(Model(self.study, run.model).counting.slug)
        for view in self.stored_views:
            if view.writer:
                lending.add(view.writer.slug)
        for slug in lending:
            if entries[slug].source == "hub":
                models.add(slug)
        return self._local(models)

    def _local(self, slugs: Iterable[str]) -> list[Model]:
        """Return the models whose weights are read here, by their slugs."""
        models = map(self.model, sorted(slugs))
        return [model for model in models if model.is_local]

    @property
    def parts_fetched(self) -> list[tuple[Benchmark, str]]:
        """The benchmarks whose `texts`, or released `views`, are fetched, each with
        that part."""
        named = {*self.study.benchmarks_of_runs}
        for artifact in self._rendered:
            for panel in artifact.panels:
                named.add(panel.benchmark)
        parts = []
        for slug in sorted(named):
            benchmark = self.benchmark(slug)
            if benchmark.is_fetched and benchmark.entry.path is None:
                parts.append((benchmark, "texts"))
        released = set()
        for view in self.stored_views:
            benchmark = view.benchmark
            if benchmark.is_fetched and view.source == benchmark.record("views"):
                released.add(benchmark.slug)
        for slug in sorted(released):
            parts.append((self.benchmark(slug), "views"))
        return parts

    @property
    def corpora_read(self) -> list[Corpus]:
        named = set()
        for run in self.study.runs:
            named.update(run.corpora)
        return [self.corpus(slug) for slug in sorted(named)]

    # the seal of an audit

    @cached_property
    def is_sealed(self) -> bool:
        """Whether the plan is sealed before its first pass: the study audits texts of
        the user's own."""
        entries = self.study.benchmarks.entries
        for artifact in self._rendered:
            if artifact.renderer not in ("audit", BY_CHAT):
                continue
            for panel in artifact.panels:
                if entries[panel.benchmark].source == "local":
                    return True
        return False

    def sealed(self, config: JsonObject) -> Parameters:
        """Return what an audit's numbers follow from, files and versions aside: runs,
        models, texts, settings.

        `works` has the SHA-256 of the text that was read of each work: the files alone
        do not say how they were read.
        """
        study = self.study
        models = {}
        benchmarks = {}
        for run in study.runs:
            for slug in (run.model, *run.references):
                models[slug] = study.models.entries[slug].to_json(defaults=False)
        for slug in study.benchmarks_of_runs:
            benchmarks[slug] = study.benchmarks.entries[slug].to_json(defaults=False)
        keys = ("seed", "resamples", "threads", "batch_tokens", "device")
        return {
            "study": study.name,
            "runs": [run.for_jobs() for run in study.runs],
            "models": dict(sorted(models.items())),
            "benchmarks": benchmarks,
            "settings": {key: config[key] for key in keys},
            "works": self._texts_of_works(),
        }

    def _texts_of_works(self) -> dict[str, str]:
        """Return the SHA-256 of the text of each of the user's works, by its folder's
        name and its own."""
        texts = {}
        for slug in self.study.benchmarks_of_runs:
            entry = self.study.benchmarks.entries[slug]
            for path in filter(are_works, text_files_of(entry)):
                for work, read in stored_works(path, left_out_of(entry)):
                    texts[f"{path.name}/{work.name}"] = read.report.sha256
        return texts

    @property
    def user_texts(self) -> list[str]:
        """The user's own files of texts that the study's runs read, the files of works
        too."""
        paths = []
        for slug in self.study.benchmarks_of_runs:
            paths += text_files_of(self.study.benchmarks.entries[slug])
        files: list[str] = []
        for path in dict.fromkeys(paths):  # two benchmarks may have the same
            own = files_of_works(path) if are_works(path) else [path]
            files += map(str, own)
        return files

    @property
    def sealed_checkpoints(self) -> list[str]:
        """The checkpoints that the study's runs read, whose commits or digests a seal
        holds."""
        slugs = set()
        for run in self.study.runs:
            slugs |= {run.model, *run.references}
        return [str(model.checkpoint) for model in self._local(slugs)]

    @property
    def base(self) -> tuple[Model, Model] | None:
        """The model of the command line's audit and its base; None if it has none."""
        if self.study.settings.texts is None:
            return None
        run = self.study.runs[0]
        if not run.references:
            return None
        return self.model(run.model), self.model(run.references[0])

    @property
    def checked_base(self) -> list[str]:
        """The names of these two, in the shared stages."""
        return [] if self.base is None else [model.name for model in self.base]


def recorded_config(record: Path) -> dict[str, Any]:
    """Return the configuration that a study ran with, of its provenance.json. Raises
    `InputError` without one."""
    recorded = read_json(record)
    config = recorded.get("config") if isinstance(recorded, dict) else None
    if not isinstance(config, dict):
        raise InputError(
            f"{record} is damaged. Delete it and run the study's command again."
        )
    return config


def _selects(config: JsonObject) -> bool:
    """Return whether a configuration chooses artifacts of a study."""
    return any(config.get(key) for key in ("only", "papers"))
