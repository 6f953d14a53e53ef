"""The pieces of one layout cell in file order in, the same pieces in reading order out.

Files mostly write text in the order in which it is read. What is out of place are heads and feet, late boxes, and in
some files every heading of a page.
"""

from collections.abc import Sequence

from pageindex_local.parsing.pieces import Piece
from pageindex_local.records import Box

_SIDE_BY_SIDE = 0.2  # share of rows that hold several blocks, above which rows may be columns that were not recognised
_MOST_BLOCKS = 400  # of which the order is repaired one by one; a page of more is sorted by height


def order_pieces(pieces: Sequence[Piece]) -> list[Piece]:
    """Row by row from top to bottom, each row in file order.

    Where blocks often stand side by side, in file order, except that no block comes after one that it stands above.
    """
    rows = _rows(pieces)
    shared = sum(1 for row in rows if len({piece.block for piece in row}) > 1)
    if shared > _SIDE_BY_SIDE * len(rows):
        return _repair_order(pieces)
    return [piece for row in rows for piece in sorted(row, key=lambda piece: piece.order)]


def _rows(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """What shares a height, from top to bottom."""
    rows: list[list[Piece]] = []
    floor = 0.0
    for piece in sorted(pieces, key=lambda piece: piece.y0 + piece.y1):
        quarter = 0.25 * (piece.y1 - piece.y0)
        if rows and piece.y0 + quarter < floor:
            rows[-1].append(piece)
            floor = max(floor, piece.y1 - quarter)
        else:
            rows.append([piece])
            floor = piece.y1 - quarter
    return rows


def _repair_order(pieces: Sequence[Piece]) -> list[Piece]:
    """File order, except that the few blocks that stand above one before them move up to where they belong."""
    groups: list[list[Piece]] = []
    lowest = float("-inf")
    sane = True
    for piece in pieces:
        if groups and groups[-1][-1].block == piece.block and piece.y0 >= groups[-1][-1].y0 - 2:
            groups[-1].append(piece)
        else:
            groups.append([piece])
            sane = sane and piece.y1 > lowest - 1
        lowest = max(lowest, piece.y0)
    if sane:
        return list(pieces)
    if len(groups) > _MOST_BLOCKS:
        return sorted(pieces, key=lambda piece: (round(piece.base), piece.x0))
    boxes = [_bounds(group) for group in groups]
    kept, moved = _out_of_place(boxes)
    for late in moved:
        top, bottom = boxes[late][1], boxes[late][3]
        at = next((place for place, other in enumerate(kept) if boxes[other][1] >= bottom - 1), len(kept))
        # Never between two lines of the same row: behind what starts higher up.
        while at < len(kept) and boxes[kept[at]][1] < top:
            at += 1
        kept.insert(at, late)
    return [piece for number in kept for piece in groups[number]]


def _bounds(group: Sequence[Piece]) -> Box:
    return (
        min(piece.x0 for piece in group),
        min(piece.y0 for piece in group),
        max(piece.x1 for piece in group),
        max(piece.y1 for piece in group),
    )


def _out_of_place(boxes: Sequence[Box]) -> tuple[list[int], list[int]]:
    """Which boxes are in order, and which few must move so that none stands after one that it is above."""
    against: dict[int, set[int]] = {}
    for first, (left, top, right, _) in enumerate(boxes):
        for second in range(first + 1, len(boxes)):
            x0, _, x1, bottom = boxes[second]
            if bottom <= top + 1 and min(x1, right) > max(x0, left):
                against.setdefault(first, set()).add(second)
                against.setdefault(second, set()).add(first)
    moved: list[int] = []
    while against:
        worst = max(against, key=lambda number: (len(against[number]), number))
        moved.append(worst)
        for other in against.pop(worst):
            against[other].discard(worst)
            if not against[other]:
                del against[other]
    return [number for number in range(len(boxes)) if number not in moved], sorted(moved)
