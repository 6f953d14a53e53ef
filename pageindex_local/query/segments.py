"""The quotable pieces of a page: lines in, whole sentences, table rows and list items out. Headings are no quotes.

Decides by shape alone (length, capitals, what stands before and after); knows no question and no model.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from pageindex_local.query.citations import make_inert
from pageindex_local.sentences import sentence_spans

_NUMBERED = re.compile(
    r"(?:(?:\d{1,3}|[A-Z])(?:\.\d{1,3})+\.?|(?:\d{1,2}|[A-Z])\.|(?:Chapter|Section|Part|Appendix|Annex|Article|Item|Note)"
    r"\s+[\dA-Z][\w.]*[.:]?)\s+(?=[\"'“(/]?\w)",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:[•◦▪‣·*\u2013\u2014-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s+\S")
_HEADING_WORDS = 14
_LABEL_WORDS = 6
_TERMINAL = (".", "?", "!", "。", "？", "！", ".)", ".”", '."', ":", ";")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a page that can be quoted: a sentence, or one line of a table or list.

    `text` has its white space folded, `block` numbers the runs of text between headings, `is_whole` says that neither
    end is cut by the edge of the page, and `is_sentence` that it ends like one.
    """

    page_number: int
    text: str
    first_line: int
    last_line: int
    block: int = 0
    is_whole: bool = True
    is_sentence: bool = True


def iter_segments(
    page_number: int,
    lines: Sequence[tuple[int, str]],
    *,
    headings: Collection[int] = (),
    continues: bool = False,
) -> Iterator[Segment]:
    """The quotable pieces of a page in order: sentences of running text, single lines of tables and lists.

    Args:
        page_number: physical, from 1.
        lines: document-wide line numbers and texts, running heads left out.
        headings: numbers of lines that are known to be headings; lines that look like one are left out as well.
        continues: the page before ends within a sentence, so that the first piece here is not a whole one.
    """
    inert = [(number, text) for number, raw in lines if (text := make_inert(raw))]
    # Not the longest line: footnotes and tables may be set wider than the text.
    lengths = sorted(len(text) for _, text in inert)
    width = lengths[len(lengths) * 4 // 5] if lengths else 0
    pieces: list[Segment] = []
    run: list[tuple[int, str]] = []
    block = 0
    for place, (number, text) in enumerate(inert):
        before = inert[place - 1][1] if place else ""
        after = inert[place + 1][1] if place + 1 < len(inert) else ""
        if number in headings or ((not run or ends_sentence(before)) and _is_heading(text, before, after, width)):
            pieces += _sentences(page_number, run, block)
            run = []
            block += 1
            continue
        if _is_tabular(text):
            pieces += [*_sentences(page_number, run, block), Segment(page_number, text, number, number, block)]
            run = []
            continue
        if run and _ITEM.match(text):
            pieces += _sentences(page_number, run, block)
            run = []
        run.append((number, text))
        if _ends_block(text, after, width) or place + 1 == len(inert):
            pieces += _sentences(page_number, run, block)
            run = []
    for place, piece in enumerate(pieces):
        ends = ends_sentence(piece.text)
        cut = (continues and place == 0) or (place == len(pieces) - 1 and not ends)
        yield replace(piece, is_whole=not cut, is_sentence=ends)


def ends_sentence(text: str) -> bool:
    """Whether a text ends as a sentence does."""
    return text.rstrip("\"'”’)]").endswith((".", "?", "!", "。", "？", "！"))


def _is_heading(text: str, before: str, after: str, width: int) -> bool:
    """A numbered title, or a short line between the end of a sentence and the beginning of the next."""
    words = text.split()
    if text.endswith(_TERMINAL) or text[-1] in ",&-/" or len(words) > _HEADING_WORDS:
        return False
    numbered = _NUMBERED.match(text)
    if numbered:
        title = text[numbered.end() :].lstrip("\"'“(")
        return bool(title) and (title[0].isupper() or title[0] == "/") and not _is_tabular(title)
    begins = not before or ends_sentence(before)
    starts_next = len(after) > max(len(text), width // 2) and (after[:1].isupper() or after[:1] in "\"'“(/<•")
    return begins and starts_next and len(words) <= _LABEL_WORDS and text[0].isupper() and not _ITEM.match(text)


def _is_tabular(text: str) -> bool:
    words = text.split()
    figures = sum(any(char.isdigit() for char in word) for word in words)
    return figures >= 2 and figures >= 0.25 * len(words) and not text.endswith((".", "?", "!"))


def _ends_block(text: str, after: str, width: int) -> bool:
    """Whether a line ends its paragraph: short, no comma or hyphen at its end, a capital next."""
    return len(text) < 0.7 * width and text[-1] not in ",;-&/" and not (after[:1].islower() or after[:1].isdigit())


def _sentences(page_number: int, run: Sequence[tuple[int, str]], block: int) -> list[Segment]:
    if not run:
        return []
    text = " ".join(line for _, line in run)
    ends: list[int] = []
    position = -1
    for _, line in run:
        position += len(line) + 1
        ends.append(position)
    segments = []
    for start, end in sentence_spans(text):
        sentence = text[start:end].strip()
        if sentence:
            first = min(bisect_right(ends, start), len(run) - 1)
            last = min(bisect_right(ends, start + len(text[start:end].rstrip()) - 1), len(run) - 1)
            segments.append(Segment(page_number, sentence, run[first][0], run[last][0], block))
    return segments
