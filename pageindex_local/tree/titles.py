"""Titles as people see them: one clean line of bounded length.

Text in, text out. A title comes from a file that nobody vetted, and ends on a terminal and in a web page.
"""

import re
import unicodedata

MAX_TITLE_CHARS = 200
_GROUNDED_WORDS = 10
_GROUNDED_CHARS = 72

# Terminal sequences go as a whole: dropping the escape character alone would leave its parameters in the title.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b."
)
_SPACES = re.compile(r"\s+")
_CLAUSE_END = re.compile(r"(?<=\w\w)[.!?;:](?=\s|$)|[。！？；]")
_SECTION_NUMBER = re.compile(
    r"^(?:(?:chapter|section|part|appendix|annex|article|item|kapitel|teil|anhang|§)\s*(?:\d+|[ivxlc]+|[a-z])\b"
    r"|\d+(?=[.\s)])|[ivxlc]+(?=[.)])|[a-z](?=[.)]\s|[.-]?\d))(?:[.\-]\d+[a-z]?)*[.):]*\s+(?=\S)",
    re.IGNORECASE,
)
# Joiners and the two plain direction marks are part of correct Persian, Hebrew and Indic text. The override, embedding
# and isolate characters can make a title read as something else, and are dropped with the other invisible ones.
_KEPT_FORMAT = frozenset("\u200c\u200d\u200e\u200f\u061c")
_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn"})


def clean_title(text: str) -> str:
    """The text as a title: one line without control, override or escape characters, of bounded length; may be empty."""
    if not (text.isascii() and text.isprintable()):
        text = _ESCAPES.sub("", text)
        text = "".join(character for character in map(_visible, text) if character)
    text = _SPACES.sub(" ", text).strip()
    return text if len(text) <= MAX_TITLE_CHARS else cut_words(text, MAX_TITLE_CHARS)


def is_clean_title(title: str) -> bool:
    """Whether the text could have come from `clean_title` and is not empty."""
    return bool(title) and title == clean_title(title)


def grounded_title(text: str) -> str:
    """The first clause of a text, shortened to a title of a few of its own words; empty where it has no words."""
    line = clean_title(text[: 8 * MAX_TITLE_CHARS])
    end = _CLAUSE_END.search(line)
    if end is not None and end.start() >= 12:
        line = line[: end.start()].rstrip()
    words = line.split(" ")
    if len(words) > _GROUNDED_WORDS:
        line = " ".join(words[:_GROUNDED_WORDS]) + "…"
    if len(line) > _GROUNDED_CHARS:
        line = cut_words(line.rstrip("…"), _GROUNDED_CHARS)
    return line if any(map(str.isalnum, line)) else ""


def split_title(title: str) -> tuple[str, str]:
    """A title's section number, empty where there is none for certain, and the rest.

    A number has a digit, a word such as `Appendix` before it, or a mark behind it: the `A` of `A storm` and the `I` of
    `I am born` are words.
    """
    found = _SECTION_NUMBER.match(title)
    return (found.group().strip(), title[found.end() :]) if found else ("", title)


def cut_words(text: str, limit: int) -> str:
    """At most `limit` characters of the text, ending in an ellipsis, at a space where one is near."""
    head = text[: limit - 1]
    space = head.rfind(" ")
    return (head[:space] if space > limit // 2 else head).rstrip(" ,;:-–") + "…"


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    if unicodedata.category(character) in _DROPPED_CATEGORIES and character not in _KEPT_FORMAT:
        return ""
    return character
