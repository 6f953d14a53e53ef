"""Quotations: page texts in, verbatim quotes with their pages out. Nothing is cited that is not printed there."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MAX_QUOTE_CHARACTERS = 320
MIN_QUOTE_CHARACTERS = 12
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_SENTENCE_END = re.compile(r"(?<=[.?!。？！])[\"'”’)\]]*\s+(?=[^\Wa-z]|[\"'“‘(\[])|(?<=[。？！])")
_LINE_HYPHEN = re.compile(r"(?<=\w)[-\u2010\u00ad]\s+(?=\w)")
_ESCAPE_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|\x9b[0-?]*[ -/]*[@-~]"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a page that can be quoted: a sentence, or one line of a table. `text` has its white space folded."""

    page_number: int
    text: str
    first_line: int
    last_line: int


def make_inert(text: str) -> str:
    """Text without terminal escapes, control and invisible format characters; white space folded.

    Whatever a document holds, printing this moves no cursor, sets no title and hides nothing.
    """
    visible = _ESCAPE_SEQUENCE.sub("", text)
    kept = (" " if char.isspace() else "" if unicodedata.category(char)[0] == "C" else char for char in visible)
    return " ".join("".join(kept).split())


def fold_text(text: str) -> str:
    """Text as quotes are compared: inert, compatibility forms and case folded, words broken at line ends joined."""
    folded = unicodedata.normalize("NFKC", make_inert(_LINE_HYPHEN.sub("", text)))
    return " ".join(_LINE_HYPHEN.sub("", folded).casefold().split())


def is_on_page(quote: str, page_text: str) -> bool:
    """Whether a quote occurs in the text of a page, white space and hyphenation aside. Empty quotes never do."""
    folded = fold_text(quote)
    return len(folded) >= min(MIN_QUOTE_CHARACTERS, 4) and folded in fold_text(page_text)


def find_quote(quote: str, pages: Mapping[int, str]) -> int | None:
    """The first page (in the order given) that holds a quote, or None."""
    return next((number for number, text in pages.items() if is_on_page(quote, text)), None)


def iter_segments(page_number: int, lines: Sequence[tuple[int, str]]) -> Iterator[Segment]:
    """The quotable pieces of a page: sentences of running text, single lines of tables and lists.

    Args:
        page_number: physical, from 1.
        lines: document-wide line numbers and texts, running heads left out.
    """
    inert = [(number, text) for number, raw in lines if (text := make_inert(raw))]
    width = max((len(text) for _, text in inert), default=0)
    run: list[tuple[int, str]] = []
    for place, (number, text) in enumerate(inert):
        after = inert[place + 1][1] if place + 1 < len(inert) else ""
        if _is_tabular(text):
            yield from _sentences(page_number, run)
            run = []
            yield Segment(page_number, text, number, number)
            continue
        run.append((number, text))
        if _ends_block(text, after, width):
            yield from _sentences(page_number, run)
            run = []
    yield from _sentences(page_number, run)


def quote_words(text: str) -> list[str]:
    """Words of a text for comparing a claim with a quote: folded, numbers whole, a plural's `s` dropped."""
    return [_stem(word) for word in _WORD.findall(fold_text(text))]


def numbers_in(text: str) -> set[str]:
    """The numbers of a text, thousands separators dropped."""
    return {word.replace(",", "") for word in _WORD.findall(fold_text(text)) if word[0].isdigit()}


def cut_quote(text: str) -> str:
    """A quote no longer than MAX_QUOTE_CHARACTERS, cut at a space; still verbatim."""
    if len(text) <= MAX_QUOTE_CHARACTERS:
        return text
    cut = text[:MAX_QUOTE_CHARACTERS]
    return cut.rsplit(" ", 1)[0] if " " in cut else cut


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word[0].isdigit():
            return word[: -len(ending)]
    return word


def _is_tabular(text: str) -> bool:
    words = text.split()
    figures = sum(any(char.isdigit() for char in word) for word in words)
    return figures >= 2 and figures >= 0.25 * len(words) and not text.endswith((".", "?", "!"))


def _ends_block(text: str, after: str, width: int) -> bool:
    """Whether a line ends its paragraph or is a heading: short, no comma or hyphen at its end, a capital next."""
    return len(text) < 0.7 * width and text[-1] not in ",;-&" and not (after[:1].islower() or after[:1].isdigit())


def _sentences(page_number: int, run: Sequence[tuple[int, str]]) -> Iterator[Segment]:
    if not run:
        return
    text = " ".join(line for _, line in run)
    ends: list[int] = []
    position = -1
    for _, line in run:
        position += len(line) + 1
        ends.append(position)
    start = 0
    for match in [*_SENTENCE_END.finditer(text), None]:
        end = len(text) if match is None else match.end()
        sentence = text[start:end].strip()
        if sentence:
            first = min(bisect_right(ends, start), len(run) - 1)
            last = min(bisect_right(ends, start + len(text[start:end].rstrip()) - 1), len(run) - 1)
            yield Segment(page_number, sentence, run[first][0], run[last][0])
        start = end
