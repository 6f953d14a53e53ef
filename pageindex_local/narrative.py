"""A long stretch of text without headings in, passages with possible titles out: transcripts, essays, stories.

Passages begin where the words change most, by content, so that an edit moves no border far from it. Every title is made
of words of its passage. Calls no model.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from math import sqrt

from pageindex_local.candidates import Candidate
from pageindex_local.extractive import content_words
from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.phrases import title_choices
from pageindex_local.records import Heading, Line, LineRole, NodeKind, Origin, ParsedDocument, Span
from pageindex_local.tree.cuts import CutPlace, choose_cuts, estimate_tokens, paragraph_starts, text_tie
from pageindex_local.tree.text import span_text
from pageindex_local.tree.titles import clean_title

_LONG_TOKENS = 6_000  # a stretch without candidates is narrative from here on: some ten printed pages
_PASSAGE_TOKENS = 3_000  # at most; the shortest has a third of it
_WINDOW_STEMS = 120  # how far the words before and after a border are compared, as in TextTiling
_RANKS = 8
_SHOWN_WORDS = 30
_REACH = 4  # passages before and after from which a decoy is taken: an edit farther away changes no question
_CONFIDENCE = 0.3


def find_passages(
    document: ParsedDocument, evidence: HeadingEvidence, taken: Sequence[int], spans: Sequence[Span]
) -> list[Candidate]:
    """Candidates at the starts of passages, in order: for long stretches inside `spans` without a line in `taken`.

    `taken` are the lines of other candidates, sorted. What directly follows a heading is its own first passage and gets
    no candidate.

    Source: borders where vocabulary changes: Hearst 1997 (TextTiling), with the depth as a rank among cuts by size.
    """
    lines = [line for _, line in document.lines()]
    heads = sorted({(heading.span[0], heading.span[1], heading.level) for heading in evidence.headings})
    found: list[Candidate] = []
    for span_start, span_end in spans:
        inside = taken[bisect_left(taken, span_start) : bisect_left(taken, span_end)]
        for start, end in pairwise([span_start, *inside, span_end]):
            index = bisect_right(heads, (start, len(lines), 0)) - 1
            if index < 0 and heads:
                continue  # what stands before the first heading is front matter: title pages and contents
            level = heads[index][2] + 1 if index >= 0 else 1
            first = max(start, heads[index][1]) if index >= 0 else start
            starts = _passage_starts(lines, first, end)
            if index < 0 and start == 0 and starts:
                starts.insert(0, first)
            found += _describe(document, starts, end, level)
    return found


def _passage_starts(lines: Sequence[Line], start: int, end: int) -> list[int]:
    sizes = [
        0 if line.role is LineRole.RUNNING or not line.text else estimate_tokens(line.text) for line in lines[start:end]
    ]
    if sum(sizes) <= _LONG_TOKENS:
        return []
    stems = [content_words(line.text) if size else [] for line, size in zip(lines[start:end], sizes, strict=True)]
    places = []
    for number, is_start in paragraph_starts(zip(range(start, end), lines[start:end], strict=True)):
        if number > start:
            rank = 1 + int(_RANKS * _novelty(stems, number - start)) if is_start else 0
            places.append(CutPlace(number - start, rank, text_tie(lines[number].text)))
    return [start + cut for cut in choose_cuts(sizes, places, _PASSAGE_TOKENS)]


def _novelty(stems: Sequence[Sequence[str]], at: int) -> float:
    """From 0 (the words after line `at` are those before it) to 1 (all others)."""
    before = Counter(_take(stems, range(at - 1, -1, -1)))
    after = Counter(_take(stems, range(at, len(stems))))
    dot = sum(count * after[stem] for stem, count in before.items())
    norm = sqrt(sum(c * c for c in before.values()) * sum(c * c for c in after.values()))
    return 1.0 - dot / norm if norm else 1.0


def _take(stems: Sequence[Sequence[str]], order: range) -> Iterator[str]:
    left = _WINDOW_STEMS
    for index in order:
        yield from stems[index]
        left -= len(stems[index])
        if left <= 0:
            return


def _describe(document: ParsedDocument, starts: Sequence[int], end: int, level: int) -> list[Candidate]:
    """One candidate a passage, with a decoy where a passage near it is about something else altogether."""
    if not starts:
        return []
    page_starts = [page.first_line for page in document.pages]
    texts = [span_text(document, (first, last)) for first, last in zip(starts, [*starts[1:], end], strict=True)]
    choices = [title_choices(text) for text in texts]
    found: list[Candidate] = []
    for index, (number, text, own) in enumerate(zip(starts, texts, choices, strict=True)):
        if not own:
            continue
        decoy = _find_decoy(choices, index, set(content_words(text)))
        titles = tuple(sorted({*own, decoy} - {""}, key=text_tie))
        beginning = clean_title(" ".join(text[:1_000].split()[:_SHOWN_WORDS]))
        listed = "".join(f"\n   {place} {title}" for place, title in enumerate(titles, 1))
        page_number = bisect_right(page_starts, number)
        heading = Heading(own[0], level, (number, number), page_number, Origin.DERIVED, _CONFIDENCE, NodeKind.PART)
        found.append(Candidate(heading, f"{beginning}{listed}", False, titles=titles, decoy=decoy))
    return found


def _find_decoy(choices: Sequence[Sequence[str]], index: int, own_stems: Collection[str]) -> str:
    """The best title of the nearest passage that has mostly other words, empty if there is none."""
    near = sorted(range(max(index - _REACH, 0), min(index + _REACH + 1, len(choices))), key=lambda at: abs(at - index))
    for at in near:
        stems = content_words(choices[at][0]) if choices[at] else []
        if stems and 2 * sum(stem in own_stems for stem in stems) <= len(stems):
            return choices[at][0]
    return ""
