"""Small PDFs made for a test, and the sources and settings to parse them with."""

import hashlib
from pathlib import Path
from typing import Any

import pymupdf

from pageindex_local.ids import make_doc_key
from pageindex_local.records import MediaType, ParsedDocument, Source
from pageindex_local.settings import ParseSettings, read_settings

WIDTH, HEIGHT = 595.0, 842.0


def parse_settings(**changes: Any) -> ParseSettings:
    """The default settings of parsing with some values changed."""
    return read_settings().parse.model_copy(update=changes)


def source_of(path: Path, media_type: MediaType = MediaType.PDF) -> Source:
    """The record of a file, whatever is in it."""
    data = path.read_bytes()
    return Source(
        path.name, make_doc_key(path.name), str(path), hashlib.sha256(data).hexdigest(), len(data), media_type
    )


def new_document(page_count: int = 1, width: float = WIDTH, height: float = HEIGHT) -> Any:
    """A PDF with so many empty pages."""
    document = pymupdf.open()
    for _ in range(page_count):
        document.new_page(width=width, height=height)
    return document


def write(page: Any, x: float, y: float, text: str, size: float = 11, font: str = "helv", **options: Any) -> None:
    """Put text on a baseline. `font` is a base-14 name: helv, hebo (bold), heit (italic), tiro, cour."""
    page.insert_text((x, y), text, fontsize=size, fontname=font, **options)


def save(document: Any, folder: Path, name: str = "made.pdf", **options: Any) -> Path:
    """Write the PDF and close it."""
    path = folder / name
    document.save(path, **options)
    document.close()
    return path


def texts(document: ParsedDocument, page_number: int = 1) -> list[str]:
    """The lines of a page."""
    return [line.text for line in document.pages[page_number - 1].lines]
