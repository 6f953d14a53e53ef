"""Pages in, the same pages out with running heads, running feet and page numbers tagged.

Only what repeats counts: the same words near the same height on nearby pages, or a number that goes up with the pages.
Lines in clearly larger type than the text are left alone unless they stand on most pages, because titles of slides and
of short chapters also repeat at the top. The work is linear in the number of pages.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pageindex_local.headings.numbering import word_rank
from pageindex_local.records import Line, LineRole, Page

_ZONE = 0.13  # of the page's height, at the top and at the bottom
_ZONE_LINES = 5  # outermost lines looked at on either side
_SLOT = 2.0  # points: heights are compared in steps of this, one step of difference allowed
_REACH = 2  # pages: left and right pages may differ, so the same head is at most two pages away
_LARGE = 1.15  # times the body size is a title's size
_LARGE_SHARE = 0.5  # of the pages on which text in large type must repeat
_LEAST_PAGES = 3
_SLOT_PAGES, _SLOT_SHARE = 8, 0.8  # a place that holds running lines so often holds nothing else

_NUMBER = re.compile(r"\d{1,5}|[ivxlc]{1,7}(?![^\W\d_])", re.IGNORECASE)
_FIRST = re.compile(rf"^\W*(?:(?:page|seite|p)\W*)?({_NUMBER.pattern})(?!\w|[.,]\d)", re.IGNORECASE)
_LAST = re.compile(rf"(?<![\w.,$])({_NUMBER.pattern})\W*(?:(?:of|von|/)\W*\d+\W*)?$", re.IGNORECASE)
_ALONE = re.compile(rf"^\W*(?:(?:page|seite|p)\W*)?({_NUMBER.pattern})\W*(?:(?:of|von|/)\W*\d+\W*)?$", re.IGNORECASE)
_LEADER = re.compile(r"(?:[.·…_]\s?){4,}")
_NAMED = re.compile(rf"([^\W\d_]{{3,}})\s+({_NUMBER.pattern})(?!\w|[.,]\d)", re.IGNORECASE)
_NO_CLASS = 6  # the rank of words that name no kind of section
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass(slots=True)
class _Place:
    """A line near the top or bottom of its page. `numbers` are (end, value) of the numbers it starts and ends with."""

    page: int
    line: int
    zone: str
    slot: int
    size: float
    style: tuple[str, float, bool, bool]
    text: str
    numbers: tuple[tuple[str, int], ...]
    key: str = ""
    counts_up: bool = False
    running: bool = False


def tag_running_lines(pages: Sequence[Page]) -> tuple[Page, ...]:
    """The pages with the role of repeated lines set to RUNNING; all else is as it was."""
    body = _body_size(pages)
    places = [place for page in pages for place in _places(page)]
    if body <= 0 or not places:
        return tuple(pages)
    _mark_page_numbers(places, body)
    _mark_repeated(places, body, len(pages))
    _mark_slots(places, body)
    tagged: dict[int, set[int]] = defaultdict(set)
    for place in places:
        if place.running:
            tagged[place.page].add(place.line)
    return tuple(_tag(page, tagged[page.page_number]) if page.page_number in tagged else page for page in pages)


def _tag(page: Page, running: set[int]) -> Page:
    lines = tuple(
        replace(line, role=LineRole.RUNNING) if position in running else line
        for position, line in enumerate(page.lines)
    )
    return replace(page, lines=lines)


def _body_size(pages: Sequence[Page]) -> float:
    """The font size that most characters have."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _places(page: Page) -> list[_Place]:
    if page.height <= 0:
        return []
    limit = _ZONE * page.height
    top = [(line.box[1], number) for number, line in enumerate(page.lines) if line.box[1] < limit and line.text]
    bottom = [
        (page.height - line.box[3], number)
        for number, line in enumerate(page.lines)
        if page.height - line.box[3] < limit and line.text
    ]
    found = []
    for zone, edge in (("head", top), ("foot", bottom)):
        for height, number in sorted(edge)[:_ZONE_LINES]:
            line = page.lines[number]
            found.append(
                _Place(
                    page.page_number,
                    number,
                    zone,
                    round(height / _SLOT),
                    line.size,
                    (line.font, line.size, line.bold, line.italic),
                    line.text,
                    _numbers(line),
                )
            )
    return found


def _numbers(line: Line) -> tuple[tuple[str, int], ...]:
    found: list[tuple[str, int]] = []
    if _LEADER.search(line.text):
        return ()  # an entry of a contents page ends with the page it points to
    # 'Section 4' is the name of a section even where every page starts one: no page number is called so.
    sections = {_value(number) for word, number in _NAMED.findall(line.text) if word_rank(word.casefold()) < _NO_CLASS}
    for end, pattern in (("first", _FIRST), ("last", _LAST)):
        match = pattern.search(line.text)
        value = _value(match.group(1)) if match else 0
        if value and value not in sections:
            found.append((end, value))
    return tuple(found)


def _value(text: str) -> int:
    """What a number says, arabic or roman; 0 where it is none."""
    if text.isdecimal():
        return int(text)
    total = last = 0
    for letter in reversed(text.casefold()):
        value = _ROMAN.get(letter, 0)
        total += value if value >= last else -value
        last = max(last, value)
    return total


def _mark_page_numbers(places: Sequence[_Place], body: float) -> None:
    """Mark lines whose first or last number goes up with the pages, and give every line its key for comparison."""
    seen = {(place.zone, end, place.slot, place.page, value) for place in places for end, value in place.numbers}
    counting: dict[int, int] = {}  # page -> what its printed number is more than the physical one
    candidates = []
    for place in places:
        ends = {}
        for end, value in place.numbers:
            near = [
                step
                for step in range(-_REACH, _REACH + 1)
                for move in (-1, 0, 1)
                if step and (place.zone, end, place.slot + move, place.page + step, value + step) in seen
            ]
            steps = len(set(near))
            if steps:
                ends[end] = value
                candidates.append((place, end, steps))
        place.key = _key(place.text, ends)
    for place, end, steps in candidates:
        alone = _ALONE.match(place.text) is not None
        if place.size <= _LARGE * body and (alone or steps >= _LEAST_PAGES - 1):
            place.counts_up = place.running = True
            counting[place.page] = dict(place.numbers)[end] - place.page
    # A number alone that fits the count of the pages around it, elsewhere on the page than they have it.
    offsets = Counter(counting.values())
    for place in places:
        match = None if place.running else _ALONE.match(place.text)
        if match and place.size <= _LARGE * body and offsets[_value(match.group(1)) - place.page] >= _LEAST_PAGES:
            place.running = True


def _key(text: str, counting: dict[str, int]) -> str:
    """The words for comparison: case and spaces folded, numbers that count the pages masked."""
    if "first" in counting:
        match = _FIRST.search(text)
        if match:
            text = f"#{text[match.end(1) :]}"
    if "last" in counting:
        match = _LAST.search(text)
        if match:
            text = f"{text[: match.start(1)]}#"
    return "".join(text.casefold().split())


def _mark_repeated(places: Sequence[_Place], body: float, page_count: int) -> None:
    """Mark lines whose words stand at the same height on a page nearby."""
    # By the words as they are, and by the words without the number that counts the pages: a section's own number may
    # seem to count them where it happens to change with a page.
    groups: dict[tuple[str, str, bool], list[_Place]] = defaultdict(list)
    for place in places:
        words = _key(place.text, {})
        groups[place.zone, words, False].append(place)
        if place.key != words:
            groups[place.zone, place.key, True].append(place)
    weak: list[_Place] = []
    for (_, key, masked), group in groups.items():
        if not key.strip("#"):
            continue
        for chain in _chains(group):
            count = len({place.page for place in chain})
            for place in chain:
                if place.size > _LARGE * body and (masked or count < max(_SLOT_PAGES, _LARGE_SHARE * page_count)):
                    continue
                if count >= _LEAST_PAGES:
                    place.running = True
                elif count > 1:
                    weak.append(place)
    # Twice is enough where other running lines have their place.
    slots = Counter((place.zone, place.slot) for place in places if place.running)
    for place in weak:
        if sum(slots[place.zone, place.slot + move] for move in (-1, 0, 1)) >= _LEAST_PAGES:
            place.running = True


def _chains(group: Sequence[_Place]) -> list[list[_Place]]:
    """Places of one key, split where the next is out of reach, at another height or of another size."""
    open_chains: list[list[_Place]] = []
    done: list[list[_Place]] = []
    for place in group:
        still_open = []
        joined = False
        for chain in open_chains:
            last = chain[-1]
            if place.page - last.page > _REACH:
                done.append(chain)
                continue
            still_open.append(chain)
            if not joined and abs(place.slot - last.slot) <= 1 and abs(place.size - last.size) < 0.6:
                chain.append(place)
                joined = True
        if not joined:
            still_open.append([place])
        open_chains = still_open
    return done + open_chains


def _mark_slots(places: Sequence[_Place], body: float) -> None:
    """Mark what stands in a place and style that nearly always hold a running line."""
    total: Counter[tuple[str, int, tuple[str, float, bool, bool]]] = Counter()
    running: Counter[tuple[str, int, tuple[str, float, bool, bool]]] = Counter()
    for place in places:
        slot = place.zone, place.slot, place.style
        total[slot] += 1
        running[slot] += place.running
    for place in places:
        slot = place.zone, place.slot, place.style
        if (
            not place.running
            and not _LEADER.search(place.text)
            and place.size <= _LARGE * body
            and running[slot] >= _SLOT_PAGES
            and running[slot] >= _SLOT_SHARE * total[slot]
        ):
            place.running = True
