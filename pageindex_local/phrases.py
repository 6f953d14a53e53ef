"""Titles for text that has none: a section's text in, titles made of its own words out. Calls no model.

Only the section itself is read, so that an edit elsewhere in the document changes no title.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pageindex_local.extractive import best_sentence, content_words, unwrap_lines
from pageindex_local.tree.titles import clean_title, grounded_title

_TOKEN = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*|[^\w\s]|_|\d[\d.,]*")
_MAX_CONTENT_WORDS = 3
_LINK_LETTERS = 3  # `cost of sales`: words this short may stand inside a phrase
_MIN_COUNT = 3  # a phrase that is said less often does not say what a section is about
_LONGER_SHARE = 0.6  # a longer phrase wins over one inside it where it has this share of its occurrences
_PHRASE_CHARS = 40
# Of the words of 391 real titles, three phrases from the middle of the section under it hold 21 %, two 16 %, the first
# clause there 9 % at twice the length.
_TITLE_PHRASES = 3
_TITLE_CHARS = 72
_FIRST_CHARS = 1_600
_WORD = re.compile(r"\w+")
_LEADERS = re.compile(r"(?:\s*\.){3,}.*")  # of a line of a contents list, and the page number behind them
_MARKUP = "#>*-+=_~|•·◦▪ \t\r\n"
_READ_CHARS = 12_000  # of a section; the beginning says what it is about, and parts may be as long as a book


def key_phrases(text: str, count: int) -> list[str]:
    """The phrases that a text says most often for their length, as printed, best first; fewer where it has fewer.

    A phrase has one to three words that mean something, with short words between them, and no punctuation inside. No
    two share a stem. Single words count only if they are names (capital inside a sentence) or said very often.

    Source: C-value (Frantzi, Ananiadou, Mima 2000), reduced to counts, length and containment.
    """
    text = unwrap_lines(text[:_READ_CHARS])
    tokens = list(_TOKEN.finditer(text))
    found = list(_iter_phrases([token.group() for token in tokens]))
    counts = Counter(stems for stems, _, _ in found)
    first: dict[tuple[str, ...], int] = {}
    forms: dict[tuple[str, ...], Counter[str]] = {}
    for stems, start, end in found:
        if counts[stems] < _MIN_COUNT:
            continue
        printed = text[tokens[start].start() : tokens[end].end()]
        if len(printed) <= _PHRASE_CHARS and "\n" not in printed:
            first.setdefault(stems, start)
            forms.setdefault(stems, Counter())[printed] += 1
    longer: dict[str, int] = {}
    for stems in first:
        if len(stems) > 1:
            for stem in stems:
                longer[stem] = max(longer.get(stem, 0), counts[stems])

    def worth(stems: tuple[str, ...]) -> float:
        value = counts[stems] * (1.0, 1.9, 2.3)[len(stems) - 1]
        if len(stems) == 1:
            form = forms[stems].most_common(1)[0][0]
            is_name = form[0].isupper()
            value *= 1.0 if is_name else 0.6
            if longer.get(stems[0], 0) >= _LONGER_SHARE * counts[stems]:
                value = 0.0
        return value

    chosen: list[str] = []
    taken: set[str] = set()
    for stems in sorted(first, key=lambda stems: (-worth(stems), first[stems])):
        if len(chosen) == count or worth(stems) <= 0.0:
            break
        if taken.isdisjoint(stems):
            taken.update(stems)
            # Most frequent form; of equally frequent ones the first that was printed.
            chosen.append(forms[stems].most_common(1)[0][0])
    return chosen


def title_choices(text: str) -> list[str]:
    """Titles that a section without a heading may bear, best first, at least one unless the text has no words.

    Key phrases, the beginning of the text, the beginning of its most central sentence: all words of the section.
    """
    phrases = [clean_title(phrase) for phrase in key_phrases(text, _TITLE_PHRASES)]
    while len(", ".join(phrases)) > _TITLE_CHARS:
        phrases.pop()
    joined = ", ".join(phrases)
    if len(phrases) < 2 and " " not in joined:
        joined = ""  # one word says too little
    beginning = text[:_READ_CHARS].lstrip(_MARKUP)
    choices = [
        joined[:1].upper() + joined[1:],
        grounded_title(unwrap_lines(beginning[:_FIRST_CHARS])),
        grounded_title(best_sentence(beginning[: 2 * _FIRST_CHARS], "")),
    ]
    cleaned = (clean_title(_LEADERS.sub("", choice)) for choice in choices)
    return list(dict.fromkeys(choice for choice in cleaned if any(map(str.isalnum, choice))))


def is_grounded(title: str, text: str) -> bool:
    """Whether every word of a title stands in the text, case and line breaks aside."""
    words = set(_WORD.findall(unwrap_lines(text).casefold())) | set(_WORD.findall(text.casefold()))
    return all(word in words for word in _WORD.findall(title.casefold().rstrip("…")))


def _iter_phrases(words: Sequence[str]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Every phrase of up to three meaningful words: their stems, and the numbers of its first and last word."""
    stems = [_stem(word) for word in words]
    for start, stem in enumerate(stems):
        if not stem:
            continue
        used: tuple[str, ...] = ()
        for end in range(start, min(start + 2 * _MAX_CONTENT_WORDS - 1, len(words))):
            if stems[end]:
                if stems[end] in used:
                    break
                used = (*used, stems[end])
                yield used, start, end
                if len(used) == _MAX_CONTENT_WORDS:
                    break
            elif not (len(words[end]) <= _LINK_LETTERS and words[end].isalpha() and words[end].islower()):
                break


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    if not word[0].isalpha():
        return ""
    found: Sequence[str] = content_words(word)
    return found[0] if len(found) == 1 else ""
