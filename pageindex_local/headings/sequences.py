"""Numbered lines in document order in, their places in series out: what continues, what opens, what fits nowhere.

One pass. Compound numbers (3.2.1) need only the last one seen of their family; single numbers (1. A. (a) Item 7) are
followed with a stack of open series, told apart by grammar and by a caller's style key, so that a numbered list in
body type cannot continue the chapters around it. Nothing here knows fonts or pages.
"""

from collections import Counter, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from pageindex_local.headings.numbering import SectionNumber, is_first, is_next

_MAX_OPEN = 12
_MAX_CLOSED = 24
_MISSED = 3


@dataclass(frozen=True, slots=True)
class Numbered:
    """A line that may carry a section number: its readings and what its series must share beside the grammar."""

    readings: tuple[SectionNumber, ...]
    style: Hashable


@dataclass(frozen=True, slots=True)
class Link:
    """The place of one numbered line.

    `number` is the reading that fits (the first one where none does). `fits` says whether the line continues a
    series or starts one in a legal place; `run` names the series (-1 where it fits nowhere), `length` counts the
    series' members. `parent_run` is the series that was open around it when it started. Compound numbers of one
    family and depth are one series.
    """

    number: SectionNumber
    fits: bool
    run: int
    length: int
    parent_run: int


@dataclass(slots=True, eq=False)
class _Open:
    style: Hashable
    last: SectionNumber
    run: int
    parent_run: int
    compound: bool
    around: tuple["_Open", ...] = ()


@dataclass(slots=True)
class _Family:
    """Compound numbers that share word, head shape and mark: the last that fitted, and the last that did not."""

    last: tuple[int, ...] | None = None
    stray: tuple[int, ...] | None = None
    stray_item: int = -1


@dataclass(slots=True)
class _Place:
    number: SectionNumber
    run: int = -1
    parent_run: int = -1


def follow_sequences(items: Sequence[Numbered]) -> tuple[Link, ...]:
    """One link per item, in order. Linear in the items: at most twelve series are open at once.

    A single number continues the innermost open series whose last member it follows (a few missing members are
    forgiven), closing the series inside it; otherwise a first member (1, A, i) opens a series inside the current
    one. A compound number fits when it follows the last of its family: 3.3, 3.2.1 or 4.1 after 3.2. A number that
    does not fit is believed after all when the next one follows it, so one misread number cannot lock the rest out.
    """
    walk = _Walk()
    for index, item in enumerate(items):
        if item.readings[0].depth > 1:
            walk.place_compound(index, item)
        else:
            walk.place_single(item)
    lengths = Counter(place.run for place in walk.places)
    return tuple(
        Link(place.number, place.run >= 0, place.run, lengths[place.run] if place.run >= 0 else 0, place.parent_run)
        for place in walk.places
    )


def follows(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether a compound number may come after another: one part grows, and what is deeper starts anew."""
    shared = 0
    while shared < min(len(before), len(after)) and before[shared] == after[shared]:
        shared += 1
    if shared == len(after):
        return False
    grown = after[shared] - (before[shared] if shared < len(before) else 0)
    limit = _MISSED if shared < len(before) else 2
    return (
        0 <= grown <= limit and (grown > 0 or shared >= len(before)) and all(part <= 2 for part in after[shared + 1 :])
    )


class _Walk:
    """The state of one pass."""

    def __init__(self) -> None:
        self.places: list[_Place] = []
        self.stack: list[_Open] = []
        self.closed: deque[_Open] = deque(maxlen=_MAX_CLOSED)
        self.families: dict[Hashable, _Family] = {}
        self.depth_runs: dict[Hashable, int] = {}
        self.runs = 0

    def place_compound(self, index: int, item: Numbered) -> None:
        """Places one compound number, and a stray one before it that it confirms."""
        number = item.readings[0]
        place = _Place(number)
        self.places.append(place)
        key = (number.word, number.shapes[0], number.mark)
        family = self.families.setdefault(key, _Family())
        fits = follows(family.last, number.parts) if family.last is not None else _starts(number.parts)
        if not fits and family.stray is not None and follows(family.stray, number.parts):
            self._settle(self.places[family.stray_item], key)
            fits = True
        if not fits:
            family.stray, family.stray_item = number.parts, index
            return
        family.last, family.stray = number.parts, None
        self._settle(place, key)

    def _settle(self, place: _Place, key: Hashable) -> None:
        run_key = (key, place.number.depth)
        run = self.depth_runs.get(run_key, -1)
        if run < 0:
            run = self.depth_runs[run_key] = self._new_run()
        place.run = run
        stack = self.stack
        index = next((i for i in range(len(stack) - 1, -1, -1) if stack[i].compound), -1)
        if index >= 0:
            self._close(index + 1)
            stack[index].last, stack[index].run = place.number, run
        else:
            head = place.number.parts[0]
            outer = next((i for i in range(len(stack) - 1, -1, -1) if stack[i].last.parts[-1] == head), len(stack) - 1)
            self._close(outer + 1)
            stack.append(_Open(None, place.number, run, stack[-1].run if stack else -1, True, tuple(stack)))
        place.parent_run = stack[-1].parent_run

    def place_single(self, item: Numbered) -> None:
        """Places one number of a single part: in the open series it follows, in a closed one, or in one with gaps."""
        found = self._find_open(item, 1)
        if found is None and self._reopen(item):
            return
        found = found or self._find_open(item, _MISSED)
        if found is not None:
            reading, index = found
            self._close(index + 1)
            self._continue(self.stack[index], reading)
            return
        reading = next((reading for reading in item.readings if is_first(reading)), item.readings[0])
        if not is_first(reading):
            self.places.append(_Place(reading))
            return
        stack = self.stack
        self._close(self._room(reading, item.style))
        run = self._new_run()
        parent_run = stack[-1].run if stack else -1
        stack.append(_Open(item.style, reading, run, parent_run, False, tuple(stack)))
        self.places.append(_Place(reading, run, parent_run))

    def _continue(self, level: _Open, reading: SectionNumber) -> None:
        level.last = reading
        self.places.append(_Place(reading, level.run, level.parent_run))

    def _find_open(self, item: Numbered, step: int) -> tuple[SectionNumber, int] | None:
        for index in range(len(self.stack) - 1, -1, -1):
            reading = _next_reading(self.stack[index], item, step)
            if reading is not None:
                return reading, index
        return None

    def _reopen(self, item: Numbered) -> bool:
        """Continues the last closed series that the number directly follows: a stray '1.' in the text had shut it."""
        for level in reversed(self.closed):
            reading = _next_reading(level, item, 1)
            if reading is not None:
                self._close(0)
                kept = (*level.around, level)
                self.stack.extend(kept)
                for outer in kept:
                    if outer in self.closed:
                        self.closed.remove(outer)
                self._continue(level, reading)
                return True
        return False

    def _close(self, depth: int) -> None:
        """Closes the series from `depth` of the stack on; singles are remembered for a while."""
        self.closed.extend(level for level in self.stack[depth:] if not level.compound)
        del self.stack[depth:]

    def _room(self, reading: SectionNumber, style: Hashable) -> int:
        """A restart of an open series (a new list '1.') replaces it; a new kind goes inside what is open."""
        for index in range(len(self.stack) - 1, -1, -1):
            level = self.stack[index]
            if not level.compound and level.style == style and level.last.signature == reading.signature:
                return index
        return min(len(self.stack), _MAX_OPEN)

    def _new_run(self) -> int:
        self.runs += 1
        return self.runs - 1


def _next_reading(level: _Open, item: Numbered, step: int) -> SectionNumber | None:
    """The reading of an item that goes on with a series of single numbers, at most `step` ahead."""
    if level.compound or level.style != item.style:
        return None
    return next(
        (r for r in item.readings if level.last.mark == r.mark and is_next(level.last, r, step=step)),
        None,
    )


def _starts(parts: tuple[int, ...]) -> bool:
    """Whether a compound number may be the first of its family: 1.1, 2.1, 1.1.1, 0.1, but not 4.7."""
    return parts[0] <= 2 and all(part <= 1 for part in parts[1:])
