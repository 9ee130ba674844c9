"""Where a study's files lie, its own and those of the shared stages: what rules read.

Models, benchmarks and corpora are the study's own slugs. A file that is not needed is [], as an input of a rule
takes it.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from pretrace.render.registry import OF_A_PAIR, RENDERERS, SUFFIXES
from pretrace.studies import plan
from pretrace.studies.plan import Pair
from pretrace.studies.questions import view_writer
from pretrace.studies.registries import Registry, downloads_named
from pretrace.studies.study import Study

Entry = dict[str, Any]
File = str | list[str]

OF_SOURCES = r"paraphrase|neighbours-\d+"
"""The views that a benchmark's source may hold beside its texts, as a regular expression."""


def slug_of(registry: Registry, shared_name: str) -> str:
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
    return [str(path) for slug in benchmarks for path in study.benchmarks.files_of(slug)]


def sealed_checkpoints(study: Study) -> list[str]:
    """The checkpoints that the study's runs read, whose commits or digests a seal holds."""
    models = sorted({run.model for run in study.runs})
    sources = {slug: study.models.entries[slug]["source"] for slug in models}
    return [
        checkpoint(study.models.shared[slug]) for slug in models if sources[slug] not in ("answers", "openai")
    ]


def table_of_pair(study: Study, model: str, benchmark: str) -> str:
    """The texts that a pair is about."""
    return table(study, benchmark)


def scores(study: Study, model: str, benchmark: str) -> str:
    """The scores of a pair."""
    return own(study, "scores", model, benchmark)


def prefixes(study: Study, benchmark: str) -> File:
    """The shots drawn from a benchmark, where its entry says that there are any."""
    if "prefix" not in study.benchmarks.entries[benchmark]:
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


@cache
def method_inputs(study: Study, model: str, benchmark: str) -> dict[str, dict[str, str]]:
    """Return the file of each input that the pair's runs name, by kind and name; neighbours have none."""
    special: dict[str, Callable[[str], File]] = {
        "reference": lambda other: manifest(study, other, benchmark),
        "frequencies": lambda corpus: counts(study, model, corpus),
        "neighbours": lambda view: [],
        "continuations": lambda view: _views(study, benchmark, [view])[0],
    }
    files = {
        need: {
            name: special[need](name) if need in special else own(study, need, name, benchmark)
            for name in names
        }
        for need, names in plan.inputs_of(study, model, benchmark).items()
    }
    return {
        need: {name: path for name, path in by_name.items() if isinstance(path, str)}
        for need, by_name in files.items()
    }


def method_input_files(study: Study, model: str, benchmark: str) -> list[str]:
    """Return the files of `method_inputs`."""
    return [path for by_name in method_inputs(study, model, benchmark).values() for path in by_name.values()]


def answers(study: Study, model: str, benchmark: str) -> File:
    """The answers to the questions that the study's runs of a pair ask, if any."""
    if not plan.asks_questions(study, model, benchmark):
        return []
    return f"results/answers/{_shared(study, model, benchmark)}/{study.name}.parquet"


def times(study: Study, model: str, benchmark: str) -> File:
    """The measured seconds of the questions; none if the answers were collected elsewhere."""
    asked = answers(study, model, benchmark)
    if study.models.entries[model]["source"] == "answers" or not isinstance(asked, str):
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


def counts(study: Study, model: str, corpus: str) -> str:
    """The counts of a corpus, by the tokenizer that stands for the model's."""
    tokenizer = study.models.shared[plan.tokenizer_of(study, model)]
    return f"results/corpora/{study.corpora.shared[corpus]}/counts/{tokenizer}.parquet"


def documents(corpus: str, entry: Entry) -> list[str]:
    """The shards of a corpus, which the shared stages know by that name."""
    return [f"results/corpora/{corpus}/documents/{shard}.parquet" for shard in range(shards(entry))]


def shards(entry: Entry) -> int:
    """How many parts a corpus is read in."""
    return int(entry.get("shards", 1))


def commit_of_shard(corpus: str, shard: int | str) -> str:
    """The record of a shard's file on the hub."""
    return f"results/corpora/{corpus}/commits/{shard}.json"


def checkpoint(shared_model: str) -> str:
    return f"results/models/{shared_model}/checkpoint.json"


def curve(study: Study, model: str) -> File:
    """The loss curve of a model that is trained here."""
    trained = study.models.entries[model]["source"] == "trained"
    return f"results/models/{study.models.shared[model]}/training.parquet" if trained else []


def is_fetched(entry: Entry) -> bool:
    """Whether a benchmark is fetched from the hub, or from the web."""
    return "hub" in entry or "url" in entry


def fetched_for(shared_benchmark: str, part: str) -> str:
    """The record of the files fetched for a benchmark: its `texts` or its `views`."""
    return f"results/downloads/{shared_benchmark}/{part}/files.json"


def download(study: Study, entry: Entry) -> File:
    """The downloaded file that a registry entry reads, or several, or none."""
    slugs = dict.fromkeys(downloads_named(entry).values())
    files = [f"results/downloads/{study.downloads[slug]['file']}" for slug in slugs]
    return files[0] if len(files) == 1 else files


def source(study: Study, entry: Entry, shared_benchmark: str = "") -> File:
    """The source of a registry entry: the user's own path, the fetched files of a benchmark, or a downloaded file."""
    if "path" in entry:
        return [str(entry["path"]), str(entry["known"])] if "known" in entry else str(entry["path"])
    fetched = shared_benchmark and is_fetched(entry)
    return fetched_for(shared_benchmark, "texts") if fetched else download(study, entry)


def source_of_view(study: Study, view: str, entry: Entry, shared_benchmark: str) -> File:
    """The file of a benchmark's released view: its own file, a fetched file, or the file of the texts."""
    if view in entry.get("views", {}):
        return str(entry["views"][view])
    if _fetches_views(entry):
        return fetched_for(shared_benchmark, "views")
    return source(study, entry, shared_benchmark)


def _fetches_views(entry: Entry) -> bool:
    return "neighbours" in entry and "path" not in entry


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
    local = {model for model in models if entries[model]["source"] not in ("answers", "openai")}
    beside = {
        plan.tokenizer_of(study, run.model)
        for run in study.runs
        if run.corpora or "api" in entries[run.model]
    }
    beside |= {view_writer(view, benchmarks[slug]) for slug, view in stored_views_of_study(study)} - {""}
    local |= {model for model in beside if entries[model]["source"] == "hub"}
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
        and view not in entries[slug].get("views", {})
    }
    return [
        fetched_for(study.benchmarks.shared[slug], part)
        for slug, part in sorted(wanted)
        if is_fetched(entries[slug]) and "path" not in entries[slug]
    ]


def streamed_of_study(study: Study) -> list[str]:
    """The records of the hub files of the study's corpora."""
    entries, shared = study.corpora.entries, study.corpora.shared
    corpora = sorted({corpus for run in study.runs for corpus in run.corpora})
    return [
        commit_of_shard(shared[slug], shard)
        for slug in corpora
        if entries[slug]["source"] == "hub"
        for shard in range(shards(entries[slug]))
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
    needs = RENDERERS[study.artifacts[artifact]["renderer"]].needs
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
