"""What every heading source returns, and how titles are compared.

Each source reads a parsed document and says where it sees headings, how far it trusts itself and why. Nothing here
decides between sources; that is the fusion's work.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from rapidfuzz.distance import Indel

from pageindex_local.records import Heading, Span

TITLE_RATIO = 0.85

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(
    r"^\s*(?:(?:chapter|section|part|appendix|annex|article|item|note|lecture|unit|kapitel|teil|anhang|§)\s*)?"
    r"(?:\d+[a-z]?|[ivxlc]+|[a-z])(?:[.\-]\d+[a-z]?)*[.):\-–—]*(?:\s+|(?<=[.):]))(?=\S)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SourceResult:
    """The headings one source sees, in document order.

    `confidence` from 0 to 1 is the source's trust in its headings as a whole; `reason` is a sentence for a person, with
    numbers. `candidates` are further lines that may be headings but that the source would not use on its own.
    `contents_lines` are spans that list headings (contents pages) and so hold none themselves.
    """

    headings: tuple[Heading, ...]
    confidence: float
    reason: str
    candidates: tuple[Heading, ...] = ()
    contents_lines: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What became of one source: how many headings it saw, how many were used, and why."""

    name: str
    count: int
    used: int
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class HeadingEvidence:
    """The headings of a document after all sources were weighed.

    `headings` are in document order with consistent levels. `candidates` is every plausible heading line, weak ones
    included: a superset of the printed headings. `needs_model` are line spans in which the evidence is missing or
    contradicts itself. `facts` are numbers about the decision, for reports.
    """

    headings: tuple[Heading, ...]
    candidates: tuple[Heading, ...]
    sources: tuple[SourceReport, ...]
    needs_model: tuple[Span, ...] = ()
    facts: Mapping[str, float] = field(default_factory=dict)


def split_number(title: str) -> tuple[str, str]:
    """A title's leading section number (with its word, as printed; empty where there is none) and the rest."""
    found = _NUMBER.match(title)
    if found is None:
        return "", title.strip()
    return found.group().strip(), title[found.end() :].strip()


def text_key(text: str) -> str:
    """Text as it counts for comparison: NFKC, case folded, letters and digits only, no spaces.

    Spaces go too because extraction loses and invents them around ligatures, hyphens and changes of font.
    """
    return "".join(_WORD.findall(unicodedata.normalize("NFKC", text).replace("\u00ad", "").casefold()))


def title_key(title: str) -> str:
    """A title's `text_key` without its section number (with it, where nothing else is there)."""
    return text_key(split_number(title)[1]) or text_key(title)


def keys_alike(first: str, second: str, ratio: float = TITLE_RATIO) -> bool:
    """Whether two keys are equal up to a few characters (normalised edit similarity of at least `ratio`)."""
    if first == second:
        return bool(first)
    if not first or not second or min(len(first), len(second)) < 0.7 * max(len(first), len(second)):
        return False
    return Indel.normalized_similarity(first, second, score_cutoff=ratio) >= ratio


def titles_alike(first: str, second: str, ratio: float = TITLE_RATIO) -> bool:
    """Whether two titles name the same section, section numbers aside."""
    return keys_alike(title_key(first), title_key(second), ratio)
