"""Long leaves in, the same leaves with parts out: no leaf stays longer than a reader or a prompt can take.

A leaf is cut at candidate headings inside it where there are some, else at paragraphs, by content (see `cuts`). Nothing
is retitled or moved. A single line is never cut.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pageindex_local.phrases import title_choices
from pageindex_local.records import Heading, Line, LineRole, NodeKind, Origin, ParsedDocument
from pageindex_local.settings import TreeSettings
from pageindex_local.tree.cuts import CutPlace, choose_cuts, estimate_tokens, paragraph_starts, text_tie
from pageindex_local.tree.draft import DraftNode, leaf_ends, walk_draft
from pageindex_local.tree.titles import clean_title

_RANK_LINE = 0  # no paragraph starts here: used only where a window holds nothing better
_RANK_PARAGRAPH = 1
_RANK_PAGE = 2  # a paragraph that starts a page
_RANK_CANDIDATE = 3  # plus its confidence in tenths


def split_long_leaves(
    document: ParsedDocument, roots: Sequence[DraftNode], settings: TreeSettings, candidates: Sequence[Heading] = ()
) -> None:
    """Give every leaf that is longer than `settings` allow parts as children. Changes the drafts in place.

    A long introduction stays a leaf: it becomes its own first part, and the others follow it.
    """
    run = _read_lines(document, settings, candidates)
    ends = leaf_ends(document, roots)
    for leaf, parent in [(node, parent) for node, parent in walk_draft(roots) if not node.children]:
        end, last_page = ends[id(leaf)]
        cuts = _find_cuts(run, leaf.start, end, leaf.start_page, last_page)
        if not cuts:
            continue
        parts = _build_parts(run, [leaf.start, *cuts], end, leaf.start_page, last_page)
        if leaf.kind is NodeKind.INTRODUCTION and parent is not None:
            parent.children[1:1] = parts[1:]
        else:
            leaf.children.extend(parts)


def split_document(
    document: ParsedDocument, settings: TreeSettings, candidates: Sequence[Heading] = ()
) -> list[DraftNode]:
    """A document without headings as a row of parts, at least one."""
    run = _read_lines(document, settings, candidates)
    end = document.line_count
    cuts = _find_cuts(run, 0, end, 1, len(document.pages))
    return _build_parts(run, [0, *cuts], end, 1, len(document.pages))


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of a document with what cutting needs: page, tokens and tokens before of each, and candidates."""

    lines: Sequence[Line]
    pages: Sequence[int]
    tokens: Sequence[int]
    tokens_before: Sequence[int]
    candidates: Mapping[int, Heading]
    settings: TreeSettings
    has_pages: bool


def _read_lines(document: ParsedDocument, settings: TreeSettings, candidates: Sequence[Heading]) -> _Lines:
    lines = [line for _, line in document.lines()]
    tokens = [0 if line.role is LineRole.RUNNING or not line.text else estimate_tokens(line.text) for line in lines]
    best: dict[int, Heading] = {}
    for candidate in candidates:
        start, end = candidate.span
        if start < end and (start not in best or best[start].confidence < candidate.confidence):
            best[start] = candidate
    return _Lines(
        lines=lines,
        pages=[page.page_number for page in document.pages for _ in page.lines],
        tokens=tokens,
        tokens_before=[0, *accumulate(tokens)],
        candidates=best,
        settings=settings,
        has_pages=document.has_pages,
    )


def _find_cuts(run: _Lines, start: int, end: int, first_page: int, last_page: int) -> list[int]:
    settings = run.settings
    too_many_tokens = run.tokens_before[end] - run.tokens_before[start] > settings.max_tokens_per_node
    if not too_many_tokens and last_page - first_page < settings.max_pages_per_node:
        return []
    cuts = choose_cuts(
        run.tokens[start:end],
        _cut_places(run, start, end),
        settings.max_tokens_per_node,
        pages=run.pages[start:end],
        max_pages=settings.max_pages_per_node,
    )
    return [start + cut for cut in cuts]


def _build_parts(run: _Lines, starts: Sequence[int], end: int, first_page: int, last_page: int) -> list[DraftNode]:
    parts: list[DraftNode] = []
    for first, last in zip(starts, [*starts[1:], end], strict=True):
        page_number = first_page if first == starts[0] else run.pages[first]
        candidate = _candidate_at(run, first, last) if first > starts[0] else None
        title = clean_title(candidate.title) if candidate else ""
        parts.append(
            DraftNode(
                title=title or _part_title(run, first, last, page_number, last_page),
                kind=NodeKind.PART,
                start=first,
                start_page=page_number,
                heading=(candidate.span[0], min(candidate.span[1], last)) if candidate else (first, first),
                origin=candidate.origin if candidate else Origin.DERIVED,
                confidence=candidate.confidence if candidate else 1.0,
            )
        )
    return parts


def _candidate_at(run: _Lines, start: int, end: int) -> Heading | None:
    """The candidate on the first line of text, if there is one."""
    for number in range(start, end):
        line = run.lines[number]
        if line.role is not LineRole.RUNNING and line.text.strip():
            return run.candidates.get(number)
    return None


def _cut_places(run: _Lines, start: int, end: int) -> list[CutPlace]:
    """Every line before which the run may be cut, with its rank. Running lines above a page's text go with the text."""
    starts = dict(paragraph_starts(zip(range(start, end), run.lines[start:end], strict=True)))
    places: list[CutPlace] = []
    page_top: int | None = None  # where the page began, until its first text is seen
    for number in range(start, end):
        if number > start and run.pages[number] != run.pages[number - 1]:
            page_top = number
        if number not in starts:
            continue
        position = number if page_top is None else page_top
        rank = _RANK_LINE
        if number in run.candidates:
            rank = _RANK_CANDIDATE + int(run.candidates[number].confidence * 10)
        elif starts[number]:
            rank = _RANK_PARAGRAPH if page_top is None else _RANK_PAGE
        if position > start:
            places.append(CutPlace(position - start, rank, text_tie(run.lines[number].text)))
        page_top = None
    return places


def _part_title(run: _Lines, start: int, end: int, page_number: int, last_page: int) -> str:
    """A title of the part's own words. Parts bear no numbers: an edit elsewhere would change them."""
    body = [line.text for line in run.lines[start:end] if line.role is not LineRole.RUNNING]
    choices = title_choices("\n".join(body))
    if choices:
        return choices[0]
    if not run.has_pages:
        return f"Lines {start + 1}-{end}"
    end_page = run.pages[end - 1] if end > start else last_page
    return f"Page {page_number}" if page_number >= end_page else f"Pages {page_number}-{end_page}"
