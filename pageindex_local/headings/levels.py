"""Chosen headings in, their levels out: styles and section numbers put into one order, outermost first.

Numbers speak first (3.2 lies inside 3), then the series a series opened in ('a.' under '1.'), then typographic
strength: a style without numbers stands before the first numbered kind that it is stronger than.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from pageindex_local.headings.numbering import SectionNumber, Shape, word_rank

Strength: TypeAlias = tuple[float, bool, bool, bool, bool]
# Numbers of one grammar are of one kind: compound ones by their depth, single ones by word, shape and mark.
Grammar: TypeAlias = tuple[str, str, str]
_LEGAL_RANK = 4
_CHAPTER_RANK = 3
_INNER = 1.01  # below the series around it, and below worded kinds of the same rank


@dataclass(frozen=True, slots=True)
class Ranked:
    """What decides the level of one heading: the strength of its style, its number and the series it belongs to.

    `run` and `parent_run` are those of `sequences.Link` over the chosen headings (-1 where there is none). `number`
    is None where the heading has none or it fits nowhere. `adjoins` says that the heading before stands directly
    above, with no text between the two.
    """

    strength: Strength
    number: SectionNumber | None = None
    run: int = -1
    parent_run: int = -1
    adjoins: bool = False


def assign_levels(headings: Sequence[Ranked]) -> tuple[int, ...]:
    """One level per heading, from 1; a heading lies at most one level below the one before it."""
    order = _order_styles(headings)
    headings = [replace(heading, strength=order[heading.strength]) for heading in headings]
    ranks = _number_ranks(headings)
    places = _order_kinds(headings, ranks)
    levels: list[int] = []
    open_places: list[tuple[float, ...]] = []
    for heading in headings:
        grammar = _grammar(heading.number)
        place = places[grammar if grammar in ranks else heading.strength]
        while open_places and open_places[-1] >= place:
            open_places.pop()
        open_places.append(place)
        levels.append(len(open_places))
    return tuple(levels)


def _order_styles(headings: Sequence[Ranked]) -> dict[Strength, Strength]:
    """Styles as strengths of one number each, the strongest the largest.

    Size decides first. Among styles of one size the customary order (bold, capitals, centred, upright) gives way to
    what the document shows: where a heading of style A often stands directly over one of style B and hardly ever the
    other way round, A is the outer one.
    """
    over: Counter[tuple[Strength, Strength]] = Counter()
    for before, heading in pairwise(headings):
        if heading.adjoins and before.strength != heading.strength and heading.number is None:
            over[before.strength, heading.strength] += 1
    ordered = sorted({heading.strength for heading in headings}, reverse=True)
    for _ in range(len(ordered)):
        for index in range(len(ordered) - 1):
            upper, lower = ordered[index], ordered[index + 1]
            against, agreeing = over[lower, upper], over[upper, lower]
            if abs(upper[0] - lower[0]) <= 1 and against >= 2 and against >= 3 * agreeing:
                ordered[index], ordered[index + 1] = lower, upper
    return {strength: (-float(index), False, False, False, False) for index, strength in enumerate(ordered)}


def _grammar(number: SectionNumber | None) -> Grammar:
    if number is None:
        return "", "", ""
    if number.depth > 1:
        return number.word, f"depth {number.depth}", ""
    return number.word, number.shapes[0], number.mark


def _number_ranks(headings: Sequence[Ranked]) -> dict[Grammar, float]:
    """The ranks of all grammars that tell their own, 0 outermost: by word, by depth, or by the series around them.

    Single numbers that open in no chosen series and are not the strongest ones have no rank: their style decides.
    """
    usual = _usual_strengths(headings)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    numbers: dict[int, SectionNumber] = {}
    parents: dict[int, int] = {}
    for index, heading in enumerate(headings):
        if heading.number is not None:
            first.setdefault(heading.run, index)
            last[heading.run] = index
            numbers.setdefault(heading.run, heading.number)
            parents.setdefault(heading.run, heading.parent_run)
    around: dict[Grammar, Counter[tuple[Grammar, bool]]] = defaultdict(Counter)
    for run, number in numbers.items():
        parent = numbers.get(parents[run])
        grammar = _grammar(number)
        if parent is not None and _grammar(parent) != grammar:
            # Letters in the same style that open when the numbers around them are over continue those: appendices.
            lettered = number.shapes[0] is Shape.UPPER_LETTER and parent.shapes[0] is not Shape.UPPER_LETTER
            beside = lettered and usual[_grammar(parent)] == usual[grammar] and last[parents[run]] < first[run]
            around[grammar][_grammar(parent), beside] += 1
    ranks: dict[Grammar, float] = {}
    for number in numbers.values():
        if number.word:
            ranks[_grammar(number)] = float(word_rank(number.word) + number.depth - 1)
        elif number.depth > 1:
            ranks[_grammar(number)] = float(_CHAPTER_RANK + number.depth - 1)
    compound = any(number.depth > 1 and not number.word for number in numbers.values())
    strongest = max((strength for strength in usual.values()), default=None)
    outer = {parent for inner in around.values() for parent, _ in inner}
    for number in numbers.values():
        grammar = _grammar(number)
        opens_compound = compound and number.shapes[0] is Shape.ARABIC and number.mark in ("", ".")
        if (
            grammar not in ranks
            and not around[grammar]
            and (opens_compound or grammar in outer or usual[grammar] == strongest)
        ):
            ranks[grammar] = float(_CHAPTER_RANK)
    _rank_inner(ranks, around)
    return ranks


def _rank_inner(ranks: dict[Grammar, float], around: Mapping[Grammar, Counter[tuple[Grammar, bool]]]) -> None:
    """Adds the ranks of series that open in others. Each round settles one more depth of a chain such as I. A. 1. a."""
    for _ in range(len(around)):
        found = {}
        for grammar, outer in around.items():
            if grammar not in ranks and outer:
                (parent, beside), _ = outer.most_common(1)[0]
                if parent in ranks:
                    found[grammar] = ranks[parent] + (0.0 if beside else _INNER)
        if not found:
            return
        ranks |= found


def _usual_strengths(headings: Sequence[Ranked]) -> dict[Grammar, Strength]:
    counts: dict[Grammar, Counter[Strength]] = defaultdict(Counter)
    for heading in headings:
        if heading.number is not None:
            counts[_grammar(heading.number)][heading.strength] += 1
    return {grammar: found.most_common(1)[0][0] for grammar, found in counts.items()}


def _order_kinds(
    headings: Sequence[Ranked], ranks: Mapping[Grammar, float]
) -> dict[Grammar | Strength, tuple[float, ...]]:
    """A sortable place for every kind of heading: grammars with a rank, and the styles of all others."""
    counts: dict[float, Counter[Strength]] = defaultdict(Counter)
    legal: dict[float, bool] = defaultdict(bool)
    others: set[Strength] = set()
    for heading in headings:
        grammar = _grammar(heading.number)
        if grammar in ranks:
            rank = ranks[grammar]
            counts[rank][heading.strength] += 1
            legal[rank] |= bool(grammar[0]) and word_rank(grammar[0]) >= _LEGAL_RANK
        else:
            others.add(heading.strength)
    ordered = sorted(counts)
    usual = [counts[rank].most_common(1)[0][0] for rank in ordered]
    places: dict[Grammar | Strength, tuple[float, ...]] = {
        grammar: (2.0 * ordered.index(rank),) for grammar, rank in ranks.items() if rank in counts
    }
    for strength in others:
        slot = _slot(strength, usual, [legal[rank] for rank in ordered])
        inner = tuple(-float(part) for part in strength)
        places[strength] = (slot,) if slot % 2 == 0 else (slot, *inner)
    return places


def _slot(strength: Strength, usual: Sequence[Strength], legal: Sequence[bool]) -> float:
    """Where an unnumbered style stands among the numbered kinds: 2 i on the level of kind i, odd between two levels."""
    same = [index for index, other in enumerate(usual) if other == strength]
    if same:
        # Headings set like '3.2' but without a number stand beside it. Those set like 'Item 7' lie inside the items,
        # and where numbered headings further in are set as strongly, the style cannot mean the outer level.
        deepest = max(index for index, other in enumerate(usual) if other >= strength)
        return 2.0 * deepest + 1.0 if legal[same[0]] or deepest > same[0] else 2.0 * same[0]
    return next((2.0 * index - 1.0 for index, other in enumerate(usual) if strength > other), 2.0 * len(usual) + 1.0)
