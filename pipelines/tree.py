"""The section tree as a graph asset: chunks are split into batches, each batch is mapped, mini-TOCs are reduced."""

from collections.abc import Iterator

import dagster as dg

from pageindex_local.build import DraftTree, MiniTocBatch, map_chunks, reduce_chunks, split_chunks
from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.records import ParsedDocument
from pipelines.document import CODE_VERSION, GROUP
from pipelines.failures import final_errors
from pipelines.metadata import tree_metadata, usage_metadata
from pipelines.partitions import documents
from pipelines.records import ChunkBatch, ChunkIds
from pipelines.resources import Workspace

LLM_POOL = "llm"
ONE_RETRY = dg.RetryPolicy(max_retries=1, delay=1)


@dg.op(out={"batches": dg.DynamicOut(ChunkBatch), "chunk_ids": dg.Out(ChunkIds)}, code_version=CODE_VERSION)
def split_pages(
    pages: ParsedDocument, headings: HeadingEvidence, workspace: dg.ResourceParam[Workspace]
) -> Iterator[dg.Output[ChunkIds] | dg.DynamicOutput[ChunkBatch]]:
    """Cut the document into chunks and hand them out in batches.

    Raises:
        dg.Failure: there is nothing to hand out; an empty fan-out would pass for success.
    """
    workspace.progress.start("building the tree", None)
    with final_errors():
        chunks = split_chunks(pages, headings, workspace.model, workspace.settings)
    if not chunks:
        raise dg.Failure("the document gave no chunks", allow_retries=False)
    yield dg.Output(ChunkIds(tuple(chunk.chunk_id for chunk in chunks)), output_name="chunk_ids")
    size = workspace.settings.tree.batch_chunks
    for number, start in enumerate(range(0, len(chunks), size)):
        batch = ChunkBatch(tuple(chunks[start : start + size]))
        yield dg.DynamicOutput(batch, output_name="batches", mapping_key=f"b{number:06d}")


@dg.op(pool=LLM_POOL, retry_policy=ONE_RETRY, code_version=CODE_VERSION)
def map_batch(batch: ChunkBatch, workspace: dg.ResourceParam[Workspace]) -> dg.Output[MiniTocBatch]:
    """A mini-TOC for each chunk of a batch; a repeat finds finished calls in the completion cache."""
    with final_errors():
        result = map_chunks(batch.chunks, workspace.model, workspace.settings)
    return dg.Output(result, metadata={"chunks": len(batch.chunks), **usage_metadata(result.usage)})


@dg.op(code_version=CODE_VERSION)
def reduce_batches(
    pages: ParsedDocument,
    headings: HeadingEvidence,
    chunk_ids: ChunkIds,
    batches: list[MiniTocBatch],
    workspace: dg.ResourceParam[Workspace],
) -> dg.Output[DraftTree]:
    """Merge all mini-TOCs into one checked tree; fails where a chunk is missing or arrives twice."""
    with final_errors():
        draft = reduce_chunks(pages, batches, chunk_ids.ids, workspace.settings, candidates=headings.candidates)
    return dg.Output(draft, metadata={**tree_metadata(draft.tree), **usage_metadata(draft.usage)})


@dg.graph_asset(partitions_def=documents, group_name=GROUP, code_version=CODE_VERSION)
def section_tree(pages: ParsedDocument, headings: HeadingEvidence) -> DraftTree:
    """The sections of the document: titles, levels and ranges, every line in exactly one leaf."""
    batches, chunk_ids = split_pages(pages, headings)
    return reduce_batches(pages, headings, chunk_ids, batches.map(map_batch).collect())  # type: ignore[no-any-return]
