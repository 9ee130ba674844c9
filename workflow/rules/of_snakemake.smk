# All that is read of Snakemake's own objects, which no document of Snakemake promises. tests/workflow/test_of_snakemake.py
# fails if a release of Snakemake changes one of them. No rules here.
import os
from inspect import signature

from snakemake.common import overwrite_function_params

from pretrace.runtime.ahead import DrawingJob
from pretrace.runtime.logs import say
from pretrace.studies.failures import FailedJob

RENDERING = ("render_table", "render_figure")


def targets_of_command():
    """The targets that the command names; None in the job that an executor started,
    whose command names its own outputs, and while Snakemake lints the rules."""
    settings = workflow.dag_settings
    return None if settings is None or settings.target_jobs else settings.targets


def tell_parameters(function, like=None):
    """Give a function of rules, or a class, the names of its parameters, or those of
    the function `like`. Snakemake asks for them three times a job; to work them out
    anew takes a tenth of the time of planning."""
    overwrite_function_params(function, signature(like or function).parameters)
    return function


def partition_file(wildcards=None):
    """The file of the partitions that jobs go to, if they go to a cluster with Slurm
    and it is named."""
    settings = workflow.executor_settings
    return getattr(settings, "partition_config", None) or os.environ.get(
        "SNAKEMAKE_SLURM_PARTITIONS"
    )


def lift_rate_limit():
    """Start jobs without Snakemake's own limit of 100 a second; a limit that the
    command names stays.

    With a limit, each job that ended makes Snakemake look for jobs to start once more
    each second, to the end of the run: after 600 jobs 600 times a second.
    """
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit is not None and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


def handlers_of_log():
    """The objects that show the log on the terminal: bars, or lines."""
    return workflow.logger_manager.plugin_handlers


def in_main_snakefile():
    """Tell whether this is no module of another workflow."""
    return workflow.modifier.is_main_snakefile()


def rules_are_renamed():
    """Tell whether the workflow that imports this one gives its rules other names."""
    return workflow.modifier.modify_rulename("") != ""


def tell_copied_results():
    """Say in one line how many results Snakemake has no record of, in place of its own
    two, which name every rule."""
    dag = workflow.dag
    jobs = [job for job in dag.jobs if dag.reason(job).no_metadata]
    copied = [job for job in jobs if not dag.needrun(job)]
    if copied:
        say(
            f"{len(copied)} results have no record in .snakemake. What they were made "
            "from stands in themselves, so they are reused. Copy .snakemake with "
            "results/ to end this line."
        )


def drawing_jobs():
    """Yield the jobs of this run that render, but for those of the study's first
    artifacts, which wait for nothing."""
    dag = workflow.dag
    for job in dag.needrun_jobs():
        if job.rule.name not in RENDERING or job.priority:
            continue
        made_in_run = []
        for earlier, files in dag.dependencies[job].items():
            if dag.needrun(earlier):
                made_in_run += map(str, files)
        yield DrawingJob(
            dict(job.params.items()),
            [str(path) for path in job.output],
            str(job.input.identity),
            [str(path) for path in job.input],
            made_in_run,
        )


def failed_jobs():
    """Yield the jobs of this run that failed, with the tables and figures that wait for
    them."""
    depending = workflow.dag.depending
    for failed in workflow.scheduler.failed:
        for job in getattr(failed, "jobs", [failed]):
            waiting = set()
            for later in workflow.dag.bfs(depending, job):
                if later.rule.name in RENDERING:
                    waiting.add(later.wildcards.artifact)
            yield FailedJob(
                job.rule.name,
                dict(job.wildcards.items()),
                str(job.log[0]) if job.log else "no log",
                frozenset(waiting),
            )
