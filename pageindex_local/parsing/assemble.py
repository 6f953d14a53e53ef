"""Page records in the order they are read in, one parsed document with its warnings out. Knows no file format."""

from collections.abc import Iterable, Mapping

from pageindex_local.errors import DamagedSourceError, NoTextError
from pageindex_local.headings.running_heads import tag_running_lines
from pageindex_local.parsing.page_records import End, Head, PageRecord
from pageindex_local.records import Line, Page, ParsedDocument, Source

_GARBLED_SHARE = 0.3  # of a page's characters that are controls, private use or unknown glyphs
_TEXTLESS_SHARE = 0.2  # of pages without text that is worth a warning: more than blank backs of chapters
_EMPTY_LINE = Line("")


def assemble_document(source: Source, records: Iterable[Head | PageRecord | End]) -> ParsedDocument:
    """The document from its records, running heads tagged.

    A page without text gets one empty line, so that every page has a place in the sequence of lines.

    Raises:
        NoTextError: no page has text, and no outline entry leads to a page either.
        DamagedSourceError: no page can be read, or the records stop before the end.
    """
    metadata: Mapping[str, str] = {}
    end: End | None = None
    pages: list[Page] = []
    textless: list[int] = []
    garbled: list[int] = []
    unreadable: list[str] = []
    first_line = 0
    for record in records:
        if isinstance(record, PageRecord):
            number = record.page_number
            if record.error:
                unreadable.append(f"page {number} ({record.error})")
            elif not record.lines:
                textless.append(number)
            if record.garbage > _GARBLED_SHARE * record.characters:
                garbled.append(number)
            lines = record.lines or (_EMPTY_LINE,)
            pages.append(Page(number, record.label, first_line, lines, record.width, record.height))
            first_line += len(lines)
        elif isinstance(record, Head):
            metadata = record.metadata
        else:
            end = record
    if end is None:
        raise DamagedSourceError("was read only in part.", subject=source.doc_id, next_step="Try again.")
    _check_readable(source, pages, end, textless, unreadable)
    warnings = [*end.warnings, *_page_warnings(len(pages), textless, garbled, unreadable)]
    return ParsedDocument(source, tag_running_lines(pages), end.outline, metadata, tuple(warnings))


def _check_readable(source: Source, pages: list[Page], end: End, textless: list[int], unreadable: list[str]) -> None:
    if len(unreadable) == len(pages):
        raise DamagedSourceError(
            f"none of its {len(pages)} pages can be read: {unreadable[0]}.",
            subject=source.doc_id,
            next_step="Open it in a viewer and save it again, or get a fresh copy.",
        )
    if len(textless) + len(unreadable) == len(pages) and not any(entry.page_number for entry in end.outline):
        raise NoTextError(
            f"none of its {len(pages)} pages has text: a scan without OCR, or blank.",
            subject=source.doc_id,
            next_step="Run an OCR program over it (ocrmypdf, for example) and index the result.",
        )


def _page_warnings(count: int, textless: list[int], garbled: list[int], unreadable: list[str]) -> list[str]:
    warnings = []
    if unreadable:
        shown = "; ".join(unreadable[:3])
        warnings.append(f"{len(unreadable)} of {count} pages cannot be read: {shown}.")
    if len(textless) + len(unreadable) == count:
        warnings.append(f"None of the {count} pages has text; only the outline can be indexed. Run OCR over it.")
    elif len(textless) > _TEXTLESS_SHARE * count:
        warnings.append(f"{len(textless)} of {count} pages have no text ({_ranges(textless)}): scanned pages need OCR.")
    if garbled:
        warnings.append(
            f"The text layer of {len(garbled)} of {count} pages is garbled ({_ranges(garbled)}): "
            "most characters have no known meaning. OCR would read them."
        )
    return warnings


def _ranges(numbers: list[int]) -> str:
    """Page numbers for a person: "pages 3, 7-9 and 12 more"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs[:6])
    more = f" and {len(runs) - 6} more" if len(runs) > 6 else ""
    return f"page{'s' if len(numbers) > 1 else ''} {shown}{more}"
