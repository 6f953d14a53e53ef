"""Headings in, a section tree out that covers every line of the document exactly once.

Levels become consistent, text before the first heading and before a parent's first child gets nodes of its own, long
leaves are split. Calls no model and reads no file; linear in lines and headings.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from pageindex_local.errors import TreeError
from pageindex_local.records import Heading, LineRole, NodeKind, Origin, ParsedDocument, SectionTree
from pageindex_local.settings import TreeSettings
from pageindex_local.tree.draft import DraftNode, finish_tree, walk_draft
from pageindex_local.tree.refine import split_document, split_long_leaves
from pageindex_local.tree.titles import clean_title

FRONT_MATTER_TITLE = "Front matter"


def build_tree(
    document: ParsedDocument,
    headings: Sequence[Heading],
    settings: TreeSettings,
    *,
    candidates: Sequence[Heading] = (),
) -> SectionTree:
    """The section tree of a document: draft ids `d00001`.. in pre-order, hashes filled, summaries empty.

    `headings` are in document order. Each becomes one section; levels are made gapless (a heading goes under the
    nearest heading before it with a smaller level) and no section lies deeper than `settings.max_depth`. Introductions
    bear their parent's title. Leaves longer than `settings` allow are split, at `candidates` where there are some. A
    document without headings becomes a flat row of parts.

    Raises:
        TreeError: the document has no pages.
    """
    if not document.pages:
        raise TreeError("has no pages, so there is nothing to build a tree from", subject=document.source.doc_id)
    sections = _read_headings(document, headings)
    if not sections:
        return finish_tree(document, split_document(document, settings, candidates))
    roots = _nest(sections, settings.max_depth)
    body_before = _count_body_lines(document, sections)
    first = roots[0]
    if body_before[first.start] or first.start_page > 1:
        roots.insert(0, DraftNode(FRONT_MATTER_TITLE, NodeKind.FRONT_MATTER, 0, 1, (0, 0), Origin.DERIVED, 1.0))
    else:
        first.start = 0
        first.start_page = 1
    _add_introductions(roots, body_before)
    split_long_leaves(document, roots, settings, candidates)
    return finish_tree(document, roots)


def describe_clipped(headings: Sequence[Heading], max_depth: int) -> list[str]:
    """A sentence for a person where `build_tree` lifts headings that are nested deeper than `max_depth`, else none."""
    open_levels: list[int] = []
    clipped = deepest = 0
    for heading in headings:
        while open_levels and open_levels[-1] >= heading.level:
            open_levels.pop()
        open_levels.append(heading.level)
        clipped += len(open_levels) > max_depth
        deepest = max(deepest, len(open_levels))
    if not clipped:
        return []
    return [f"{clipped} headings lie up to {deepest} levels deep and were lifted to tree.max_depth = {max_depth}."]


def _read_headings(document: ParsedDocument, headings: Sequence[Heading]) -> list[DraftNode]:
    """Headings with clean titles, spans inside the document and in order, as draft nodes without nesting."""
    count = document.line_count
    clean: list[Heading] = []
    for heading in sorted(headings, key=lambda heading: heading.span[0]):
        title = clean_title(heading.title)
        if not any(map(str.isalnum, title)):
            continue
        start = min(max(heading.span[0], 0), count)
        span = start, min(max(heading.span[1], start), count)
        if clean and span == clean[-1].span and span[0] < span[1] and title == clean[-1].title:
            continue
        clean.append(replace(heading, title=title, span=span))
    sections: list[DraftNode] = []
    floor = 0
    floor_page = 1
    for index, heading in enumerate(clean):
        start, end = heading.span
        if index + 1 < len(clean):
            end = min(end, clean[index + 1].span[0])
        top, page_number = _section_start(document, heading)
        node = DraftNode(
            title=heading.title,
            kind=heading.kind,
            start=max(top, floor),
            start_page=max(page_number, floor_page),
            heading=(start, end),
            origin=heading.origin,
            confidence=heading.confidence,
            level=heading.level,
        )
        sections.append(node)
        floor = max(end, node.start)
        floor_page = node.start_page
    return sections


def _section_start(document: ParsedDocument, heading: Heading) -> tuple[int, int]:
    """The line and page where the section of a heading begins.

    Where only running or blank lines stand above the heading, the section begins with the page. A heading that stands
    for a page without lines begins on that page and not on the next one that has lines.
    """
    pages = document.pages
    start = heading.span[0]
    index = max(bisect_right(pages, start, key=lambda page: page.first_line) - 1, 0)
    claimed = min(max(heading.page_number, 1), len(pages)) - 1
    while claimed < index and pages[index].first_line == start == pages[index - 1].first_line:
        index -= 1
    if start == pages[index].first_line:
        return start, index + 1
    page = pages[index]
    above = page.lines[: start - page.first_line]
    if all(line.role is LineRole.RUNNING or not line.text.strip() for line in above):
        start = page.first_line
    return start, index + 1


def _nest(sections: Sequence[DraftNode], max_depth: int) -> list[DraftNode]:
    roots: list[DraftNode] = []
    path: list[DraftNode] = []
    for section in sections:
        while path and path[-1].level >= section.level:
            path.pop()
        del path[max_depth - 1 :]
        siblings = path[-1].children if path else roots
        siblings.append(section)
        path.append(section)
    return roots


def _count_body_lines(document: ParsedDocument, sections: Sequence[DraftNode]) -> list[int]:
    """How many lines of text (no heading, not running, not blank) come before each line."""
    is_text = [line.role is not LineRole.RUNNING and bool(line.text.strip()) for _, line in document.lines()]
    for section in sections:
        start, end = section.heading
        is_text[start:end] = [False] * (end - start)
    return [0, *accumulate(is_text)]


def _add_introductions(roots: Sequence[DraftNode], body_before: Sequence[int]) -> None:
    """Give each parent's own text to a leaf, or let the first child begin where the parent begins."""
    for node, _ in walk_draft(roots):
        if not node.children:
            continue
        first = node.children[0]
        if body_before[first.start] > body_before[node.start] or first.start_page != node.start_page:
            node.children.insert(
                0,
                DraftNode(
                    title=node.title,
                    kind=NodeKind.INTRODUCTION,
                    start=node.start,
                    start_page=node.start_page,
                    heading=(node.start, node.start),
                    origin=Origin.DERIVED,
                    confidence=node.confidence,
                ),
            )
        else:
            first.start = node.start
