"""The lines of a page in, rows of a list of contents out: title, page label, indent.

Nothing here decides what is a contents page.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pageindex_local.records import Line, LineRole, Page

_LABEL = r"(?:[A-Z]{1,2}[-–.]?\d{1,3}|\d{1,4}(?:[-–]\d{1,3})?|[ivxlcdm]{1,8}|[IVXLCDM]{1,8})"
_AFTER = re.compile(
    rf"^(?P<title>\S.*?)(?P<gap>\s*(?:[.·․…‥_]\s*){{2,}}|\s+)"
    rf"(?:pp?\.\s*)?(?P<label>{_LABEL})\.?$"
)
_BEFORE = re.compile(rf"^(?P<gap>\s*(?:[.·․…‥_]\s*){{3,}})(?P<label>{_LABEL})\s+(?P<title>\S.*)$")
_ONLY_LABEL = re.compile(rf"^(?P<gap>(?:[.·․…‥_]\s*)*){_LABEL}$")
_TRAILING_LEADER = re.compile(r"\s*(?:[.·․…‥_]\s*){3,}$")
_LETTERS = re.compile(r"[^\W\d_]")
_NUMBER_WORDS = frozenset(
    ("part", "chapter", "appendix", "annex", "section", "item", "article", "book", "volume", "note")
)
EDGE_SLACK = 14.0


@dataclass(frozen=True, slots=True)
class Row:
    """One printed row: `lines` are the line numbers it was made of, `label` the page label at its end ('' if none).

    `x0`, `x1`, `y0`, `y1` in points; `column` counts from 0. `leader` says that dots lead to the label, `aligned` that
    it stands at the common right edge of its column.
    """

    lines: tuple[int, ...]
    page_number: int
    text: str
    title: str
    label: str
    leader: bool
    aligned: bool
    x0: float
    x1: float
    y0: float
    y1: float
    size: float
    bold: bool
    column: int = 0
    edge: float = 0.0

    @property
    def indent(self) -> float:
        """Distance of the row's start from the right edge of the labels: two-sided margins and columns agree in it."""
        return self.edge - self.x0


def read_rows(page: Page) -> tuple[Row, ...]:
    """The rows of a page from top to bottom, column by column; running lines are left out.

    Pieces of text on one baseline are one row, except where the left piece already ends in a page label and the right
    one starts a new title: that is a second column.
    """
    pieces = [(number, line) for number, line in enumerate(page.lines, page.first_line) if _is_text(line)]
    rows: list[Row] = []
    for group in _baselines(pieces):
        rows.extend(_split_columns(group, page.page_number))
    split = max((row.column for row in rows), default=0)
    if split:
        rows = _assign_columns(rows, page.width)
    return _mark_aligned(rows, page.width)


def _is_text(line: Line) -> bool:
    return line.role is not LineRole.RUNNING and bool(line.text.strip())


def _baselines(pieces: Sequence[tuple[int, Line]]) -> list[list[tuple[int, Line]]]:
    groups: list[list[tuple[int, Line]]] = []
    for number, line in sorted(pieces, key=lambda piece: ((piece[1].box[1] + piece[1].box[3]) / 2, piece[1].box[0])):
        middle = (line.box[1] + line.box[3]) / 2
        if groups:
            last = groups[-1][0][1]
            height = min(last.box[3] - last.box[1], line.box[3] - line.box[1])
            beside = all(line.box[0] >= other.box[2] - 2 or line.box[2] <= other.box[0] + 2 for _, other in groups[-1])
            if beside and abs(middle - (last.box[1] + last.box[3]) / 2) < 0.4 * height:
                groups[-1].append((number, line))
                continue
        groups.append([(number, line)])
    return [sorted(group, key=lambda piece: piece[1].box[0]) for group in groups]


def _split_columns(group: Sequence[tuple[int, Line]], page_number: int) -> list[Row]:
    rows: list[Row] = []
    current: list[tuple[int, Line]] = []
    for piece in group:
        text = piece[1].text.strip()
        if current and not _ONLY_LABEL.match(text) and _LETTERS.search(text):
            so_far = " ".join(line.text.strip() for _, line in current)
            if _AFTER.match(so_far) and piece[1].box[0] - current[-1][1].box[2] > 8:
                rows.append(_make_row(current, page_number, len(rows)))
                current = []
        current.append(piece)
    rows.append(_make_row(current, page_number, len(rows)))
    return rows


def _make_row(pieces: Sequence[tuple[int, Line]], page_number: int, column: int) -> Row:
    text = " ".join(line.text.strip() for _, line in pieces)
    title, label, leader = split_label(text)
    main = max(pieces, key=lambda piece: len(_LETTERS.findall(piece[1].text)))[1]
    return Row(
        lines=tuple(number for number, _ in pieces),
        page_number=page_number,
        text=text,
        title=title,
        label=label,
        leader=leader,
        aligned=False,
        x0=min(line.box[0] for _, line in pieces),
        x1=max(line.box[2] for _, line in pieces),
        y0=min(line.box[1] for _, line in pieces),
        y1=max(line.box[3] for _, line in pieces),
        size=main.size,
        bold=main.bold,
        column=column,
    )


def split_label(text: str) -> tuple[str, str, bool]:
    """A row's title, its page label ('' where it has none) and whether dots lead to the label."""
    found = _BEFORE.match(text) or _AFTER.match(text)
    if found is not None and _LETTERS.search(found["title"]) and not _is_number_word(found):
        return _TRAILING_LEADER.sub("", found["title"]).strip(), found["label"], bool(found["gap"].strip())
    return _TRAILING_LEADER.sub("", text).strip(), "", False


def _is_number_word(found: re.Match[str]) -> bool:
    """Whether what looks like a label is the number of a part or chapter ('PART II')."""
    return not found["gap"].strip() and found["title"].casefold() in _NUMBER_WORDS


def without_label(row: Row) -> Row:
    """The row with all of its text as the title."""
    return replace(row, title=row.text, label="", leader=False, aligned=False) if row.label else row


def _assign_columns(rows: Sequence[Row], width: float) -> list[Row]:
    middle = width / 2
    placed = [replace(row, column=int(row.x0 >= middle - 8)) for row in rows]
    return sorted(placed, key=lambda row: (row.column, row.y0))


def _mark_aligned(rows: Sequence[Row], width: float) -> tuple[Row, ...]:
    edges: dict[int, float] = {}
    for column in {row.column for row in rows}:
        labelled = [row for row in rows if row.column == column and row.label]
        ends = Counter(round(row.x1 / 4) for row in labelled)
        if not ends:
            continue
        common = max(ends, key=lambda end: (sum(ends[end + step] for step in (-1, 0, 1)), end)) * 4.0
        near = [row.x1 for row in labelled if abs(row.x1 - common) <= EDGE_SLACK]
        if len(near) >= 0.5 * len(labelled):
            edges[column] = max(near)
    marked = []
    for row in rows:
        edge = edges.get(row.column)
        aligned = bool(row.label) and edge is not None and abs(row.x1 - edge) <= EDGE_SLACK
        marked.append(replace(row, aligned=aligned, edge=width if edge is None else edge))
    return tuple(marked)
