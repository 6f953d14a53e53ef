"""What can be started: one document end to end, the release alone, a rollback."""

import dagster as dg

from pipelines.checks import ALL_CHECKS, RELEASE_CHECKS
from pipelines.document import headings, pages, source_document
from pipelines.publish import index_version, release, summaries
from pipelines.tree import section_tree

DOCUMENT_ASSETS = (source_document, pages, headings, section_tree, summaries, index_version)
ALL_ASSETS = (*DOCUMENT_ASSETS, release)

# A repeat starts the whole run again: resuming can skip mapped steps, and the completion cache makes repeats cheap.
RUN_TAGS = {"dagster/retry_strategy": "ALL_STEPS", "dagster/max_runtime": str(6 * 60 * 60)}

index_document = dg.define_asset_job(
    "index_document",
    selection=dg.AssetSelection.assets(*ALL_ASSETS) | dg.AssetSelection.checks(*ALL_CHECKS),
    executor_def=dg.in_process_executor,
    tags=RUN_TAGS,
    description="Build one document and publish it.",
)

publish_release = dg.define_asset_job(
    "publish_release",
    selection=dg.AssetSelection.assets(release) | dg.AssetSelection.checks(*RELEASE_CHECKS),
    executor_def=dg.in_process_executor,
    tags=RUN_TAGS,
    description="Publish waiting versions and drop documents whose source is gone.",
)
