"""Small synthetic documents for the heading tests: rows of text at given places, no PDF involved."""

from collections.abc import Sequence
from typing import NamedTuple

from pageindex_local.records import Line, LineRole, MediaType, OutlineEntry, Page, ParsedDocument, Source


class Text(NamedTuple):
    """One printed line: `x1` is where it ends, 0 for a guess by its length."""

    text: str
    x0: float = 72.0
    size: float = 10.0
    bold: bool = False
    x1: float = 0.0
    running: bool = False


def make_page(number: int, first_line: int, texts: Sequence[Text], label: str = "") -> Page:
    """A page of 612 by 792 points with one line every 14 points from the top."""
    lines = []
    for position, item in enumerate(texts):
        top = 60.0 + 14.0 * position
        end = item.x1 or item.x0 + 5.0 * len(item.text)
        role = LineRole.RUNNING if item.running else LineRole.BODY
        lines.append(
            Line(item.text, (item.x0, top, end, top + 10.0), item.size, "Serif", item.bold, block=position, role=role)
        )
    return Page(number, label or str(number), first_line, tuple(lines), 612.0, 792.0)


def make_document(pages: Sequence[Sequence[Text]], outline: Sequence[OutlineEntry] = ()) -> ParsedDocument:
    """A PDF-like document of these pages."""
    built: list[Page] = []
    first_line = 0
    for number, texts in enumerate(pages, 1):
        built.append(make_page(number, first_line, texts))
        first_line += len(texts)
    source = Source("book.pdf", "book-0000000000", "book.pdf", "0" * 64, 1, MediaType.PDF)
    return ParsedDocument(source, tuple(built), tuple(outline))


def contents_row(title: str, label: str, x0: float = 72.0, **style: float) -> Text:
    """A row of a contents list with dots up to the label at the right edge."""
    return Text(f"{title} . . . . . . . . {label}", x0=x0, x1=540.0, size=style.get("size", 10.0))


def body(count: int = 5) -> list[Text]:
    """Lines of plain text."""
    return [Text("Plain words of running text go on and on until the line is full of them", x1=540.0)] * count


def heading(text: str, size: float = 14.0) -> Text:
    """A heading line that stands out."""
    return Text(text, size=size, bold=True)
