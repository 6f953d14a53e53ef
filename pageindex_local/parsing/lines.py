"""The raw blocks of a page in, its lines in reading order out.

Pieces on one baseline become one line (a number and its title, a contents entry with its page), never across columns.
Lines of one style that follow each other closely share a block.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from pageindex_local.parsing.columns import split_columns
from pageindex_local.parsing.order import order_pieces
from pageindex_local.parsing.pieces import MOSTLY, Piece, read_pieces
from pageindex_local.records import Box, Line

_SAME_BASELINE = 0.25  # of the smaller font size
_OVERLAP = 0.35  # of the font size that two pieces of one line may overlap
_BLOCK_PITCH = 1.65  # baselines of one block are at most this many font sizes apart
_SMALL = 0.8  # of the text's size is what a raised mark has at most
_LONGEST_MARK = 6  # characters
_MARK_GAP, _LABEL_GAP = 0.35, 2.5  # font sizes between text and a mark behind it, and before it
_CELL_GAP = 2.0  # font sizes between two cells


def build_lines(blocks: Sequence[dict[str, Any]], to_display: Callable[[Box], Box] | None = None) -> tuple[Line, ...]:
    """The lines of a page in reading order.

    `to_display` turns a box as extracted into the displayed page's space; None where they are the same.
    """
    lines: list[Line] = []
    block = 0
    for pieces in read_pieces(blocks):
        for cell in split_columns(pieces):
            merged = _merge(order_pieces(cell))
            for position, parts in enumerate(merged):
                if position and not _share_block(merged[position - 1], parts):
                    block += 1
                lines.append(_line(parts, block, to_display))
            block += 1
    return tuple(lines)


def _merge(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces of one baseline that follow each other, from left to right (right to left for such scripts)."""
    merged: list[list[Piece]] = []
    for piece in _attach_marks(pieces):
        if merged and _same_line(merged[-1], piece):
            if not _drawn_twice(merged[-1], piece):
                merged[-1].append(piece)
        else:
            merged.append([piece])
    return [_in_order(parts) if len(parts) > 1 else parts for parts in merged]


def _same_line(parts: Sequence[Piece], piece: Piece) -> bool:
    other = parts[-1]
    smaller = min(piece.size, other.size)
    if abs(piece.base - other.base) > max(1.0, _SAME_BASELINE * smaller):
        return False
    slack = _OVERLAP * smaller
    apart = all(piece.x0 >= part.x1 - slack or piece.x1 <= part.x0 + slack for part in parts)
    return apart or _drawn_twice(parts, piece)


def _drawn_twice(parts: Sequence[Piece], piece: Piece) -> bool:
    """Whether the piece repeats another in place, for a shadow or for weight."""
    return any(piece.text == part.text and abs(piece.x0 - part.x0) < 2 for part in parts)


def _in_order(parts: list[Piece]) -> list[Piece]:
    if sum(len(part.text) if part.rtl else -len(part.text) for part in parts) > 0:
        return sorted(parts, key=lambda part: -part.x1)
    return sorted(parts, key=lambda part: part.x0)


def _attach_marks(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """The pieces with small raised ones (footnote marks, ordinals) joined to what they stand beside.

    Files often write them after the whole table or paragraph.
    """
    sizes = sorted(piece.size for piece in pieces)
    limit = _SMALL * sizes[len(sizes) // 2]
    marks = [piece for piece in pieces if piece.size < limit and len(piece.text) <= _LONGEST_MARK]
    if not marks or len(marks) > 0.5 * len(pieces):
        return pieces
    gone: set[int] = set()
    for mark in marks:
        middle = (mark.y0 + mark.y1) / 2
        for piece in pieces:
            if piece is mark or not piece.y0 - 1 <= middle <= piece.base or mark.size >= _SMALL * piece.size:
                continue
            if abs(mark.x0 - piece.x1) <= _MARK_GAP * piece.size:
                piece.text = f"{piece.text}{mark.text}"
            elif 0 <= piece.x0 - mark.x1 <= _LABEL_GAP * piece.size:
                piece.text = f"{mark.text} {piece.text}"
                piece.lead = 0
            else:
                continue
            piece.x0, piece.x1 = min(piece.x0, mark.x0), max(piece.x1, mark.x1)
            piece.raw = (
                min(piece.raw[0], mark.raw[0]),
                min(piece.raw[1], mark.raw[1]),
                max(piece.raw[2], mark.raw[2]),
                max(piece.raw[3], mark.raw[3]),
            )
            gone.add(mark.order)
            break
    return [piece for piece in pieces if piece.order not in gone]


def _share_block(before: Sequence[Piece], after: Sequence[Piece]) -> bool:
    """Whether two lines belong to one block: same style, close below each other."""
    first, second = _main(before), _main(after)
    if abs(first.size - second.size) > 0.6 or first.bold is not second.bold:
        return False
    pitch = second.base - first.base
    if not 0 < pitch <= _BLOCK_PITCH * max(first.size, second.size):
        return False
    if min(piece.x0 for piece in after) > max(piece.x1 for piece in before):
        return False
    # The extraction has its own idea of paragraphs. Where it sees one block, so do we; where it cuts, a cut between two
    # lines at normal pitch is taken only if it is wider than the text's own pitch would be.
    return first.block == second.block or pitch <= 1.35 * second.size


def _main(parts: Sequence[Piece]) -> Piece:
    return parts[0] if len(parts) == 1 else max(parts, key=lambda part: len(part.text))


def _line(parts: Sequence[Piece], block: int, to_display: Callable[[Box], Box] | None) -> Line:
    main = _main(parts)
    cells = 1
    if len(parts) == 1:
        box, text, bold, italic, lead = main.raw, main.text, main.bold, main.italic, main.lead
    else:
        total = sum(len(part.text) for part in parts)
        bold = sum(len(part.text) for part in parts if part.bold) >= MOSTLY * total
        italic = sum(len(part.text) for part in parts if part.italic) >= MOSTLY * total
        lead = _lead(parts)
        cells += sum(1 for left, right in itertools.pairwise(parts) if _gap(left, right) > _CELL_GAP * main.size)
        box = (
            min(part.raw[0] for part in parts),
            min(part.raw[1] for part in parts),
            max(part.raw[2] for part in parts),
            max(part.raw[3] for part in parts),
        )
        text = " ".join([part.text for part in parts])
    if to_display is not None:
        box = to_display(box)
    return Line(
        text,
        (round(box[0], 2), round(box[1], 2), round(box[2], 2), round(box[3], 2)),
        round(main.size, 1),
        main.font,
        bold,
        italic,
        block,
        cells=cells,
        lead=lead,
    )


def _gap(first: Piece, second: Piece) -> float:
    return max(second.x0 - first.x1, first.x0 - second.x1)


def _lead(parts: Sequence[Piece]) -> int:
    """Length of the bold start, else italic start, of a line of several pieces."""
    for style in ("bold", "italic"):
        marked = [bool(getattr(part, style)) for part in parts]
        if any(marked) and not all(marked):
            end = marked.index(False)
            if not any(marked[end:]):
                before = sum(len(part.text) + 1 for part in parts[:end])
                return before + parts[end].lead if parts[end].lead else max(0, before - 1)
    if parts[0].lead and not any(part.lead or part.bold or part.italic for part in parts[1:]):
        return parts[0].lead
    return 0
