"""Chosen headings in, their levels out: styles and section numbers put into one order, outermost first.

Numbers speak first (3.2 lies inside 3), then the series a series opened in ('a.' under '1.'), then typographic
strength. A style that has no numbers stands before the first numbered kind it is stronger than.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pageindex_local.headings.numbering import SectionNumber, Shape, word_rank

Strength = tuple[float, bool, bool, bool, bool]
_LEGAL_RANK = 4
_CHAPTER_RANK = 3


@dataclass(frozen=True, slots=True)
class Ranked:
    """What decides the level of one heading: the strength of its style, its number and the series it belongs to.

    `run` and `parent_run` are those of `sequences.Link` (-1 without a number that fits).
    """

    strength: Strength
    number: SectionNumber | None
    run: int = -1
    parent_run: int = -1


def assign_levels(headings: Sequence[Ranked]) -> tuple[int, ...]:
    """One level per heading, from 1; a heading lies at most one level below the one before it."""
    ranks = _number_ranks(headings)
    order = _order_kinds(headings, ranks)
    levels: list[int] = []
    open_ranks: list[int] = []
    for heading in headings:
        rank = order[_kind(heading, ranks)]
        while open_ranks and open_ranks[-1] >= rank:
            open_ranks.pop()
        open_ranks.append(rank)
        levels.append(len(open_ranks))
    return tuple(levels)


_Kind = tuple[float | None, Strength | None]


def _kind(heading: Ranked, ranks: dict[int, float]) -> _Kind:
    """Numbered headings are of the kind of their number, others of the kind of their style."""
    if heading.number is not None and heading.run in ranks:
        return ranks[heading.run], None
    return None, heading.strength


def _number_ranks(headings: Sequence[Ranked]) -> dict[int, float]:
    """For every series its rank, 0 outermost: by word, by depth, or one below the series it usually opens in."""
    numbers: dict[int, SectionNumber] = {}
    parents: dict[int, int] = {}
    for heading in headings:
        if heading.number is not None and heading.run >= 0:
            numbers.setdefault(heading.run, heading.number)
            parents.setdefault(heading.run, heading.parent_run)
    compound = any(number.depth > 1 and not number.word for number in numbers.values())
    ranks: dict[int, float] = {}
    by_parent: dict[tuple[object, ...], Counter[tuple[object, ...]]] = defaultdict(Counter)
    for run, number in numbers.items():
        parent = numbers.get(parents[run])
        key = _grammar(number)
        by_parent[key][_grammar(parent) if parent is not None else ()] += 1
    resolved: dict[tuple[object, ...], float] = {}
    for run, number in numbers.items():
        key = _grammar(number)
        if key not in resolved:
            resolved[key] = _grammar_rank(number)
        ranks[run] = resolved[key]
    # Series without a word hang below the series they usually open in. A few rounds settle chains such as I. A. 1.
    # a. (1).
    grammars = {_grammar(number): number for number in numbers.values()}
    for _ in range(8):
        changed = False
        for key, number in grammars.items():
            if (
                number.word
                or number.depth > 1
                or (compound and number.shapes[0] is Shape.ARABIC and number.mark in ("", "."))
            ):
                continue
            parent_key, _ = by_parent[key].most_common(1)[0]
            if parent_key in resolved and parent_key != key:
                wanted = min(resolved[parent_key] + 1, 40.0)
                if wanted > resolved[key]:
                    resolved[key] = wanted
                    changed = True
        if not changed:
            break
    return {run: resolved[_grammar(number)] for run, number in numbers.items()}


def _grammar(number: SectionNumber) -> tuple[object, ...]:
    """Numbers of one grammar are of one kind; a compound number counts by its depth, however its head is written."""
    if number.depth > 1:
        return ("compound", number.word, number.depth)
    return (number.word, number.shapes[-1], number.mark)


def _grammar_rank(number: SectionNumber) -> float:
    if number.word:
        return float(word_rank(number.word) + number.depth - 1)
    if number.depth > 1:
        return float(_CHAPTER_RANK + number.depth - 1)
    return float(_CHAPTER_RANK)


def _order_kinds(headings: Sequence[Ranked], ranks: dict[int, float]) -> dict[_Kind, int]:
    """Every kind's place in the order, outermost first."""
    strengths: dict[float, Counter[Strength]] = defaultdict(Counter)
    words: dict[float, bool] = {}
    unnumbered: Counter[Strength] = Counter()
    for heading in headings:
        rank, strength = _kind(heading, ranks)
        if rank is None:
            assert strength is not None
            unnumbered[strength] += 1
        else:
            strengths[rank][heading.strength] += 1
            legal = (
                heading.number is not None
                and bool(heading.number.word)
                and word_rank(heading.number.word) >= _LEGAL_RANK
            )
            words[rank] = words.get(rank, False) or legal
    numbered = sorted(strengths)
    usual = {rank: strengths[rank].most_common(1)[0][0] for rank in numbered}
    places: dict[_Kind, tuple[float, int, tuple[float, ...]]] = {}
    for index, rank in enumerate(numbered):
        places[rank, None] = (2.0 * index, 0, ())
    for strength in unnumbered:
        places[None, strength] = (*_place(strength, numbered, usual, words), tuple(-float(part) for part in strength))
    ordered = sorted(set(places.values()))
    index_of = {place: index for index, place in enumerate(ordered)}
    return {kind: index_of[place] for kind, place in places.items()}


def _place(
    strength: Strength, numbered: list[float], usual: dict[float, Strength], words: dict[float, bool]
) -> tuple[float, int]:
    """The slot of an unnumbered style among the numbered kinds: (2 i) is the level of kind i, odd slots lie between."""
    same = [index for index, rank in enumerate(numbered) if usual[rank] == strength]
    if same:
        index = same[0]
        if words[numbered[index]]:
            return 2.0 * same[-1] + 1.0, 1  # headings set like 'Item 7' but without a number lie inside the items
        return 2.0 * index, 0
    for index, rank in enumerate(numbered):
        if strength > usual[rank]:
            return 2.0 * index - 1.0, 1
    return 2.0 * len(numbered) + 1.0, 1
