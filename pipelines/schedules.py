"""The nightly reindex: everything that differs from the current release, asked for once a night."""

import dagster as dg

from pipelines.jobs import index_document
from pipelines.partitions import add_documents
from pipelines.resources import WorkspaceSettings
from pipelines.sensors import plan_workspace, run_requests
from pipelines.sources import observation


@dg.schedule(cron_schedule="0 2 * * *", job=index_document, default_status=dg.DefaultScheduleStatus.STOPPED)
def nightly_reindex(
    context: dg.ScheduleEvaluationContext, workspace_settings: WorkspaceSettings
) -> list[dg.RunRequest] | dg.SkipReason:
    """A run for each document that is new or changed."""
    workspace = workspace_settings.open()
    planned, fingerprint, _ = plan_workspace(workspace)
    requests = run_requests(planned, fingerprint)
    if not requests:
        return dg.SkipReason("every document is as the current release has it")
    keys = [request.partition_key or "" for request in requests]
    add_documents(context.instance, keys)
    # Noted before the runs start, so that each run records which file it was made of.
    versions = {entry.doc_key: workspace.source_version(entry.source.sha256) for entry in planned if entry.source}
    for doc_key in keys:
        context.instance.report_runless_asset_event(observation(doc_key, versions[doc_key]))
    return requests
