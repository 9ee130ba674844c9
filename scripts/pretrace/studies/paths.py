"""Where a study's files lie, its own and those of the shared stages: what rules read.

Models, benchmarks and corpora are the study's own slugs. A file that is not needed is [], as an input of a rule
takes it.
"""

import re
from collections.abc import Iterable
from typing import Any

from pretrace.benchmarks.loaders.local import LocalEntry
from pretrace.benchmarks.loaders.patentmia import PatentMia
from pretrace.benchmarks.sources import BenchmarkEntry
from pretrace.corpora.sources import CorpusEntry
from pretrace.models.entries import AnswersModel, ApiModel
from pretrace.render.registry import OF_A_PAIR, RENDERERS, SUFFIXES
from pretrace.studies import plan
from pretrace.studies.plan import Pair
from pretrace.studies.questions import view_writer
from pretrace.studies.registries import Entry, Registry, downloads_named, files_of
from pretrace.studies.study import Study

File = str | list[str]

OF_SOURCES = r"paraphrase|neighbours-\d+"
"""The views that a benchmark's source may hold beside its texts, as a regular expression."""


def slug_of(registry: Registry[Any], shared_name: str) -> str:
    """The study's own slug of an entry that the shared stages know as `shared_name`."""
    return next(slug for slug, shared in registry.shared.items() if shared == shared_name)


def table(study: Study, benchmark: str) -> str:
    return f"results/benchmarks/{study.benchmarks.shared[benchmark]}.parquet"


def seals(study: Study) -> str:
    """The record of a study's sealed plans."""
    return f"results/{study.name}/seals.json"


def user_texts(study: Study) -> list[str]:
    """The user's own files of texts that the study's runs read."""
    benchmarks = sorted({run.benchmark for run in study.runs})
    return [str(path) for slug in benchmarks for path in files_of(study.benchmarks.entries[slug])]


def sealed_checkpoints(study: Study) -> list[str]:
    """The checkpoints that the study's runs read, whose commits or digests a seal holds."""
    models = sorted({run.model for run in study.runs})
    return [
        checkpoint(study.models.shared[slug])
        for slug in models
        if not isinstance(study.models.entries[slug], AnswersModel | ApiModel)
    ]


def table_of_pair(study: Study, model: str, benchmark: str) -> str:
    """The texts that a pair is about."""
    return table(study, benchmark)


def scores(study: Study, model: str, benchmark: str) -> str:
    """The scores of a pair."""
    return own(study, "scores", model, benchmark)


def prefixes(study: Study, benchmark: str) -> File:
    """The shots drawn from a benchmark, where its entry says that there are any."""
    if study.benchmarks.entries[benchmark].prefix is None:
        return []
    return f"results/prefixes/{study.benchmarks.shared[benchmark]}.parquet"


def prefixes_read(study: Study, model: str, benchmark: str) -> File:
    """The shots drawn from a benchmark, where the pair's passes read texts after them."""
    return prefixes(study, benchmark) if plan.drawn_kinds(study, model, benchmark) else []


def completions(study: Study, model: str, benchmark: str) -> File:
    """The openings that a model completes to the lengths of the texts that it reads after them."""
    if "zero_access" not in plan.prefix_kinds(study, model, benchmark):
        return []
    return f"results/completions/{_shared(study, model, benchmark)}/{study.name}.parquet"


def views_read(study: Study, model: str, benchmark: str) -> list[str]:
    """The stored views that the pair's passes read."""
    return _views(study, benchmark, plan.stored_views(study, model, benchmark))


def views_scored(study: Study, model: str, benchmark: str) -> list[str]:
    """The same and the texts that a model continued, which no pass reads."""
    continued = _views(study, benchmark, plan.continuations_of(study, model, benchmark))
    return views_read(study, model, benchmark) + continued


def views_of_options(study: Study, model: str, benchmark: str) -> list[str]:
    """The stored views that the pair's questions take their options from."""
    return _views(study, benchmark, plan.paraphrasers_of(study, model, benchmark))


def _views(study: Study, benchmark: str, names: Iterable[str]) -> list[str]:
    shared = study.benchmarks.shared[benchmark]
    return [f"results/views/{shared}/{shared_view(study, benchmark, name)}.parquet" for name in names]


def shared_view(study: Study, benchmark: str, view: str) -> str:
    """A view's name in the shared stages: with the shared name of the model that makes it, if one does."""
    writer = view_writer(view, study.benchmarks.entries[benchmark])
    return view.replace(f"_by_{writer}", f"_by_{study.models.shared[writer]}", 1) if writer else view


def manifest(study: Study, model: str, benchmark: str) -> File:
    """The manifest of the pair's passes, if a method or a reference needs any."""
    if not plan.pass_requests(study, model, benchmark):
        return []
    return f"results/passes/{_shared(study, model, benchmark)}/{study.name}.json"


def manifest_shown(study: Study, model: str, benchmark: str) -> File:
    """The same where an artifact shows what the passes themselves say."""
    asked = {one["statistic"] for one in plan.estimates_asked(study, model, benchmark)}
    return manifest(study, model, benchmark) if asked & {"shift", "tokens", "corpus"} else []


def references(study: Study, model: str, benchmark: str) -> list[File]:
    """The manifests of the reference models of a pair's runs."""
    return [manifest(study, other, benchmark) for other in plan.references_of(study, model, benchmark)]


def shadows(study: Study, model: str, benchmark: str) -> list[str]:
    """The likelihoods under the shadow models that the pair's runs compare with."""
    return [own(study, "shadows", other, benchmark) for other in plan.shadows_of(study, model, benchmark)]


def answers(study: Study, model: str, benchmark: str) -> File:
    """The answers to the questions that the study's runs of a pair ask, if any."""
    if not plan.asks_questions(study, model, benchmark):
        return []
    return f"results/answers/{_shared(study, model, benchmark)}/{study.name}.parquet"


def times(study: Study, model: str, benchmark: str) -> File:
    """The measured seconds of the questions; none if the answers were collected elsewhere."""
    asked = answers(study, model, benchmark)
    if isinstance(study.models.entries[model], AnswersModel) or not isinstance(asked, str):
        return []
    return asked.replace(".parquet", ".json")


def calibration(study: Study, model: str, benchmark: str) -> File:
    if not plan.asks_questions(study, model, benchmark):
        return []
    return own(study, "calibration", model, benchmark)


def own(study: Study, kind: str, model: str, benchmark: str) -> str:
    """A pair's file of a stage of the study's own: scores, shadows, metrics, tests, estimates, audit ..."""
    return f"results/{study.name}/{kind}/{model}/{benchmark}.parquet"


def _shared(study: Study, model: str, benchmark: str) -> str:
    return f"{study.models.shared[model]}/{study.benchmarks.shared[benchmark]}"


def counts(study: Study, model: str, benchmark: str) -> list[str]:
    """The counts of the corpora of a pair's runs, by the tokenizer that stands for the model's."""
    tokenizer = study.models.shared[plan.tokenizer_of(study, model)]
    corpora = [study.corpora.shared[corpus] for corpus in plan.corpora_of(study, model, benchmark)]
    return [f"results/corpora/{corpus}/counts/{tokenizer}.parquet" for corpus in corpora]


def documents(corpus: str, entry: CorpusEntry) -> list[str]:
    """The shards of a corpus, which the shared stages know by that name."""
    return [f"results/corpora/{corpus}/documents/{shard}.parquet" for shard in range(entry.shards)]


def commit_of_shard(corpus: str, shard: int | str) -> str:
    """The record of a shard's file on the hub."""
    return f"results/corpora/{corpus}/commits/{shard}.json"


def checkpoint(shared_model: str) -> str:
    return f"results/models/{shared_model}/checkpoint.json"


def curve(study: Study, model: str) -> File:
    """The loss curve of a model that is trained here."""
    trained = study.models.entries[model].source == "trained"
    return f"results/models/{study.models.shared[model]}/training.parquet" if trained else []


def is_fetched(entry: BenchmarkEntry) -> bool:
    """Whether a benchmark is fetched from the hub, or from the web."""
    return entry.hub is not None or isinstance(entry, PatentMia)


def fetched_for(shared_benchmark: str, part: str) -> str:
    """The record of the files fetched for a benchmark: its `texts` or its `views`."""
    return f"results/downloads/{shared_benchmark}/{part}/files.json"


def download(study: Study, entry: Entry) -> File:
    """The downloaded file that a registry entry reads, or several, or none."""
    slugs = dict.fromkeys(downloads_named(entry).values())
    files = [f"results/downloads/{study.downloads[slug].file}" for slug in slugs]
    return files[0] if len(files) == 1 else files


def source(study: Study, entry: Entry, shared_benchmark: str = "") -> File:
    """The source of a registry entry: the user's own path, the fetched files of a benchmark, or a downloaded file."""
    if entry.path is not None:
        known = entry.known if isinstance(entry, LocalEntry) else None
        return entry.path if known is None else [entry.path, known]
    fetched = isinstance(entry, BenchmarkEntry) and is_fetched(entry)
    return fetched_for(shared_benchmark, "texts") if fetched else download(study, entry)


def source_of_view(study: Study, view: str, entry: BenchmarkEntry, shared_benchmark: str) -> File:
    """The file of a benchmark's released view: its own file, a fetched file, or the file of the texts."""
    if view in entry.views:
        return entry.views[view]
    if _fetches_views(entry):
        return fetched_for(shared_benchmark, "views")
    return source(study, entry, shared_benchmark)


def _fetches_views(entry: BenchmarkEntry) -> bool:
    return entry.neighbours is not None and entry.path is None


def stored_views_of_study(study: Study) -> set[Pair]:
    """(benchmark, view) of each stored view that is read, or that questions take their options from."""
    read = {
        (benchmark, view)
        for model, benchmark in plan.pass_pairs(study)
        for view in plan.stored_views(study, model, benchmark)
    }
    read |= plan.continued_views(study)
    return read | {
        (benchmark, view)
        for model, benchmark in plan.question_pairs(study)
        for view in plan.paraphrasers_of(study, model, benchmark)
    }


def checkpoints_of_study(study: Study) -> list[str]:
    """The local models that read or are asked, and those of the hub that lend a tokenizer or make a view."""
    entries, benchmarks = study.models.entries, study.benchmarks.entries
    models = {model for model, _ in plan.pass_pairs(study) + plan.question_pairs(study)}
    local = {model for model in models if not isinstance(entries[model], AnswersModel | ApiModel)}
    beside = {
        plan.tokenizer_of(study, run.model)
        for run in study.runs
        if run.corpora or isinstance(entries[run.model], ApiModel)
    }
    beside |= {view_writer(view, benchmarks[slug]) for slug, view in stored_views_of_study(study)} - {""}
    local |= {model for model in beside if entries[model].source == "hub"}
    return [checkpoint(study.models.shared[model]) for model in sorted(local)]


def fetched_of_study(study: Study) -> list[str]:
    """The records of files fetched for the study's benchmarks and their released views."""
    entries = study.benchmarks.entries
    wanted = {(run.benchmark, "texts") for run in study.runs}
    wanted |= {
        (slug, "views")
        for slug, view in stored_views_of_study(study)
        if re.fullmatch(OF_SOURCES, view)
        and _fetches_views(entries[slug])
        and view not in entries[slug].views
    }
    return [
        fetched_for(study.benchmarks.shared[slug], part)
        for slug, part in sorted(wanted)
        if is_fetched(entries[slug]) and entries[slug].path is None
    ]


def streamed_of_study(study: Study) -> list[str]:
    """The records of the hub files of the study's corpora."""
    entries, shared = study.corpora.entries, study.corpora.shared
    corpora = sorted({corpus for run in study.runs for corpus in run.corpora})
    return [
        commit_of_shard(shared[slug], shard)
        for slug in corpora
        if entries[slug].source == "hub"
        for shard in range(entries[slug].shards)
    ]


def rendered(study: Study, kind: str) -> list[str]:
    """Every file of the study's artifacts of a kind, `table` or `figure`."""
    return [
        f"results/{study.name}/{kind}s/{artifact}.{suffix}"
        for artifact in plan.artifacts_of_kind(study, kind)
        for suffix in SUFFIXES[kind]
    ]


def read_by(study: Study, artifact: str, published: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The files that an artifact's renderer reads: [kind, model or "", benchmark or "", path] of each file.

    `published`: (paper, path) of each file of the papers' numbers.
    """
    needs = RENDERERS[study.artifacts[artifact].renderer].needs
    pairs = plan.artifact_pairs(study, artifact)
    of_pair = {"passes": manifest, "times": times}
    files = [(kind, *pair, path(study, *pair)) for kind, path in of_pair.items() for pair in pairs]
    for kind in OF_A_PAIR:
        files += [(kind, *pair, own(study, kind, *pair)) for pair in pairs]
    benchmarks = sorted({benchmark for _, benchmark in pairs})
    files += [("benchmarks", "", benchmark, table(study, benchmark)) for benchmark in benchmarks]
    files += [("training", model, "", curve(study, model)) for model in sorted({model for model, _ in pairs})]
    files += [("published", "", paper, path) for paper, path in published]
    return [
        [kind, model, benchmark, path]
        for kind, model, benchmark, path in files
        if kind in needs and isinstance(path, str)
    ]
