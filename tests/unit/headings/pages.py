"""Small laid-out documents for tests: lines of text in given styles, stacked down a page."""

from dataclasses import dataclass
from typing import Any

from pageindex_local.records import Line, LineRole, MediaType, Page, ParsedDocument, Source

WIDTH, HEIGHT, LEFT = 600.0, 800.0, 100.0
COLUMN = 400.0


@dataclass(frozen=True)
class Row:
    """One printed line and how it is set. `gap` is the distance from the baseline above in points."""

    text: str
    size: float = 10.0
    bold: bool = False
    italic: bool = False
    gap: float = 12.0
    x: float = LEFT
    full: bool = False
    cells: int = 1
    lead: int = 0
    font: str = "Serif"
    running: bool = False


def body(lines: int = 4, gap: float = 18.0) -> list[Row]:
    """A paragraph of full lines and a short last one."""
    full = "ordinary words of running text that fill the line up to its very right end here"
    return [
        *(Row(full, gap=gap if number == 0 else 12.0, full=True) for number in range(lines - 1)),
        Row("and a short last line.", gap=12.0),
    ]


def heading(text: str, size: float = 16.0, bold: bool = True, gap: float = 30.0, **more: Any) -> Row:
    return Row(text, size=size, bold=bold, gap=gap, **more)


def document(*pages: list[Row]) -> ParsedDocument:
    """A PDF of these pages."""
    made = []
    first = 0
    for number, rows in enumerate(pages, 1):
        y = 60.0
        lines = []
        for index, row in enumerate(rows):
            y += row.gap
            width = COLUMN if row.full else min(COLUMN, 0.5 * row.size * len(row.text))
            lines.append(
                Line(
                    row.text,
                    (row.x, y - row.size, row.x + width, y),
                    row.size,
                    row.font,
                    row.bold,
                    row.italic,
                    index,
                    LineRole.RUNNING if row.running else LineRole.BODY,
                    row.cells,
                    row.lead,
                )
            )
        made.append(Page(number, str(number), first, tuple(lines), WIDTH, HEIGHT))
        first += len(lines)
    return ParsedDocument(Source("made.pdf", "made-0123456789", "made.pdf", "", 0, MediaType.PDF), tuple(made))
