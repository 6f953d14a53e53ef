"""The printed words that answer best: candidate pages in, verified quotes out. No model, nothing invented."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pageindex_local.extractive import count_words
from pageindex_local.query.citations import (
    MAX_QUOTE_CHARACTERS,
    cut_quote,
    is_on_page,
    is_quotable,
    numbers_in,
    quote_words,
)
from pageindex_local.query.excerpts import weigh_text, word_weights
from pageindex_local.query.find import Findings, SearchedDocument
from pageindex_local.query.rerank import Candidate
from pageindex_local.query.segments import Segment, ends_sentence, iter_segments
from pageindex_local.records import Span

PAGES_QUOTED = 5
_TYPICAL_WORDS = 40  # a quote much longer than this must earn its length
_FIGURES_BONUS = 0.15  # for a quote with a number that is not in the question, where a figure is asked for
_OTHER_LEAF = 0.7  # for a quote from a part of the page that belongs to another section than the one chosen
_FRAGMENT = 0.7  # for a piece that the edge of the page cuts
_SHORT_WORDS = 12  # a shorter piece (a list item, a table row) is quoted together with what stands around it
_SHORT_SENTENCE = 5  # a shorter sentence ("It depends.") too
_SECOND_QUOTE = 0.5  # a further quote must be worth so much of the first


@dataclass(frozen=True, slots=True)
class Quote:
    """A verified quotation: text as printed (white space folded), its page, and the leaf that holds it."""

    doc_key: str
    node_id: str
    page_number: int
    text: str
    worth: float


def extract_quotes(findings: Findings, *, limit: int = 2) -> list[Quote]:
    """The best quotes for the question from the best pages, best first; each stands on its page."""
    weighed: list[tuple[float, int, Candidate, Segment]] = []
    top = findings.candidates[0].score if findings.candidates else 0.0
    for candidate in findings.candidates[:PAGES_QUOTED]:
        searched = findings.documents[candidate.doc_key]
        weights = word_weights(findings.question, searched.evidence)
        total = sum(weights.values()) or 1.0
        asked = numbers_in(findings.question.text)
        start, end = searched.tree.nodes[candidate.node_id].span
        segments = page_segments(searched, candidate.page_number)
        for small in segments:
            segment = _grow(small, segments, (start, end))
            words = count_words(segment.text)
            if words < 3 or not is_quotable(segment.text):
                continue
            worth = weigh_text(segment.text, weights) / total
            if worth and findings.question.asks_figures and numbers_in(segment.text) - asked:
                worth += _FIGURES_BONUS
            worth *= min(1.0, (2 * _TYPICAL_WORDS / (words + _TYPICAL_WORDS))) * (candidate.score / (top or 1.0))
            worth *= 1.0 if start <= segment.first_line < end else _OTHER_LEAF
            worth *= 1.0 if segment.is_whole else _FRAGMENT
            weighed.append((worth, len(weighed), candidate, segment))
    weighed.sort(key=lambda found: (-found[0], found[1]))
    quotes: list[Quote] = []
    said: set[str] = set()
    for worth, _, candidate, segment in weighed:
        if worth <= 0 or len(quotes) >= limit or (quotes and worth < _SECOND_QUOTE * quotes[0].worth):
            break
        searched = findings.documents[candidate.doc_key]
        words_here = set(quote_words(segment.text))
        if quotes and (not segment.is_whole or len(words_here - said) < 0.5 * len(words_here)):
            continue
        quote = verify_quote(searched, segment, worth)
        if quote is not None:
            quotes.append(quote)
            said |= set(quote_words(segment.text))
    return quotes


def page_segments(searched: SearchedDocument, page_number: int) -> list[Segment]:
    """The quotable pieces of a page, headings of the tree and lines that look like headings left out."""
    lines = searched.page_lines(page_number)
    if not lines:
        return []
    first, last = lines[0][0], lines[-1][0]
    headings = {
        line
        for node in searched.tree.nodes.values()
        if first <= node.heading[1] and node.heading[0] <= last
        for line in range(*node.heading)
    }
    before = [text for _, text in searched.page_lines(page_number - 1) if text.strip()] if page_number > 1 else []
    opening = next((text.strip() for _, text in lines if text.strip()), "")
    continues = bool(before) and not ends_sentence(before[-1].strip()) and not opening[:1].isupper()
    return list(iter_segments(page_number, lines, headings=headings, continues=continues))


def _grow(segment: Segment, segments: Sequence[Segment], leaf: Span) -> Segment:
    """A short piece with its neighbours between the same headings and on the same side of the leaf, as far as they fit.

    Whole sentences stay as they are.
    """
    words = count_words(segment.text)
    if words >= _SHORT_WORDS or (segment.is_sentence and segment.is_whole and words >= _SHORT_SENTENCE):
        return segment
    first = last = next(place for place, piece in enumerate(segments) if piece is segment)
    inside = leaf[0] <= segment.first_line < leaf[1]
    size = len(segment.text)
    grew = True
    while grew:
        grew = False
        for step in (-1, 1):  # what introduces a list stands before it
            place = first - 1 if step < 0 else last + 1
            if not 0 <= place < len(segments) or segments[place].block != segment.block:
                continue
            if (leaf[0] <= segments[place].first_line < leaf[1]) is not inside:
                continue
            if size + 1 + len(segments[place].text) <= MAX_QUOTE_CHARACTERS:
                size += 1 + len(segments[place].text)
                first, last = min(first, place), max(last, place)
                grew = True
    pieces = segments[first : last + 1]
    return replace(
        segment,
        text=" ".join(piece.text for piece in pieces),
        first_line=pieces[0].first_line,
        last_line=pieces[-1].last_line,
        is_whole=all(piece.is_whole for piece in pieces),
    )


def best_segment(searched: SearchedDocument, page_number: int, claim: str) -> Segment | None:
    """The piece of a page that shares most with a claim: its numbers first, then its words."""
    words, numbers = set(quote_words(claim)), numbers_in(claim)
    best: tuple[float, Segment] | None = None
    for segment in page_segments(searched, page_number):
        here = set(quote_words(segment.text))
        worth = len(words & here) / (len(words) or 1) + 2 * len(numbers & numbers_in(segment.text)) - 0.002 * len(here)
        if is_quotable(segment.text) and (best is None or worth > best[0]):
            best = worth, segment
    return best[1] if best else None


def verify_quote(searched: SearchedDocument, segment: Segment, worth: float) -> Quote | None:
    """The quote of a segment if it occurs on its page, else None."""
    text = cut_quote(segment.text)
    if not is_on_page(text, searched.page(segment.page_number).text):
        return None
    node_id = searched.leaf_at(segment.first_line)
    return Quote(searched.ranked.document.doc_key, node_id, segment.page_number, text, worth)


def quoted_answer(quotes: Sequence[Quote]) -> str:
    """An answer made of quotes alone, each with its citation number."""
    return " ".join(f"\u201c{quote.text}\u201d [{number}]" for number, quote in enumerate(quotes, 1))
