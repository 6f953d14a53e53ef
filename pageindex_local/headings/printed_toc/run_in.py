"""Rows of a contents list in, the same rows out with run-in entries ('Scope 12, Terms 13, Uses 14') one a row."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from pageindex_local.headings.printed_toc.rows import Row

_INSIDE = re.compile(r"\S\s\d{1,4}[,;]\s+\S")
_PIECE = re.compile(r"(?P<title>\S.*?)\s(?P<label>\d{1,4})(?:[,;]\s+|\.?$)")


def split_run_ins(rows: Sequence[Row]) -> list[Row]:
    """The rows with every run-in paragraph of entries taken apart.

    A paragraph is taken apart only where all of it reads as titles with page labels that never run backwards.
    """
    result: list[Row] = []
    position = 0
    while position < len(rows):
        row = rows[position]
        end = position + 1
        if _INSIDE.search(row.text) and not row.leader:
            while end < len(rows) and _same_paragraph(row, rows[end]):
                end += 1
            pieces = _take_apart(rows[position:end])
            if pieces:
                result.extend(pieces)
                position = end
                continue
        result.append(row)
        position += 1
    return result


def _same_paragraph(first: Row, row: Row) -> bool:
    return (
        not row.leader
        and row.page_number <= first.page_number + 1
        and row.column == first.column
        and (abs(row.x0 - first.x0) < 2 or (row.page_number > first.page_number and abs(row.indent - first.indent) < 3))
        and abs(row.size - first.size) < 0.6
    )


def _take_apart(rows: Sequence[Row]) -> list[Row]:
    text = ""
    for row in rows:
        text = text.removesuffix("-") + row.text if text.endswith("-") else f"{text} {row.text}".strip()
    pieces: list[Row] = []
    end = 0
    for found in _PIECE.finditer(text):
        if found.start() != end:
            return []
        end = found.end()
        pieces.append(replace(rows[0], text=found.group(), title=found["title"], label=found["label"], leader=False))
    labels = [int(piece.label) for piece in pieces]
    if len(pieces) < 2 or end != len(text) or any(after < before for before, after in pairwise(labels)):
        return []
    return pieces
