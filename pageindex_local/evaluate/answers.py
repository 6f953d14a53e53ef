"""Whether an answer says what is expected: two texts in, yes or no out. Numbers count by value, words by their letters.

A measure for whole sets of questions, not a judge of single ones: an answer that contains what is expected counts.
"""

import re
import unicodedata
from dataclasses import dataclass

TOLERANCE = 0.005  # expected figures are rounded: 8.70 stands for 8.738
SHORT_WORDS = 8  # a longer expected answer is a sentence and is compared by words
RECALL = 0.6  # share of its words that must be there
RECALL_BESIDE_FIGURES = 0.25  # where all its figures are there
_SCALES = {
    "thousand": 1e3, "thousands": 1e3, "k": 1e3, "million": 1e6, "millions": 1e6, "mn": 1e6, "mm": 1e6, "m": 1e6,
    "billion": 1e9, "billions": 1e9, "bn": 1e9, "b": 1e9, "trillion": 1e12, "trillions": 1e12, "tn": 1e12,
}  # fmt: skip
_FREE_FACTORS = (1.0, 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9)
_NUMBER = re.compile(
    r"(?P<open>\()?\s*(?P<sign>[-\u2212\u2013](?=[\s$€£¥]*\d))?\s*(?P<currency>[$€£¥])?\s*(?P<minus>[-\u2212])?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<close>\))?\s*"
    r"(?:(?P<percent>%|percent\b|per cent\b)|(?P<scale>(?:thousand|million|billion|trillion)s?|[kmb]|mn|mm|bn|tn)\b)?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_SMALL_WORDS = """
a an the of to in on at by for and or is are was were be been it its this that as with from has have had
"""
_SMALL = frozenset(_SMALL_WORDS.split())


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a text. `value` has its scale word applied; `is_scaled` says that there was one."""

    value: float
    is_scaled: bool
    is_percent: bool
    is_year: bool


def read_quantities(text: str) -> list[Quantity]:
    """The numbers of a text in order: `$1,577.00`, `(45)`, `5.1 %`, `8.7 billion`. Digits inside words are none."""
    found = []
    for match in _NUMBER.finditer(text):
        before = text[match.start("digits") - 1 : match.start("digits")]
        if before.isalpha():
            continue
        plain = match["digits"].replace(",", "")
        scale = _SCALES.get((match["scale"] or "").casefold(), 1.0)
        is_negative = bool(match["sign"] or match["minus"] or (match["open"] and match["close"]))
        is_year = bool(re.fullmatch(r"(?:19|20)\d\d", match["digits"])) and not (
            match["currency"] or match["percent"] or match["scale"]
        )
        value = float(plain) * scale * (-1 if is_negative else 1)
        found.append(Quantity(value, bool(match["scale"]), bool(match["percent"]), is_year))
    return found


def is_same_quantity(expected: Quantity, given: Quantity) -> bool:
    """Whether two numbers agree within `TOLERANCE`, signs aside (outflows are printed in brackets).

    Where a scale word is missing on either side (a table "in millions"), thousands, millions and billions are tried;
    where only one is a percentage, hundredths are.
    """
    factors: tuple[float, ...] = (1.0,) if expected.is_scaled and given.is_scaled else _FREE_FACTORS
    if expected.is_percent != given.is_percent:
        factors = (1.0, 100.0 if expected.is_percent else 0.01)
    wanted, value = abs(expected.value), abs(given.value)
    return any(abs(value * factor - wanted) <= TOLERANCE * wanted for factor in factors)


def matches_answer(expected: str | float, given: str) -> bool:
    """Whether a given answer contains the expected one.

    A short expected answer with numbers matches where all its numbers are there (years only if it has no others); a
    short one without where its words stand there in a row; `yes` and `no` only at the beginning; a longer one where
    `RECALL` of its content words and numbers are there, or all its numbers but years and some of its words.
    """
    wanted = str(expected)
    words, given_words = _words(wanted), _words(given)
    if not words or not given_words:
        return False
    if words in (["yes"], ["no"]):
        return given_words[0] == words[0]
    quantities = read_quantities(wanted)
    if len(wanted.split()) > SHORT_WORDS:
        content = {word for word in words if word not in _SMALL}
        has_figures = any(not number.is_year for number in quantities) and _has_figures(quantities, given)
        needed = RECALL_BESIDE_FIGURES if has_figures else RECALL
        return len(content & set(given_words)) >= needed * len(content)
    if quantities:
        return _has_figures(quantities, given)
    return f" {' '.join(words)} " in f" {' '.join(given_words)} "


def _has_figures(quantities: list[Quantity], given: str) -> bool:
    """Whether a text has every quantity; years only where there are no others."""
    figures = [number for number in quantities if not number.is_year] or quantities
    have = read_quantities(given)
    return all(any(is_same_quantity(number, other) for other in have) for number in figures)


def _words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(re.sub(r"(?<=\d),(?=\d{3})", "", folded))
