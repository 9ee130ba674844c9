# The study, resolved, and what rules look up in it. No rules here.
import os
import re
import sys
from functools import cache
from inspect import signature
from pathlib import Path

from snakemake.io import is_flagged

from pretrace import config_folder
from pretrace.evaluation.statistics import STATISTICS
from pretrace.runtime.ahead import Ahead
from pretrace.runtime.code import code_digest
from pretrace.runtime.errors import InputError
from pretrace.runtime.identity import Identities, Job
from pretrace.studies import Plan, load_study
from pretrace.studies.estimate import measured, order_of_length
from pretrace.studies.failures import ways_on
from pretrace.studies.job_minutes import minutes_of, minutes_of_fill
from pretrace.studies.priorities import FIRST
from pretrace.studies.workflow import (
    announce,
    fill_defaults,
    plan_workflow,
    print_conclusion,
    tell_what_is_left,
)

# before planning, which tells the processes that this one starts that they are jobs
IDENTITIES = Identities(is_job="PRETRACE_JOB" in os.environ)
fill_defaults(config)
PLAN = plan_workflow(config, config_folder())
STUDY = PLAN.study
AHEAD = Ahead(Path("results", STUDY.name))


pathvars:
    config=str(STUDY.folder),
    study=STUDY.name,


def alternatives(names):
    """A wildcard constraint that matches exactly these names, or nothing if there are
    none."""
    return "|".join(re.escape(name) for name in sorted(names)) or "(?!)"


wildcard_constraints:
    model=alternatives(PLAN.names("models")),
    tokenizer=alternatives(STUDY.models.shared.values()),
    benchmark=alternatives(PLAN.names("benchmarks")),
    corpus=alternatives(STUDY.corpora.shared.values()),
    shard=r"\d+",
    share=r"\d+of\d+",
    artifact=alternatives(STUDY.artifacts),


# The artifacts whose files the command names. The command of a job that an executor
# starts names none of these files: Snakemake gives it the variables of `envvars:`.
os.environ.setdefault("PRETRACE_ONLY", "")
# Whether the command names files of pairs, each of which is then read by its own job.
os.environ.setdefault("PRETRACE_BY_PAIR", "")


envvars:
    "PRETRACE_ONLY",
    "PRETRACE_BY_PAIR",


@cache
def asked():
    """The plan of what the command asks for: of artifacts by their paths, what `only`
    with their names plans."""
    targets = targets_of_command()
    if targets is not None:  # this is not such a job
        os.environ["PRETRACE_ONLY"] = ",".join(PLAN.artifacts_at(targets))
        by_pair = PLAN.asks_for_pairs(targets)
        os.environ["PRETRACE_BY_PAIR"] = "yes" if by_pair else ""
    named = os.environ["PRETRACE_ONLY"]
    if named:
        return Plan(load_study(config | {"only": named.split(",")}, config_folder()))
    return Plan(STUDY, by_pair=True) if os.environ["PRETRACE_BY_PAIR"] else PLAN


class Lookup:
    """`pair.known.scores` in a rule: the function that gives this of the pair that a
    job's wildcards name.

    [] if something on the way is None, as a rule takes an input that it does not need.
    """

    def __init__(self, of_wildcards):
        self._of_wildcards = of_wildcards

    def __call__(self, wildcards):
        return self._of_wildcards(wildcards)

    def __getattr__(self, name):
        # Snakemake asks whether a function has these
        if name.startswith("_") or name == "flags":
            raise AttributeError(name)

        def of_wildcards(wildcards):
            value = self(wildcards)
            return getattr(value, name) if value else []

        return Lookup(of_wildcards)


tell_parameters(Lookup, lambda wildcards: None)
pair = Lookup(lambda wildcards: asked().pair(wildcards.model, wildcards.benchmark))
model = Lookup(lambda wildcards: asked().model(wildcards.model))
benchmark = Lookup(lambda wildcards: asked().benchmark(wildcards.benchmark))
corpus = Lookup(lambda wildcards: asked().corpus(wildcards.corpus))
view = Lookup(lambda wildcards: asked().view(*wildcards.view.split("/")))
rendering = Lookup(lambda wildcards: asked().rendering(wildcards.artifact))


def identity(name, code=None):
    """The last input of a rule, by its `name`: the function that gives its jobs'
    identity files (runtime/identity.py).

    `code`: what `code_digest` takes, if not the rule's name alone; () for a rule that
    no change of code runs again.
    """
    arguments = (name,) if code is None else code

    def of_wildcards(wildcards):
        declared = getattr(rules, name)
        names = dict(wildcards.items())
        inputs = []
        for item in declared.input[:-1]:
            for path in paths(given(item, wildcards)):
                if not is_flagged(path, "ancient"):
                    inputs.append(path)
        job = Job(
            code=(
                code_digest(*(argument.format(**names) for argument in arguments))
                if arguments
                else ""
            ),
            settings={
                key: given(value, wildcards)
                for key, value in declared.params.items()
                if not isinstance(value, Apart)
            },
            inputs=inputs,
            outputs=[item.format(**names) for item in declared.output],
        )
        try:
            return IDENTITIES.plan(job)
        except InputError as error:
            sys.exit(f"error: {error}")

    return Lookup(of_wildcards)


class Apart:
    """A parameter that no output follows from: a change of it runs no job again.

    Snakemake compares no parameters that are functions of the job's outputs.
    """

    __signature__ = signature(lambda wildcards, output: None)

    def __init__(self, of_wildcards):
        self._of_wildcards = of_wildcards

    def __call__(self, wildcards, output):
        return self._of_wildcards(wildcards)


def only_before(files):
    """Files, as a function of wildcards, that a job waits for and does not read."""
    return Lookup(lambda wildcards: ancient(files(wildcards)))


def given(item, wildcards):
    """What a rule's input or parameter is for a job: a function's value, a path with
    its wildcards filled in."""
    if callable(item):
        return item(wildcards)
    return item.format(**dict(wildcards.items())) if isinstance(item, str) else item


def paths(value):
    """The paths in an input: one, several, or several by name."""
    if isinstance(value, str):
        return [value]
    found = []
    for part in value.values() if isinstance(value, dict) else value:
        found += paths(part)
    return found


@cache
def lengths_of_jobs():
    return order_of_length(asked())


def longest_first(wildcards):
    """The priority of a job in which a model is fetched, reads or answers: the longest
    one starts first."""
    of_benchmark = benchmark.slug(wildcards) if "benchmark" in wildcards.keys() else ""
    slugs = model.slug(wildcards), of_benchmark
    waited = pair.priority(wildcards) if of_benchmark else model.priority(wildcards)
    return waited + lengths_of_jobs().get(slugs, 0)


def each_attempt(amount):
    """Memory or time that grows with each attempt, in case a job was killed for lack of
    it."""
    return tell_parameters(lambda wildcards, attempt: attempt * amount(wildcards))


def minutes_left(stage):
    """Time for passes or answers of a pair: for what is left to do, at most
    `max_runtime`."""
    return tell_parameters(
        lambda wildcards, attempt: minutes_of(
            pair(wildcards), stage, wildcards.get("share", ""), attempt
        )
    )


def filled_together(of_pairs):
    """What a rule takes of the pairs that one job reads, as a function of
    wildcards."""
    return lambda wildcards: of_pairs(asked().fill(wildcards.model, wildcards.turn))


def where_trained(wildcards):
    """What `fill_pairs` takes in the job that trains a model, but for its
    checkpoint."""
    pairs = asked().filled_by(wildcards.model)
    resources = model(wildcards).resources
    return {
        "pairs": [pair.filling() for pair in pairs],
        "loading": model.loading(wildcards) | {"device": config["device"]},
        "names": {"study": STUDY.name, "model": wildcards.model},
        "store": "results/passes/store",
        "batch_tokens": config["batch_tokens"],
        "threads": resources.threads,
    }


# no input, because Snakemake takes braces in a file's name for wildcards
def configuration(wildcards):
    """The text of the study file."""
    return STUDY.path.read_text(encoding="utf-8")


def seal_of_study():
    """The sealed plan that every pass of an audit waits for, or [] for other
    studies."""
    return ancient("results/<study>/seals.json") if PLAN.is_sealed else []
