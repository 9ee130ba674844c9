"""Scores from Python: of texts without a study, and of a finished study; both by what
the rules call.

Paths are relative to the working directory, the project's folder.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from pretrace import config_folder
from pretrace.benchmarks.callers_list import rows_of_list
from pretrace.benchmarks.texts import texts_of_rows
from pretrace.documents.languages import language_of
from pretrace.methods import (
    METHODS,
    Chosen,
    Inputs,
    find,
    obstacle,
    setting_name,
    settings,
)
from pretrace.methods import score as scores_table
from pretrace.methods.registry import QUESTION_METHODS, Value
from pretrace.models.checkpoint import RECORD, register_local
from pretrace.models.fetching import fetch_model
from pretrace.passes.index import PassIndex
from pretrace.questions.documents import document_units
from pretrace.render.artifact import outputs
from pretrace.render.frames import read_csv
from pretrace.render.results import with_variants_named
from pretrace.runtime.errors import InputError, nearest, require_name, shorten
from pretrace.runtime.files import read_parquet
from pretrace.runtime.logs import log, progress_on_stderr
from pretrace.runtime.schema import read_yaml
from pretrace.studies import Plan, load_study
from pretrace.studies.audit.study import has_gpu
from pretrace.studies.pairs import Pair, requests_of_methods
from pretrace.studies.plan import recorded_config
from pretrace.studies.runs import Run
from pretrace.studies.stages.models import LOADING

if TYPE_CHECKING:
    import pandas as pd

Parameters = Mapping[str, Mapping[str, Value]]
Methods = str | Parameters | Sequence[str | Parameters]


def score(
    texts: "Iterable[str] | pd.Series[str]",
    *,
    model: str | Path,
    methods: Methods | None = None,
    labels: "Iterable[int | None] | None" = None,
    start_token: str = "tokenizer",
    store: str | Path | None = None,
) -> "pd.DataFrame":
    """Score texts by methods that need nothing but the texts and the model.

    Args:
        texts: [n] texts: a list, an array, a generator, or a Series, whose index is
            kept.
        model: a name of config/models.yaml whose checkpoint is in results/models/, a
            folder with config.json, safetensors and a tokenizer, or an id of the
            Hugging Face hub.
        methods: ids, or one of them, at their defaults, or id -> a value for each
            parameter to change, as `{"min_k": {"k": 0.1}}` (default, every method that
            needs nothing more).
        labels: [n] 1 member, 0 non-member, None unknown, for `blind`, the bag of words
            that sees no model. A Series has the index of the texts.
        start_token: as the key of a run: `tokenizer`, `none`, or the token itself.
        store: a folder that keeps the passes, so that a second call reads them
            (default, nothing is kept).

    Returns:
        [n, methods] float64 in the order of the texts, a column for each method, as
        `loss` or `min_k(k=0.1)`: higher is more like a member. Log-probabilities are
        natural logarithms. `attrs` has `model`, `checkpoint` (its commit on the hub or
        its folder, and its SHA-256), `dtype` and `device`. Labels add the column
        `blind`, unless they are too few to learn from. If the texts take more than five
        seconds, stderr says how far they are.

    Raises:
        InputError: an unknown method or one that needs more than the texts, a text that
            is missing, no text or without a score, each with its index, or no such
            model.

    Example:
        >>> methods = ["loss", {"min_k": {"k": 0.1}}]
        >>> pretrace.score(["To be, or not to be"], "smollm2-135m", methods=methods)
    """
    import pandas as pd

    from pretrace.benchmarks.table import finish
    from pretrace.models.devices import torch_settings
    from pretrace.models.target import load_checkpoint
    from pretrace.passes import job

    needed = "a name, an id of the hub, or a folder"
    model = _checked("model", model, str | Path, needed)
    needed = "'tokenizer', 'none', or the token itself"
    start_token = _checked("start_token", start_token, str, needed)
    if store is not None:
        store = Path(_checked("store", store, str | Path, "a folder"))
        if store.is_file():
            raise InputError(f"score: store is {store}, a file; give a folder.")
    listed = rows_of_list(texts, labels)
    own = texts_of_rows(listed.rows, "score: the list of texts")
    ids = [text.text_id for text in own]
    table = finish(own, name="of score", seed=0)
    language = language_of(" ".join(table["text"][:50]))
    columns = _columns(methods, language, labelled=labels is not None)
    named = set() if methods is None else {*columns}
    if labels is not None:
        columns |= _columns(["blind"], language, labelled=True)
    run = Run(
        model=model,
        benchmark="texts",
        start_token=start_token,
        methods=[*columns.values()],
    )
    config = read_yaml(config_folder() / "config.yaml")
    with TemporaryDirectory() as folder:
        record, entry = _checkpoint(model, Path(folder))
        threads = entry.get("resources", {}).get("threads") or config["threads"]
        passes = Path(folder, "store") if store is None else Path(store)
        options = {"device": config["device"]}
        for key in LOADING:
            if key in entry:
                options[key] = entry[key]
        target = load_checkpoint(record, **options)
        with torch_settings(threads), progress_on_stderr():
            manifest = job.run(
                requests_of_methods(run, "original"),
                benchmark=table,
                names={"study": "score", "model": model, "benchmark": "texts"},
                target=target,
                store=passes,
                manifest=Path(folder, "passes.json"),
                batch_tokens=config["batch_tokens"],
                threads=threads,
            )
        inputs = Inputs(PassIndex(manifest, passes), table, language=language)
        scores = pd.concat(scores_table([run.for_jobs()], inputs))
    for view in manifest["views"][:1]:
        if view["truncated"]:
            log.warning(
                "score: %d texts are longer than the model's context and were cut",
                view["truncated"],
            )
    scores = scores.set_index(["method", "setting", "id"]).sort_index()
    wide = pd.DataFrame(index=ids)
    for column, item in columns.items():
        setting = setting_name(item.method, item.parameters)
        wide[column] = scores["score"].get((item.method, setting))
    has_extra_blind = "blind" in wide and "blind" not in named
    if has_extra_blind and wide["blind"].isna().any():
        log.warning(
            "score: no column blind, because the labels are too few to learn from in "
            "each fold"
        )
        wide = wide.drop(columns="blind")
    for row, column in np.argwhere(wide.isna())[:1]:
        reasons = "; ".join(f"{method}: {reason}" for method, reason in inputs.unscored)
        where = f"score: texts[{listed.index[row]!r}]"
        raise InputError(
            f"{where} has no score of {wide.columns[column]} ({reasons}). Leave one of "
            "them out."
        )
    wide = wide.set_axis(listed.index)
    source = f"{target.checkpoint.source}, sha256:{target.digest}"
    wide.attrs = {
        "model": model,
        "checkpoint": source,
        "dtype": target.dtype,
        "device": target.device,
    }
    return wide


def _checked(argument: str, value: Any, kinds: Any, needed: str) -> str:
    """Return an argument as a string; `InputError` if it is of another type than
    `kinds`, or empty."""
    if not isinstance(value, kinds):
        raise InputError(
            f"score: {argument} is a {type(value).__name__}; give {needed}."
        )
    if not str(value):
        raise InputError(f"score: {argument} is empty; give {needed}.")
    return str(value)


def _written_methods(methods: Any) -> list[tuple[str, dict[str, Value]]]:
    """Return methods as written, each with the parameters that it is given;
    `InputError` for what is no method."""
    if isinstance(methods, str):
        methods = [methods]
    elif isinstance(methods, Mapping):
        methods = [{id: changed} for id, changed in methods.items()]
    if not isinstance(methods, Iterable):
        raise InputError(f"score: methods is a {type(methods).__name__}; {_METHOD}.")
    written = []
    for item in methods:
        by_id = {item: {}} if isinstance(item, str) else item
        values = by_id.values() if isinstance(by_id, Mapping) else [None]
        if not all(isinstance(value, Mapping) for value in values):
            raise InputError(f"score: methods has {shorten(repr(item))}; {_METHOD}.")
        for id, parameters in by_id.items():
            written.append((id, dict(parameters)))
    if not written:
        raise InputError(
            f"score: methods names none; {_METHOD}, or leave it out for all."
        )
    return written


_METHOD = "give ids of methods, or {ID: {PARAMETER: VALUE}}"


def _columns(
    methods: Methods | None, language: str, *, labelled: bool
) -> dict[str, Chosen]:
    """Return the methods by column, each at one setting; `InputError` for one that
    needs more than it is given."""
    columns = {}
    for id, changed in _written_methods([*METHODS] if methods is None else methods):
        if id in QUESTION_METHODS:
            raise InputError(
                f"score: {id} asks questions about documents. Write a study: "
                "docs/add_a_benchmark.md."
            )
        method = find(id)
        hindered = obstacle(id, {}, language=language)
        reason, remedy = hindered or ("", "")
        advice = "leave it out"
        if remedy:
            advice = f"in a study, {remedy}, and read the scores by pretrace.load"
        if "stream" in method.needs:
            reason = "only a model that is trained here has a known training stream"
        elif method.scope == "benchmark" and not labelled and not hindered:
            reason = "no text has a label"
            advice = "give labels"
        if reason and methods is not None:
            raise InputError(
                f"score: {id} needs more than the texts: {reason}; {advice} "
                "(docs/notebook.md)."
            )
        if not reason:
            grid = {name: method.defaults[name] for name in method.grid}
            setting, *others = settings(id, grid | changed)
            if others:
                raise InputError(
                    f"score: give one value for each parameter of {id}, or name {id} "
                    "once for each value."
                )
            name = f"{id}({setting_name(id, setting)})" if changed else id
            columns[name] = Chosen(method=id, parameters=setting)
    return columns


def _checkpoint(model: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the record of a model's checkpoint, made in `folder` if there is none, and
    its registry entry."""
    registered = read_yaml(config_folder() / "models.yaml")
    record = Path("results", "models", model, RECORD)
    if record.is_file() or model in registered:
        if not record.is_file():
            raise InputError(
                f"score: {record} is not there yet: snakemake --cores all {record}"
            )
        return record, registered.get(model, {})
    record = folder / RECORD
    if Path(model).is_dir():
        register_local(Path(model), record)
    elif re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", model):
        fetch_model(model, "main", record)
    else:
        raise InputError(
            f"score: the model '{shorten(model)}' is not a folder in {Path.cwd()}, an "
            "id of the Hugging Face hub such as EleutherAI/pythia-1.4b, or a name of "
            f"config/models.yaml: {nearest(model, registered)}"
        )
    # of weights without a folder in results/models/ no speed is kept, by which auto
    # chooses on a CPU
    return record, {} if has_gpu() else {"dtype": "float32"}


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """A finished study's results as pandas tables; columns as results/README.md lists
    them."""

    plan: Plan

    def __repr__(self) -> str:
        return (
            f"<pretrace study '{self.plan.study.name}': {len(self.pairs)} models on "
            "benchmarks, listed by .pairs>"
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return the (model, benchmark) pairs of the study's runs."""
        return [pair.slugs for pair in self.plan.pairs]

    def texts(self, benchmark: str) -> "pd.DataFrame":
        """Return a benchmark's texts: `text_id`, `text`, `label`, `subset`, `length`
        (words), `document`, `fold`."""
        return read_parquet(self._pair(None, benchmark).benchmark.table)

    def scores(self, model: str, benchmark: str, **reading: Any) -> "pd.DataFrame":
        """Return the scores of every method and setting, with the `label` (1 member, 0
        non-member, missing), `subset`, `length` (words) and `fold` of their text or
        document.

        `reading`: values of columns, as `method="loss"` or `view="delete-10"` (default,
        no altered view).

        Raises:
            InputError: a text has several scores of one method, setting and draw:
                after several start tokens.
        """
        import pandas as pd

        scores = read_parquet(self._pair(model, benchmark).scores)
        scores = _chosen(scores, reading)
        same = ["unit", "id", "method", "setting", "draw", "reference"]
        _check_once("scores", scores, same, ["start_token"])
        texts = self.texts(benchmark)
        keys = ["unit", "id"]
        units = texts.rename(columns={"text_id": "id"}).assign(unit="text")
        if scores["unit"].eq("document").any():
            documents = document_units(texts).assign(unit="document")
            units = pd.concat([units, documents])
        about = units[[*keys, "label", "subset", "length", "fold"]]
        return scores.merge(about, on=keys, how="left", validate="many_to_one")

    def metrics(self, model: str, benchmark: str, **reading: Any) -> "pd.DataFrame":
        """Return the AUCs and true positive rates with their intervals, of each subset,
        length, evaluation set, selection and start token.

        `reading`: values of columns (default, no altered view).
        A method with a parameter outside its grid off the default is called as in
        tables, `min_k;window=3`, so that `method == 'min_k' and selection == 'default'`
        is one row of a metric; in rows of the grid each setting is one.
        """
        file = self._pair(model, benchmark).stage_file("metrics")
        return _chosen(with_variants_named(read_parquet(file)), reading)

    def table(self, artifact: str) -> "pd.DataFrame":
        """Return the numbers of a table or figure, as in its CSV file:
        `study.table("results_auc")`."""
        artifacts = self.plan.study.artifacts
        require_name(
            artifact,
            artifacts,
            f"load: the study {self.plan.study.name} has no table or figure "
            f"'{artifact}'",
        )
        folder = Path("results", self.plan.study.name)
        path = outputs(artifacts[artifact], folder)["csv"]
        if not path.is_file():
            raise InputError(f"load: {path} is not there: snakemake --cores all {path}")
        return read_csv(path)

    def tokens(self, model: str, benchmark: str, **reading: Any) -> "pd.DataFrame":
        """Return the token statistics of a pass, a row for each text, an array [n] in
        each cell.

        `token_ids`, `logprobs` (nats), and of a text's own pass `entropies` (nats),
        `variances` (nats squared), `highest` and `ranks`: `methods.TokenStatistics`
        explains them. `reading`: the pass, by `subset`, `length`, `view`,
        `start_token`, `altered`, `prefix`, `draw` and `shots` (default, the passes over
        the texts themselves, `view="original"`).

        Raises:
            InputError: no such pass, or several over the same texts, as after two start
                tokens.
        """
        import pandas as pd

        pair = self._pair(model, benchmark)
        manifest = str(pair.passes) if pair.requests else None
        index = PassIndex.of_files(manifest, "results/passes/store")
        wanted = {"view": "original", "altered": "", "prefix": ""} | reading
        tables = []
        for key in index.rows:
            names = key.to_json()
            if wanted.items() <= names.items():
                tables.append(index.read(key).to_pandas().assign(**names))
        if not tables:
            known = "; ".join(key.name for key in index.rows) or "none"
            raise InputError(
                f"load: {model} on {benchmark} has no pass with {wanted}; its passes: "
                f"{known}"
            )
        tokens = pd.concat(tables, ignore_index=True)
        # neighbours are several copies of a text in one pass
        _check_once("tokens", tokens, ["text_id", "variant"], [*names])
        return tokens

    def _pair(self, model: str | None, benchmark: str) -> Pair:
        """Return the pair of a model, or of any (None), and a benchmark."""
        for pair in self.plan.pairs:
            is_of_model = model in (None, pair.model_slug)
            if is_of_model and benchmark == pair.benchmark_slug:
                return pair
        pairs = "; ".join(f"{model} on {benchmark}" for model, benchmark in self.pairs)
        raise InputError(
            f"load: {model or 'no model'} on {benchmark} is no run of "
            f"{self.plan.study.name}; it has {pairs}"
        )


def _chosen(table: "pd.DataFrame", reading: Mapping[str, Any]) -> "pd.DataFrame":
    """Return the rows of a table with these values of columns; without a `view`, those
    of the original texts and of questions, which have none. `InputError` if there are
    none."""
    for column, value in reading.items():
        if column not in table:
            known = [str(name) for name in table]
            raise InputError(f"load: no column '{column}': {nearest(column, known)}")
        chosen = table[table[column] == value]
        if chosen.empty:
            there = ", ".join(sorted(set(map(str, table[column]))))
            raise InputError(
                f"load: no row has {column}={value!r}; there are {shorten(there)}"
            )
        table = chosen
    if "view" in reading:
        return table
    return table[table["view"].isin(["original", ""])]


def _check_once(
    call: str, table: "pd.DataFrame", same: list[str], differing: list[str]
) -> None:
    """Raise `InputError` if rows of a table agree in the columns `same`, with what of
    `differing` tells them apart."""
    again = table[table.duplicated(same, keep=False)]
    for column in differing:
        values = again[column].drop_duplicates()
        if len(values) > 1:
            shown = ", ".join(f"{column}={value!r}" for value in values)
            raise InputError(
                f"load: {call} has texts more than once, by {column}; name one in the "
                f"call: {shown}"
            )


def load(study: str) -> Results:
    """Return the results of a finished study, by its name in results/.

    Raises:
        InputError: there is no such study, or it has not finished.

    Example:
        >>> scores = pretrace.load("embedded").scores("smollm2-135m", "sotu")
        >>> scores = scores.query("method == 'loss'")
        >>> sklearn.metrics.roc_auc_score(scores["label"], scores["score"])
    """
    record = Path("results", study, "provenance.json")
    if not record.is_file():
        records = Path("results").glob("*/provenance.json")
        finished = sorted(path.parent.name for path in records)
        state = "has not finished" if record.parent.is_dir() else "is not there"
        raise InputError(
            f"load: the study '{shorten(study)}' {state} in {Path.cwd() / 'results'}, "
            f"which has {', '.join(finished) or 'no finished study'}. Start Python in "
            "the project's folder; to finish a study, run snakemake --cores all "
            "--config study=..."
        )
    return Results(Plan(load_study(recorded_config(record), config_folder())))
