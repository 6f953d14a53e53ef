"""Whether a quotation stands on a page: texts in, inert and folded texts and a yes or no out. Knows no tree."""

import re
import unicodedata

from pageindex_local.query.words import part_unspaced

MAX_QUOTE_CHARACTERS = 400
MIN_QUOTE_CHARACTERS = 12
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_CLAUSE_END = re.compile(r"[,;](?=\s)")
_WIDE = r"[\u3000-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_WIDE_GAP = re.compile(f"(?<={_WIDE}) | (?={_WIDE})")
_LINE_HYPHEN = re.compile(r"(?<=\w)[-\u2010\u00ad]\s+(?=\w)")
_ESCAPE_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|\x9b[0-?]*[ -/]*[@-~]"
)


def make_inert(text: str) -> str:
    """Text without terminal escapes, control and invisible format characters; white space folded.

    Whatever a document holds, printing this moves no cursor, sets no title and hides nothing.
    """
    visible = _ESCAPE_SEQUENCE.sub("", text)
    kept = (" " if char.isspace() else "" if unicodedata.category(char)[0] == "C" else char for char in visible)
    return " ".join("".join(kept).split())


def fold_text(text: str) -> str:
    """Text as quotes are compared: inert, compatibility forms and case folded, words broken at line ends joined.

    Beside characters of a script without spaces a space means nothing (a line ended there) and is dropped.
    """
    folded = unicodedata.normalize("NFKC", make_inert(_LINE_HYPHEN.sub("", text)))
    return _WIDE_GAP.sub("", " ".join(_LINE_HYPHEN.sub("", folded).casefold().split()))


def is_on_page(quote: str, page_text: str) -> bool:
    """Whether a quote occurs in the text of a page, white space and hyphenation aside. Empty quotes never do."""
    folded = fold_text(quote)
    return len(folded) >= min(MIN_QUOTE_CHARACTERS, 4) and folded in fold_text(page_text)


def quote_words(text: str) -> list[str]:
    """Words of a text for comparing a claim with a quote: folded, numbers whole, a plural's `s` dropped."""
    return [_stem(word) for word in _WORD.findall(part_unspaced(fold_text(text)))]


def numbers_in(text: str) -> set[str]:
    """The numbers of a text, thousands separators dropped."""
    return {word.replace(",", "") for word in _WORD.findall(part_unspaced(fold_text(text))) if word[0].isdigit()}


def is_quotable(text: str) -> bool:
    """Whether a text is long enough to say something. A letter of a script that is written wide counts as three."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" and char.isalpha() for char in text)
    return len(text) + 2 * wide >= MIN_QUOTE_CHARACTERS


def cut_quote(text: str) -> str:
    """A quote no longer than MAX_QUOTE_CHARACTERS: cut behind a clause if one ends in its last third, else at a space.

    Still verbatim.
    """
    if len(text) <= MAX_QUOTE_CHARACTERS:
        return text
    cut = text[:MAX_QUOTE_CHARACTERS]
    clauses = [match.end() for match in _CLAUSE_END.finditer(cut)]
    if clauses and clauses[-1] > len(cut) * 2 // 3:
        return cut[: clauses[-1]].rstrip(" ,;")
    return cut.rsplit(" ", 1)[0] if " " in cut else cut


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word[0].isdigit():
            return word[: -len(ending)]
    return word
