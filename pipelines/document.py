"""The assets before the tree: what is built, its pages, its heading evidence."""

import dagster as dg

from pageindex_local.build import ALGORITHM_VERSION, BuildJob, read_document
from pageindex_local.headings import find_headings
from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.planning import read_previous
from pageindex_local.records import ParsedDocument
from pipelines.failures import final_errors
from pipelines.metadata import versioned_output
from pipelines.partitions import check_key, documents
from pipelines.resources import Workspace
from pipelines.sources import source_file

CODE_VERSION = str(ALGORITHM_VERSION)
GROUP = "document"


@dg.asset(deps=[source_file], partitions_def=documents, group_name=GROUP, code_version=CODE_VERSION)
def source_document(context: dg.AssetExecutionContext, workspace: dg.ResourceParam[Workspace]) -> dg.Output[BuildJob]:
    """The file as it is now: its hash, its type by content, and the version that will be made of it."""
    with final_errors():
        job = workspace.find_job(check_key(context.partition_key))
    source = job.source
    return versioned_output(
        job,
        workspace.source_version(source.sha256),
        {
            "document": source.doc_id,
            "sha256": source.sha256,
            "size_bytes": source.size_bytes,
            "media_type": source.media_type.value,
            "version": job.version_id,
            "parent_version": job.parent_version or "none",
            "renamed_from": "no" if job.renamed_from is None else " ".join(job.renamed_from),
        },
    )


@dg.asset(partitions_def=documents, group_name=GROUP, code_version=CODE_VERSION)
def pages(source_document: BuildJob, workspace: dg.ResourceParam[Workspace]) -> dg.Output[ParsedDocument]:
    """The document as pages of lines in reading order."""
    workspace.progress.start("reading pages", None)
    with final_errors():
        previous, _ = read_previous(workspace.store, source_document, workspace.fingerprint())
        document = read_document(source_document.source, previous, workspace.settings, workspace.parser)
    return dg.Output(
        document,
        metadata={
            "pages": len(document.pages),
            "lines": document.line_count,
            "outline_entries": len(document.outline),
            "replaced_by_hand": len(document.grafts),
            "warnings": "\n".join(document.warnings) or "none",
        },
    )


@dg.asset(partitions_def=documents, group_name=GROUP, code_version=CODE_VERSION)
def headings(pages: ParsedDocument, workspace: dg.ResourceParam[Workspace]) -> dg.Output[HeadingEvidence]:
    """Where sections start, by every source of evidence, weighed against each other."""
    workspace.progress.start("finding headings", None)
    with final_errors():
        evidence = find_headings(pages, workspace.settings.tree)
    rows = [f"| {s.name} | {s.count} | {s.used} | {s.confidence:.2f} | {s.reason} |" for s in evidence.sources]
    table = "\n".join(["| source | found | used | confidence | reason |", "|---|--:|--:|--:|---|", *rows])
    return dg.Output(
        evidence,
        metadata={
            "headings": len(evidence.headings),
            "candidates": len(evidence.candidates),
            "regions_for_the_model": len(evidence.needs_model),
            "sources": dg.MetadataValue.md(table),
        },
    )
