"""Which one-byte encoding a text is in: bytes in, the encoding whose language explains them best out. Reads no file.

A few lines are enough. Statistics over bytes need more, and take the umlauts of a short German text for Cyrillic or
Chinese; what letters a language has, and that capitals do not follow small letters, is known beforehand.
"""

import re
from collections import Counter
from dataclasses import dataclass

_WEST = ("cp1252", "iso8859_15", "cp850", "mac_roman")
_EAST = ("cp1250", "iso8859_2", "cp852")
_CYRILLIC = ("cp1251", "koi8_u", "cp866", "iso8859_5")
_BALTIC = ("cp1257", "iso8859_13")


@dataclass(frozen=True, slots=True)
class _Language:
    """Letters beside a to z, the encodings they are written in, of an alphabet of its own also the frequent ones."""

    letters: frozenset[str]
    encodings: tuple[str, ...]
    frequent: frozenset[str] = frozenset()

    @classmethod
    def of(cls, letters: str, encodings: tuple[str, ...], frequent: str = "") -> "_Language":
        return cls(frozenset(letters), encodings, frozenset(frequent))

    @property
    def is_own_script(self) -> bool:
        """Whether its words have no letter of ASCII."""
        return bool(self.frequent)


# Among languages that explain a text equally well the first is taken: those with more texts stand first.
_LANGUAGES = (
    _Language.of("äöüß", _WEST),
    _Language.of("àâæçéèêëîïôœùûüÿ", _WEST),
    _Language.of("áéíóúüñ", _WEST),
    _Language.of("àáâãçéêíóôõúü", _WEST),
    _Language.of("àèéìíîòóùú", _WEST),
    _Language.of("äåöéü", _WEST),
    _Language.of("æøåéòôèêó", _WEST),
    _Language.of("áèéêëíïóöúü", _WEST),
    _Language.of("ąćęłńóśźż", _EAST),
    _Language.of("áčďéěíňóřšťúůýž", _EAST),
    _Language.of("áéíóöőúüű", _EAST),
    _Language.of("çğıöşüâîûİ", ("cp1254",)),
    _Language.of("àçèéíïòóúü", _WEST),
    _Language.of("ăâîşţ", _EAST),
    _Language.of("čćđšž", _EAST),
    _Language.of("áäčďéíĺľňóôŕšťúýž", _EAST),
    _Language.of("äöåšž", _WEST),
    _Language.of("äõöüšž", ("cp1257", "iso8859_15", "cp1252")),
    _Language.of("ąčęėįšųūž", _BALTIC),
    _Language.of("āčēģīķļņšūž", _BALTIC),
    _Language.of("áæðéíóöúýþ", _WEST),
    _Language.of("абвгдежзийклмнопрстуфхцчшщъыьэюяё", _CYRILLIC, "оеаинтсрвлкм"),
    _Language.of("абвгґдеєжзиіїйклмнопрстуфхцчшщьюя", _CYRILLIC, "оаниівртеслк"),
    _Language.of("абвгдђежзијклљмнњопрстћуфхцчџш", ("cp1251",), "аоиенрстјукв"),
    _Language.of("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ", ("cp1253", "iso8859_7"), "αοιετνησρκπς"),
    _Language.of("אבגדהוזחטיכלמנסעפצקרשתךםןףץ", ("cp1255",), "יוהלאתרמשבנם"),
)
_RUN = re.compile(rb"[0-9A-Za-z\x80-\xff]*[\x80-\xff][0-9A-Za-z\x80-\xff]*")
_RUNS_READ = 3_000  # different ones, the most frequent first
_SELDOM = dict.fromkeys(("cp850", "mac_roman", "cp852", "cp866"), 0.15)  # less, for systems that are long gone
_JOINING = frozenset("’‘–—…·\u00a0")  # may stand between two letters
_SYMBOLS = frozenset("“”„‚‹›«»•€£§©®™±¼½¾×÷µ¿¡№") | _JOINING
_RAISED = frozenset("²³°ºª")  # stand behind a letter or digit, or alone
_RARE = 0.6  # worth of a letter that its language seldom uses, against 1
_SHOUTED = 0.8  # of a capital behind another
_LONELY = 0.9  # of a capital that is a word of its own
_SYMBOL = 1.0
_RARE_SYMBOL = 0.5  # where every letter is beyond ASCII
_IMPOSSIBLE = -2.0


def guess_charset(data: bytes) -> tuple[str, float]:
    """The likeliest encoding of one byte a character, and how well its characters fit a language: 1 is perfectly.

    Below about 0.7 the text is something else: in another language, or in an encoding of several bytes. Text without a
    byte above 127 gives `("ascii", 1.0)`.
    """
    runs = Counter(_RUN.findall(data)).most_common(_RUNS_READ)
    if not runs:
        return "ascii", 1.0
    best = ("", _IMPOSSIBLE)
    decoded: dict[str, list[tuple[str, int]] | None] = {}
    for language in _LANGUAGES:
        for encoding in language.encodings:
            if encoding not in decoded:
                decoded[encoding] = _decode_runs(runs, encoding)
            texts = decoded[encoding]
            if texts is not None:
                fit = _fit(texts, language) - _SELDOM.get(encoding, 0.0)
                if fit > best[1] + 1e-9:
                    best = encoding, fit
    return best


def _decode_runs(runs: list[tuple[bytes, int]], encoding: str) -> list[tuple[str, int]] | None:
    try:
        return [(run.decode(encoding), count) for run, count in runs]
    except UnicodeDecodeError:
        return None


def _fit(runs: list[tuple[str, int]], language: _Language) -> float:
    """The mean worth of the characters beyond ASCII."""
    total = worth = 0.0
    for text, count in runs:
        for place, char in enumerate(text):
            if char > "\x7f":
                before, after = text[place - 1 : place], text[place + 1 : place + 2]
                worth += count * _worth(char, before, after, language)
                total += count
    return worth / total


def _worth(char: str, before: str, after: str, language: _Language) -> float:
    lower = char.lower()
    if lower in language.letters or char in language.letters:
        return _letter_worth(char, lower, before, after, language)
    if char in _RAISED:
        return 1.0 if not before.strip() or (before.isalnum() and not after.isalpha()) else _IMPOSSIBLE
    if char in _SYMBOLS and (char in _JOINING or not (before.isalpha() and after.isalpha())):
        return _RARE_SYMBOL if language.is_own_script else _SYMBOL
    return _IMPOSSIBLE


def _letter_worth(char: str, lower: str, before: str, after: str, language: _Language) -> float:
    """Of a letter of the language: nothing that cannot stand beside its neighbours."""
    is_capital = char != lower
    if (is_capital and before.islower()) or (not is_capital and after.isupper()):
        return _IMPOSSIBLE
    near = [neighbour for neighbour in (before, after) if neighbour.isalpha()]
    if is_capital and not near:
        return _LONELY
    if language.is_own_script:
        if any(neighbour.isascii() for neighbour in near):
            return _IMPOSSIBLE
        worth = 1.0 if lower in language.frequent else _RARE
        return worth * (_SHOUTED if is_capital and before.isupper() else 1.0)
    if len(near) == 2 and not any(neighbour.isascii() for neighbour in near):
        return _IMPOSSIBLE  # three letters in a row that are not of the Latin alphabet's twenty-six
    return _SHOUTED if is_capital and before.isupper() else 1.0
