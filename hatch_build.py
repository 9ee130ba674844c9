"""Put the workflow into the wheel, beside the library that it calls."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INSIDE = {
    "src/pretrace": "pretrace",
    "CITATION.cff": "pretrace/CITATION.cff",
    "Snakefile": "pretrace/Snakefile",
    "config": "pretrace/config",
    "envs/pretrace.yaml": "pretrace/envs/pretrace.yaml",
    "profiles": "pretrace/profiles",
    "workflow": "pretrace/workflow",
}


class WorkflowInWheel(BuildHookInterface):
    """Files of the wheel from outside the library: workflow, scripts, profiles, pins,
    registries, CITATION.cff."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # an editable install reads the clone: copies in site-packages would hide it
        if version != "editable":
            build_data["force_include"].update(INSIDE)
