"""A document and its heading evidence in, chunks out: pieces whose doubtful lines one model call can judge.

Chunks tile the document. They are cut at candidate headings by content, so that an edit on one page does not shift
later chunks. Calls no model but its tokenizer, and that only where the model is going to be asked.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from pageindex_local.candidates import Candidate, asked_spans, measure_body, read_candidates
from pageindex_local.controls import add_controls
from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.ids import hash_parts
from pageindex_local.narrative import find_passages
from pageindex_local.records import Heading, ParsedDocument, Span
from pageindex_local.settings import TreeSettings
from pageindex_local.tree.cuts import CutPlace, choose_cuts, estimate_tokens, text_tie
from pageindex_local.tree.text import span_text

_NUMBER_TOKENS = 3  # what the local number in front of an entry costs
_CONTEXT_REACH = 2  # settled headings are shown if so near, counted in entries, to a line that is asked about


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document. `chunk_id` is a hash of its text; equal chunks of one document are told apart by a count.

    `shown` is what a model reads of it, in order: lines it is asked about, controls among them, and settled headings
    around them; empty where the evidence is enough. `headings` are the headings of the evidence that start in the
    chunk, printed or not.
    """

    chunk_id: str
    span: Span
    shown: tuple[Candidate, ...]
    headings: tuple[Heading, ...]

    @property
    def is_narrative(self) -> bool:
        """Whether it is text without headings: the questions are passages and their titles, and not lines."""
        return any(candidate.titles for candidate in self.shown)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The lines that a model is asked about, in order: local number 1 is the first."""
        return tuple(candidate for candidate in self.shown if candidate.is_asked)


def cut_chunks(
    document: ParsedDocument, evidence: HeadingEvidence, count_tokens: Callable[[str], int], settings: TreeSettings
) -> tuple[Chunk, ...]:
    """The document as chunks that tile it, at least one.

    Strategy `model` asks about every doubtful line, `auto` about those in regions that the evidence marks, the others
    about none (see `read_candidates`); in long text without headings about passages (see `find_passages`). A chunk's
    entries have at most `chunk_tokens` tokens and `chunk_candidates` questions, controls not counted.

    Args:
        document: the pages.
        evidence: what `find_headings` gave.
        count_tokens: the model's own count; called only under strategy `model`. Elsewhere an estimate serves, so that a
            build that asks the model nothing need not open it.
        settings: limits and strategy.
    """
    listed = read_candidates(document, evidence, settings)
    taken = sorted({candidate.heading.span[0] for candidate in listed})
    passages = find_passages(document, evidence, taken, asked_spans(document, evidence, settings))
    places = sorted([*listed, *passages], key=lambda candidate: (candidate.heading.span[0], not candidate.titles))
    near = _near_questions(places)
    measure = count_tokens if settings.strategy == "model" and any(near) else estimate_tokens
    firsts = [0]
    for _, run in groupby(range(len(places)), key=lambda index: bool(places[index].titles)):
        indexes = list(run)
        cuts = _cut_run(places, near, indexes, measure, settings)
        firsts += [indexes[0], *(indexes[0] + cut for cut in cuts)]
    firsts = sorted(set(firsts))
    groups = [
        [(candidate, shown) for candidate, shown in zip(places[first:last], near[first:last], strict=True)]
        for first, last in zip(firsts, [*firsts[1:], len(places)], strict=True)
    ]
    return tuple(_build_chunks(document, evidence, groups))


def _cut_run(
    places: Sequence[Candidate],
    near: Sequence[bool],
    indexes: Sequence[int],
    measure: Callable[[str], int],
    settings: TreeSettings,
) -> list[int]:
    """Where a run of candidates of one kind is cut, counted from its first. A chunk asks one kind of question."""
    run = [places[index] for index in indexes]
    sizes = [
        measure(candidate.entry) + _NUMBER_TOKENS if near[index] else 0
        for index, candidate in zip(indexes, run, strict=True)
    ]
    asked_before = accumulate((candidate.is_asked for candidate in run[:-1]), initial=0)
    ranked = [
        CutPlace(index, _rank(candidate), text_tie(candidate.heading.title))
        for index, candidate in enumerate(run)
        if index > 0
    ]
    return choose_cuts(
        sizes, ranked, settings.chunk_tokens, pages=list(asked_before), max_pages=settings.chunk_candidates
    )


def _near_questions(places: Sequence[Candidate]) -> list[bool]:
    """For each candidate whether a model is shown it: questions, and settled headings beside them."""
    asked = [0, *accumulate(candidate.is_asked and not candidate.titles for candidate in places)]
    count = len(places)
    return [
        candidate.is_asked or asked[min(index + _CONTEXT_REACH + 1, count)] > asked[max(index - _CONTEXT_REACH, 0)]
        for index, candidate in enumerate(places)
    ]


def _rank(candidate: Candidate) -> int:
    """Larger sections make better chunk borders, and what the evidence trusts better ones than what it does not."""
    base = 100 if candidate.is_evidence else 0
    return base - 10 * min(candidate.heading.level, 9) + int(candidate.heading.confidence * 9)


def _build_chunks(
    document: ParsedDocument, evidence: HeadingEvidence, groups: Sequence[Sequence[tuple[Candidate, bool]]]
) -> list[Chunk]:
    borders = [0, *(group[0][0].heading.span[0] for group in groups[1:]), document.line_count]
    headings = sorted(evidence.headings, key=lambda heading: heading.span[0])
    heading_starts = [heading.span[0] for heading in headings]
    lines = [line for _, line in document.lines()]
    body_size = measure_body(lines)
    seen: Counter[str] = Counter()
    chunks: list[Chunk] = []
    for index, group in enumerate(groups):
        start, end = borders[index], borders[index + 1]
        first = bisect_left(heading_starts, start) if index else 0
        last = bisect_left(heading_starts, end) if index + 1 < len(groups) else len(headings)
        shown = add_controls([candidate for candidate, is_shown in group if is_shown], lines, end, body_size)
        text = span_text(document, (start, end))
        digest = hash_parts([text, *(candidate.entry for candidate in shown)])[:24]
        chunks.append(
            Chunk(
                chunk_id=f"{digest}-{seen[digest]}",
                span=(start, end),
                shown=shown,
                headings=tuple(headings[first:last]),
            )
        )
        seen[digest] += 1
    return chunks
