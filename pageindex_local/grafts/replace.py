"""One section replaced by hand: a stored version, a node and new text in; the draft of the next version out.

The new text goes through the same stages as a source, so a later build comes to the same sections. What lies outside of
the section keeps ids, text and summaries; a text that would change it is refused. Only `publish_draft` writes.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from pageindex_local.build import (
    BuildJob,
    BuiltTree,
    DraftTree,
    Fingerprint,
    assemble_draft,
    finish_tree,
    make_fingerprint,
    map_chunks,
    reduce_chunks,
    split_chunks,
    uses_model,
)
from pageindex_local.errors import ConflictError, SourceError, TreeError
from pageindex_local.grafts.carry import body_lines, find_pins, put_in, text_keys
from pageindex_local.grafts.covered import grafts_covered, put_back
from pageindex_local.grafts.pages import remap_tree
from pageindex_local.grafts.section import Section, cut_section, stored_document, text_rows
from pageindex_local.grafts.text import new_lines, source_lines
from pageindex_local.headings import find_headings
from pageindex_local.llm.lazy import LazyModel
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.query.fulltext import build_search_index
from pageindex_local.records import Graft, Node, NodeKind, ParsedDocument, SectionTree, SummarySource
from pageindex_local.settings import Settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release, VersionDraft


def draft_replacement(
    store: IndexStore,
    stored: StoredVersion,
    node_id: str,
    text: str | None,
    *,
    model: LazyModel | None,
    settings: Settings,
    progress: Progress = NO_PROGRESS,
) -> VersionDraft | None:
    """The version in which a section has another text; None where that is the text it has.

    Args:
        store: the index, asked for the next version id.
        stored: the version to start from: the live one of its document.
        node_id: a node of it.
        text: what the section shall say; None for what it said before it was replaced: the source's lines, with the
            corrections in them that were taken up then. Its heading may be left out.
        model: writes summaries of what changed, and of ancestors that read them; None where none is wanted.
        settings: those of the build, see `settings_of`.
        progress: told about each stage.

    Raises:
        SourceError: the text is no replacement for this one section; says why.
        ConflictError: the section overlaps a part that was replaced by hand before.
        ModelError: the model failed.
    """
    started = time.monotonic()
    tree = stored.tree()
    document = stored_document(stored)
    section = cut_section(document, tree, tree.nodes[node_id])
    if not section.lines:
        raise SourceError(
            "holds no text of its own, so there is nothing to replace",
            subject=node_id,
            next_step="Replace the section above or beside it.",
        )
    version_id = store.next_version_id(stored.doc_key)
    job = BuildJob(document.source, version_id, stored.version_id)
    lines, pages = source_lines(document, section) if text is None else new_lines(document, section, text)
    if list(lines) == list(section.lines) and list(pages) == list(section.pages):
        return None
    new_document = _put_in(document, section, lines, pages, version_id, settings)
    if text is None:
        span = section.span[0], section.span[1] + new_document.line_count - document.line_count
        new_document = put_back(new_document, grafts_covered(store, stored, node_id), span, settings.parse)
    span = section.span[0], section.span[1] + new_document.line_count - document.line_count
    progress.start("building the tree", None)
    if document.has_pages:
        draft = DraftTree(remap_tree(document, tree, section.node, section.span, new_document, span))
        pinned = dict(zip(draft.tree.nodes, tree.nodes, strict=True))
    else:
        draft = _build_tree(new_document, model, settings)
        pinned = dict(find_pins(draft.tree, new_document.grafts, tree))
        pinned |= find_pins(draft.tree, [Graft(node_id, "", version_id, (), (), (), span=span)], tree)
    built = finish_tree(
        job,
        new_document,
        draft,
        stored,
        model=model,
        settings=settings,
        reuse_summaries=True,
        pinned=pinned,
        progress=progress,
    )
    progress.finish()
    _check_outside(tree, built, section.node, stored.manifest.doc_id)
    fingerprint = make_fingerprint(settings, model)
    result = assemble_draft(job, new_document, built, fingerprint, time.monotonic() - started)
    return result if fingerprint.accepts(stored.manifest.settings_hash) else _as_built_before(result, stored)


def publish_draft(store: IndexStore, draft: VersionDraft, release: Release, reason: str) -> Release:
    """Write a drafted version and publish it on top of a release.

    Raises:
        ConflictError: somebody else changed the document meanwhile.
        StoreError: the disk refused.
    """
    ref = store.write_version(draft)
    published = store.publish({ref.doc_key: ref}, expected_parent=release.name, reason=reason)
    build_search_index(store, published)
    return published


def settings_of(stored: StoredVersion, settings: Settings, fingerprint: Fingerprint) -> Settings:
    """The settings under which one section of a version is to be written: those given, or as the version was made.

    Where the version was built under other settings, summaries are written by whoever wrote those that it has.
    """
    if fingerprint.accepts(stored.manifest.settings_hash):
        return settings
    tree = stored.tree()
    sources = {node.summary_source for node in tree.walk()}
    mode = "model" if uses_model(tree) else "extractive" if SummarySource.EXTRACTIVE in sources else "none"
    return settings.model_copy(update={"summary": settings.summary.model_copy(update={"mode": mode})})


def _put_in(
    document: ParsedDocument,
    section: Section,
    lines: Sequence[str],
    pages: Sequence[int],
    version_id: str,
    settings: Settings,
) -> ParsedDocument:
    """The document with the lines in it.

    Grafts never overlap: one inside the section is taken up into the new one, one around it is changed in that place.

    Raises:
        ConflictError: a graft lies partly inside of the section.
    """
    span = section.span
    first_page = _page_of(document, span[0])
    base: list[str] = []
    position = span[0]
    around: Graft | None = None
    others: list[Graft] = []
    for graft in document.grafts:
        start, end = graft.span
        if end <= span[0] or span[1] <= start:
            others.append(graft)
        elif span[0] <= start and end <= span[1]:
            base += [*(text for _, text in text_rows(document, (position, start))), *graft.base]
            position = end
        elif start <= span[0] and span[1] <= end:
            around = graft
        else:
            raise ConflictError(
                f"overlaps “{graft.title}”, which was replaced by hand in {graft.made_in}",
                subject=section.node.node_id,
                next_step=f"Replace {graft.node_id}, or restore it first: `replace {graft.node_id} --restore`.",
            )
    if around is None:
        base += [text for _, text in text_rows(document, (position, span[1]))]
        before, after = body_lines(document).around(span)
        node = section.node
        new = Graft(node.node_id, node.title, version_id, tuple(base), tuple(lines), tuple(pages), before, after, span)
    else:
        front = text_rows(document, (around.span[0], span[0]))
        back = text_rows(document, (span[1], around.span[1]))
        offset = _page_of(document, around.span[0])
        rows = [(page - offset if document.has_pages else 0, text) for page, text in front]
        rows += [(page + first_page - offset, text) for page, text in zip(pages, lines, strict=True)]
        rows += [(page - offset if document.has_pages else 0, text) for page, text in back]
        new = replace(around, lines=tuple(text for _, text in rows), pages=tuple(page for page, _ in rows))
    ordered = sorted([*others, new], key=lambda graft: graft.span)
    place = ordered.index(new)
    result = put_in(document, ordered, settings.parse)
    graft = result.grafts[place]
    if text_keys(graft.base) == text_keys(graft.lines):
        result = replace(result, grafts=(*result.grafts[:place], *result.grafts[place + 1 :]))
    return result


def _page_of(document: ParsedDocument, line: int) -> int:
    if not document.has_pages:
        return 0
    return next(page.page_number for page in reversed(document.pages) if page.first_line <= line)


def _build_tree(document: ParsedDocument, model: LazyModel | None, settings: Settings) -> DraftTree:
    evidence = find_headings(document, settings.tree)
    chunks = split_chunks(document, evidence, model, settings)
    batch = map_chunks(chunks, model, settings)
    ids = [chunk.chunk_id for chunk in chunks]
    return reduce_chunks(document, [batch], ids, settings, candidates=evidence.candidates)


def _check_outside(old: SectionTree, built: BuiltTree, node: Node, doc_id: str) -> None:
    """Nothing, if the replacement stays within its section.

    Raises:
        TreeError: sections outside of it would change.
    """
    new, report = built.tree, built.report
    if node.node_id not in new.nodes:
        raise TreeError(
            f"the text does not make up one section in place of “{node.title}”",
            subject=doc_id,
            next_step="Look for a heading that is not closed off, or replace the section above.",
        )
    inside = _below(old, node.node_id) | _below(new, node.node_id)
    touched = [kept.node_id for kept in report.kept if kept.changes and kept.node_id not in inside]
    touched += [added.node_id for added in report.added if added.node_id not in inside]
    touched += [removed.old_id for removed in report.removed if removed.old_id not in inside]
    if touched:
        first = new.nodes.get(touched[0]) or old.nodes[touched[0]]
        advice = (
            "Look for a code fence or comment that is not closed. Settings other than those of the build "
            "(--config, --strategy, --model) do this too."
        )
        if node.kind is NodeKind.PART and node.parent_id is not None:
            advice = f"It is a piece cut by length: replace the section that it is cut from, {node.parent_id}."
        raise TreeError(
            f"the text would change {len(touched)} sections outside of “{node.title}”, such as “{first.title}”",
            subject=doc_id,
            next_step=advice,
        )


def _below(tree: SectionTree, node_id: str) -> set[str]:
    """A node and all below it."""
    found: set[str] = set()
    stack = [node_id]
    while stack:
        current = stack.pop()
        if current in tree.nodes:
            found.add(current)
            stack.extend(tree.nodes[current].children)
    return found


def _as_built_before(draft: VersionDraft, stored: StoredVersion) -> VersionDraft:
    """The draft under the settings of the version before, so that the next build of the document finds it unchanged."""
    manifest = stored.manifest
    return replace(draft, settings_hash=manifest.settings_hash, fingerprint=manifest.fingerprint)
