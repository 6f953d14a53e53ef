"""Pages with tagged running lines in, further lines that stand where running lines stand out.

Running heads that name the current section change from page to page, so their text alone does not show what they
are; their place does. Only lines no larger than body text are taken: a heading at the top of a page is set larger or
stands lower.
"""

from collections import Counter
from collections.abc import Sequence

from pageindex_local.headings.styles import LARGER, Typography
from pageindex_local.records import LineRole, Page

_MIN_SHARE = 0.1
_SLACK_POINTS = 1.5


def find_margin_lines(pages: Sequence[Page], typography: Typography) -> set[int]:
    """Numbers of the outermost body lines that share their height with the running lines of other pages."""
    slots: Counter[int] = Counter()
    for page in pages:
        for slot in {_slot(line.box[3]) for line in page.lines if line.role is LineRole.RUNNING}:
            slots[slot] += 1
    needed = max(3.0, _MIN_SHARE * len(pages))
    used = {slot for slot, count in slots.items() if count >= needed}
    found: set[int] = set()
    if not used:
        return found
    for page in pages:
        body = [
            (number, line)
            for number, line in enumerate(page.lines, page.first_line)
            if line.role is LineRole.BODY and line.text
        ]
        if not body:
            continue
        top = min(line.box[1] for _, line in body)
        bottom = max(line.box[3] for _, line in body)
        for number, line in body:
            outermost = line.box[1] <= top + _SLACK_POINTS or line.box[3] >= bottom - _SLACK_POINTS
            small = line.size * 2 <= LARGER * typography.body.size
            if outermost and small and any(_slot(line.box[3]) + step in used for step in (-1, 0, 1)):
                found.add(number)
    return found


def _slot(baseline: float) -> int:
    return round(baseline / _SLACK_POINTS)
