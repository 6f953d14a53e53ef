"""A document and its heading evidence in, chunks out: pieces whose candidate headings one model call can judge.

Chunks tile the document. They are cut at candidate headings by content, so that an edit on one page does not shift
later chunks. Calls no model but its tokenizer, and that only where the model is going to be asked.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pageindex_local.extractive import best_sentence
from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.ids import hash_parts
from pageindex_local.records import Heading, Line, LineRole, Origin, ParsedDocument, Span
from pageindex_local.settings import TreeSettings
from pageindex_local.tree.cuts import CutPlace, choose_cuts, estimate_tokens, paragraph_starts, text_tie
from pageindex_local.tree.text import span_text
from pageindex_local.tree.titles import clean_title, grounded_title

# A stretch without any candidate is taken for narrative when it is longer than this share of the longest allowed leaf.
_BARE_SHARE = 0.5
_PARAGRAPH_TOKENS = 150  # paragraphs offered as section starts are at least so far apart
_SHOWN_TITLE_CHARS = 100
_SHOWN_WORDS = 12
_SHOWN_CHARS = 90
_NUMBER_TOKENS = 3  # what the local number in front of an entry costs
_PARAGRAPH_TEXT_CHARS = 1_500


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line that may start a section. `entry` is what a model is shown of it: title, style, and words that follow.

    `is_evidence` says that the evidence counts it as a heading already.
    """

    heading: Heading
    entry: str
    is_evidence: bool


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document. `chunk_id` is a hash of its text; equal chunks of one document are told apart by a count.

    `candidates` are the lines a model may be asked about, in order (local number 1 is the first); empty where the
    evidence is enough. `headings` are the headings of the evidence that start in the chunk, printed or not.
    """

    chunk_id: str
    span: Span
    candidates: tuple[Candidate, ...]
    headings: tuple[Heading, ...]


def cut_chunks(
    document: ParsedDocument, evidence: HeadingEvidence, count_tokens: Callable[[str], int], settings: TreeSettings
) -> tuple[Chunk, ...]:
    """The document as chunks that tile it, at least one.

    Strategy `model` offers every candidate to the model, `auto` those in regions that the evidence marks, the others
    none. Where a long stretch to be judged has no candidate at all, paragraph starts become candidates, titled with
    words of the paragraph. A chunk's entries have at most `chunk_tokens` tokens and `chunk_candidates` candidates.

    Args:
        document: the pages.
        evidence: what `find_headings` gave.
        count_tokens: the model's own count; called only under strategy `model`. Elsewhere an estimate serves, so that a
            build that asks the model nothing need not open it.
        settings: limits and strategy.
    """
    asked_spans = _asked_spans(document, evidence, settings)
    places = _read_candidates(document, evidence, asked_spans, settings)
    measure = count_tokens if settings.strategy == "model" else estimate_tokens
    sizes = [measure(candidate.entry) + _NUMBER_TOKENS for candidate in places]
    ranked = [
        CutPlace(index, _rank(candidate), text_tie(candidate.entry))
        for index, candidate in enumerate(places)
        if index > 0
    ]
    cuts = choose_cuts(
        sizes,
        ranked,
        settings.chunk_tokens,
        pages=range(len(places)),
        max_pages=settings.chunk_candidates,
    )
    firsts = [0, *cuts]
    return tuple(
        _build_chunks(
            document,
            evidence,
            asked_spans,
            [places[first:last] for first, last in zip(firsts, [*cuts, len(places)], strict=True)],
        )
    )


def _asked_spans(document: ParsedDocument, evidence: HeadingEvidence, settings: TreeSettings) -> tuple[Span, ...]:
    if settings.strategy == "model":
        return ((0, document.line_count),)
    if settings.strategy == "auto":
        return tuple(sorted(evidence.needs_model))
    return ()


def _read_candidates(
    document: ParsedDocument, evidence: HeadingEvidence, asked_spans: Sequence[Span], settings: TreeSettings
) -> list[Candidate]:
    """Every printed candidate with its entry, in document order, one a line."""
    best: dict[int, tuple[Heading, bool]] = {}
    for heading in evidence.candidates:
        start, end = heading.span
        if start < end and (start not in best or best[start][0].confidence < heading.confidence):
            best[start] = heading, False
    best |= {heading.span[0]: (heading, True) for heading in evidence.headings if heading.span[0] < heading.span[1]}
    lines = [line for _, line in document.lines()]
    for heading in _narrative_starts(document, lines, sorted(best), asked_spans, settings):
        best[heading.span[0]] = heading, False
    body_size = _body_size(lines)
    found: list[Candidate] = []
    for start, following in pairwise([*sorted(best), len(lines)]):
        heading, is_evidence = best[start]
        found.append(Candidate(heading, _entry(lines, heading, following, body_size), is_evidence))
    return found


def _narrative_starts(
    document: ParsedDocument,
    lines: Sequence[Line],
    taken: Sequence[int],
    asked_spans: Sequence[Span],
    settings: TreeSettings,
) -> list[Heading]:
    """Paragraph starts in long stretches to be judged that hold no candidate."""
    found: list[Heading] = []
    page_starts = [page.first_line for page in document.pages]
    for span_start, span_end in asked_spans:
        inside = list(taken[bisect_left(taken, span_start) : bisect_left(taken, span_end)])
        edges = [span_start, *inside, span_end]
        for start, end in pairwise(edges):
            text_tokens = sum(estimate_tokens(line.text) for line in lines[start:end] if line.text)
            if text_tokens <= settings.max_tokens_per_node * _BARE_SHARE:
                continue
            for number in _spaced_paragraphs(lines, start, end):
                page_number = bisect_right(page_starts, number)
                text = "\n".join(line.text for line in lines[number:end][:60])[:_PARAGRAPH_TEXT_CHARS]
                title = grounded_title(best_sentence(text, "")) or grounded_title(text)
                if title:
                    found.append(Heading(title, 1, (number, number + 1), page_number, Origin.MODEL, 0.3))
    return found


def _spaced_paragraphs(lines: Sequence[Line], start: int, end: int) -> list[int]:
    """Line numbers of paragraph starts, `_PARAGRAPH_TOKENS` or more apart; any line, where a paragraph is very long."""
    chosen: list[int] = []
    since = _PARAGRAPH_TOKENS
    starts = dict(paragraph_starts(zip(range(start, end), lines[start:end], strict=True)))
    for number in range(start, end):
        is_start = starts.get(number)
        if is_start is not None and since >= _PARAGRAPH_TOKENS * (1 if is_start else 4):
            chosen.append(number)
            since = 0
        since += estimate_tokens(lines[number].text) if lines[number].text else 0
    return chosen


def _body_size(lines: Sequence[Line]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _entry(lines: Sequence[Line], heading: Heading, following: int, body_size: float) -> str:
    start, end = heading.span
    first = lines[start]
    styles = [name for name, has in (("large", first.size > 1.08 * body_size > 0), ("bold", first.bold)) if has]
    style = f" ({', '.join(styles)})" if styles else ""
    words: list[str] = []
    for line in lines[end : min(following, end + 6)]:
        if line.role is not LineRole.RUNNING:
            words += line.text.split()
        if len(words) >= _SHOWN_WORDS:
            break
    context = clean_title(" ".join(words[:_SHOWN_WORDS]))[:_SHOWN_CHARS]
    title = clean_title(heading.title)[:_SHOWN_TITLE_CHARS]
    return f"{title}{style}\n   {context}" if context else f"{title}{style}"


def _rank(candidate: Candidate) -> int:
    """Larger sections make better chunk borders, and what the evidence trusts better ones than what it does not."""
    base = 100 if candidate.is_evidence else 0
    return base - 10 * min(candidate.heading.level, 9) + int(candidate.heading.confidence * 9)


def _build_chunks(
    document: ParsedDocument,
    evidence: HeadingEvidence,
    asked_spans: Sequence[Span],
    groups: Sequence[Sequence[Candidate]],
) -> list[Chunk]:
    borders = [0, *(group[0].heading.span[0] for group in groups[1:]), document.line_count]
    headings = sorted(evidence.headings, key=lambda heading: heading.span[0])
    heading_starts = [heading.span[0] for heading in headings]
    seen: Counter[str] = Counter()
    chunks: list[Chunk] = []
    for index, group in enumerate(groups):
        start, end = borders[index], borders[index + 1]
        first = bisect_left(heading_starts, start) if index else 0
        last = bisect_left(heading_starts, end) if index + 1 < len(groups) else len(headings)
        asked = tuple(candidate for candidate in group if _is_inside(candidate.heading.span[0], asked_spans))
        text = span_text(document, (start, end))
        digest = hash_parts([text, *(candidate.entry for candidate in asked)])[:24]
        chunks.append(
            Chunk(
                chunk_id=f"{digest}-{seen[digest]}",
                span=(start, end),
                candidates=asked,
                headings=tuple(headings[first:last]),
            )
        )
        seen[digest] += 1
    return chunks


def _is_inside(line: int, spans: Sequence[Span]) -> bool:
    index = bisect_right(spans, line, key=lambda span: span[0]) - 1
    return index >= 0 and line < spans[index][1]
