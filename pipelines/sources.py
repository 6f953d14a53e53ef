"""The files on disk as Dagster sees them: looked at and never made, so that the UI knows what is stale."""

import dagster as dg

from pipelines.failures import final_errors
from pipelines.metadata import DATA_VERSION
from pipelines.partitions import DOCUMENTS, documents
from pipelines.resources import Workspace

GONE = "gone"  # the version of a file that is no longer there

source_file = dg.AssetSpec(
    "source_file",
    partitions_def=documents,
    group_name="document",
    description="The file itself. `observe_sources` and the sensor note its version: content, settings and model.",
)


def observation(doc_key: str, version: str) -> dg.AssetObservation:
    """The version of a file as an event."""
    return dg.AssetObservation(source_file.key, partition=doc_key, tags={DATA_VERSION: version})


@dg.op
def observe_files(context: dg.OpExecutionContext, workspace: dg.ResourceParam[Workspace]) -> None:
    """Note the version of every file whose document Dagster knows. Hashes them; builds nothing."""
    known = context.instance.get_dynamic_partitions(DOCUMENTS)
    with final_errors():
        versions = dict.fromkeys(known, GONE) | workspace.source_versions(known)
    for doc_key, version in versions.items():
        context.log_event(observation(doc_key, version))


@dg.job(executor_def=dg.in_process_executor)
def observe_sources() -> None:
    """Look at the files, so that the UI shows which documents are stale. Builds nothing."""
    observe_files()
