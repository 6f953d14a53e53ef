"""The invariants of a section tree: a tree and the pages in, violations out. Repairs nothing.

The one place that says what a sound tree is. The build, the pipeline's check and `verify` all call it.
"""

from collections.abc import Sequence
from typing import Protocol

from pageindex_local.errors import TreeError
from pageindex_local.records import Node, NodeKind, SectionTree, Span
from pageindex_local.tree.titles import is_clean_title

MAX_NODES = 250_000
MAX_LEVEL = 66  # the deepest that settings allow, an introduction below it, a part below that
_SHOWN = 5


class PageLines(Protocol):
    """A page as far as the invariants need it: its number and its lines. Parsed and stored pages both fit."""

    @property
    def page_number(self) -> int:
        """Physical number, from 1."""
        ...

    @property
    def span(self) -> Span:
        """The lines of the page, half open, document-wide."""
        ...


def check_tree(tree: SectionTree, pages: Sequence[PageLines], *, subject: str = "") -> None:
    """Nothing, if the tree is sound.

    Raises:
        TreeError: names the first violations and how many there are.
    """
    violations = validate_tree(tree, pages)
    if violations:
        more = f" (and {len(violations) - _SHOWN} more)" if len(violations) > _SHOWN else ""
        raise TreeError(
            "the section tree is not sound: " + "; ".join(violations[:_SHOWN]) + more,
            subject=subject,
            next_step="Please report this document; --strategy layout or outline may build it meanwhile.",
        )


def validate_tree(tree: SectionTree, pages: Sequence[PageLines]) -> list[str]:
    """The violations, one sentence each; empty if the tree is sound. Linear in nodes and pages.

    Sound means: pages are numbered from 1 and their lines follow each other; every line is in exactly one leaf and
    every page in the range of one; children tile their parent and lie in its page range; the map is the pre-order of
    the tree and knows every id once; levels rise by one; titles are clean and not empty; hashes are there for all
    nodes or none; counts and depth are bounded.
    """
    page_problems = _validate_pages(pages)
    if page_problems:
        return page_problems
    order, problems = _validate_links(tree)
    if problems:
        return problems
    if not order:
        return ["the tree has no nodes"]
    line_count = pages[-1].span[1]
    problems.extend(_validate_tiling("the document", tree.roots, tree, (0, line_count), (1, len(pages))))
    for node in order:
        problems.extend(_validate_node(node, tree, line_count))
        if node.children:
            pages_of_node = node.first_page, node.last_page
            problems.extend(_validate_tiling(node.node_id, node.children, tree, node.span, pages_of_node))
    problems.extend(_validate_page_ranges([node for node in order if not node.children], pages))
    if len({bool(node.own_hash) and bool(node.subtree_hash) for node in order}) > 1:
        problems.append("some nodes have hashes and some have none")
    return problems


def _validate_pages(pages: Sequence[PageLines]) -> list[str]:
    if not pages:
        return ["the document has no pages"]
    expected_line = 0
    for number, page in enumerate(pages, 1):
        start, end = page.span
        if page.page_number != number:
            return [f"page {number} is numbered {page.page_number}"]
        if start != expected_line or end < start:
            return [f"page {number} has lines {start} to {end}, expected to start at {expected_line}"]
        expected_line = end
    return []


def _validate_links(tree: SectionTree) -> tuple[list[Node], list[str]]:
    """The nodes in pre-order, or what is wrong with ids, parents, levels and order."""
    if len(tree.nodes) > MAX_NODES:
        return [], [f"{len(tree.nodes)} nodes, at most {MAX_NODES} are allowed"]
    order: list[Node] = []
    seen: set[str] = set()
    stack: list[tuple[str, str | None, int]] = [(root, None, 1) for root in reversed(tree.roots)]
    while stack:
        node_id, parent_id, level = stack.pop()
        node = tree.nodes.get(node_id)
        if node is None:
            return [], [f"{node_id} is listed as a child of {parent_id or 'the document'} but does not exist"]
        if node_id in seen:
            return [], [f"{node_id} is listed twice"]
        seen.add(node_id)
        if node.node_id != node_id:
            return [], [f"{node_id} is stored under the id of {node.node_id}"]
        if node.parent_id != parent_id:
            return [], [f"{node_id} names {node.parent_id} as its parent, its place says {parent_id}"]
        if node.level != level:
            return [], [f"{node_id} has level {node.level} at depth {level}"]
        if level > MAX_LEVEL:
            return [], [f"{node_id} lies {level} levels deep, at most {MAX_LEVEL} are allowed"]
        order.append(node)
        stack.extend((child, node_id, level + 1) for child in reversed(node.children))
    if len(seen) != len(tree.nodes):
        lost = next(node_id for node_id in tree.nodes if node_id not in seen)
        return [], [f"{lost} is not reachable from the top"]
    for node, listed in zip(order, tree.nodes, strict=True):
        if node.node_id != listed:
            return [], [f"{listed} is out of order: {node.node_id} comes next in pre-order"]
    return order, []


def _validate_node(node: Node, tree: SectionTree, line_count: int) -> list[str]:
    problems: list[str] = []
    start, end = node.span
    heading_start, heading_end = node.heading
    if not 0 <= start <= end <= line_count:
        problems.append(f"{node.node_id} spans lines {start} to {end} of {line_count}")
    if not start <= heading_start <= heading_end <= end:
        problems.append(f"{node.node_id} has its heading at {heading_start} to {heading_end}, outside {start} to {end}")
    if not is_clean_title(node.title):
        problems.append(f"{node.node_id} has an unclean title {node.title!r}")
    if not 0.0 <= node.confidence <= 1.0:
        problems.append(f"{node.node_id} has confidence {node.confidence}")
    if node.kind is NodeKind.INTRODUCTION:
        parent = tree.nodes.get(node.parent_id) if node.parent_id else None
        if node.children or parent is None or parent.children[0] != node.node_id:
            problems.append(f"{node.node_id} is an introduction but not the first child and a leaf")
    if node.kind is NodeKind.FRONT_MATTER and (node.parent_id is not None or tree.roots[0] != node.node_id):
        problems.append(f"{node.node_id} is front matter but not the first node")
    return problems


def _validate_tiling(
    name: str, children: Sequence[str], tree: SectionTree, span: Span, pages: tuple[int, int]
) -> list[str]:
    problems: list[str] = []
    expected = span[0]
    page = pages[0]
    for child_id in children:
        child = tree.nodes[child_id]
        if child.span[0] != expected:
            problems.append(f"{child_id} starts at line {child.span[0]}, expected {expected} within {name}")
        if child.first_page < page or child.last_page > pages[1]:
            problems.append(
                f"{child_id} covers pages {child.first_page} to {child.last_page}, "
                f"which is before its sibling or outside {name} ({pages[0]} to {pages[1]})"
            )
        expected = child.span[1]
        page = child.first_page
    if expected != span[1]:
        problems.append(f"the children of {name} end at line {expected} and not at {span[1]}")
    if tree.nodes[children[0]].first_page != pages[0] or tree.nodes[children[-1]].last_page != pages[1]:
        problems.append(f"the children of {name} do not cover its pages {pages[0]} to {pages[1]}")
    return problems


def _validate_page_ranges(leaves: Sequence[Node], pages: Sequence[PageLines]) -> list[str]:
    """Each leaf's range begins and ends on the pages of its lines; no page is left out between leaves."""
    problems: list[str] = []
    covered = 0
    for leaf in leaves:
        first, last = leaf.first_page, leaf.last_page
        start, end = leaf.span
        if not 1 <= first <= last <= len(pages):
            problems.append(f"{leaf.node_id} covers pages {first} to {last} of {len(pages)}")
            continue
        if first > covered + 1:
            problems.append(f"page {covered + 1} is in no section")
        covered = max(covered, last)
        if start < end and not (_touches(pages[first - 1], start) and _touches(pages[last - 1], end)):
            problems.append(f"{leaf.node_id} covers pages {first} to {last}, its lines {start} to {end} are elsewhere")
    if covered < len(pages):
        problems.append(f"page {covered + 1} is in no section")
    return problems


def _touches(page: PageLines, line: int) -> bool:
    return page.span[0] <= line <= page.span[1]
