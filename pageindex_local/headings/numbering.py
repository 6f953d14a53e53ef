"""The start of a line in, the section number it may carry out, typed: word, ordinals, shapes, closing mark.

Knows grammars only: whether a number belongs to a heading is decided by the sequence it stands in (`sequences`) and
by layout. Nothing here sees a page.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class Shape(StrEnum):
    """How one component of a section number is written."""

    ARABIC = "1"
    UPPER_ROMAN = "I"
    LOWER_ROMAN = "i"
    UPPER_LETTER = "A"
    LOWER_LETTER = "a"


@dataclass(frozen=True, slots=True)
class SectionNumber:
    """One reading of a section number.

    `text` is the number as printed with its word and marks; the title starts at `end`. `word` is the class word in
    lower case ('chapter', 'item', '' where there is none). `parts` are ordinals from the outermost ('3.2.1' is 3, 2,
    1; 'B.4' is 2, 4) written in `shapes`. `suffix` is the ordinal of a letter glued to the last part ('7A' has 1), 0
    without. `mark` is what closes the number: '.', ')', '()', ':', '-' or nothing. `weak` readings ('A Brief
    History', '12 months') are numbers only where a sequence shows it.
    """

    text: str
    end: int
    word: str
    parts: tuple[int, ...]
    shapes: tuple[Shape, ...]
    suffix: int
    mark: str
    weak: bool

    @property
    def depth(self) -> int:
        """How many components the number has; 1 for 'Chapter 4', 3 for '1.2.3'."""
        return len(self.parts)

    @property
    def signature(self) -> tuple[str, tuple[Shape, ...], str]:
        """What numbers of one series share: word, shapes and closing mark."""
        return self.word, self.shapes, self.mark


# Class words by rank: a word of an outer rank never sits inside one of an inner rank.
# Only languages in which the word stands before the number; others are matched by the number alone.
_WORDS: dict[str, int] = {
    **dict.fromkeys(("volume", "book", "band", "tome", "том"), 0),
    **dict.fromkeys(("part", "teil", "partie", "parte", "deel", "część", "часть"), 1),
    **dict.fromkeys(("title",), 2),
    **dict.fromkeys(("chapter", "kapitel", "chapitre", "capítulo", "capitulo", "capitolo", "hoofdstuk", "глава"), 3),
    **dict.fromkeys(("appendix", "annex", "anhang", "annexe", "anexo", "allegato", "bijlage", "приложение"), 3),
    **dict.fromkeys(("lecture", "unit", "lesson", "module", "schedule", "attachment", "vorlesung"), 3),
    **dict.fromkeys(("article", "artikel", "artículo", "articolo", "item"), 4),
    **dict.fromkeys(("section", "sec.", "abschnitt", "sección", "sezione", "раздел", "§", "§§", "note"), 5),
}
_SPELLED = {
    name: value
    for value, name in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ],
        start=1,
    )
}
_SPELLED |= {f"twenty{name}": 20 + value for name, value in list(_SPELLED.items())[:9]}
_ROMAN_DIGITS = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_KANJI_DIGITS = {char: value for value, char in enumerate("〇一二三四五六七八九")}
_KANJI_WORDS = {
    "部": "part",
    "編": "part",
    "篇": "part",
    "章": "chapter",
    "节": "section",
    "節": "section",
    "条": "article",
}

_DASH = "-\u2010\u2011\u2013\u2014"
_WORDED = re.compile(
    rf"(?P<word>{'|'.join(re.escape(word) for word in sorted(_WORDS, key=len, reverse=True))})\s*"
    rf"(?P<number>\d{{1,3}}(?:\.\d{{1,3}}){{0,5}}(?P<suffix>[A-Z](?![\w]))?|[IVXLC]{{1,7}}|[A-Z]|{'|'.join(_SPELLED)})"
    rf"(?![\w/%])(?P<mark>\s?[.:)]|\s?[{_DASH}](?=\s))?\s*",
    re.IGNORECASE,
)
_DECIMAL = re.compile(
    r"(?P<number>(?:\d{1,3}|[A-Z])(?:\.\d{1,3}){1,5})(?P<mark>[.):]?)(?=\s|$|[^\W\d_])(?![A-Za-z]{1,2}(?:\W|$)|\s*%)\s*"
)
_CHAPTER_PAGE = re.compile(
    rf"(?P<number>(?:\d{{1,3}}|[A-Z])[{_DASH}]\d{{1,3}}(?:\.\d{{1,3}})*)(?P<mark>[.):]?)(?=\s|$)\s*"
)
_SINGLE = re.compile(
    r"(?P<open>\()?(?P<number>\d{1,3}|[IVXLC]{1,7}|[ivxlc]{1,7}|[A-Z]|[a-z])(?P<suffix>[A-Z])?"
    rf"(?P<mark>[.):]|[{_DASH}](?=\s))?(?=\s|$|(?<=[.)])[^\W\d_]{{2}})\s*"
)
_KANJI = re.compile(
    r"第\s*(?P<number>\d{1,3}|[〇一二三四五六七八九十百]{1,5})\s*(?P<word>[部編篇章节節条])[\s:：.．、]*"
)
_KANJI_APPENDIX = re.compile(r"(?P<word>付録|附録|附录)\s*(?P<number>[A-Z]|\d{1,2})[\s:：.．、]*")


def parse_number(text: str) -> tuple[SectionNumber, ...]:
    """Every reading of the section number at the start of a line, the most usual first; empty where there is none.

    'i.' is a roman one and the ninth letter, so it has two readings; which one holds is for the sequence to say.
    """
    if not text:
        return ()
    first = text[0]
    if first in "第付附":
        return _parse_kanji(text)
    if first.isalpha() or first == "§":
        worded = _WORDED.match(text)
        if worded is not None:
            return _parse_worded(worded)
    elif not (first.isdigit() or first == "("):
        return ()
    found = _DECIMAL.match(text) or _CHAPTER_PAGE.match(text)
    if found is not None:
        return _parse_compound(found)
    found = _SINGLE.match(text)
    if found is not None:
        return _parse_single(found)
    spelled = _SPELLED.get(text.replace("-", "").lower(), 0)
    return (SectionNumber(text, len(text), "", (spelled,), (Shape.ARABIC,), 0, "", True),) if spelled else ()


def word_rank(word: str) -> int:
    """How far out a class word stands: 0 for volumes, 1 for parts, 3 for chapters, 6 for numbers without a word."""
    return _WORDS.get(word, 6)


def is_next(before: SectionNumber, after: SectionNumber, *, step: int = 1) -> bool:
    """Whether `after` directly follows `before` in one series: 3.2 then 3.3, 7 then 7A, 7A then 8.

    `step` allows for members that were not seen: the last part may be ahead by up to that much.
    """
    if before.word != after.word or before.shapes != after.shapes or before.parts[:-1] != after.parts[:-1]:
        return False
    ahead = after.parts[-1] - before.parts[-1]
    if ahead == 0:
        return 0 < after.suffix - before.suffix <= step
    return 0 < ahead <= step and after.suffix <= 1


def is_first(number: SectionNumber) -> bool:
    """Whether a number starts its series: 1, A, i, 3.1, also 0."""
    return number.parts[-1] <= 1 and number.suffix <= 1


def roman_value(text: str) -> int:
    """The value of a canonical roman numeral in either case; 0 where the text is none or above 399."""
    digits = [_ROMAN_DIGITS.get(char, 0) for char in text.lower()]
    if not digits or not all(digits):
        return 0
    value = sum(-low if low < high else low for low, high in zip(digits, [*digits[1:], 0], strict=True))
    return value if _to_roman(value) == text.lower() else 0


def _to_roman(value: int) -> str:
    steps = ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
    text = ""
    for step, digits in steps:
        count, value = divmod(value, step)
        text += digits * count
    return text


def _values(part: str) -> list[tuple[int, Shape]]:
    """The readings of one component, the most usual first."""
    if part.isdigit():
        return [(int(part), Shape.ARABIC)]
    upper = part.isupper()
    letters = [(ord(part.lower()) - 96, Shape.UPPER_LETTER if upper else Shape.LOWER_LETTER)] if len(part) == 1 else []
    value = roman_value(part)
    roman = [(value, Shape.UPPER_ROMAN if upper else Shape.LOWER_ROMAN)] if value else []
    # A lone I, V or X is more often a numeral; C, D, L and M are more often letters.
    return roman + letters if part.lower() in ("i", "v", "x") else letters + roman


def _parse_worded(found: re.Match[str]) -> tuple[SectionNumber, ...]:
    word, number = found["word"].lower(), found["number"]
    if not (found["word"][0].isupper() or found["word"][0] == "§"):
        return ()  # "section 4 shows" inside a sentence
    mark = (found["mark"] or "").strip()
    mark = "-" if mark and mark in _DASH else mark
    text, end = found.group().rstrip(), found.end()
    suffix = found["suffix"]
    if suffix:
        number = number[: -len(suffix)]
    glued = ord(suffix.lower()) - 96 if suffix else 0
    if number.lower() in _SPELLED:
        return (SectionNumber(text, end, word, (_SPELLED[number.lower()],), (Shape.ARABIC,), 0, mark, False),)
    parts = number.split(".")
    if len(parts) > 1:
        values = tuple(int(part) for part in parts)
        return (SectionNumber(text, end, word, values, (Shape.ARABIC,) * len(values), glued, mark, False),)
    if not number.isdigit() and not number.isupper():
        return ()  # "Part of the", "Section a"
    if not found["word"].endswith(("§", ".")) and found.start("number") == found.end("word") and not number.isdigit():
        return ()  # "PARTI", but "CHAPTER1" is a chapter
    return tuple(
        SectionNumber(text, end, word, (value,), (shape,), glued, mark, False) for value, shape in _values(number)
    )


def _parse_compound(found: re.Match[str]) -> tuple[SectionNumber, ...]:
    parts = re.split(rf"[{_DASH}.]", found["number"])
    head_value, head_shape = _values(parts[0])[-1] if parts[0] in ("I", "V", "X") else _values(parts[0])[0]
    values = (head_value, *(int(part) for part in parts[1:]))
    shapes = (head_shape, *(Shape.ARABIC for _ in parts[1:]))
    return (SectionNumber(found.group().rstrip(), found.end(), "", values, shapes, 0, found["mark"], False),)


def _parse_single(found: re.Match[str]) -> tuple[SectionNumber, ...]:
    mark = found["mark"] or ""
    if found["open"]:
        if mark != ")":
            return ()
        mark = "()"
    elif mark and mark in _DASH:
        mark = "-"
    number, suffix = found["number"], found["suffix"]
    if suffix and not number.isdigit():
        return ()
    if not mark and number.isalpha() and not number.isupper():
        return ()  # "a", "i" and "x" alone are words
    text, end = found.group().rstrip(), found.end()
    glued = ord(suffix) - 64 if suffix else 0
    weak = not mark and (number.isalpha() or len(number) > 2 or number.startswith("0"))
    return tuple(
        SectionNumber(text, end, "", (value,), (shape,), glued, mark, weak)
        for value, shape in _values(number)
        if value <= 199
    )


def _parse_kanji(text: str) -> tuple[SectionNumber, ...]:
    found = _KANJI.match(text)
    if found is not None:
        digits = found["number"]
        value = int(digits) if digits.isdigit() else _kanji_value(digits)
        word = _KANJI_WORDS[found["word"]]
        return (SectionNumber(found.group().rstrip(), found.end(), word, (value,), (Shape.ARABIC,), 0, "", False),)
    found = _KANJI_APPENDIX.match(text)
    if found is None:
        return ()
    value, shape = _values(found["number"])[0]
    return (SectionNumber(found.group().rstrip(), found.end(), "appendix", (value,), (shape,), 0, "", False),)


def _kanji_value(digits: str) -> int:
    total = current = 0
    for char in digits:
        if char in "十百":
            total += max(current, 1) * (10 if char == "十" else 100)
            current = 0
        else:
            current = current * 10 + _KANJI_DIGITS[char]
    return total + current
