"""What the plan of an audit says of it: what is compared, on which device, for how
long, and what is sent where."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pretrace.audit.design import TUNED_TOLD, has_p, known_for_p
from pretrace.benchmarks.sources import Text
from pretrace.models.adapters import read_adapter
from pretrace.models.bases import check_same_tokens
from pretrace.models.checkpoint import ADAPTER
from pretrace.models.entries import (
    AdapterModel,
    ApiModel,
    ModelEntry,
    TrainedModel,
)
from pretrace.questions.alignment import CONTEXT
from pretrace.runtime.errors import first_names, shorten
from pretrace.runtime.files import JsonObject
from pretrace.studies.audit.study import (
    TEXTS_SLUG,
    WORKS_SLUG,
    base_named,
    has_gpu,
    slug_of,
)
from pretrace.studies.audit.user_texts import read_texts
from pretrace.studies.audit.works import plan_of_works, side_of
from pretrace.studies.estimate import BYTES_A_TOKEN, counted, jobs_of, tokenizer_here
from pretrace.studies.plan import Plan
from pretrace.studies.registries import cut_of, left_out_of, path_of, text_files_of
from pretrace.studies.stages.models import Model

CPU_FLOPS = 2.5e11
"""Operations a second on two quiet cores: two jobs of a thread that read 470 tokens a
second each with SmolLM2-135M."""


def description(plan: Plan, config: JsonObject) -> list[str]:
    """Return what an audit will compare, on which device and for about how long, and
    what was read of works."""
    study = plan.study
    entries = plan.study.benchmarks.entries
    entry = entries[TEXTS_SLUG]
    for pair in plan.pairs:
        if pair.given_back:
            return [*_sent(plan, pair.model.entry)]
    read = {}
    for slug in (TEXTS_SLUG, WORKS_SLUG):
        if slug in entries:
            read[slug] = read_texts(plan, slug)
    texts = read[TEXTS_SLUG]
    suspects, known = _sides(texts)
    told: list[str] = []
    if (cut := cut_of(entry)) is not None:
        left_out = left_out_of(entry)
        ours, theirs = (side_of(path, left_out) for path in text_files_of(entry))
        told += plan_of_works(ours, theirs, cut)
    told.append(
        f"was {config['model']} trained on {_count(suspects)}? They are compared with "
        f"{_count(known)} given as unread: {_cost_told(plan, config, read)}. The "
        f"answer will be in results/{study.name}/report.html"
    )
    if any(text.document for text in texts):
        told.append(
            f"in question (label null): {_name_documents(suspects)}; given as unread "
            f"(label 0): {_name_documents(known)}"
        )
    told += _trained_anew(plan, config)
    return [*told, *_base_told(plan, config, suspects)]


def _sides(texts: Sequence[Text]) -> tuple[list[Text], list[Text]]:
    """Return the texts in question, and the known ones."""
    suspects: list[Text] = []
    known: list[Text] = []
    for text in texts:
        side = known if text.label == 0 else suspects
        side.append(text)
    return suspects, known


def _cost_told(
    plan: Plan, config: JsonObject, read: Mapping[str, Sequence[Text]]
) -> str:
    """Say how many tokens are read, on which device, and for about how long."""
    sizes = {slug: counted(plan, slug, texts) for slug, texts in read.items()}
    jobs = jobs_of(plan, sizes)
    tokens = f"{sum(job.read for job in jobs):,.0f} tokens in all"
    if not tokenizer_here(plan, TEXTS_SLUG):
        latin, other = BYTES_A_TOKEN
        tokens += f", counted as {latin:g} bytes each, of other scripts {other:g}"
    device = config["device"]
    if device.startswith("cuda") or (device == "auto" and has_gpu()):
        hours = sum(job.hours("A100") for job in jobs)
        return f"{tokens}, on the GPU, {_time(hours)}"
    hours = sum(job.operations for job in jobs) / CPU_FLOPS / 3600
    return f"{tokens}, on the CPU, with two cores, {_time(hours)}"


def _sent(plan: Plan, model: ModelEntry) -> Iterator[str]:
    """Yield what is sent of works, to whom, how many requests that takes, and the
    price."""
    assert isinstance(model, ApiModel)
    texts = read_texts(plan, TEXTS_SLUG)
    suspects, known = _sides(texts)
    sizes = counted(plan, TEXTS_SLUG, texts)
    [job] = jobs_of(plan, {TEXTS_SLUG: sizes})
    yield (
        f"how much does {plan.model(job.model.slug).slug} give back of "
        f"{_count(suspects)}, and of {_count(known)} given as unread? The answer will "
        f"be in results/{plan.study.name}/report.html"
    )
    yield (
        f"in question: {_name_documents(suspects)}; given as unread: "
        f"{_name_documents(known)}"
    )
    if not has_p(len(suspects), len(known)):
        yield f"no p can be as low as 0.05: it takes {known_for_p(len(suspects))}"
    yield (
        f"PASSAGES OF ALL THESE WORKS ARE SENT to {model.api.base_url} (model "
        f"{model.api.model}): the {CONTEXT} words before up to 20 places in each. Do "
        "not ask about confidential texts. A dry run and estimate send nothing"
    )
    yield (
        f"at most {job.read / 1e6:,.2f} million tokens are read and "
        f"{job.written / 1e6:,.2f} million written, for about {job.dollars:,.2f} US "
        "dollars at the entry's price, and more where the model goes on; nothing is "
        f"asked beyond budget_usd={plan.study.settings.budget_usd:g}"
    )


def _base_told(
    plan: Plan, config: JsonObject, suspects: Sequence[Text]
) -> Iterator[str]:
    """Say which base the model is compared with, and where an adapter names another
    one.

    Raises `InputError` if the two read a text as other tokens, where both tokenizers
    are here.
    """
    if plan.base is None:
        return
    model, base = plan.base
    name, base_name = config["model"], base_named(config["model"], config.get("base"))
    assert base_name is not None
    own, other = _tokenizer_file(model), _tokenizer_file(base)
    if own.is_file() and other.is_file():
        from tokenizers import Tokenizer

        check_same_tokens(
            Tokenizer.from_file(str(own)),
            Tokenizer.from_file(str(other)),
            (name, base_name),
            (text.text for text in suspects),
        )
    which = "" if config.get("base") else ", which the adapter names"
    yield (
        f"base: {base_name}{which}: a score is by how much likelier tokens are in "
        f"{name} than there. {TUNED_TOLD}"
    )
    if not isinstance(model.entry, AdapterModel):
        return
    adapter = read_adapter(Path(model.entry.path))
    trained = f"warning: {name} was trained on"
    if slug_of(adapter.base) != slug_of(base_name):
        yield (
            f"{trained} {adapter.base}, as its {ADAPTER} says, and is read on "
            f"{base_name}: if these differ, the answer means nothing"
        )
    revision = getattr(base.entry, "revision", adapter.revision)
    if adapter.revision and adapter.revision != revision:
        yield (
            f"{trained} revision {adapter.revision} of {adapter.base}, as its "
            f"{ADAPTER} says, and is read on {revision}"
        )


def _trained_anew(plan: Plan, config: JsonObject) -> Iterator[str]:
    """Say which model of config/models.yaml that is given by its folder is trained
    first, because files that it is trained from are not here."""
    for given in (config["model"], config.get("base") or ""):
        name = Path(given).name
        entry = plan.study.models.entries.get(name)
        is_ours = Path(given).resolve() == Path("results/models", name).resolve()
        if not isinstance(entry, TrainedModel) or not is_ours:
            continue
        model = plan.model(name)
        made_from = [model.training_texts]
        corpus = plan.study.corpora.entries.get(entry.training.tokenizer_corpus or "")
        # documents of the hub are deleted once they are used, and not missed
        if corpus is not None and corpus.source != "hub":
            made_from += model.training_documents
        missing = [file for file in made_from if not Path(file).is_file()]
        if missing:
            yield (
                f"{given} is trained anew first: it is a model of config/models.yaml, "
                f"and {missing[0]}, which it is trained from, is not here. To audit "
                "its files as they are, copy the folder out of results/ and name that "
                "one"
            )


def _tokenizer_file(model: Model) -> Path:
    folder = path_of(model.entry) or f"results/models/{model.name}"
    return Path(folder, "tokenizer.json")


def _name_documents(texts: Sequence[Text]) -> str:
    """Return the names of the first documents, so that swapped labels are noticed."""
    names = dict.fromkeys(shorten(text.document) for text in texts if text.document)
    return first_names(list(names)) or "no document is named"


def _count(texts: Sequence[Text]) -> str:
    documents = len({text.document or text.text_id for text in texts})
    return (
        f"{len(texts)} text{'s' * (len(texts) != 1)} of {documents} "
        f"document{'s' * (documents != 1)}"
    )


def _time(hours: float) -> str:
    """Say how long passes take, with a minute for starts of jobs."""
    minutes = 1 + 60 * hours
    if not hours:
        return "for a time that depends on the model's size"
    if minutes < 90:
        return f"about {max(2, minutes):.0f} minutes"
    return f"about {minutes / 60:.0f} hours"
