"""The code location: `dagster dev --module-name pipelines.definitions`.

Which sources are indexed where is read from the environment of that command, when Dagster asks for the definitions.
"""

import dagster as dg

from pipelines.checks import ALL_CHECKS, RELEASE_CHECKS
from pipelines.io_managers import StageFiles
from pipelines.jobs import ALL_ASSETS, index_document, publish_release
from pipelines.resources import WorkspaceSettings, open_workspace
from pipelines.rollback import roll_back_release
from pipelines.schedules import nightly_reindex
from pipelines.sensors import changed_sources
from pipelines.sources import observe_sources, source_file


def _setting(name: str, default: str) -> str:
    return dg.EnvVar(f"PAGEINDEX_LOCAL_{name}").get_value(default) or default


@dg.definitions
def definitions() -> dg.Definitions:
    """All assets, checks, jobs, the sensor and the schedule, with the resources of this installation."""
    index, collection = _setting("INDEX", "indexes"), _setting("COLLECTION", "default")
    workspace_settings = WorkspaceSettings(
        sources=_setting("SOURCES", "docs/demo"),
        index=index,
        collection=collection,
        config=_setting("CONFIG", ""),
        model=_setting("MODEL", ""),
    )
    return dg.Definitions(
        assets=[source_file, *ALL_ASSETS],
        asset_checks=[*ALL_CHECKS, *RELEASE_CHECKS],
        jobs=[index_document, publish_release, observe_sources, roll_back_release],
        sensors=[changed_sources],
        schedules=[nightly_reindex],
        resources={
            "workspace": open_workspace,
            "workspace_settings": workspace_settings,
            "io_manager": StageFiles(folder=f"{index}/{collection}/work/stages"),
        },
    )
