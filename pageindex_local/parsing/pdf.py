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
from pageindex_local.parsing.lines import build_lines
from pageindex_local.records import OutlineEntry, Page, ParsedDocument, Source
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
            to_display = None
            if page.rotation:
                matrix = page.rotation_matrix

                def to_display(box, matrix=matrix):
                    return tuple(pymupdf.Rect(box) * matrix)

            lines = build_lines(data["blocks"], to_display)
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
