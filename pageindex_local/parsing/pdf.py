"""A PDF in, pages of lines, outline and metadata out. The only importer of PyMuPDF, and that only when called.

Runs in the parser child; calling it directly gives the same result without limits. It never renders a page.
"""

from collections.abc import Iterator
from typing import Any

from pageindex_local.errors import (
    DamagedSourceError,
    EmptySourceError,
    EncryptedSourceError,
    NoTextError,
    SourceLimitError,
)
from pageindex_local.parsing.clean import clean_text
from pageindex_local.records import Line, OutlineEntry, Page, ParsedDocument, Source
from pageindex_local.settings import ParseSettings


def parse_pdf(source: Source, settings: ParseSettings, *, password: str | None = None) -> ParsedDocument:
    """The parsed document, read in this process."""
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        document = pymupdf.open(source.path, filetype="pdf")
    except pymupdf.EmptyFileError:
        raise EmptySourceError("has no bytes", subject=source.doc_id) from None
    except (pymupdf.FileDataError, RuntimeError) as error:
        raise DamagedSourceError(f"cannot be opened as PDF ({error})", subject=source.doc_id) from None
    if document.needs_pass and not (password and document.authenticate(password)):
        raise EncryptedSourceError("needs a password", subject=source.doc_id)
    count = document.page_count
    if count == 0:
        raise EmptySourceError("has no pages", subject=source.doc_id)
    if count > settings.max_pages:
        raise SourceLimitError(f"has {count} pages", subject=source.doc_id)
    flags = pymupdf.TEXTFLAGS_DICT & ~pymupdf.TEXT_PRESERVE_IMAGES & ~pymupdf.TEXT_PRESERVE_LIGATURES
    pages = []
    first_line = 0
    warnings = []
    for index in range(count):
        try:
            page = document[index]
            data = page.get_text("dict", flags=flags)
            lines = tuple(_lines(data))
            width, height = page.rect.width, page.rect.height
            label = clean_text(page.get_label())
        except Exception as error:
            warnings.append(f"page {index + 1} cannot be read ({error})")
            lines, width, height, label = (), 0.0, 0.0, ""
        pages.append(Page(index + 1, label or str(index + 1), first_line, lines, width, height))
        first_line += len(lines)
    if first_line == 0:
        raise NoTextError("has no text layer", subject=source.doc_id, next_step="Run OCR first.")
    outline = []
    for level, title, page_number, link in document.get_toc(simple=False):
        to = link.get("to")
        outline.append(
            OutlineEntry(level, clean_text(title), page_number if 0 < page_number <= count else 0, to.y if to else None)
        )
    return ParsedDocument(source, tuple(pages), tuple(outline), {}, tuple(warnings))


def _lines(data: dict[str, Any]) -> Iterator[Line]:
    number = 0
    for block in data["blocks"]:
        merged: list[list[dict[str, Any]]] = []
        last_y = None
        for line in block.get("lines", ()):
            spans = [span for span in line["spans"] if span["text"].strip()]
            if not spans:
                continue
            y = spans[0]["origin"][1]
            if merged and last_y is not None and abs(y - last_y) < 2:
                merged[-1].extend(spans)
            else:
                merged.append(spans)
            last_y = y
        for spans in merged:
            main = max(spans, key=lambda span: len(span["text"]))
            font = main["font"].split("+", 1)[-1]
            yield Line(
                clean_text(" ".join(span["text"] for span in spans)),
                (
                    min(span["bbox"][0] for span in spans),
                    min(span["bbox"][1] for span in spans),
                    max(span["bbox"][2] for span in spans),
                    max(span["bbox"][3] for span in spans),
                ),
                round(main["size"], 1),
                font,
                bool(main["flags"] & 16) or "bold" in font.lower(),
                bool(main["flags"] & 2),
                number,
            )
        number += bool(merged)
