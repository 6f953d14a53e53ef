"""The text that is to replace a section: a file in, the lines that will stand there out, or why they cannot."""

from collections.abc import Sequence
from pathlib import Path

from pageindex_local.errors import EmptySourceError, SourceError
from pageindex_local.grafts.pages import spread_lines
from pageindex_local.grafts.section import PAGE_BREAK, Section
from pageindex_local.headings.markdown import find_markdown_headings
from pageindex_local.ids import normalise_title
from pageindex_local.parsing.decode import decode_text
from pageindex_local.parsing.sources import read_source
from pageindex_local.parsing.text import split_lines
from pageindex_local.records import Heading, Line, MediaType, Page, ParsedDocument, Source
from pageindex_local.settings import ParseSettings
from pageindex_local.tree.text import iter_lines


def read_text(path: Path, settings: ParseSettings) -> str:
    """The text of a file that is to replace a section.

    Raises:
        SourceError: cannot be read, is empty, or is neither Markdown nor text.
    """
    source = read_source(str(path), path, settings)
    if source.media_type is MediaType.PDF:
        raise SourceError(
            "is a PDF; a section is replaced by text.",
            subject=str(path),
            next_step="Give a Markdown or text file, such as one from `resolve NODE_ID --text`.",
        )
    text, _ = decode_text(path.read_bytes(), str(path))
    if not text.strip():
        raise EmptySourceError(
            "has no text.",
            subject=str(path),
            next_step="To remove a section, remove it from the source and build again.",
        )
    return text


def source_lines(document: ParsedDocument, section: Section) -> tuple[Sequence[str], Sequence[int]]:
    """What the source says in a section that was replaced by hand."""
    for graft in document.grafts:
        if graft.node_id == section.node.node_id:
            return graft.base, spread_lines(section.lines, section.pages, graft.base)
    raise SourceError(
        "was not replaced by hand, so there is nothing to restore",
        subject=section.node.node_id,
        next_step="`history` and `release rollback` go back to an earlier version.",
    )


def new_lines(document: ParsedDocument, section: Section, text: str) -> tuple[Sequence[str], Sequence[int]]:
    """The lines that are to stand in a section, its heading included, and on which of its pages."""
    if not document.has_pages:
        lines = _trimmed(list(split_lines(text.replace(PAGE_BREAK, "\n"))))
        if lines != list(section.lines):
            lines = _with_heading(document, section, lines)
            if _is_text(document, section.span[1]) and lines[-1] != section.lines[-1]:
                lines.append("")  # what follows at once would be read as the same paragraph
        return lines, [0] * len(lines)
    pieces = [list(split_lines(piece)) for piece in text.strip("\n").split(PAGE_BREAK)]
    count = section.pages[-1] + 1
    if len(pieces) > 1 and len(pieces) != count:
        raise SourceError(
            f"the text has {len(pieces)} pages (form feeds part them), the section {count}",
            subject=section.node.node_id,
            next_step="Leave the form feeds out to have lines spread as they were.",
        )
    if len(pieces) == 1:
        lines = _with_heading(document, section, _trimmed(pieces[0]))
        return lines, spread_lines(section.lines, section.pages, lines)
    rows = [(page, line) for page, piece in enumerate(pieces) for line in piece]
    first = next(place for place, (_, line) in enumerate(rows) if line.strip())
    last = next(place for place, (_, line) in enumerate(reversed(rows)) if line.strip())
    rows = rows[first : len(rows) - last]
    with_heading = _with_heading(document, section, [line for _, line in rows])
    added = len(with_heading) - len(rows)
    return with_heading, [0] * added + [page for page, _ in rows]


def _is_text(document: ParsedDocument, number: int) -> bool:
    """Whether there is a line of that number, and something on it."""
    line = next(iter_lines(document, (number, number + 1)), None)
    return line is not None and bool(line[1].text.strip())


def _trimmed(lines: list[str]) -> list[str]:
    first = next((place for place, line in enumerate(lines) if line.strip()), len(lines))
    last = next((place for place, line in enumerate(reversed(lines)) if line.strip()), 0)
    return lines[first : len(lines) - last]


def _with_heading(document: ParsedDocument, section: Section, lines: list[str]) -> list[str]:
    """The lines with the section's own heading in front where they do not bring one.

    Raises:
        SourceError: headings in them would begin a section beside or above this one.
    """
    node = section.node
    height = node.heading[1] - node.heading[0]
    if document.source.media_type is MediaType.MARKDOWN:
        brings = _check_markdown(section, lines)
    else:
        shown = " ".join(lines[:height])
        brings = normalise_title(shown) in (
            normalise_title(node.title),
            normalise_title(" ".join(section.lines[:height])),
        )
    if not height or brings:
        return lines
    blank = next((count for count, line in enumerate(section.lines[height:]) if line.strip()), 1)
    return [*section.lines[:height], *section.lines[height : height + blank], *lines]


def _check_markdown(section: Section, lines: list[str]) -> bool:
    """Whether Markdown lines bring the heading of the section; what their headings must not be is an error."""
    found, own = _markdown_headings(lines), _markdown_headings(section.lines)
    level = own[0].level if own and own[0].span[0] == 0 else 0
    brings = bool(level and found and found[0].span[0] == 0 and found[0].level <= level)
    if brings and found[0].level < level:
        raise SourceError(
            f"the text begins with a heading of level {found[0].level}, the section's is of level {level}",
            subject=section.node.node_id,
            next_step=f"Begin it with `{'#' * level} {found[0].title}`, or leave the heading out to keep it.",
        )
    others = [heading for heading in found[1 if brings else 0 :] if heading.level <= level or not level]
    if others and (level or not own):
        where = f"line {others[0].span[0] + 1} (“{others[0].title}”)"
        raise SourceError(
            f"the heading in {where} would begin another section, outside of this one",
            subject=section.node.node_id,
            next_step="Replace the section above it, which holds both, or make that heading deeper.",
        )
    return brings


def _markdown_headings(lines: Sequence[str]) -> list[Heading]:
    """The headings that begin a section: those with a letter or digit in them."""
    source = Source("", "", "", "", 0, MediaType.MARKDOWN)
    page = Page(1, "1", 0, tuple(Line(text) for text in lines))
    found = find_markdown_headings(ParsedDocument(source, (page,))).headings
    return [heading for heading in found if any(map(str.isalnum, heading.title))]
