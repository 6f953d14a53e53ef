"""The nightly reindex: everything that differs from the current release, asked for once a night."""

import dagster as dg

from pipelines.jobs import index_document
from pipelines.partitions import add_documents
from pipelines.resources import WorkspaceSettings
from pipelines.sensors import plan_workspace, run_requests


@dg.schedule(cron_schedule="0 2 * * *", job=index_document, default_status=dg.DefaultScheduleStatus.STOPPED)
def nightly_reindex(
    context: dg.ScheduleEvaluationContext, workspace_settings: WorkspaceSettings
) -> list[dg.RunRequest] | dg.SkipReason:
    """A run for each document that is new or changed."""
    planned, fingerprint, _ = plan_workspace(workspace_settings.open())
    requests = run_requests(planned, fingerprint)
    if not requests:
        return dg.SkipReason("every document is as the current release has it")
    add_documents(context.instance, (request.partition_key or "" for request in requests))
    return requests
