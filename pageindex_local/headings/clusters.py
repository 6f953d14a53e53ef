"""Groups of lines in, the styles in which this document sets its headings out.

A style is judged as a whole, by how its members stand on their pages: a heading style stands apart from the text,
ends no sentences, begins with capitals or numbers and has text below it, all through the document. Single lines are
not judged here.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pageindex_local.headings.filters import ends_sentence, reject_group, starts_small
from pageindex_local.headings.paragraphs import Group
from pageindex_local.headings.styles import LARGER, SMALLER, Style, Typography

APART = 1.25
_TEXT_CHARS = 60
_MIXED_CASE = 10
_ACRONYM_LETTERS = 6


@dataclass(frozen=True, slots=True)
class Member:
    """A group that its own looks do not keep from being a heading, and its index among all groups."""

    index: int
    group: Group
    in_table: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """All groups of one style, and the shares of its possible headings with a property (0 to 1).

    `groups` counts all groups of the style, `members` are those that may be headings. `score` says how far the style
    looks like one for headings; from 0.5 on it is taken for one.
    """

    style: Style
    groups: int
    members: tuple[Member, ...]
    spaced: float
    apart: float
    ended: float
    small: float
    beside: float
    tabular: float
    leading: float
    numbered: float
    centred: float
    score: float

    @property
    def strength(self) -> tuple[float, bool, bool, bool, bool]:
        """Typographic weight: of two heading styles the one with the larger tuple stands further out."""
        style = self.style
        return style.size, style.bold, style.caps, self.centred > 0.5, not style.italic


def cluster_groups(groups: Sequence[Group], typography: Typography) -> tuple[Cluster, ...]:
    """The clusters of all styles that differ from the body's, strongest first."""
    body = typography.body
    mixed_case = Counter(replace(group.style, caps=False) for group in groups if not group.style.caps)
    counts: dict[Style, int] = defaultdict(int)
    members: dict[Style, list[Member]] = defaultdict(list)
    for index, group in enumerate(groups):
        style = cluster_style(group.style, body)
        if style.caps and _is_acronym(group) and mixed_case[replace(group.style, caps=False)] >= _MIXED_CASE:
            style = replace(style, caps=False)
        counts[style] += 1
        if not reject_group(group, typography):
            members[style].append(Member(index, group, _in_table(groups, index)))
    plain = cluster_style(body, body)
    clusters = [
        _measure(style, counts[style], found, groups, typography) for style, found in members.items() if style != plain
    ]
    return tuple(sorted(clusters, key=lambda cluster: cluster.strength, reverse=True))


def _is_acronym(group: Group) -> bool:
    """Whether capitals may be how it is spelt and not how it is set: 'COVID-19' among headings in small letters."""
    return not group.numbers and sum(char.isalpha() for char in group.text) <= _ACRONYM_LETTERS


def cluster_style(style: Style, body: Style) -> Style:
    """The style by which groups are pooled: above body size without the font family.

    Code words and formulas in a heading change its font, not its rank; so the family counts only at body size and
    below.
    """
    if style.size > LARGER * body.size:
        return Style(style.size, style.bold, style.italic, style.caps, style.mono, "")
    family = "" if style.family == body.family else style.family
    return Style(style.size, style.bold, style.italic, style.caps, style.mono, family)


def _measure(
    style: Style, count: int, members: list[Member], groups: Sequence[Group], typography: Typography
) -> Cluster:
    found = [member.group for member in members]
    cluster = Cluster(
        style=style,
        groups=count,
        members=tuple(members),
        spaced=_share([group.above >= APART for group in found]),
        apart=_share([group.above > 1.05 * group.below or group.above > 50 for group in found]),
        ended=_share([ends_sentence(group.text) for group in found]),
        small=_share([starts_small(group.title) and not group.numbers for group in found]),
        beside=_share([group.mates > 0 for group in found]),
        tabular=_share([member.in_table for member in members]),
        leading=_share([_leads_text(groups, member.index) for member in members]),
        numbered=_share([bool(group.numbers) for group in found]),
        centred=_share([group.centred for group in found]),
        score=0.0,
    )
    return replace(cluster, score=_score(cluster, typography))


def _share(answers: list[bool]) -> float:
    return sum(answers) / len(answers)


def _score(cluster: Cluster, typography: Typography) -> float:
    """Contrast with the body raises the score, whatever headings do not do lowers it.

    In a double-spaced document no line stands further from its neighbours than any other, so there spacing says
    nothing.
    """
    style, body = cluster.style, typography.body
    ratio = style.size / max(body.size, 1)
    contrast = 0.25 * (style.bold and not body.bold) + 0.15 * style.caps + 0.1 * (style.italic and not body.italic)
    contrast += 0.05 * bool(style.family)
    if ratio > LARGER:
        contrast += 0.3 + min(0.3, ratio - LARGER)
    elif ratio < SMALLER:
        contrast -= 0.15 + (SMALLER - ratio)
    spaced = max(cluster.spaced, 0.8) if typography.is_double_spaced else cluster.spaced
    stance = 0.3 * spaced + 0.15 * (cluster.apart + cluster.leading + cluster.numbered)
    faults = 0.5 * (cluster.ended + cluster.tabular) + 0.6 * (cluster.small + cluster.beside)
    faults += 0.5 * (1 - len(cluster.members) / cluster.groups)
    if ratio <= LARGER:
        faults += 0.4 * style.mono
        # Slant alone marks the lowest order of headings, below what outlines and contents pages list.
        faults += 0.2 * (style.italic and not style.bold and cluster.numbered < 0.5)
    return contrast + stance - faults


def _leads_text(groups: Sequence[Group], index: int) -> bool:
    """Whether the next group is running text, or another heading-like line that is followed by text."""
    for following in groups[index + 1 : index + 3]:
        if following.cells > 2 or following.mates:
            return False
        if len(following.text) > _TEXT_CHARS:
            return True
    return False


def _in_table(groups: Sequence[Group], index: int) -> bool:
    """Whether rows of cells stand both above and below on the same page: a label inside a table."""
    group = groups[index]
    if group.mates:
        return True
    around = []
    for other_index in (index - 1, index + 1):
        other = groups[other_index] if 0 <= other_index < len(groups) else None
        around.append(
            other is not None and other.page_number == group.page_number and (other.cells > 2 or other.mates > 0)
        )
    return all(around)
