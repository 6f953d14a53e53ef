"""A replaced section in a document with pages: which page each new line goes on, and the same sections at new lines.

Fonts and outlines are not in the index, so the sections are not looked for again: they stay, and move with their lines.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from pageindex_local.errors import SourceError
from pageindex_local.grafts.carry import BodyLines, align, body_lines
from pageindex_local.ids import normalise_text
from pageindex_local.records import Node, ParsedDocument, SectionTree, Span
from pageindex_local.tree.draft import DraftNode, finish_tree


def spread_lines(old: Sequence[str], pages: Sequence[int], new: Sequence[str]) -> list[int]:
    """For each new line the page of the old line that it stands for."""
    alike = align([normalise_text(line) for line in old], [normalise_text(line) for line in new])
    return [pages[place] for place in alike]


def remap_tree(
    document: ParsedDocument,
    tree: SectionTree,
    node: Node,
    span: Span,
    new_document: ParsedDocument,
    new_span: Span,
) -> SectionTree:
    """The same sections in the document after the lines of one of them were replaced. Draft ids, pre-order as before.

    Raises:
        SourceError: the heading of a section inside is not among the new lines.
    """
    shift = new_document.line_count - document.line_count
    body = body_lines(new_document)
    find = _line_map(document, span, body, new_span)
    inside: set[str] = set()
    drafts: dict[str, DraftNode] = {}
    roots: list[DraftNode] = []
    lost: list[str] = []
    for old in tree.walk():
        below = old.parent_id in inside or old.parent_id == node.node_id
        if below:
            inside.add(old.node_id)
        start, heading, start_page = old.span[0], old.heading, old.first_page
        if below:
            has_heading = heading[0] < heading[1]
            place = find(heading[0] if has_heading else start, has_heading)
            if place is None:
                lost.append(old.title)
                continue
            height = heading[1] - heading[0]
            start, start_page = _section_start(new_document, body, place)
            if old.span[0] == tree.nodes[old.parent_id or ""].span[0]:
                above = drafts[old.parent_id or ""]
                start, start_page = above.start, above.start_page
            heading = (place, place + height) if has_heading else (start, start)
        elif start >= span[1]:
            start += shift
            heading = (heading[0] + shift, heading[1] + shift)
        draft = DraftNode(old.title, old.kind, start, start_page, heading, old.origin, old.confidence, old.level)
        drafts[old.node_id] = draft
        (roots if old.parent_id is None else drafts[old.parent_id].children).append(draft)
    if lost:
        raise SourceError(
            f"the text does not hold the heading of {len(lost)} sections inside, such as “{lost[0]}”",
            subject=node.node_id,
            next_step="Keep their headings as they are printed, or replace those sections one by one.",
        )
    return finish_tree(new_document, roots)


def _line_map(
    document: ParsedDocument, span: Span, new: BodyLines, new_span: Span
) -> Callable[[int, bool], int | None]:
    """Where a line of the replaced part is now: the equal line, or with `exact` false the nearest behind it."""
    old = body_lines(document)
    first, end = bisect_left(old.numbers, span[0]), bisect_left(old.numbers, span[1])
    new_first, new_end = bisect_left(new.numbers, new_span[0]), bisect_left(new.numbers, new_span[1])
    matcher = SequenceMatcher(None, list(old.keys[first:end]), list(new.keys[new_first:new_end]), autojunk=False)
    equal = {
        block.a + offset: block.b + offset for block in matcher.get_matching_blocks() for offset in range(block.size)
    }

    def find(line: int, exact: bool) -> int | None:
        place = bisect_left(old.numbers, line) - first
        while place not in equal:
            if exact or place >= end - first:
                return None
            place += 1
        return new.numbers[new_first + equal[place]]

    return find


def _section_start(document: ParsedDocument, body: BodyLines, line: int) -> tuple[int, int]:
    """Where a section whose first line of text is `line` begins: with its page, if nothing stands above but running."""
    page = document.pages[bisect_right(document.pages, line, key=lambda page: page.first_line) - 1]
    place = bisect_left(body.numbers, page.first_line)
    is_first = place < len(body.numbers) and body.numbers[place] == line
    return (page.first_line if is_first else line), page.page_number
