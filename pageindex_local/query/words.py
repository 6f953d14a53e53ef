"""Text as the full-text index sees it: a string in, plain words for the tokenizer out. No index, no file.

The same function prepares documents and questions, so that both are cut alike. Stems and accents are the tokenizer's.
"""

import re
import unicodedata

# Scripts written without spaces: Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar. They are indexed as pairs.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}\U00020000-\U0003ffff]+")
_LINE_HYPHEN = re.compile(r"(?<=[^\W\d_])-[ \t]*\n[ \t]*(?=[a-zß-ÿ])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_GLUED_YEAR = re.compile(r"\b([^\W\d_]{0,4})((?:19|20)\d\d)((?:[^\W\d_][^\W_]{0,3})?)\b")
_POSSESSIVE = re.compile(r"['’]s\b")
_WORD = re.compile(r"[^\W_]+")

_ENGLISH = """
a about above across after again against all almost along already also although always am among an and another
any anyone anything are around as ask asked at away based be became because become been before behind being
below between both but by can cannot clearly come could define defined depending describe detail details
determine did directly do does doing done down due during each either else enough even ever every
everything explain few find following for from further gave get gets give given gives go goes going
got had has have having he hence her here hers herself him himself his how however i if in instead into is it
its itself just keep kind know least let like list look made mainly make makes many may me mean means mention
might more most much must my myself near need needs neither never next no nobody none nor not nothing now of
off often on once one only onto or other others otherwise our ours out outline over own particular per perhaps
please possible primarily provide put question answer rather really regarding related relevant rely relying
respond response same say says see seem seems several shall she should show showed shown shows since so some
somebody someone something sometimes somewhat specific state stated states still such take taken tell than
that the their theirs them themselves then there thereby therefore these they thing things this those though
through throughout thus to together too toward towards try two under until unless up upon us use used
useful uses using utilizing utilising various very via want wants was way we well went were what whatever when
where whereas whereby wherever whether which while who whoever whole whom whose why will with within without
would yes yet you your yours yourself assume assuming calculate compute
"""
STOP_WORDS = frozenset(_ENGLISH.split())
_GRAMMAR = """
a about all also am an and any are as at be been being both but by can could did do does doing either for from had has
have having he her here hers him his how i if in into is it its itself just may me might must my no nor
not now of off on one only onto or other our ours out over shall she should so some somebody someone something such than
that the their theirs them then there these they thing things this those to too up us very was we were what whatever
when where whether which while who whom whose why will with within without would yes yet you your yours
"""
GRAMMAR_WORDS = frozenset(_GRAMMAR.split())


def index_text(text: str) -> str:
    """Text prepared for the full-text tokenizer.

    Ligatures and wide forms become plain letters, words broken at a line end are joined, thousands separators dropped
    (`1,577` is `1577`), years split from the letters glued to them (`FY2022`, `2023Q4`), and runs of scripts without
    spaces become overlapping pairs of characters. Control characters never survive.
    """
    plain = unicodedata.normalize("NFKC", text).replace("\u00ad", "")
    plain = _LINE_HYPHEN.sub("", plain)
    plain = _POSSESSIVE.sub("", _THOUSANDS.sub("", plain))
    plain = _GLUED_YEAR.sub(r"\1 \2 \3", plain)
    plain = part_unspaced(plain)
    return " ".join(_WORD.findall(plain))


def part_unspaced(text: str) -> str:
    """Text with runs of scripts without spaces as overlapping pairs of characters between spaces."""
    return _UNSPACED_RUN.sub(_pairs, text)


def split_words(text: str) -> list[str]:
    """The words of `index_text`, case folded, in order, repeats included."""
    return index_text(text).casefold().split()


def is_stop_word(word: str) -> bool:
    """Whether a word of a question says nothing about what is asked (English)."""
    return word in STOP_WORDS


def is_grammar_word(word: str) -> bool:
    """Whether a word only holds sentences together: unlike `make` or `find` it is never what a question is about."""
    return word in GRAMMAR_WORDS


def quote_word(word: str) -> str:
    """A word or phrase as one quoted string of the full-text query language: nothing in it can be an operator."""
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    if len(run) == 1:
        return f" {run} "
    return " " + " ".join(run[i : i + 2] for i in range(len(run) - 1)) + " "
