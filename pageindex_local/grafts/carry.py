"""Corrections made by hand: a parsed document and grafts in, the document that carries them out. Reads no file.

A graft lives as long as the source still says what it replaced. Found again by those lines, it is put in anew at every
build; where the source has something else now, the source wins and a warning says so.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from pageindex_local.ids import normalise_text
from pageindex_local.parsing.text import lay_out_text
from pageindex_local.records import (
    Graft,
    Line,
    LineRole,
    Node,
    NodeKind,
    Origin,
    Page,
    ParsedDocument,
    SectionTree,
    Span,
)
from pageindex_local.settings import ParseSettings


@dataclass(frozen=True, slots=True)
class BodyLines:
    """The lines of text of a document: not running, not blank. `keys` are their normalised texts."""

    numbers: Sequence[int]
    keys: Sequence[str]

    def around(self, span: Span) -> tuple[str, str]:
        """The nearest lines of text before and after a span; empty at either end of the document."""
        first, end = bisect_right(self.numbers, span[0] - 1), bisect_right(self.numbers, span[1] - 1)
        return self.keys[first - 1] if first else "", self.keys[end] if end < len(self.keys) else ""

    def trim(self, span: Span) -> Span:
        """The span without running and blank lines at either end; empty at its start where nothing is left."""
        first, end = bisect_right(self.numbers, span[0] - 1), bisect_right(self.numbers, span[1] - 1)
        return (self.numbers[first], self.numbers[end - 1] + 1) if first < end else (span[0], span[0])


def body_lines(document: ParsedDocument) -> BodyLines:
    """The lines of text of a document."""
    found = [
        (number, key)
        for number, line in document.lines()
        if line.role is not LineRole.RUNNING and (key := normalise_text(line.text))
    ]
    return BodyLines([number for number, _ in found], [key for _, key in found])


def text_keys(lines: Sequence[str]) -> list[str]:
    """Lines as they are compared: normalised, blank ones left out."""
    return [key for line in lines if (key := normalise_text(line))]


def apply_grafts(document: ParsedDocument, grafts: Sequence[Graft], settings: ParseSettings) -> ParsedDocument:
    """The document with every graft whose lines the source still has; warnings about the others."""
    if not grafts:
        return document
    body = body_lines(document)
    placed: list[Graft] = []
    warnings: list[str] = []
    for graft in grafts:
        span = find_again(body, graft)
        if span is not None:
            placed.append(replace(graft, span=span))
        elif _find(body, text_keys(graft.lines), graft) is not None:
            warnings.append(
                f"The source now says what was put in by hand for “{graft.title}” in {graft.made_in}: "
                "that correction has done its work and is dropped."
            )
        else:
            warnings.append(_dropped(graft))
    apart: list[Graft] = []
    for graft in sorted(placed, key=lambda graft: graft.span):
        if apart and graft.span[0] < apart[-1].span[1]:
            warnings.append(_dropped(graft))
        else:
            apart.append(graft)
    return replace(put_in(document, apart, settings), warnings=(*document.warnings, *warnings))


def _dropped(graft: Graft) -> str:
    return (
        f"The correction of “{graft.title}” made by hand in {graft.made_in} is no longer in use: the source has "
        f"changed there. Look at it with `diff DOC {graft.made_in}`, and `replace` again if it is still right."
    )


def find_again(body: BodyLines, graft: Graft) -> Span | None:
    """Where the source's lines that a graft replaces stand; None where they are gone, or stand in several places."""
    return _find(body, text_keys(graft.base), graft)


def _find(body: BodyLines, keys: Sequence[str], graft: Graft) -> Span | None:
    """Where lines stand in a document. Of several places the one with the known neighbours; None if that is no help."""
    width = len(keys)
    if not width:
        return None
    first = keys[0]
    places = [
        place for place, key in enumerate(body.keys) if key == first and body.keys[place : place + width] == list(keys)
    ]
    spans = [(body.numbers[place], body.numbers[place + width - 1] + 1) for place in places]
    if len(spans) > 1:
        known = [sum(map(str.__eq__, body.around(span), (graft.before, graft.after))) for span in spans]
        best = max(known)
        spans = [span for span, count in zip(spans, known, strict=True) if count == best]
    return spans[0] if len(spans) == 1 else None


def put_in(document: ParsedDocument, grafts: Sequence[Graft], settings: ParseSettings) -> ParsedDocument:
    """The document with the lines at each graft's span replaced. Grafts are in order and apart from each other."""
    if not grafts:
        return replace(document, grafts=())
    placed: list[Graft] = []
    if document.has_pages:
        pages = document.pages
        for graft in grafts:
            shift = 0 if not placed else pages[-1].span[1] - document.line_count
            start, end = graft.span
            span = start + shift, end + shift
            pages = _put_on_pages(pages, span, graft)
            placed.append(replace(graft, span=_span_on_pages(pages, span[0], len(graft.lines))))
        return replace(document, pages=pages, grafts=tuple(placed))
    lines: list[Line] = []
    old = [line for _, line in document.lines()]
    position = 0
    for graft in grafts:
        lines += old[position : graft.span[0]]
        placed.append(replace(graft, span=(len(lines), len(lines) + len(graft.lines))))
        lines += [Line(text) for text in graft.lines]
        position = graft.span[1]
    lines += old[position:]
    laid_out = lay_out_text(document.source, tuple(lines), settings, warnings=document.warnings)
    return replace(laid_out, grafts=tuple(placed))


def align(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """For each new line the old one that it stands for: the equal one, else its counterpart in what was rewritten.

    Never decreases. Where nothing was rewritten an added line stands for the one before it.
    """
    matcher = SequenceMatcher(None, list(old), list(new), autojunk=False)
    counterpart: list[int] = []
    for tag, first, end, new_first, new_end in matcher.get_opcodes():
        for offset in range(new_end - new_first):
            if tag == "insert":
                counterpart.append(max(first - 1, 0))
            else:
                counterpart.append(first + offset * (end - first) // (new_end - new_first))
    return counterpart


def _put_on_pages(pages: tuple[Page, ...], span: Span, graft: Graft) -> tuple[Page, ...]:
    """The pages with the body lines of a span replaced. Running lines stay: above or below the text of their page."""
    first_page = max(bisect_right(pages, span[0], key=lambda page: page.first_line) - 1, 0)
    old = [
        line
        for page in pages[first_page:]
        for number, line in enumerate(page.lines, page.first_line)
        if span[0] <= number < span[1] and line.role is not LineRole.RUNNING
    ]
    alike = align([normalise_text(line.text) for line in old], [normalise_text(text) for text in graft.lines])
    new = [replace(old[place], text=text, lead=0) for place, text in zip(alike, graft.lines, strict=True)]
    # A line that is the source's own keeps all that is known of it.
    new = [old[place] if old[place].text == line.text else line for place, line in zip(alike, new, strict=True)]
    places = _pages_of(pages, first_page, span, alike, graft)
    result = list(pages[:first_page])
    for index, page in enumerate(pages[first_page:]):
        first_line = result[-1].span[1] if result else 0
        start, end = (min(max(edge - page.first_line, 0), len(page.lines)) for edge in span)
        own = [line for line, place in zip(new, places, strict=True) if place == index]
        inside = page.lines[start:end]
        head = _leading_running(inside)
        kept = [line for line in inside[head:] if line.role is LineRole.RUNNING]
        lines = (*page.lines[:start], *inside[:head], *own, *kept, *page.lines[end:])
        result.append(replace(page, first_line=first_line, lines=lines or (Line(""),)))
    return tuple(result)


def _pages_of(pages: Sequence[Page], first_page: int, span: Span, alike: Sequence[int], graft: Graft) -> Sequence[int]:
    """The page of each line of a graft, from 0: as it was put in, or where the source has its lines on fewer pages now.

    There a line goes on the page of the one that it stands for.
    """
    old = [
        index
        for index, page in enumerate(pages[first_page:])
        for number, line in enumerate(page.lines, page.first_line)
        if span[0] <= number < span[1] and line.role is not LineRole.RUNNING
    ]
    return graft.pages if max(graft.pages, default=0) <= old[-1] else [old[place] for place in alike]


def _leading_running(lines: Sequence[Line]) -> int:
    for count, line in enumerate(lines):
        if line.role is not LineRole.RUNNING:
            return count
    return len(lines)


def _span_on_pages(pages: tuple[Page, ...], start: int, count: int) -> Span:
    """From the first of so many body lines to the last, running lines between them included."""
    end = start
    for page in pages[max(bisect_right(pages, start, key=lambda page: page.first_line) - 1, 0) :]:
        for number, line in enumerate(page.lines, page.first_line):
            if number < start or line.role is LineRole.RUNNING:
                continue
            if not count:
                return start, end
            count -= 1
            end = number + 1
    return start, end


def find_pins(draft: SectionTree, grafts: Sequence[Graft], previous: SectionTree | None) -> Mapping[str, str]:
    """Draft id -> lasting id for the sections that grafts were made for, where both trees have them."""
    if not grafts or previous is None:
        return {}
    starts: dict[int, list[Node]] = {}
    for node in draft.walk():
        has_heading = node.heading[0] < node.heading[1]
        starts.setdefault(node.heading[0] if has_heading else node.span[0], []).append(node)
    pins: dict[str, str] = {}
    for graft in grafts:
        old = previous.nodes.get(graft.node_id)
        if old is None:
            continue
        found = [node for node in starts.get(graft.span[0], ()) if node.kind is old.kind]
        if not found and old.kind is not NodeKind.SECTION:  # nothing printed marks where such a node starts
            found = [node for node in draft.leaves() if node.span[0] <= graft.span[0] < node.span[1]]
            found = [node for node in found if node.kind is old.kind]
        if found:
            pins[found[0].node_id] = graft.node_id
    return pins


def mark_hand(tree: SectionTree, document: ParsedDocument) -> SectionTree:
    """The tree in which what is not the source's own has origin HAND.

    That is the section that a graft was made for, and what lies in it and says something that the source's lines there
    do not say.
    """
    if not document.grafts:
        return tree
    body = body_lines(document)
    nodes = dict(tree.nodes)
    for graft in document.grafts:
        base = "\n".join(["", *text_keys(graft.base), ""])
        for node in tree.walk():
            start = node.heading[0] if node.heading[0] < node.heading[1] else node.span[0]
            span = body.trim((start, node.span[1]))
            if not (graft.span[0] <= span[0] and span[1] <= graft.span[1]):
                continue
            first, end = bisect_right(body.numbers, span[0] - 1), bisect_right(body.numbers, span[1] - 1)
            own = "\n".join(["", *body.keys[first:end], ""])
            if node.node_id == graft.node_id or own not in base:
                nodes[node.node_id] = replace(node, origin=Origin.HAND, confidence=1.0)
    return replace(tree, nodes=nodes)
