"""A laid-out document in, headings by typography and numbering out.

Reads lines and their styles only: no outline, no printed contents (lines that belong to one are passed in as
excluded).
"""

from collections.abc import Sequence

from pageindex_local.headings.clusters import Cluster, Member, cluster_groups, cluster_style
from pageindex_local.headings.evidence import SourceResult
from pageindex_local.headings.filters import ends_sentence, reject_group, starts_small
from pageindex_local.headings.levels import Ranked, Strength, assign_levels
from pageindex_local.headings.margins import find_margin_lines
from pageindex_local.headings.numbering import Shape
from pageindex_local.headings.paragraphs import Group, group_lines, join_labels
from pageindex_local.headings.selection import Candidate, find_first_text, select_candidates
from pageindex_local.headings.sequences import Link, Numbered, follow_sequences
from pageindex_local.headings.series import find_heading_series
from pageindex_local.headings.styles import LARGER, Typography, measure_typography
from pageindex_local.records import Heading, Origin, ParsedDocument, Span


def find_layout_headings(document: ParsedDocument, excluded: Sequence[Span] = ()) -> SourceResult:
    """Headings by font, spacing and section numbers.

    `excluded` are line spans that hold no headings (contents pages, lists of figures). Takes one pass over the lines
    per step; no model, no randomness.
    """
    if not document.has_pages:
        return SourceResult((), 0.0, "no layout: the source has no pages")
    typography = measure_typography(document.pages)
    if typography.body.size == 0:
        return SourceResult((), 0.0, "no layout: the lines carry no font sizes")
    hidden = find_margin_lines(document.pages, typography)
    hidden.update(number for start, end in excluded for number in range(start, end))
    groups = join_labels(group_lines(document.pages, typography, hidden), typography.body.size)
    candidates = select_candidates(
        find_candidates(groups, typography),
        find_first_text(groups, typography),
        len(document.pages),
        body_size=typography.body.size,
        has_contents=bool(excluded),
    )
    chosen = [candidate for candidate in candidates if candidate.accepted]
    headings = _to_headings(chosen, typography)
    everything = _to_headings(candidates, typography)
    confidence = sum(min(1.0, max(0.0, candidate.score)) for candidate in chosen) / len(chosen) if chosen else 0.0
    styles = len({candidate.strength for candidate in chosen})
    reason = f"{len(headings)} headings in {styles} styles out of {len(candidates)} candidate lines"
    return SourceResult(headings, round(confidence, 3), reason, everything)


def find_candidates(groups: Sequence[Group], typography: Typography) -> list[Candidate]:
    """Every group that may be a heading, in document order, scored by its style, its stance and its number."""
    clusters = cluster_groups(groups, typography)
    found: list[tuple[Member, int]] = [
        (member, number) for number, cluster in enumerate(clusters) for member in cluster.members
    ]
    found.extend((member, -1) for member in _numbered_body_groups(groups, typography))
    found.sort(key=lambda item: item[0].index)
    numbered = [item for item in found if item[0].group.numbers]
    links = follow_sequences(
        [Numbered(member.group.numbers, _series_style(member.group, typography)) for member, _ in numbered]
    )
    by_index = {member.index: link for (member, _), link in zip(numbered, links, strict=True)}
    series = find_heading_series([member.group for member, _ in numbered], links, typography)
    in_series = {member.index for (member, _), part in zip(numbered, series, strict=True) if part}
    body_strength: Strength = (typography.body.size, False, False, False, True)
    candidates = []
    for member, number in found:
        cluster = clusters[number] if number >= 0 else None
        link = by_index.get(member.index)
        strength = _strength(cluster, typography) if cluster is not None else body_strength
        score = _member_score(member, cluster, link, typography)
        if member.index in in_series and not member.in_table and not ends_sentence(member.group.text):
            score = max(score, 0.6)
        share = cluster.numbered if cluster is not None else 1.0
        candidates.append(Candidate(member.group, strength, score, number, share, link))
    return candidates


def _strength(cluster: Cluster, typography: Typography) -> Strength:
    """A cluster's strength; small capitals weigh as much as the size they are cut for."""
    size, *rest = cluster.strength
    if cluster.style.caps and size < typography.body.size:
        size = min(1.25 * size, typography.body.size)
    return (size, *rest)  # type: ignore[return-value]


def _series_style(group: Group, typography: Typography) -> tuple[object, ...]:
    """What numbers of one series share beside their grammar: type size and weight, and at body size the indent.

    Compound and worded numbers (3.2, Chapter 4) name their own series; their lines may be set in code or emphasis.
    """
    if group.numbers[0].depth > 1 or group.numbers[0].word:
        return ()
    style = cluster_style(group.style, typography.body)
    distinct = group.centred or style.bold or style.italic or style.size > LARGER * typography.body.size
    indent = -1 if distinct else round(group.box[0] / 6)
    return style.size, style.bold, style.italic, indent


def _numbered_body_groups(groups: Sequence[Group], typography: Typography) -> list[Member]:
    """Numbered groups in plain body style that stand alone like headings: short, no sentence, a title in capitals.

    Figures of three digits are weak numbers, but chapter 100 follows chapter 99: their series decides.
    """
    plain = cluster_style(typography.body, typography.body)
    found = []
    for index, group in enumerate(groups):
        if (
            group.numbers
            and (not group.numbers[0].weak or group.numbers[0].shapes == (Shape.ARABIC,))
            and cluster_style(group.style, typography.body) == plain
            and group.line_count <= 3
            and not reject_group(group, typography)
            and not ends_sentence(group.text)
            and not starts_small(group.title)
            and not group.mates
        ):
            found.append(Member(index, group, False))
    return found


def _member_score(member: Member, cluster: Cluster | None, link: Link | None, typography: Typography) -> float:
    group = member.group
    if cluster is None:
        if link is None or not link.fits or link.length < 2:
            return 0.1
        return 0.45
    score = cluster.score
    if link is not None and link.fits and link.number.depth > 1 and link.length > 1 and group.above >= 1.1:
        score = max(score, 0.55)
    body_size = group.style.size <= LARGER * typography.body.size
    if link is not None and link.fits and link.length > 1:
        score += 0.1
    if member.in_table:
        score -= 0.4
    if starts_small(group.title) and not group.numbers:
        score -= 0.3
    if ends_sentence(group.text):
        score -= 0.3
    if body_size and group.above < 1.1 and cluster.spaced > 0.5:
        score -= 0.3
    return score


def _to_headings(candidates: Sequence[Candidate], typography: Typography) -> tuple[Heading, ...]:
    """Headings with levels; the series are followed anew, without the lines that were not chosen."""
    numbered = [index for index, candidate in enumerate(candidates) if candidate.group.numbers]
    links = follow_sequences(
        [
            Numbered(candidates[index].group.numbers, _series_style(candidates[index].group, typography))
            for index in numbered
        ]
    )
    by_index = dict(zip(numbered, links, strict=True))
    ranked = []
    end = -1
    for index, candidate in enumerate(candidates):
        link = by_index.get(index)
        adjoins = candidate.group.span[0] == end
        end = candidate.group.span[1]
        if link is not None and link.fits and (link.length > 1 or not link.number.weak):
            ranked.append(Ranked(candidate.strength, link.number, link.run, link.parent_run, adjoins))
        else:
            ranked.append(Ranked(candidate.strength, adjoins=adjoins))
    levels = assign_levels(ranked)
    return tuple(
        Heading(
            candidate.group.text,
            level,
            candidate.group.span,
            candidate.group.page_number,
            Origin.LAYOUT,
            round(min(1.0, max(0.0, candidate.score)), 3),
        )
        for candidate, level in zip(candidates, levels, strict=True)
    )
