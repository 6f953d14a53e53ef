"""One document: the stages from source to version draft, in order, each a pure function over the records before it.

The library calls them through `build_document`; Dagster's assets call them one by one. Nothing here writes to an index,
finds files or imports Dagster.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pageindex_local import __version__
from pageindex_local.chunking import Chunk, cut_chunks
from pageindex_local.grafts.carry import apply_grafts, find_pins, mark_hand
from pageindex_local.headings import find_headings
from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.headings.markdown import find_markdown_anchors
from pageindex_local.ids import hash_parts
from pageindex_local.llm.lazy import LazyModel
from pageindex_local.llm.prompts import PROMPT_VERSIONS
from pageindex_local.parsing import parse_source
from pageindex_local.parsing.parser_process import ParserProcess
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.records import (
    Heading,
    MediaType,
    Origin,
    ParsedDocument,
    SectionTree,
    Source,
    SummarySource,
    Usage,
)
from pageindex_local.settings import Settings
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import VersionDraft
from pageindex_local.summarise import summarise_tree
from pageindex_local.tree.assemble import build_tree, describe_clipped
from pageindex_local.tree.identity import assign_ids
from pageindex_local.tree.match_report import MatchReport
from pageindex_local.tree.merge import merge_mini_tocs
from pageindex_local.tree.mini_toc import MiniToc, build_mini_tocs, describe_degraded
from pageindex_local.tree.validate import check_tree

# Raised whenever the same source and settings would give another tree, other ids, text or metadata than before.
ALGORITHM_VERSION = 7


@dataclass(frozen=True, slots=True)
class BuildJob:
    """What is to be built: a source as `version_id`, carrying the ids of `parent_version` on (None: a first build).

    A document that had another name before goes on with `renamed_from`: the key of that document, and its version.
    """

    source: Source
    version_id: str
    parent_version: str | None = None
    renamed_from: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class MiniTocBatch:
    """The mini-TOCs of some chunks, and what they cost."""

    parts: tuple[MiniToc, ...]
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class DraftTree:
    """A checked section tree with draft ids, what it cost so far, and what went less well than asked."""

    tree: SectionTree
    usage: Usage = field(default_factory=Usage)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BuiltTree:
    """A checked section tree with its lasting ids and summaries, what became of the old ids, and what it cost."""

    tree: SectionTree
    report: MatchReport
    usage: Usage
    nodes_reused: int
    nodes_rebuilt: int
    nodes_moved: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What decides the content of a version beside the source.

    `with_model` and `without_model` are the hashes by which a later build recognises that nothing has changed: the
    second is that of a build for which no model was asked anything, so that another model would give the same.
    """

    parts: dict[str, str]
    with_model: str
    without_model: str

    def accepts(self, stored: str) -> bool:
        """Whether a version with that hash would come out the same today."""
        return stored in (self.with_model, self.without_model)


def make_fingerprint(settings: Settings, model: LazyModel | None) -> Fingerprint:
    """The fingerprint of a build under these settings. Does not open the model."""
    tree = settings.tree.model_dump_json()
    summary = settings.summary.model_dump_json()
    prompts = ",".join(f"{name}={version}" for name, version in sorted(PROMPT_VERSIONS.items()))
    identity = "" if model is None else model.identity()
    common = [str(ALGORITHM_VERSION), tree, summary, str(settings.parse.block_lines), prompts]
    parts = {
        "package": __version__,
        "algorithm": str(ALGORITHM_VERSION),
        "prompts": prompts,
        "model": identity,
        "summaries": hash_parts([summary, prompts, identity if settings.summary.mode == "model" else ""])[:16],
    }
    return Fingerprint(parts, hash_parts([*common, identity]), hash_parts([*common, ""]))


def may_use_model(settings: Settings) -> bool:
    """Whether a build under these settings could ask a model anything."""
    return settings.summary.mode == "model" or settings.tree.strategy in ("auto", "model")


def read_document(
    source: Source, previous: StoredVersion | None, settings: Settings, parser: ParserProcess | None = None
) -> ParsedDocument:
    """The source as pages of lines, with what was put in by hand in the version before where that still applies.

    Raises:
        SourceError: the document cannot be read.
    """
    document = parse_source(source, settings.parse, parser=parser)
    return document if previous is None else apply_grafts(document, previous.grafts(), settings.parse)


def split_chunks(
    document: ParsedDocument, evidence: HeadingEvidence, model: LazyModel | None, settings: Settings
) -> tuple[Chunk, ...]:
    """The document in pieces that one model call can read."""
    count_tokens = count_roughly if model is None else model.count_tokens
    return cut_chunks(document, evidence, count_tokens, settings.tree)


def count_roughly(text: str) -> int:
    """Tokens of a text where no model is at hand: four bytes of UTF-8 each, which overstates most text."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


def map_chunks(chunks: Sequence[Chunk], model: LazyModel | None, settings: Settings) -> MiniTocBatch:
    """The map step: a mini-TOC a chunk, in the chunks' order."""
    before = _usage(model)
    parts = build_mini_tocs(chunks, model, settings.tree)
    return MiniTocBatch(tuple(parts), _usage(model) - before)


def reduce_chunks(
    document: ParsedDocument,
    batches: Iterable[MiniTocBatch],
    chunk_ids: Collection[str],
    settings: Settings,
    *,
    candidates: Sequence[Heading] = (),
) -> DraftTree:
    """The reduce step: mini-TOCs merged, placed, refined and checked. Long leaves are split at `candidates` first.

    Raises:
        TreeError: mini-TOCs are missing or were not asked for, or the tree breaks an invariant.
    """
    usage = Usage()
    parts: list[MiniToc] = []
    for batch in batches:
        parts += batch.parts
        usage += batch.usage
    headings = merge_mini_tocs(parts, chunk_ids)
    tree = build_tree(document, headings, settings.tree, candidates=candidates)
    check_tree(tree, document.pages, subject=document.source.doc_id)
    warnings = (*describe_degraded(parts), *describe_clipped(headings, settings.tree.max_depth))
    return DraftTree(tree, usage, warnings)


def finish_tree(
    job: BuildJob,
    document: ParsedDocument,
    draft: DraftTree,
    previous: StoredVersion | None,
    *,
    model: LazyModel | None,
    settings: Settings,
    reuse_summaries: bool,
    pinned: Mapping[str, str] | None = None,
    progress: Progress = NO_PROGRESS,
) -> BuiltTree:
    """Lasting ids, then summaries bottom-up, then the invariants once more.

    `reuse_summaries` is false where the previous version's summaries were made by other prompts, settings or another
    model: its ids are carried on, its summaries are not. `pinned` are sections whose ids are known already, draft id ->
    lasting id (default: those that were replaced by hand).

    Raises:
        TreeError: the tree breaks an invariant.
        ModelError: the model or its engine failed.
    """
    before = _usage(model)
    old = None if previous is None else previous.tree()
    identified = assign_ids(
        draft.tree,
        old,
        doc_id=job.source.doc_id,
        version_id=job.version_id,
        document=document,
        old_text=None if previous is None else previous.own_text,
        ended_ids=() if previous is None else previous.changes().tombstones.keys(),
        pinned=find_pins(draft.tree, document.grafts, old) if pinned is None else pinned,
        anchors=read_anchors(document.source.media_type, [line.text for _, line in document.lines()]),
        old_anchors={} if previous is None else read_anchors(previous.manifest.media_type, _stored_lines(previous)),
        is_renamed=job.renamed_from is not None,
    )
    tree = mark_hand(identified.tree, document)
    tree = summarise_tree(document, tree, old if reuse_summaries else None, model, settings.summary, progress)
    check_tree(tree, document.pages, subject=job.source.doc_id)
    reused, moved = count_reused(tree, old)
    usage = draft.usage + (_usage(model) - before)
    return BuiltTree(tree, identified.report, usage, reused, len(tree.nodes) - reused, moved, draft.warnings)


def read_anchors(media_type: MediaType, lines: Sequence[str]) -> Mapping[int, str]:
    """The explicit anchors of a document's headings by line; they are kept as they stand, in the text of the pages."""
    return find_markdown_anchors(lines) if media_type is MediaType.MARKDOWN else {}


def _stored_lines(version: StoredVersion) -> list[str]:
    return [line for page in version.pages() for line in page.line_texts()]


def count_reused(tree: SectionTree, previous: SectionTree | None) -> tuple[int, int]:
    """How many nodes were taken over as they were (title, own text, summary), and how many of them moved."""
    if previous is None:
        return 0, 0
    reused = moved = 0
    for node in tree.walk():
        old = previous.nodes.get(node.node_id)
        if old is None or (old.own_hash, old.title, old.summary) != (node.own_hash, node.title, node.summary):
            continue
        reused += 1
        moved += (old.span, old.first_page, old.last_page, old.parent_id) != (
            node.span,
            node.first_page,
            node.last_page,
            node.parent_id,
        )
    return reused, moved


def assemble_draft(
    job: BuildJob, document: ParsedDocument, built: BuiltTree, fingerprint: Fingerprint, seconds: float
) -> VersionDraft:
    """Everything a version holds, ready for the store. `seconds` is the wall clock of the whole build."""
    asked = built.usage.model_calls + built.usage.cached_calls > 0 or uses_model(built.tree)
    return VersionDraft(
        version_id=job.version_id,
        parent_version=job.parent_version,
        renamed_from=job.renamed_from,
        document=document,
        tree=built.tree,
        report=built.report,
        settings_hash=fingerprint.with_model if asked else fingerprint.without_model,
        usage=replace(built.usage, seconds=seconds),
        nodes_reused=built.nodes_reused,
        nodes_rebuilt=built.nodes_rebuilt,
        nodes_moved=built.nodes_moved,
        fingerprint=fingerprint.parts,
        warnings=(*document.warnings, *built.warnings),
    )


def uses_model(tree: SectionTree) -> bool:
    """Whether anything in a tree came from a model."""
    if tree.description_source is SummarySource.MODEL:
        return True
    return any(node.summary_source is SummarySource.MODEL or node.origin is Origin.MODEL for node in tree.walk())


def build_document(
    job: BuildJob,
    previous: StoredVersion | None,
    model: LazyModel | None,
    settings: Settings,
    *,
    reuse_summaries: bool = True,
    parser: ParserProcess | None = None,
    progress: Progress = NO_PROGRESS,
) -> VersionDraft:
    """All stages in order. The model is opened by the first stage that asks it something.

    Args:
        job: the source and the version to make of it.
        previous: `job.parent_version`, whose ids and unchanged summaries are carried on.
        model: None where settings ask for no model.
        settings: all settings of the run.
        reuse_summaries: see `finish_tree`.
        parser: reads PDFs; None starts one for this document.
        progress: told about each stage.

    Raises:
        SourceError: the document cannot be read.
        ModelError: the model failed.
        TreeError: an invariant is broken.
    """
    started = time.monotonic()
    progress.start("reading pages", None)
    document = read_document(job.source, previous, settings, parser)
    progress.start("finding headings", None)
    evidence = find_headings(document, settings.tree)
    chunks = split_chunks(document, evidence, model, settings)
    progress.start("building the tree", None)
    batch = map_chunks(chunks, model, settings)
    chunk_ids = [chunk.chunk_id for chunk in chunks]
    draft = reduce_chunks(document, [batch], chunk_ids, settings, candidates=evidence.candidates)
    built = finish_tree(
        job,
        document,
        draft,
        previous,
        model=model,
        settings=settings,
        reuse_summaries=reuse_summaries,
        progress=progress,
    )
    progress.finish()
    return assemble_draft(job, document, built, make_fingerprint(settings, model), time.monotonic() - started)


def _usage(model: LazyModel | None) -> Usage:
    return Usage() if model is None else model.usage
