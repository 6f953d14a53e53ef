"""Where to cut a long run of lines: sizes and priorities in, cut positions out.

Content-defined: a cut is placed at the best place of a sliding window, and ties are broken by a hash of the text there.
After an edit the windows soon fall on the same places again, so cuts far from the edit stay where they were.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pageindex_local.records import Line, LineRole

# A piece holds at least this share of the largest size. The windows of two shifted runs then overlap by half or more,
# which is what lets them meet again after one or two cuts; a larger share gives more even pieces that meet later.
_MINIMUM_SHARE = 0.35
_BYTES_PER_TOKEN = 4
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "”", '"', "»", "。", "！", "？", "…")


@dataclass(frozen=True, slots=True)
class CutPlace:
    """A line before which a run of lines may be cut. Higher `rank` is better; `tie` is a hash of the text there."""

    position: int
    rank: int
    tie: int


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its UTF-8 bytes, at least one.

    For limits that have to be the same with every model. Budgets of prompts use the model's own tokenizer instead.
    """
    return max(1, (len(text) if text.isascii() else len(text.encode("utf-8", "replace"))) // _BYTES_PER_TOKEN)


def text_tie(text: str) -> int:
    """A number that depends on the text alone."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def choose_cuts(
    sizes: Sequence[int],
    places: Sequence[CutPlace],
    maximum: int,
    *,
    pages: Sequence[int] | None = None,
    max_pages: int = 0,
) -> list[int]:
    """Positions at which to cut so that every piece keeps within the limits, where the places allow it.

    `sizes[i]` is the size of item i and `pages[i]`, never falling, the page it stands on; a piece holds at most
    `maximum` in size and touches at most `max_pages` pages. `places` are sorted by position, inside (0, len(sizes)).
    Each piece is cut at the best place between 35 and 100 per cent of the nearer limit; where there is none, at the
    last place before, or else at the first place after. A rest that fits is not cut. Linear in the number of items, up
    to a small factor.
    """
    before = [0, *accumulate(sizes)]
    positions = [place.position for place in places]
    count = len(sizes)
    cuts: list[int] = []
    start = 0
    while start < count:
        lowest = bisect_left(before, before[start] + int(maximum * _MINIMUM_SHARE), start + 1)
        highest = bisect_right(before, before[start] + maximum, start) - 1
        if pages is not None:
            lowest = min(lowest, bisect_left(pages, pages[start] + max(int(max_pages * _MINIMUM_SHARE), 1), start))
            highest = min(highest, bisect_left(pages, pages[start] + max_pages, start))
        if highest >= count:
            break
        first = bisect_left(positions, max(lowest, start + 1))
        last = bisect_right(positions, highest)
        if first < last:
            cut = max(places[first:last], key=lambda place: (place.rank, place.tie, place.position)).position
        elif last > 0 and positions[last - 1] > start:
            cut = positions[last - 1]  # too short a piece rather than too long a one
        elif last < len(places):
            cut = positions[last]
        else:
            break
        cuts.append(cut)
        start = cut
    return cuts


def paragraph_starts(lines: Iterable[tuple[int, Line]]) -> Iterator[tuple[int, bool]]:
    """For each line: its number, and whether a paragraph starts there (after a blank line or with a new text block).

    The first line of a page whose text runs on from the page before (no sentence end there, small letter here) starts
    no paragraph. Running lines are skipped.
    """
    previous: Line | None = None
    blank_before = True
    for number, line in lines:
        if line.role is LineRole.RUNNING:
            continue
        text = line.text.strip()
        if not text:
            blank_before = True
            continue
        starts = blank_before or (
            previous is not None
            and line.block != previous.block
            and (previous.text.rstrip().endswith(_SENTENCE_ENDS) or not text[0].islower())
        )
        yield number, starts
        previous = line
        blank_before = False
