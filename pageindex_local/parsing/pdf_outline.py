"""The outline objects of a PDF in, entries as the file has them out: titles, levels and where they point.

Walks the objects one by one with a set of those already seen, because the library's own reader gives an empty outline
where the file has a cycle or one bad destination, and measures tops in different spaces for different kinds of
destination. It checks nothing against the pages.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pageindex_local.parsing.clean import clean_text

MOST_ENTRIES = 100_000
_LONGEST_TITLE = 1_000
_TOP_INDEX = {"XYZ": 3, "FitH": 2, "FitBH": 2, "FitR": 5}  # where the top stands in an explicit destination


@dataclass(frozen=True, slots=True)
class RawEntry:
    """An outline entry. `page_number` is 0 where it leads to no page of this file; `top` is in the page's own space."""

    level: int
    title: str
    page_number: int
    top: float | None


def read_outline(mupdf: Any, pdf: Any, page_count: int) -> Iterator[RawEntry]:
    """The entries in file order; those without a title are left out.

    `mupdf` is the native binding and `pdf` its document: this module does not import the library itself.

    Source: ISO 32000-1, 12.3.3 (outlines) and 12.3.2 (destinations).
    """
    outlines = _get(mupdf, _get(mupdf, mupdf.pdf_trailer(pdf), "Root"), "Outlines")
    seen: set[int] = set()
    todo = [(_get(mupdf, outlines, "First"), 1)]
    count = 0
    while todo and count < MOST_ENTRIES:
        item, level = todo.pop()
        number = mupdf.pdf_to_num(item)
        if not mupdf.pdf_is_dict(item) or number in seen:
            continue
        seen.add(number)
        count += 1
        todo.append((_get(mupdf, item, "Next"), level))
        todo.append((_get(mupdf, item, "First"), level + 1))
        title = clean_text(_text(mupdf, _get(mupdf, item, "Title"))[:_LONGEST_TITLE])
        if title:
            yield RawEntry(level, title, *_destination(mupdf, pdf, item, page_count))


def _destination(mupdf: Any, pdf: Any, item: Any, page_count: int) -> tuple[int, float | None]:
    try:
        target = _get(mupdf, item, "Dest")
        if mupdf.pdf_is_null(target):
            action = _get(mupdf, item, "A")
            kind = mupdf.pdf_to_name(_get(mupdf, action, "S"))
            if kind == "Named":
                named = mupdf.pdf_to_name(_get(mupdf, action, "N"))
                return {"FirstPage": 1, "LastPage": page_count}.get(named, 0), None
            if kind != "GoTo":
                return 0, None
            target = _get(mupdf, action, "D")
        if mupdf.pdf_is_name(target) or mupdf.pdf_is_string(target):
            target = mupdf.pdf_lookup_dest(pdf, target)
        if mupdf.pdf_is_dict(target):
            target = _get(mupdf, target, "D")
        if not mupdf.pdf_is_array(target):
            return 0, None
        page = mupdf.pdf_array_get(target, 0)
        if mupdf.pdf_is_int(page):
            index = mupdf.pdf_to_int(page)
        elif mupdf.pdf_is_dict(page):
            index = mupdf.pdf_lookup_page_number(pdf, page)
        else:
            return 0, None
        if not 0 <= index < page_count:
            return 0, None
        position = _TOP_INDEX.get(mupdf.pdf_to_name(mupdf.pdf_array_get(target, 1)))
        top = None
        if position is not None:
            value = mupdf.pdf_array_get(target, position)
            top = float(mupdf.pdf_to_real(value)) if mupdf.pdf_is_number(value) else None
    except Exception:  # noqa: BLE001 - the binding raises many classes; a bad destination costs its own entry only
        return 0, None
    return index + 1, top


def _get(mupdf: Any, holder: Any, key: str) -> Any:
    return mupdf.pdf_dict_gets(holder, key)


def _text(mupdf: Any, value: Any) -> str:
    try:
        return str(mupdf.pdf_to_text_string(value)) if mupdf.pdf_is_string(value) else ""
    except UnicodeDecodeError:
        return ""
