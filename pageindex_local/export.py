"""A section tree in, nested JSON in PageIndex's form out, so that tools which read that form read ours.

Our own keys stand beside theirs and never replace them. Nothing here reads or writes a file.
"""

from typing import Any

from pageindex_local.records import Node, NodeKind, SectionTree


def to_pageindex(document_name: str, tree: SectionTree, *, has_pages: bool, details: bool = False) -> dict[str, Any]:
    """`doc_name`, `doc_description`, and `structure`: nested nodes in document order.

    A node has `title`, `node_id`, `start_index` and `end_index` (pages from 1, inclusive), `summary` where there is
    one, and `nodes` where it has children. Without pages (`has_pages` false) pages are blocks of lines and `line_num`
    (from 1) says on which line the section starts. What is not a printed section is no entry of `structure`: a parent's
    introduction rides as its `introduction` (the same keys but the title), the pieces of a long section as its `parts`.
    The parts of a document without any heading are all it has, so they are its entries.

    Args:
        document_name: shown as `doc_name`.
        tree: the tree to nest.
        has_pages: whether page numbers are printed pages.
        details: add what PageIndex does not know: `kind`, `origin`, `confidence`, `summary_source` and `lines` (first
            and last, from 1, inclusive).
    """
    structure: list[dict[str, Any]] = []
    entries: dict[str, dict[str, Any]] = {}
    for node in tree.walk():
        entry = entries[node.node_id] = _node_entry(node, has_pages=has_pages, details=details)
        if node.parent_id is None:
            structure.append(entry)
        elif node.kind is NodeKind.INTRODUCTION:
            entry.pop("title")
            entries[node.parent_id]["introduction"] = entry
        else:
            key = "parts" if node.kind is NodeKind.PART else "nodes"
            entries[node.parent_id].setdefault(key, []).append(entry)
    for node_id, entry in entries.items():
        if "nodes" in entry and next(reversed(entry)) != "nodes":
            entries[node_id]["nodes"] = entry.pop("nodes")
    document: dict[str, Any] = {"doc_name": document_name}
    if tree.description:
        document["doc_description"] = tree.description
    return document | {"structure": structure}


def is_entry(node: Node) -> bool:
    """Whether a node is an entry of `structure`: not an introduction, and not a piece of a section."""
    return node.kind is not NodeKind.INTRODUCTION and (node.kind is not NodeKind.PART or node.parent_id is None)


def _node_entry(node: Node, *, has_pages: bool, details: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "title": node.title,
        "node_id": node.node_id,
        "start_index": node.first_page,
        "end_index": node.last_page,
    }
    if not has_pages:
        entry["line_num"] = (node.heading[0] if node.heading[0] < node.heading[1] else node.span[0]) + 1
    if node.summary:
        entry["summary"] = node.summary
    if details:
        entry["kind"] = node.kind.value
        entry["origin"] = node.origin.value
        entry["confidence"] = node.confidence
        entry["summary_source"] = node.summary_source.value
        entry["lines"] = [node.span[0] + 1, node.span[1]]
    return entry
