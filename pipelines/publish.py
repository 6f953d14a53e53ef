"""The assets after the tree: lasting ids and summaries, the written version, the published release."""

import time

import dagster as dg

from pageindex_local.build import BuildJob, BuiltTree, DraftTree, assemble_draft, finish_tree
from pageindex_local.collection import publish_candidates
from pageindex_local.planning import read_previous
from pageindex_local.records import ParsedDocument
from pageindex_local.store.records import VersionRef
from pipelines.document import CODE_VERSION, GROUP
from pipelines.failures import final_errors
from pipelines.metadata import release_metadata, tree_metadata, usage_metadata, version_diff, versioned_output
from pipelines.partitions import documents
from pipelines.renames import read_names
from pipelines.resources import Workspace, candidates_of
from pipelines.tree import LLM_POOL, ONE_RETRY


@dg.asset(partitions_def=documents, group_name=GROUP, code_version=CODE_VERSION, pool=LLM_POOL, retry_policy=ONE_RETRY)
def summaries(
    source_document: BuildJob,
    pages: ParsedDocument,
    section_tree: DraftTree,
    workspace: dg.ResourceParam[Workspace],
) -> dg.Output[BuiltTree]:
    """The tree with its lasting ids and its summaries, written bottom-up for what changed."""
    with final_errors():
        previous, reuse = read_previous(workspace.store, source_document, workspace.fingerprint())
        built = finish_tree(
            source_document,
            pages,
            section_tree,
            previous,
            model=workspace.model,
            settings=workspace.settings,
            reuse_summaries=reuse,
            progress=workspace.progress,
        )
    counts = {
        "nodes_reused": built.nodes_reused,
        "nodes_rebuilt": built.nodes_rebuilt,
        "nodes_moved": built.nodes_moved,
    }
    changes = {f"nodes_{name}": count for name, count in built.report.counts().items()}
    return dg.Output(built, metadata={**tree_metadata(built.tree), **changes, **counts, **usage_metadata(built.usage)})


@dg.asset(partitions_def=documents, group_name=GROUP, code_version=CODE_VERSION)
def index_version(
    source_document: BuildJob,
    pages: ParsedDocument,
    summaries: BuiltTree,
    workspace: dg.ResourceParam[Workspace],
) -> dg.Output[VersionRef]:
    """The version on disk: durable, immutable, and not visible to readers before a release pins it."""
    started = time.monotonic()
    with final_errors():
        draft = assemble_draft(source_document, pages, summaries, workspace.fingerprint(), summaries.usage.seconds)
        ref = workspace.store.write_version(draft)
        candidates_of(workspace).add(ref)
        version = workspace.store.open_version(ref.doc_key, ref.version_id, ref.entry.manifest_sha256)
        previous, _ = read_previous(workspace.store, source_document, workspace.fingerprint())
        diff = version_diff(workspace.store, previous, version)
    return versioned_output(
        ref,
        f"{ref.version_id}-{version.manifest.content_hash[:16]}",
        {
            "document": ref.entry.doc_id,
            "version": ref.version_id,
            "parent_version": source_document.parent_version or "none",
            "pages": ref.entry.pages,
            "nodes": ref.entry.nodes,
            "nodes_reused": summaries.nodes_reused,
            "nodes_rebuilt": summaries.nodes_rebuilt,
            "nodes_moved": summaries.nodes_moved,
            "replaced_by_hand": len(pages.grafts),
            "diff": diff,
            "manifest_sha256": ref.entry.manifest_sha256,
            "write_seconds": time.monotonic() - started,
            **usage_metadata(summaries.usage),
        },
    )


@dg.asset(deps=[index_version], group_name="release", code_version=CODE_VERSION)
def release(workspace: dg.ResourceParam[Workspace]) -> dg.Output[None]:
    """The published state of the whole collection: waiting versions are pinned, vanished sources dropped."""
    queue = candidates_of(workspace)
    waiting = queue.read()
    with final_errors():
        before = workspace.store.current()
        renames = {new: old for new, (old, _) in read_names(workspace.names_file).former.items()}
        published = publish_candidates(workspace.store, waiting, workspace.scope, renames)
        queue.remove(waiting)
        metadata = release_metadata(workspace.store, before, published)
    version = "none" if published is None else published.name
    return versioned_output(None, version, {**metadata, "versions_published": len(waiting)})
