"""What workflow/rules/of_snakemake.smk reads of Snakemake's own objects is there under
the same name: of some names, a release that drops them gives no error."""

import inspect
import re

import pytest
import snakemake.api  # noqa: F401  (first: its other modules import each other)
from projects import ROOT
from rich.panel import Panel
from snakemake.dag import DAG
from snakemake.jobs import Reason
from snakemake.logging import LoggerManager
from snakemake.modules import WorkflowModifier
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.settings.types import (
    DAGSettings,
    MaxJobsPerTimespan,
    OutputSettings,
    SchedulingSettings,
)
from snakemake.workflow import Workflow
from snakemake_logger_plugin_rich.handler import RichLogHandler

from pretrace.studies.workflow import tell_what_is_left

READ = {
    Workflow: {
        "dag", "dag_settings", "executor_settings", "logger_manager", "modifier",
        "scheduling_settings", "scheduler",
    },
    LoggerManager: {"plugin_handlers"},
    WorkflowModifier: {"is_main_snakefile", "modify_rulename"},
    DAGSettings: {"target_jobs", "targets"},
    SchedulingSettings: {"max_jobs_per_timespan"},
    MaxJobsPerTimespan: {"max_jobs", "timespan"},
    JobScheduler: {"failed", "job_rate_limiter"},
    DAG: {
        "bfs", "dependencies", "depending", "jobs", "needrun", "needrun_jobs", "reason",
    },
    Reason: {"no_metadata"},
}  # fmt: skip


@pytest.mark.parametrize("kind", READ, ids=lambda kind: kind.__name__)
def test_what_the_rules_read_of_snakemake_is_there(kind):
    source = inspect.getsource(kind)
    assigned = set(re.findall(r"self\.(\w+)(?:: [^=\n]+)? = ", source))
    assert READ[kind] - assigned - set(dir(kind)) - set(kind.__annotations__) == set()


def test_every_name_that_the_rules_read_of_the_workflow_is_listed():
    rules = (ROOT / "workflow" / "rules" / "of_snakemake.smk").read_text("utf-8")
    read = set(re.findall(r"\bworkflow\.(\w+)", rules))
    assert read == READ[Workflow]
    for path in (ROOT / "workflow").rglob("*"):
        if path.name == "of_snakemake.smk" or path.suffix not in (".smk", ""):
            continue
        if path.is_file():
            said = set(re.findall(r"\bworkflow\.(\w+)", path.read_text("utf-8")))
            # Snakemake calls it where results have no record
            assert said <= {"log_missing_metadata_info", "default_target", "rst"}, path
    assert "self.log_missing_metadata_info()" in inspect.getsource(Workflow)


@pytest.mark.parametrize("columns", [60, 120])
def test_the_bars_of_rules_say_how_many_jobs_are_left_in_a_narrow_terminal(columns):
    handler = RichLogHandler(OutputSettings())
    tell_what_is_left([handler, object()])
    bars = handler.progress
    bars.add_task("register_checkpoint", total=1340, completed=6, active=2)
    bars.console.width = columns
    with bars.console.capture() as captured:
        bars.console.print(Panel(bars.get_renderable()))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= columns
    assert "1334 left" in lines[1]
