"""The tree while it is being put together: mutable nodes with start positions, finished into immutable records.

Only `assemble` and `refine` use this. Ends, page ranges, ids and hashes are computed once, at the end, from the starts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pageindex_local import ids
from pageindex_local.records import LineRole, Node, NodeKind, Origin, ParsedDocument, SectionTree, Span


@dataclass(slots=True)
class DraftNode:
    """A node in the making.

    `start` is its first line, `start_page` the page on which it begins, `level` what its heading says (gaps and all).
    """

    title: str
    kind: NodeKind
    start: int
    start_page: int
    heading: Span
    origin: Origin
    confidence: float
    level: int = 1
    children: list["DraftNode"] = field(default_factory=list)


def walk_draft(roots: Sequence[DraftNode]) -> Iterator[tuple[DraftNode, DraftNode | None]]:
    """Every node with its parent, in pre-order."""
    stack: list[tuple[DraftNode, DraftNode | None]] = [(root, None) for root in reversed(roots)]
    while stack:
        node, parent = stack.pop()
        yield node, parent
        stack.extend((child, node) for child in reversed(node.children))


def leaf_ends(document: ParsedDocument, roots: Sequence[DraftNode]) -> dict[int, tuple[int, int]]:
    """For each leaf, by `id()`: the line at which it ends and its last page (inclusive).

    A leaf ends where the next begins. It covers the page on which the next one begins only if something of that page
    comes before; pages without any line belong to the leaf before them, unless a heading claims them.
    """
    leaves = [node for node, _ in walk_draft(roots) if not node.children]
    ends: dict[int, tuple[int, int]] = {}
    for leaf, following in pairwise(leaves):
        starts_page = following.start <= document.pages[following.start_page - 1].first_line
        last_page = following.start_page - 1 if starts_page else following.start_page
        ends[id(leaf)] = following.start, max(last_page, leaf.start_page)
    ends[id(leaves[-1])] = document.line_count, len(document.pages)
    return ends


def finish_tree(document: ParsedDocument, roots: Sequence[DraftNode]) -> SectionTree:
    """The immutable tree, ids `d00001`.. in pre-order, with spans, page ranges and hashes."""
    order = list(walk_draft(roots))
    names = {id(node): f"d{number:05d}" for number, (node, _) in enumerate(order, 1)}
    ends = leaf_ends(document, roots)
    for node, _ in reversed(order):
        if node.children:
            ends[id(node)] = ends[id(node.children[-1])]
    own = _own_hashes(document, order, ends)
    subtree: dict[int, str] = {}
    for node, _ in reversed(order):
        subtree[id(node)] = ids.subtree_hash(own[id(node)], [subtree[id(child)] for child in node.children])
    nodes: dict[str, Node] = {}
    for node, parent in order:
        end, last_page = ends[id(node)]
        nodes[names[id(node)]] = Node(
            node_id=names[id(node)],
            parent_id=None if parent is None else names[id(parent)],
            children=tuple(names[id(child)] for child in node.children),
            title=node.title,
            level=1 if parent is None else nodes[names[id(parent)]].level + 1,
            kind=node.kind,
            span=(node.start, end),
            heading=node.heading,
            first_page=node.start_page,
            last_page=last_page,
            origin=node.origin,
            confidence=node.confidence,
            own_hash=own[id(node)],
            subtree_hash=subtree[id(node)],
        )
    return SectionTree(roots=tuple(names[id(root)] for root in roots), nodes=nodes)


def _own_hashes(
    document: ParsedDocument, order: Sequence[tuple[DraftNode, DraftNode | None]], ends: dict[int, tuple[int, int]]
) -> dict[int, str]:
    is_heading = bytearray(document.line_count)
    for node, _ in order:
        start, end = node.heading
        is_heading[start:end] = b"\x01" * (end - start)
    texts = [
        "" if is_heading[number] or line.role is LineRole.RUNNING else line.text for number, line in document.lines()
    ]
    # The empty strings left for headings and running lines fold away: hashes are taken over normalised text.
    return {
        id(node): ids.own_hash(node.title, "" if node.children else "\n".join(texts[node.start : ends[id(node)][0]]))
        for node, _ in order
    }
