"""What a question says before any document is read: words with weights, phrases, years, section numbers, names.

A pure function of the question. No model, no index. What it finds becomes filters and boosts; nothing is thrown away.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from pageindex_local.query.words import index_text, is_grammar_word, is_stop_word, split_words
from pageindex_local.sentences import split_sentences

_QUOTED = re.compile(r"\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|«([^»\n]{2,200})»|`([^`\n]{2,200})`|「([^」\n]{2,200})」")
_SECTION = re.compile(
    r"(?:\b(?:sections?|chapters?|part|appendix|annex|article|clause|item|notes?)\s+|§+\s*)"
    r"(\d+[A-Za-z]?(?:\.\d+)*|[A-Z](?:\.\d+)+|[IVXLC]+\b|[A-Z]\b)|(?<![\d.,$€£])\b(\d+(?:\.\d+){2,})\b(?![,%])",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![\d.,])(?:FY|CY)?\s?((?:19|20)\d\d)(?![.,]?\d)", re.IGNORECASE)
_PERIOD = re.compile(
    r"\b(?:(Q[1-4]|H[12])\s*(?:FY|CY|of)?\s*((?:19|20)\d\d)?|((?:19|20)\d\d)\s*(Q[1-4]|H[12]))\b", re.IGNORECASE
)
_VERSION = re.compile(r"\b(?:v|versions?|releases?|edition)\s?\.?(\d+(?:\.\d+)*)\b", re.IGNORECASE)
_AND_VERSION = re.compile(r"^(?:\s*(?:and|or|vs\.?|versus|to|with|,|-|–)\s*)+v?\.?(\d+(?:\.\d+)+)\b", re.IGNORECASE)
_FIGURES = re.compile(
    r"\b(?:how (?:much|many|large|big|high|long|often|far|old)|amounts?|quantity|percent(?:age)?s?|ratios?|rates?"
    r"|totals?|numbers?|values?|sum|average|mean|median|highest|lowest|largest|smallest|biggest|maximum|minimum|increas\w*"
    r"|decreas\w*|declin\w*|improv\w*|grow\w*|grew|chang\w*|rise|rose|fell|drop\w*|compar\w*|margins?|costs?|prices?"
    r"|million|billion|millions|billions|thousands|calculate|figures?|data|statistics|times|sales|revenues?|profits?"
    r"|income|expens\w*|debts?|usd|dollars?|euros?)\b|[%$€£¥]",
    re.IGNORECASE,
)
_COMPARISON = re.compile(
    r"\b(?:vs\.?|versus|compar\w+|differ\w*|between|than|changed?|changes|evol\w+|from\b.{1,60}\bto)\b", re.IGNORECASE
)
_NAME = re.compile(r"(?<![\w.])(?:[A-Z0-9][\w&]*[A-Za-z&][\w&]*|[A-Z])(?:[ ](?:&|of|[A-Z][\w&]*))*")


@dataclass(frozen=True, slots=True)
class QuestionWord:
    """One word of the question as indexed, and its weight (the first sentence that asks counts 1, the rest less).

    Without `is_evidence` it is searched, and finding it says nothing: it stands for another word, which occurs nowhere,
    or the question has only words that hold sentences together.
    """

    word: str
    weight: float
    is_evidence: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart.

    `words` holds each content word once, in order of first appearance; `pairs` neighbouring words, small
    ones too: they recognise a sentence that the document prints. `names` are
    capitalised runs as written, sentence starts left out where the word is an ordinary one. `asks_figures` says whether
    the answer is likely to be a number or to rest on numbers, `compares` whether several years or versions are set
    against each other. `added` are words and `titles` section titles or numbers
    that notes of the asker contribute (see `notes`): they steer the search, and say nothing about what was asked.
    """

    text: str
    words: tuple[QuestionWord, ...]
    pairs: tuple[tuple[str, str], ...]
    phrases: tuple[str, ...]
    section_numbers: tuple[str, ...]
    years: tuple[int, ...]
    periods: tuple[str, ...]
    versions: tuple[str, ...]
    names: tuple[str, ...]
    asks_figures: bool
    compares: bool = False
    added: tuple[QuestionWord, ...] = ()
    titles: tuple[str, ...] = ()

    @property
    def prepared_phrases(self) -> tuple[str, ...]:
        """The quoted phrases as the index holds them."""
        return tuple(filter(None, (" ".join(split_words(phrase)) for phrase in self.phrases)))


def analyse_question(text: str) -> Question:
    """The parts of a question. Deterministic, no cost to speak of; an empty question gives empty parts."""
    sentences = split_sentences(text)
    asking = next((i for i, part in enumerate(sentences) if part.rstrip().endswith(("?", "？"))), 0)
    weights: dict[str, float] = {}
    pairs: dict[tuple[str, str], None] = {}
    for number, sentence in enumerate(sentences):
        words = [word for word in split_words(sentence) if not is_stop_word(word) and (len(word) > 1 or word.isdigit())]
        weight = 1.0 if number == asking else _CONDITION_WEIGHT if _is_condition(sentence) else _OTHER_WEIGHT
        for word in words:
            weights[word] = max(weight, weights.get(word, 0.0))
        pairs.update(dict.fromkeys(pairwise(split_words(sentence))))
    phrases = tuple(dict.fromkeys(" ".join(filter(None, found)).strip() for found in _QUOTED.findall(text)))
    says_something = bool(weights or phrases)
    if not weights:
        common = split_words(text)
        telling = [word for word in common if not is_grammar_word(word)]
        says_something |= bool(telling)
        weights = dict.fromkeys(telling or common, 1.0)
    years = tuple(dict.fromkeys(int(year) for year in _YEAR.findall(text)))
    versions = _versions(text)
    return Question(
        text=text,
        words=tuple(QuestionWord(word, weight, says_something) for word, weight in weights.items()),
        pairs=tuple(pair for pair in pairs if pair[0] != pair[1])[:_MAX_PAIRS],
        phrases=phrases,
        section_numbers=tuple(dict.fromkeys((a or b).upper() for a, b in _SECTION.findall(text))),
        years=years,
        periods=tuple(dict.fromkeys(_periods(text))),
        versions=versions,
        names=_names(sentences),
        asks_figures=bool(_FIGURES.search(text)),
        compares=max(len(years), len(versions)) > 1 and bool(_COMPARISON.search(text)),
    )


_MAX_PAIRS = 60
_OTHER_WEIGHT = 0.7
_CONDITION_WEIGHT = 0.5  # "If there is none, say so": mostly instructions to the reader


def _is_condition(sentence: str) -> bool:
    return sentence.lstrip().lower().startswith(("if ", "please ", "answer ", "give ", "respond ", "round "))


def _versions(text: str) -> tuple[str, ...]:
    """Version numbers: those that are called so, and those set beside them ("version 2.0 and 2.1")."""
    found: dict[str, None] = {}
    for match in _VERSION.finditer(text):
        found[match[1]] = None
        found.update(dict.fromkeys(_AND_VERSION.findall(text[match.end() :])[:1]))
    return tuple(found)


def _periods(text: str) -> list[str]:
    found = []
    for part_a, year_a, year_b, part_b in _PERIOD.findall(text):
        found.append(f"{year_a or year_b}{(part_a or part_b).upper()}")
    return found


def _names(sentences: list[str]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for sentence in sentences:
        for match in _NAME.finditer(sentence):
            words = match.group().split()
            while words and words[-1] in {"of", "&"}:
                words.pop()
            at_start = not sentence[: match.start()].strip()
            while words and (is_stop_word(words[0].casefold()) or words[0] in {"of", "&"}):
                words.pop(0)
                at_start = False
            name = " ".join(words)
            ordinary = at_start and len(words) == 1 and name[1:].islower()
            if len(name) > 1 and not ordinary and index_text(name) and not _is_date_word(name):
                names[name] = None
    return tuple(names)


_DATE_WORDS = (
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday"
)
_MONTHS = frozenset(_DATE_WORDS.split())


def _is_date_word(name: str) -> bool:
    return name.casefold() in _MONTHS or bool(re.fullmatch(r"(?:FY|CY|Q|H)\s?|(?:FY|CY|Q|H)?\s?\d+(?:Q\d)?", name))
