"""A PDF in, its pages one by one and then its outline out. The only importer of PyMuPDF, and that only when called.

Runs in the parser child, which hands on each page before it reads the next; `parse_pdf` does the same in this process,
without limits on time and memory. It never renders a page and never decodes an image.
"""

import contextlib
import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pageindex_local.errors import (
    DamagedSourceError,
    EmptySourceError,
    EncryptedSourceError,
    SourceError,
    SourceLimitError,
)
from pageindex_local.parsing.clean import clean_text
from pageindex_local.parsing.glyph_sizes import GlyphSizes
from pageindex_local.parsing.lines import build_lines
from pageindex_local.parsing.page_labels import page_labels
from pageindex_local.parsing.page_records import End, Head, PageRecord
from pageindex_local.parsing.pdf_outline import MOST_ENTRIES, RawEntry, read_outline
from pageindex_local.records import Box, OutlineEntry, ParsedDocument, Source
from pageindex_local.settings import ParseSettings

_SHRINK_EVERY = 64  # pages after which the library's cache of decoded objects is emptied
_COPY_PERMISSION = 16  # bit 5 of the permissions, ISO 32000-1 table 22
_METADATA = ("title", "author", "subject", "keywords", "creator", "producer", "creationDate", "modDate")
_LONGEST_METADATA = 1_000
_GARBAGE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")


def parse_pdf(source: Source, settings: ParseSettings, *, password: str | None = None) -> ParsedDocument:
    """The parsed document, read in this process without limits on time and memory.

    Raises:
        SourceError: as `read_pdf`, and `NoTextError` where no page has text and no outline leads to one.
    """
    from pageindex_local.parsing.assemble import assemble_document  # noqa: PLC0415 - the child needs no headings

    return assemble_document(source, read_pdf(source, settings, password=password))


def read_pdf(
    source: Source, settings: ParseSettings, *, password: str | None = None
) -> Iterator[Head | PageRecord | End]:
    """First a `Head`, then a `PageRecord` per page, last an `End`. Memory does not grow with the number of pages.

    Raises:
        DamagedSourceError: cannot be opened, says an impossible number of pages, or changed since its record was made.
        EmptySourceError: no bytes or no pages.
        EncryptedSourceError: needs another password, or forbids copying while `respect_permissions` is set.
        SourceLimitError: more pages or characters than the settings allow.
    """
    pymupdf = load_library()
    _check_unchanged(source)
    document = _open(pymupdf, source, settings, password)
    try:
        yield from _read(pymupdf, document, source, settings)
    finally:
        document.close()
        pymupdf.TOOLS.store_shrink(100)


def load_library() -> Any:
    """PyMuPDF, silenced. Takes most of a second and 100 MB the first time, so only the parser child should call it."""
    import pymupdf  # noqa: PLC0415 - see above

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    return pymupdf


def _check_unchanged(source: Source) -> None:
    """A file replaced since its record was made would be indexed under another file's hash."""
    try:
        with Path(source.path).open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(
            f"cannot be read ({error.strerror}).",
            subject=source.doc_id,
            next_step="Check the path and its permissions.",
        ) from None
    if digest != source.sha256:
        raise DamagedSourceError(
            "changed while it was being read.", subject=source.doc_id, next_step="Build again once it is written."
        )


def _open(pymupdf: Any, source: Source, settings: ParseSettings, password: str | None) -> Any:
    try:
        document = pymupdf.open(source.path, filetype="pdf")
        locked = bool(document.needs_pass)
    except pymupdf.EmptyFileError:
        raise EmptySourceError(
            "has no bytes.", subject=source.doc_id, next_step="Copy the file again from where it came from."
        ) from None
    except Exception as error:  # noqa: BLE001 - the binding raises many classes
        raise _damaged(source, error) from None
    if locked and not (password is not None and document.authenticate(password)):
        problem = "is encrypted and needs a password." if password is None else "is encrypted; the password is wrong."
        raise EncryptedSourceError(
            problem, subject=source.doc_id, next_step="Give it with --password-file, or save a copy without encryption."
        )
    if settings.respect_permissions and not document.permissions & _COPY_PERMISSION:
        raise EncryptedSourceError(
            "its owner forbids copying text.",
            subject=source.doc_id,
            next_step="Ask the owner for a copy, or set parse.respect_permissions = false if you may read it.",
        )
    return document


def _is_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or "malloc" in str(error) or "calloc" in str(error)


def _damaged(source: Source, error: Exception) -> SourceError:
    if _is_memory(error):
        return SourceLimitError(
            "needs more memory than parse.memory_bytes allows.",
            subject=source.doc_id,
            next_step="Raise the limit, or split the file.",
        )
    reason = clean_text(str(error).replace(source.path, "the file"))[:200]
    return DamagedSourceError(
        f"cannot be opened as a PDF ({reason}).",
        subject=source.doc_id,
        next_step="Open it in a viewer and save it again, or get a fresh copy.",
    )


def _read(pymupdf: Any, document: Any, source: Source, settings: ParseSettings) -> Iterator[Head | PageRecord | End]:
    count = _page_count(document, source, settings)
    warnings = (
        ["The file is damaged and was repaired; text or the outline may be missing."] if document.is_repaired else []
    )
    yield Head(count, _metadata(document))
    labels = _labels(document, count, warnings)
    entries = _outline(pymupdf, document, count, warnings)
    outline = [OutlineEntry(entry.level, entry.title, entry.page_number) for entry in entries]
    tops: dict[int, list[int]] = {}
    for position, entry in enumerate(entries):
        if entry.top is not None:
            tops.setdefault(entry.page_number, []).append(position)
    characters = 0
    sizes = GlyphSizes()
    for index, label in enumerate(labels):
        number = index + 1
        try:
            page = document.load_page(index)
            record = _page(pymupdf, page, number, label, sizes)
            if number in tops:
                matrix = page.transformation_matrix * page.rotation_matrix
                for position in tops[number]:
                    top = float((pymupdf.Point(0, entries[position].top) * matrix).y)
                    outline[position] = replace(outline[position], top=round(top, 1))
            del page
        except Exception as error:  # noqa: BLE001 - the binding raises many classes; a bad page costs itself only
            if _is_memory(error):
                raise _damaged(source, error) from None
            reason = clean_text(str(error))[:200] or "unknown reason"
            record = PageRecord(number, label, (), 0.0, 0.0, 0, 0, reason)
        characters += record.characters
        if characters > settings.max_characters:
            raise SourceLimitError(
                f"has more than parse.max_characters = {settings.max_characters:,} characters by page {number}.",
                subject=source.doc_id,
                next_step="Raise the limit, or split the file.",
            )
        yield record
        if number % _SHRINK_EVERY == 0:
            pymupdf.TOOLS.store_shrink(100)
    yield End(tuple(outline), tuple(warnings))


def _page(pymupdf: Any, page: Any, number: int, label: str, sizes: GlyphSizes) -> PageRecord:
    flags = (
        pymupdf.TEXTFLAGS_DICT & ~pymupdf.TEXT_PRESERVE_IMAGES & ~pymupdf.TEXT_PRESERVE_LIGATURES
    ) | pymupdf.TEXT_MEDIABOX_CLIP
    blocks = page.get_textpage(flags=flags).extractDICT()["blocks"]
    sizes.correct(blocks)
    rotation = page.rotation_matrix

    def to_display(box: Box) -> Box:
        turned = pymupdf.Rect(box) * rotation
        return turned.x0, turned.y0, turned.x1, turned.y1

    lines = build_lines(blocks, to_display if page.rotation else None)
    text = "".join([span["text"] for block in blocks for line in block.get("lines", ()) for span in line["spans"]])
    garbage = 0 if text.isascii() and text.isprintable() else len(_GARBAGE.findall(text))
    rect = page.rect
    return PageRecord(
        number,
        label,
        lines,
        round(rect.width, 2),
        round(rect.height, 2),
        len(text) - text.count(" "),
        garbage,
    )


def _page_count(document: Any, source: Source, settings: ParseSettings) -> int:
    try:
        count = int(document.page_count)
    except Exception as error:  # noqa: BLE001 - the binding raises many classes
        raise _damaged(source, error) from None
    if count <= 0:
        raise EmptySourceError(
            "has no pages.",
            subject=source.doc_id,
            next_step="It may be damaged: open it in a viewer and save it again.",
        )
    if count > settings.max_pages:
        raise SourceLimitError(
            f"has {count:,} pages, more than parse.max_pages = {settings.max_pages:,}.",
            subject=source.doc_id,
            next_step="Raise the limit, or split the file.",
        )
    return count


def _metadata(document: Any) -> dict[str, str]:
    found = document.metadata or {}
    values = {key: clean_text(str(found.get(key) or "")[:_LONGEST_METADATA]) for key in _METADATA}
    return {key: value for key, value in values.items() if value}


def _labels(document: Any, count: int, warnings: list[str]) -> list[str]:
    try:
        return page_labels(document.get_page_labels(), count)
    except Exception:  # noqa: BLE001 - labels are a nicety
        warnings.append("The page labels are broken; physical page numbers are used.")
        return page_labels((), count)


def _outline(pymupdf: Any, document: Any, count: int, warnings: list[str]) -> list[RawEntry]:
    mupdf = pymupdf.mupdf
    entries: list[RawEntry] = []
    pdf = mupdf.pdf_document_from_fz_document(document.this)
    with contextlib.suppress(Exception):  # a broken page tree only makes the search for a page slower
        mupdf.pdf_load_page_tree(pdf)
    try:
        entries.extend(read_outline(mupdf, pdf, count))
    except Exception:  # noqa: BLE001 - the binding raises many classes; what was read before stays
        warnings.append("The outline is damaged and was read in part.")
    if len(entries) >= MOST_ENTRIES:
        warnings.append(f"The outline has more than {MOST_ENTRIES:,} entries; the rest is left out.")
    unusable = sum(1 for entry in entries if not entry.page_number)
    if unusable:
        warnings.append(f"{unusable} of {len(entries)} outline entries lead to no page of the file.")
    return entries
