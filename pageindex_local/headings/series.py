"""Numbered groups and their links in, which of them belong to series of headings and not to numbered lists out.

A list's items follow each other closely; between two headings there is text, or each begins a page. A list's items are
sentences; headings are titles. So a whole family (one grammar in one setting: 'a.' in italics at one indent) is judged
by the distance between its members, by how well its numbers run on and by how its titles are written.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from pageindex_local.headings.filters import ends_sentence, starts_small
from pageindex_local.headings.paragraphs import PAGE_EDGE, Group
from pageindex_local.headings.sequences import Link
from pageindex_local.headings.styles import LARGER, Typography

_MIN_MEMBERS = 3
_MIN_FITTING = 0.6
_MIN_LINES_APART = 6
_MIN_TITLE_SHARE = 0.7
# Small words that titles in capitals leave small: short enough to be articles, prepositions and conjunctions.
_SMALL_WORD_LETTERS = 4


def find_heading_series(groups: Sequence[Group], links: Sequence[Link], typography: Typography) -> tuple[bool, ...]:
    """For each numbered group whether it belongs to a family of headings (and fits its series)."""
    families: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, (group, link) in enumerate(zip(groups, links, strict=True)):
        families[_family(group, link, typography)].append(index)
    accepted = [False] * len(groups)
    for members in families.values():
        if _is_heading_family([groups[index] for index in members], [links[index] for index in members]):
            for index in members:
                accepted[index] = links[index].fits
    return tuple(accepted)


def is_title(text: str) -> bool:
    """Whether a text is written like a title: starts with a capital and has no long small word, or hardly any."""
    words = [word for word in text.split() if word[:1].isalpha()]
    if not words or starts_small(text):
        return False
    small = sum(word[0].islower() and len(word) > _SMALL_WORD_LETTERS for word in words)
    return small <= 0.25 * len(words)


def _family(group: Group, link: Link, typography: Typography) -> tuple[object, ...]:
    number, style = link.number, group.style
    distinct = group.centred or style.bold or style.italic or style.size > LARGER * typography.body.size
    indent = -1 if distinct else round(group.box[0] / 6)
    return number.word, number.shapes[-1], number.depth, number.mark, style.size, style.bold, style.italic, indent


def _is_heading_family(groups: Sequence[Group], links: Sequence[Link]) -> bool:
    fitting = [index for index, link in enumerate(links) if link.fits]
    if len(fitting) < _MIN_MEMBERS or len(fitting) < _MIN_FITTING * len(groups):
        return False
    if sum(ends_sentence(group.text) for group in groups) > 0.3 * len(groups):
        return False
    if sum(is_title(group.title) for group in groups) < _MIN_TITLE_SHARE * len(groups):
        return False
    apart = sorted(
        _lines_apart(groups[before], groups[after])
        for before, after in pairwise(fitting)
        if links[before].run == links[after].run
    )
    return bool(apart) and apart[len(apart) // 2] >= _MIN_LINES_APART


def _lines_apart(before: Group, after: Group) -> int:
    """Lines between two members; one that begins a later page stands apart, because no list is set one item a page."""
    begins_page = after.page_number > before.page_number and after.above >= PAGE_EDGE
    return _MIN_LINES_APART if begins_page else after.span[0] - before.span[1]
