"""What the workflow's rules look up in a study: its pairs, artifacts and shared stages, and the files of the whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from pretrace.models.entries import AnswersModel, ApiModel
from pretrace.render.catalogue import OF_A_PAIR, RENDERERS
from pretrace.render.registry import SUFFIXES
from pretrace.studies import plan, user_files
from pretrace.studies.artifacts import Artifact
from pretrace.studies.compute import Work, api_work
from pretrace.studies.glossary import Glossary, glossary
from pretrace.studies.pairs import Pair, shared_view
from pretrace.studies.priorities import FIRST, SEALING, SOON
from pretrace.studies.registries import files_of
from pretrace.studies.shared import Benchmark, Corpus, File, Model, StoredView
from pretrace.studies.study import Study


@dataclass(frozen=True, eq=False)
class Plan:
    """A study as its rules see it. Names are slugs of the study or those of the shared stages.

    The lists of files and names are computed once: Snakemake asks for them again for each rule.
    """

    study: Study
    soon: int = SOON
    sealing: int = SEALING

    def names(self, kind: str) -> set[str]:
        """Return the slugs and the shared names of `models`, `benchmarks` or `corpora`."""
        shared: Mapping[str, str] = getattr(self.study, kind).shared
        return {*shared, *shared.values()}

    @cache  # noqa: B019  (one plan a process)
    def pair(self, model: str, benchmark: str) -> Pair:
        return Pair(self.study, self.study.models.slug_of(model), self.study.benchmarks.slug_of(benchmark))

    def model(self, name: str) -> Model:
        return Model(self.study, self.study.models.slug_of(name))

    def benchmark(self, name: str) -> Benchmark:
        return Benchmark(self.study, self.study.benchmarks.slug_of(name))

    def corpus(self, name: str) -> Corpus:
        return Corpus(self.study, self.study.corpora.slug_of(name))

    def view(self, benchmark: str, name: str) -> StoredView:
        return StoredView(self.benchmark(benchmark), name)

    @cache  # noqa: B019
    def artifact(self, slug: str) -> "ShownArtifact":
        return ShownArtifact(self, slug)

    def download(self, file: str) -> dict[str, Any]:
        return next(entry.plain() for entry in self.study.downloads.values() if entry.file == file)

    # names by what makes them

    def models_from(self, *sources: str) -> list[str]:
        entries = self.study.models.entries
        return [self.study.models.shared[slug] for slug, entry in entries.items() if entry.source in sources]

    @property
    def models_here(self) -> list[str]:
        """The models whose weights are read here."""
        entries = self.study.models.entries.items()
        here = [slug for slug, entry in entries if not isinstance(entry, AnswersModel | ApiModel)]
        return [self.study.models.shared[slug] for slug in here]

    @property
    def benchmarks_of_answers(self) -> list[str]:
        entries = self.study.benchmarks.entries.items()
        return [self.study.benchmarks.shared[slug] for slug, entry in entries if entry.source == "answers"]

    @property
    def benchmarks_of_texts(self) -> list[str]:
        return sorted({*self.study.benchmarks.shared.values()} - {*self.benchmarks_of_answers})

    def corpora(self, *, from_hub: bool, kept: bool | None = None) -> list[str]:
        """Return the corpora of the hub, those that are `kept` after counting or not, or all others."""
        return [
            self.study.corpora.shared[slug]
            for slug, entry in self.study.corpora.entries.items()
            if (entry.source == "hub") == from_hub and kept in (None, getattr(entry, "keep", None))
        ]

    @cached_property
    def stored_views(self) -> list[StoredView]:
        """The stored views that are read, or that questions take their options from."""
        pairs = [*plan.pass_pairs(self.study), *plan.question_pairs(self.study)]
        names = set(plan.continued_views(self.study))
        for model, benchmark in pairs:
            names |= {(benchmark, view) for view in plan.stored_views(self.study, model, benchmark)}
            names |= {(benchmark, view) for view in self.pair(model, benchmark).paraphrasers}
        return [
            self.view(benchmark, shared_view(self.study, benchmark, name))
            for benchmark, name in sorted(names)
        ]

    @property
    def views_got(self) -> set[str]:
        """The views that come from files, or from models behind APIs, each as benchmark/view."""
        return {view.path for view in self.stored_views if view.is_imported or view.is_asked_for}

    @property
    def views_made(self) -> set[str]:
        """The views that models make here."""
        return {view.path for view in self.stored_views} - self.views_got

    def artifacts_of(self, kind: str) -> list[str]:
        return plan.artifacts_of_kind(self.study, kind)

    # files of the whole study

    @cached_property
    def tables(self) -> list[str]:
        return self._rendered("table")

    @cached_property
    def figures(self) -> list[str]:
        return self._rendered("figure")

    def _rendered(self, kind: str) -> list[str]:
        return [
            f"results/{self.study.name}/{kind}s/{slug}.{suffix}"
            for slug in self.artifacts_of(kind)
            for suffix in SUFFIXES[kind]
        ]

    @property
    def report(self) -> str:
        return f"results/{self.study.name}/report.html"

    @property
    def headline(self) -> str:
        """The conclusion for the terminal."""
        return f"results/{self.study.name}/headline.txt"

    @cached_property
    def passes(self) -> list[File]:
        return [self.pair(*names).passes for names in plan.pass_pairs(self.study)]

    @cached_property
    def records_of_hub(self) -> list[str]:
        """The records of what was read of the hub: checkpoints, files of benchmarks, shards of corpora."""
        return [*self._checkpoints, *self._fetched, *self._streamed]

    @property
    def _checkpoints(self) -> list[str]:
        """The local models that read or are asked, and those of the hub that lend a tokenizer or make a view."""
        entries = self.study.models.entries
        models = {model for model, _ in plan.pass_pairs(self.study) + plan.question_pairs(self.study)}
        lending = {
            Model(self.study, run.model).counting.slug
            for run in self.study.runs
            if run.corpora or isinstance(entries[run.model], ApiModel)
        }
        lending |= {view.writer.slug for view in self.stored_views if view.writer}
        models |= {slug for slug in lending if entries[slug].source == "hub"}
        return [str(model.checkpoint) for slug in sorted(models) if (model := self.model(slug)).is_local]

    @property
    def _fetched(self) -> list[str]:
        benchmarks = [self.benchmark(slug) for slug in sorted({run.benchmark for run in self.study.runs})]
        records = {
            benchmark.record("texts")
            for benchmark in benchmarks
            if benchmark.is_fetched and benchmark.entry.path is None
        }
        views = [view for view in self.stored_views if view.benchmark.is_fetched]
        records |= {source for view in views if (source := view.source) == view.benchmark.record("views")}
        return sorted(records)

    @property
    def _streamed(self) -> list[str]:
        corpora = sorted({slug for run in self.study.runs for slug in run.corpora})
        return [record for slug in corpora for record in self.corpus(slug).records]

    @cached_property
    def benchmarks_with_shots(self) -> list[str]:
        return plan.benchmarks_with_shots(self.study)

    @property
    def prefixes(self) -> list[File]:
        return [self.benchmark(slug).prefixes for slug in self.benchmarks_with_shots]

    # the seal of an audit

    @cached_property
    def is_sealed(self) -> bool:
        return plan.is_sealed(self.study)

    @property
    def seals(self) -> str:
        """The record of the study's sealed plans."""
        return f"results/{self.study.name}/seals.json"

    def sealed(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return plan.sealed_plan(self.study, config)

    @property
    def user_texts(self) -> list[str]:
        """The user's own files of texts that the study's runs read."""
        benchmarks = sorted({run.benchmark for run in self.study.runs})
        return [str(path) for slug in benchmarks for path in files_of(self.study.benchmarks.entries[slug])]

    @property
    def sealed_checkpoints(self) -> list[str]:
        """The checkpoints that the study's runs read, whose commits or digests a seal holds."""
        models = [self.model(slug) for slug in sorted({run.model for run in self.study.runs})]
        return [str(model.checkpoint) for model in models if model.is_local]

    # words

    def announcement(self, config: Mapping[str, Any]) -> str:
        """Return the first line of a run: what an audit does, or the study, and its measured time if known."""
        study = self.study
        if study.settings.texts is not None:
            return user_files.description(study, config)
        about = "" if study.minutes is None else (
            f"about {study.minutes:g} minutes from an empty results/ on 2 cores; "
        )  # fmt: skip
        return f"pretrace: {study.title}; {about}results in results/{study.name}/"

    @property
    def glossary(self) -> Glossary:
        """The report's descriptions of models, benchmarks and corpora."""
        study = self.study
        return glossary(study.artifacts.values(), study.models, study.benchmarks, study.corpora)

    @property
    def left_out(self) -> list[dict[str, Any]]:
        return plan.left_out(self.study)

    @property
    def resolved_artifacts(self) -> list[dict[str, Any]]:
        return [artifact.plain() for artifact in self.study.artifacts.values()]

    # requests to models behind APIs

    @cached_property
    def api_work(self) -> list[Work]:
        return api_work(self.study)

    @property
    def benchmarks_of_apis(self) -> list[str]:
        """The benchmarks whose texts go to models behind APIs."""
        return sorted({work["benchmark"] for work in self.api_work})

    @property
    def texts_of_apis(self) -> list[str]:
        return [self.benchmark(slug).table for slug in self.benchmarks_of_apis]

    @property
    def apis(self) -> dict[str, dict[str, Any]]:
        entries = self.study.models.entries.items()
        return {slug: entry.api.written() for slug, entry in entries if isinstance(entry, ApiModel)}


@dataclass(frozen=True, eq=False)
class ShownArtifact:
    """A table or figure of a study: what its rule reads, and what its job is told."""

    plan: Plan
    slug: str

    @property
    def entry(self) -> Artifact:
        return self.plan.study.artifacts[self.slug]

    @property
    def resolved(self) -> dict[str, Any]:
        return self.entry.plain()

    @property
    def files(self) -> list[str]:
        return [path for *_, path in self.reads]

    @cached_property
    def reads(self) -> list[list[str]]:
        """The files that the renderer reads: [kind, model or "", benchmark or "", path] of each."""
        needs = RENDERERS[self.entry.renderer].needs
        return [
            [kind, model, benchmark, path]
            for kind, model, benchmark, path in self._files()
            if kind in needs and isinstance(path, str)
        ]

    def _files(self) -> Iterable[tuple[str, str, str, File]]:
        names = plan.artifact_pairs(self.plan.study, self.slug)
        pairs = [self.plan.pair(*pair) for pair in names]
        for pair in pairs:
            slugs = pair.model_slug, pair.benchmark_slug
            yield "passes", *slugs, pair.passes
            yield "times", *slugs, pair.answer_times
            for kind in OF_A_PAIR:
                if self._shows(kind, pair):
                    yield kind, *slugs, pair.own(kind)
        for slug in sorted({benchmark for _, benchmark in names}):
            yield "benchmarks", "", slug, self.plan.benchmark(slug).table
        for slug in sorted({model for model, _ in names}):
            yield "training", slug, "", self.plan.model(slug).curve
        folder = self.plan.study.folder / "published"
        for path in [*sorted(folder.glob("*.csv")), folder / "names.yaml"]:
            yield "published", "", path.stem, str(path)

    def _shows(self, kind: str, pair: Pair) -> bool:
        """Return whether a kind of a pair's results is shown; some take long or need shots."""
        if kind == "corpus_size":
            slugs = pair.model_slug, pair.benchmark_slug
            return any(panel.size for panel in self.entry.panels if panel.pair == slugs)
        return kind != "codec" or bool(pair.prefixes_read)

    @property
    def entries(self) -> dict[str, Any]:
        """The entries of the benchmarks that it shows."""
        slugs = {benchmark for _, benchmark in plan.artifact_pairs(self.plan.study, self.slug)}
        return {slug: self.plan.benchmark(slug).written for slug in sorted(slugs)}

    @property
    def is_first(self) -> bool:
        return self.slug in self.plan.study.first

    @property
    def priority(self) -> int:
        return SOON + FIRST * self.is_first
