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
from pageindex_local.query.findings import Findings, SearchedDocument
from pageindex_local.query.rerank import Candidate
from pageindex_local.query.segments import Segment, ends_sentence, is_list_item, iter_segments
from pageindex_local.records import Span

PAGES_QUOTED = 5
_TYPICAL_WORDS = 40  # a quote much longer than this must earn its length
_FIGURES_FACTOR = 1.4  # for a quote with a number that is not in the question, where a figure is asked for
_OTHER_LEAF = 0.7  # for a quote from a part of the page that belongs to another section than the one chosen
_FRAGMENT = 0.7  # for a piece that the edge of the page cuts, or that does not end as a sentence does
_SHORT_WORDS = 12  # a shorter piece (a list item, a table row) is quoted together with what stands around it
_SHORT_SENTENCE = 5  # a shorter sentence ("It depends.") too
_SHORT_TOGETHER = 240  # characters of two quotes beside which there is room for a third
_SECOND_QUOTE = 0.5  # a further quote must be worth so much of the first


@dataclass(frozen=True, slots=True)
class Quote:
    """A verified quotation: text as printed (white space folded), its page, and the leaf that holds it.

    `columns` is the line of the same page that heads the columns of a quoted row.
    """

    doc_key: str
    node_id: str
    page_number: int
    text: str
    worth: float
    columns: str = ""


def extract_quotes(findings: Findings) -> list[Quote]:
    """The best quotes for the question from the best pages, best first; each stands on its page.

    Two, or three where they are as short as rows of a table are.
    """
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
            if words < 3 or not is_quotable(segment.text) or small.is_label:
                continue
            worth = weigh_text(f"{segment.columns} {segment.text}", weights) / total
            if worth and findings.question.asks_figures and numbers_in(segment.text) - asked:
                worth *= _FIGURES_FACTOR
            worth *= min(1.0, (2 * _TYPICAL_WORDS / (words + _TYPICAL_WORDS))) * (candidate.score / (top or 1.0))
            worth *= 1.0 if start <= segment.first_line < end else _OTHER_LEAF
            worth *= 1.0 if segment.is_whole and _is_complete(small, segment) else _FRAGMENT
            weighed.append((worth, len(weighed), candidate, segment))
    weighed.sort(key=lambda found: (-found[0], found[1]))
    quotes: list[Quote] = []
    said: set[str] = set()
    heads: set[str] = set()  # the same row under other columns has other figures
    for worth, _, candidate, segment in weighed:
        is_full = len(quotes) >= (2 if sum(len(quote.text) for quote in quotes) > _SHORT_TOGETHER else 3)
        if worth <= 0 or is_full or (quotes and worth < _SECOND_QUOTE * quotes[0].worth):
            break
        searched = findings.documents[candidate.doc_key]
        words_here = {word for word in quote_words(segment.text) if not (segment.is_row and word[0].isdigit())}
        is_known = len(words_here - said) < 0.5 * len(words_here) and (not segment.is_row or segment.columns in heads)
        is_part = any(quote.text in segment.text or segment.text in quote.text for quote in quotes)
        if quotes and (not segment.is_whole or is_known or is_part):
            continue
        quote = verify_quote(searched, segment, worth)
        if quote is not None:
            quotes.append(quote)
            said |= words_here
            heads.add(segment.columns)
    return quotes


def page_segments(searched: SearchedDocument, page_number: int) -> list[Segment]:
    """The quotable pieces of a page, headings of the tree and lines that look like headings left out."""
    lines = searched.page_lines(page_number)
    if not lines:
        return []
    first, last = lines[0][0], lines[-1][0]
    headings = {line for node in searched.tree.overlapping((first, last + 1)) for line in range(*node.heading)}
    before = [text for _, text in searched.page_lines(page_number - 1) if text.strip()] if page_number > 1 else []
    opening = next((text.strip() for _, text in lines if text.strip()), "")
    continues = bool(before) and not ends_sentence(before[-1].strip()) and not opening[:1].isupper()
    return list(iter_segments(page_number, lines, headings=headings, continues=continues))


def _grow(segment: Segment, segments: Sequence[Segment], leaf: Span) -> Segment:
    """A short piece with its neighbours between the same headings and on the same side of the leaf, as far as they fit.

    Whole sentences stay as they are.
    """
    if segment.is_row or segment.is_code:
        return _labelled(segment, segments)
    if segment.text.endswith(":"):
        return _introduced(segment, segments)
    words = count_words(segment.text)
    if words >= _SHORT_WORDS or (segment.is_sentence and segment.is_whole and words >= _SHORT_SENTENCE):
        return segment
    first = last = next(place for place, piece in enumerate(segments) if piece is segment)
    inside = leaf[0] <= segment.first_line < leaf[1]
    size = len(segment.text)
    steps = (-1, 1) if segment.is_sentence or is_list_item(segment.text) else (1, -1)  # a list's introduction is before
    grew = True
    while grew:
        grew = False
        for step in steps:
            place = first - 1 if step < 0 else last + 1
            if not 0 <= place < len(segments) or segments[place].block != segment.block:
                continue
            if segments[place].is_row or segments[place].is_code:
                continue
            if (leaf[0] <= segments[place].first_line < leaf[1]) is not inside:
                continue
            if size + 1 + len(segments[place].text) <= MAX_QUOTE_CHARACTERS:
                size += 1 + len(segments[place].text)
                first, last = min(first, place), max(last, place)
                grew = True
    return _joined(segment, segments[first : last + 1])


def _labelled(segment: Segment, segments: Sequence[Segment]) -> Segment:
    """A row with the line before it where that begins its label: the row has no letters, or goes on in small ones."""
    place = next(place for place, piece in enumerate(segments) if piece is segment)
    label = next(filter(str.isalpha, segment.text), "")
    if not segment.is_row or place == 0 or (label and not label.islower()):
        return segment
    before = segments[place - 1]
    fits = len(before.text) + len(segment.text) < MAX_QUOTE_CHARACTERS
    is_label = before.block == segment.block and not (before.is_row or before.is_sentence) and fits
    return _joined(segment, [before, segment]) if is_label else segment


def _is_complete(small: Segment, grown: Segment) -> bool:
    """Whether a piece says something to its end: running text that no mark ends is a title, or was cut."""
    return grown.is_sentence or small.is_row or small.is_code or is_list_item(small.text) or small.text.endswith(":")


def _introduced(segment: Segment, segments: Sequence[Segment]) -> Segment:
    """What ends with a colon, with what it introduces: rows and items behind it, as far as they fit."""
    first = next(place for place, piece in enumerate(segments) if piece is segment)
    last, size = first, len(segment.text)
    for piece in segments[first + 1 :]:
        size += 1 + len(piece.text)
        if piece.block != segment.block or piece.is_code or size > MAX_QUOTE_CHARACTERS:
            break
        last += 1
    return _joined(segment, segments[first : last + 1])


def _joined(segment: Segment, pieces: Sequence[Segment]) -> Segment:
    return replace(
        segment,
        text=" ".join(piece.text for piece in pieces),
        first_line=pieces[0].first_line,
        last_line=pieces[-1].last_line,
        is_whole=all(piece.is_whole for piece in pieces),
        is_sentence=pieces[-1].is_sentence,
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
    columns = segment.columns if is_on_page(segment.columns, searched.page(segment.page_number).text) else ""
    return Quote(searched.ranked.document.doc_key, node_id, segment.page_number, text, worth, columns)


def quoted_answer(quotes: Sequence[Quote]) -> str:
    """An answer made of quotes alone, each with its citation number."""
    return " ".join(f"\u201c{quote.text}\u201d [{number}]" for number, quote in enumerate(quotes, 1))
