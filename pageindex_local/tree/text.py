"""The text of spans and nodes: a document and line ranges in, text without running lines out. Changes nothing."""

from bisect import bisect_right
from collections.abc import Iterator

from pageindex_local.records import Line, LineRole, Node, ParsedDocument, SectionTree, Span
from pageindex_local.tree.cuts import paragraph_starts


def iter_lines(document: ParsedDocument, span: Span) -> Iterator[tuple[int, Line]]:
    """The lines of a span with their document-wide numbers; running lines included."""
    start, end = span
    pages = document.pages
    index = max(bisect_right(pages, start, key=lambda page: page.first_line) - 1, 0)
    while index < len(pages) and pages[index].first_line < end:
        page = pages[index]
        first = max(start - page.first_line, 0)
        yield from enumerate(page.lines[first : end - page.first_line], page.first_line + first)
        index += 1


def span_text(document: ParsedDocument, span: Span) -> str:
    """The lines of a span joined by newlines, without running heads, running feet and page numbers."""
    return "\n".join(line.text for _, line in iter_lines(document, span) if line.role is not LineRole.RUNNING)


def own_text(document: ParsedDocument, tree: SectionTree, node: Node) -> str:
    """The text that the node holds itself: its lines without headings and running lines; empty for a parent.

    A parent's own text lives in its introduction. The headings left out are the node's and its ancestors': where a
    parent has no text of its own, its heading lies in the span of its first child.
    """
    return "\n".join(line.text for _, line in _own_lines(document, tree, node))


def own_paragraphs(document: ParsedDocument, tree: SectionTree, node: Node) -> str:
    """As `own_text`, with a blank line before each paragraph, for readers who need to know where one ends.

    Rows of tables (lines of three cells or more) are paragraphs of their own.
    """
    parts: list[str] = []
    was_row = False
    lines = dict(_own_lines(document, tree, node))
    for number, starts in paragraph_starts(lines.items()):
        line = lines[number]
        is_row = line.cells >= 3
        if parts and (starts or is_row or was_row):
            parts.append("")
        parts.append(line.text)
        was_row = is_row
    return "\n".join(parts)


def _own_lines(document: ParsedDocument, tree: SectionTree, node: Node) -> Iterator[tuple[int, Line]]:
    if node.children:
        return
    headings = [tree.nodes[node_id].heading for node_id in tree.path(node.node_id)]
    for number, line in iter_lines(document, node.span):
        if line.role is not LineRole.RUNNING and not any(start <= number < end for start, end in headings):
            yield number, line
