"""Small documents written down as pages of lines, with their headings found by a mark.

A line `# Title` (one mark a level) prints `Title` and is a heading; `~ text` is a running line; anything else is text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pageindex_local.records import (
    Heading,
    Line,
    LineRole,
    MediaType,
    NodeKind,
    Origin,
    Page,
    ParsedDocument,
    SectionTree,
    Source,
)
from pageindex_local.settings import TreeSettings, read_settings


@dataclass(frozen=True)
class Printed:
    """A document and its headings."""

    document: ParsedDocument
    headings: tuple[Heading, ...]


def print_pages(*pages: Sequence[str], media_type: MediaType = MediaType.PDF) -> Printed:
    """Lay out pages of marked lines."""
    source = Source("manual.pdf", "manual-0123456789", "manual.pdf", "0" * 64, 1, media_type)
    printed: list[Page] = []
    headings: list[Heading] = []
    number = 0
    for page_number, texts in enumerate(pages, 1):
        lines: list[Line] = []
        first_line = number
        for block, text in enumerate(texts):
            if text.startswith("#"):
                level = len(text) - len(text.lstrip("#"))
                title = text[level:].strip()
                headings.append(Heading(title, level, (number, number + 1), page_number, Origin.LAYOUT, 0.9))
                lines.append(Line(title, size=14.0, bold=True, block=block))
            elif text.startswith("~"):
                lines.append(Line(text[1:].strip(), size=9.0, block=block, role=LineRole.RUNNING))
            else:
                lines.append(Line(text, size=10.0, block=block))
            number += 1
        printed.append(Page(page_number, str(page_number), first_line, tuple(lines)))
    return Printed(ParsedDocument(source, tuple(printed)), tuple(headings))


def print_blocks(*pages: Sequence[str]) -> Printed:
    """As `print_pages`, with the lines of text between two headings in one block, as a printed paragraph is."""
    printed = print_pages(*pages)
    block = 0
    laid_out: list[Page] = []
    for page in printed.document.pages:
        lines: list[Line] = []
        for line in page.lines:
            block += line.bold or bool(lines and lines[-1].bold)
            lines.append(replace(line, block=block))
        laid_out.append(replace(page, lines=tuple(lines)))
    return Printed(replace(printed.document, pages=tuple(laid_out)), printed.headings)


def tree_settings(**changes: object) -> TreeSettings:
    """The default tree settings with changes."""
    return read_settings(overrides={"tree": changes}).tree


def outline(tree: SectionTree) -> list[tuple[int, str, int, int]]:
    """Level, title, first and last page of each node; kinds other than sections in angle brackets behind the title."""
    return [
        (
            node.level,
            node.title if node.kind is NodeKind.SECTION else f"{node.title} <{node.kind}>",
            node.first_page,
            node.last_page,
        )
        for node in tree.walk()
    ]
