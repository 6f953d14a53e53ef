"""Corrections that another one took up: which lie in a section now, which lay in it before, and how they come back."""

from collections.abc import Sequence
from dataclasses import replace

from pageindex_local.errors import IndexNotFoundError
from pageindex_local.grafts.carry import body_lines, find_again, put_in
from pageindex_local.records import Graft, ParsedDocument, Span
from pageindex_local.settings import ParseSettings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion


def grafts_inside(stored: StoredVersion, node_id: str) -> list[Graft]:
    """The corrections of other sections that lie in a section of a version; its own is none of them."""
    node = stored.tree().nodes.get(node_id)
    if node is None:
        return []
    start, end = node.span
    return [
        graft
        for graft in stored.grafts()
        if start <= graft.span[0] and graft.span[1] <= end and graft.node_id != node_id
    ]


def grafts_covered(store: IndexStore, stored: StoredVersion, node_id: str) -> list[Graft]:
    """The corrections that lay in a section before it was replaced as a whole, as far as those versions are kept."""
    own = next((graft for graft in stored.grafts() if graft.node_id == node_id), None)
    found: dict[str, Graft] = {}
    while own is not None:
        before = _version_before(store, stored.doc_key, own)
        if before is None:
            break
        for graft in grafts_inside(before, node_id):
            found.setdefault(graft.node_id, graft)
        earlier = next((graft for graft in before.grafts() if graft.node_id == node_id), None)
        own = earlier if earlier is not None and earlier.made_in < own.made_in else None
    return sorted(found.values(), key=lambda graft: graft.span)


def put_back(
    document: ParsedDocument, grafts: Sequence[Graft], within: Span, settings: ParseSettings
) -> ParsedDocument:
    """The document with those corrections in it whose lines are found in a span. Its line count may change."""
    for graft in grafts:
        span = find_again(body_lines(document), graft)
        if span is None or span[0] < within[0] or span[1] > within[1]:
            continue
        others = [other for other in document.grafts if other.span[1] <= span[0] or span[1] <= other.span[0]]
        if len(others) == len(document.grafts):
            before = document.line_count
            ordered = sorted([*others, replace(graft, span=span)], key=lambda graft: graft.span)
            document = put_in(document, ordered, settings)
            within = within[0], within[1] + document.line_count - before
    return document


def _version_before(store: IndexStore, doc_key: str, graft: Graft) -> StoredVersion | None:
    """The version that was corrected; None where gc removed it, or where it was under another name."""
    try:
        made = store.open_version(doc_key, graft.made_in)
        is_it = any((other.node_id, other.made_in) == (graft.node_id, graft.made_in) for other in made.grafts())
        parent = made.manifest.parent_version
        return store.open_version(doc_key, parent, made.manifest.parent_manifest_sha256) if is_it and parent else None
    except IndexNotFoundError:
        return None
