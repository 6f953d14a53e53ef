"""The files on disk as Dagster sees them: looked at and never made, so that the UI knows what is stale."""

import dagster as dg

from pipelines.failures import final_errors
from pipelines.metadata import DATA_VERSION
from pipelines.partitions import DOCUMENTS, add_documents, documents
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
    """Make a partition of every file and note its version; hashes them all."""
    with final_errors():
        versions = workspace.source_versions()
    add_documents(context.instance, versions)
    gone = dict.fromkeys(context.instance.get_dynamic_partitions(DOCUMENTS), GONE)
    for doc_key, version in (gone | versions).items():
        context.log_event(observation(doc_key, version))


@dg.job(executor_def=dg.in_process_executor)
def observe_sources() -> None:
    """Look at the files: new documents become partitions, and stale ones show. Builds nothing."""
    observe_files()
