"""Heading evidence in, the lines that a model is shown out: settled headings as context, doubtful lines as questions.

What the evidence has settled costs no question; what almost never is a heading is not shown. Calls no model.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.records import Heading, Line, LineRole, Origin, ParsedDocument, Span
from pageindex_local.settings import TreeSettings
from pageindex_local.tree.titles import clean_title

_SETTLED_ORIGINS = frozenset({Origin.OUTLINE, Origin.TOC, Origin.MARKDOWN})
_SETTLED = 0.8
# A line that its typography speaks against. Of 3,300 outline entries in 12 documents three were such lines, of 25,000.
_WORTH_ASKING = 0.25
_SHOWN_TITLE_CHARS = 100
_CONTEXT_TITLE_CHARS = 60
_SHOWN_WORDS = 8
_SHOWN_CHARS = 60


class Role(StrEnum):
    """Why a model is shown a line."""

    SETTLED = "settled"  # a heading, shown as context
    OPEN = "open"  # a question
    KNOWN_HEADING = "known_heading"  # a settled heading asked about as a control
    PLAIN_TEXT = "plain_text"  # a line inside a paragraph, asked about as a control


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line that a model is shown. `entry` is how: title, style, and words that follow.

    `is_evidence` says that the evidence counts it as a heading. Where text has no headings it is the start of a
    passage: then `titles` are those it may bear, as shown, and among them `decoy`, which belongs to another passage.
    """

    heading: Heading
    entry: str
    is_evidence: bool
    role: Role = Role.OPEN
    titles: tuple[str, ...] = ()
    decoy: str = ""

    @property
    def is_asked(self) -> bool:
        """Whether it has a local number that the model may name."""
        return self.role is not Role.SETTLED


def asked_spans(document: ParsedDocument, evidence: HeadingEvidence, settings: TreeSettings) -> tuple[Span, ...]:
    """The stretches in which a model is to judge: all under strategy `model`, under `auto` those without headings."""
    if settings.strategy == "model":
        return ((0, document.line_count),)
    if settings.strategy == "auto":
        return tuple(sorted(evidence.needs_model))
    return ()


def is_listed(heading: Heading) -> bool:
    """Whether its author listed or marked it as a heading, and it stands where he says."""
    return heading.origin in _SETTLED_ORIGINS and heading.confidence >= _SETTLED


def is_inside(line: int, spans: Sequence[Span]) -> bool:
    """Whether one of the spans, sorted and apart, holds the line."""
    index = bisect_right(spans, line, key=lambda span: span[0]) - 1
    return index >= 0 and line < spans[index][1]


def read_candidates(document: ParsedDocument, evidence: HeadingEvidence, settings: TreeSettings) -> list[Candidate]:
    """The headings of the evidence and the further lines worth a question, in document order, one a line.

    Text without headings has none (see `narrative`).
    """
    spans = asked_spans(document, evidence, settings)
    open_spans = tuple(sorted(evidence.needs_model))
    best: dict[int, tuple[Heading, bool]] = {}
    for heading in evidence.candidates:
        start, end = heading.span
        worth = heading.confidence >= _WORTH_ASKING or is_inside(start, open_spans)
        if not (start < end and worth and is_inside(start, spans)):
            continue
        if start not in best or best[start][0].confidence < heading.confidence:
            best[start] = heading, False
    best |= {heading.span[0]: (heading, True) for heading in evidence.headings if heading.span[0] < heading.span[1]}
    lines = [line for _, line in document.lines()]
    body_size = measure_body(lines)
    found: list[Candidate] = []
    for start, following in pairwise([*sorted(best), len(lines)]):
        heading, is_evidence = best[start]
        settled = is_evidence and (is_listed(heading) or not is_inside(start, spans))
        if settled:
            found.append(Candidate(heading, _known_entry(heading), is_evidence, Role.SETTLED))
        else:
            entry = show_question(lines, heading, following, body_size, is_evidence=is_evidence)
            found.append(Candidate(heading, entry, is_evidence))
    return found


def measure_body(lines: Sequence[Line]) -> float:
    """The type size of most text in points, 0 where there is none."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _known_entry(heading: Heading) -> str:
    """As a Markdown heading, which models of every size have read many of."""
    return f"{'#' * heading.level} {clean_title(heading.title)[:_CONTEXT_TITLE_CHARS]}"


def show_question(
    lines: Sequence[Line], heading: Heading, following: int, body_size: float, *, is_evidence: bool
) -> str:
    """How a model is shown a line that it is asked about; what follows it is shown up to line `following`."""
    start, end = heading.span
    first = lines[start]
    marks = [
        name
        for name, has in (
            (f"like {'#' * heading.level}", is_evidence),
            ("large", first.size > 1.08 * body_size > 0),
            ("bold", first.bold),
        )
        if has
    ]
    style = f" ({', '.join(marks)})" if marks else ""
    words: list[str] = []
    for line in lines[end : min(following, end + 6)]:
        if line.role is not LineRole.RUNNING:
            words += line.text.split()
        if len(words) >= _SHOWN_WORDS:
            break
    context = clean_title(" ".join(words[:_SHOWN_WORDS]))[:_SHOWN_CHARS]
    title = clean_title(heading.title)[:_SHOWN_TITLE_CHARS]
    return f"{title}{style}\n   {context}" if context else f"{title}{style}"
