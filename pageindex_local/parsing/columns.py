"""Pieces of a page in, the cells of its layout in reading order out: bands from top to bottom, columns within a band.

Only columns of running text count. Cells of tables, terms beside their definitions and numbers beside their labels read
better row by row, so they never make a column.
"""

import itertools
from collections.abc import Sequence

from pageindex_local.parsing.pieces import Piece

_LEAST_LINES = 4  # lines on each side of a gutter
_LEAST_FILL = 0.55  # median width of a column's lines against the column's
_LEAST_SHARE = 0.15  # of the page's width that a column must have
_FULL_LINES = 0.6  # share of lines that fill their column in justified text set line by line across both columns


def split_columns(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces as cells in reading order, each in file order; one cell where there are no columns."""
    if len(pieces) < 2 * _LEAST_LINES:
        return [list(pieces)]
    done: list[list[Piece]] = []
    todo = [(list(pieces), 0)]
    while todo:
        cell, depth = todo.pop()
        gutter = _find_gutter(cell) if depth < 3 and len(cell) >= 2 * _LEAST_LINES else None
        if gutter is None:
            done.append(cell)
            continue
        parts = _cut_bands(cell, gutter)
        if len(parts) == 1:
            done.append(cell)
            continue
        todo.extend((part, depth + 1) for part in reversed(parts))
    return done


def _find_gutter(pieces: Sequence[Piece]) -> float | None:
    """The x at which a right column of running text starts."""
    left_edge = min(piece.x0 for piece in pieces)
    right_edge = max(piece.x1 for piece in pieces)
    width = right_edge - left_edge
    starts: dict[int, int] = {}
    for piece in pieces:
        if len(piece.text) > 8 and piece.x0 > left_edge + _LEAST_SHARE * width:
            key = int(piece.x0 / 3)
            starts[key] = starts.get(key, 0) + 1
    frequent = sorted((key for key, count in starts.items() if count >= _LEAST_LINES), key=lambda key: -starts[key])
    for key in frequent[:4]:
        x = min(piece.x0 for piece in pieces if int(piece.x0 / 3) == key) - 0.5
        if right_edge - x < _LEAST_SHARE * width:
            continue
        if _is_gutter(pieces, x, left_edge, right_edge):
            return x
    return None


def _is_gutter(pieces: Sequence[Piece], x: float, left_edge: float, right_edge: float) -> bool:
    left = [piece for piece in pieces if piece.x1 <= x + 1]
    right = [piece for piece in pieces if piece.x0 >= x]
    if len(left) < _LEAST_LINES or len(right) < _LEAST_LINES:
        return False
    # What lies beside each other is what can be columns; the rest is above or below.
    top = max(min(piece.y0 for piece in left), min(piece.y0 for piece in right))
    bottom = min(max(piece.y1 for piece in left), max(piece.y1 for piece in right))
    left = [piece for piece in left if piece.y1 > top and piece.y0 < bottom]
    right = [piece for piece in right if piece.y1 > top and piece.y0 < bottom]
    if len(left) < _LEAST_LINES or len(right) < _LEAST_LINES:
        return False
    crossing = sum(1 for piece in pieces if piece.x0 < x < piece.x1 - 1 and piece.y1 > top and piece.y0 < bottom)
    if crossing > 0.2 * (len(left) + len(right)):
        return False
    left_fill = _fill(left, max(piece.x1 for piece in left) - left_edge)
    right_fill = _fill(right, right_edge - x)
    if min(left_fill[0], right_fill[0]) < _LEAST_FILL:
        return False
    # Both sides are running text. If the file writes them one after the other they are columns; if it goes to and fro
    # with every line, only justified lines tell columns from a table of long cells.
    beside = sorted([*left, *right], key=lambda piece: piece.order)
    switches = sum(1 for before, after in itertools.pairwise(beside) if (before.x0 >= x) is not (after.x0 >= x))
    if switches <= max(3, 0.25 * min(len(left), len(right))):
        return True
    return min(left_fill[1], right_fill[1]) >= _FULL_LINES


def _fill(pieces: Sequence[Piece], width: float) -> tuple[float, float]:
    """Median width of the pieces against the column's, and the share of pieces that fill it."""
    if width <= 0:
        return 0.0, 0.0
    widths = sorted((piece.x1 - piece.x0) / width for piece in pieces)
    return widths[len(widths) // 2], sum(1 for value in widths if value > 0.9) / len(widths)


def _cut_bands(pieces: Sequence[Piece], x: float) -> list[list[Piece]]:
    """The pieces cut into bands by what crosses the gutter: [crossing] or [left, right], from top to bottom."""
    ends = sorted(piece.x1 for piece in pieces if piece.x1 <= x + 1)
    gap = ends[int(0.9 * (len(ends) - 1))]  # what stands between the columns (a page number) is in neither
    parts: list[list[Piece]] = []
    left: list[Piece] = []
    right: list[Piece] = []
    wide: list[Piece] = []
    for row in _rows(pieces):
        if any(piece.x0 < x < piece.x1 - 1 or gap < piece.x0 < piece.x1 < x for piece in row):
            parts.extend(part for part in (left, right) if part)
            left, right = [], []
            wide.extend(row)
            continue
        if wide:
            parts.append(wide)
            wide = []
        for piece in row:
            (right if piece.x0 >= x else left).append(piece)
    parts.extend(part for part in (wide, left, right) if part)
    for part in parts:
        part.sort(key=lambda piece: piece.order)
    return parts


def _rows(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces from top to bottom, those on one baseline together."""
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: piece.base):
        if rows and piece.base - rows[-1][0].base < 0.25 * piece.size:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return rows
