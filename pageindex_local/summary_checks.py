"""Whether a generated summary may be believed: a summary and the text it was made from in, what is wrong with it out.

Small models loop, stop in mid-sentence, and add names and numbers that sound right. Nothing is repaired here beyond
cutting off what surrounds the sentences; no model is asked.
"""

import re
import unicodedata
from collections import Counter
from itertools import pairwise

from pageindex_local.extractive import content_words, count_words, unwrap_lines
from pageindex_local.sentences import split_sentences
from pageindex_local.tree.titles import clean_title

MAX_SUMMARY_WORDS = 60
_MIN_WORDS = 5
_MIN_KNOWN = 0.75  # of its words that the source or title must have
_MIN_TOGETHER = 0.6  # of its neighbouring words that must stand together in one sentence of the source
_LOOP_WORDS = 4

_PREAMBLE = re.compile(
    r"^(?:(?:sure|certainly|okay|ok)[,.!]?\s+)?"
    r"(?:(?:here(?:['’]s| is| are)|the following is|below is)[^:.]{0,60}:\s*"
    r"|(?:(?:short |brief |one-sentence )?summary|answer|sentence)\s*[:\-–]\s*"
    r"|in (?:summary|short|conclusion),\s+"
    r"|the main (?:point|idea|purpose) of (?:the|this) (?:input |given |provided )?text is that\s+)",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"^(?:this|the) (?:given |following |above |provided )?"
    r"(?:section|text|document|passage|chapter|paragraph|excerpt|article|part)"
    r"(?: of the (?:text|document|chapter|manual|book|guide))? (?:(?:also|briefly|mainly|primarily) )?"
    r"(?:discusses|describes|explains|covers|provides|outlines|details|presents|introduces|summarizes|is about|"
    r"talks about|gives|deals with|focuses on|contains)\s+"
    r"(?:(?:an overview|a description|a summary|information) (?:of|on|about) )?",
    re.IGNORECASE,
)
_TALKS_OF_ITSELF = re.compile(
    r"\b(?:input text|(?:the|this) text\b|(?:revised|rewritten|edited) version|summary of|in one sentence|"
    r"single sentence|you(?:'ve| have) (?:added|provided|asked|already)|i(?:'ll| will| can(?:not|'t)?| apologi[sz]e)\b"
    r"|as an ai)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d(?:[\d.,:/-]*\d)?")
_NAME = re.compile(r"[^\W\d_][\w'’-]*")
_WRAPPING = " \t\"'“”*_#>`-•"
_ENDS = (".", "!", "?", "。", "！", "？")
_CLOSING = "\"'”’)]»」』"


def tidy_summary(text: str) -> str:
    """The model's text as one line: its first paragraph without preamble, mark-up and an unfinished last sentence.

    Empty where no full sentence is left.
    """
    paragraph = next((part for part in text.split("\n") if any(map(str.isalnum, _PREAMBLE.sub("", part.strip())))), "")
    line = _one_line(paragraph).strip(_WRAPPING)
    for preamble in (_PREAMBLE, _ABOUT):
        shorter = preamble.sub("", line).strip(_WRAPPING)
        if shorter != line and (preamble is _PREAMBLE or count_words(shorter) >= _MIN_WORDS):
            line = shorter[:1].upper() + shorter[1:]
    sentences = split_sentences(line)
    while sentences and not _is_finished(sentences[-1]):
        sentences.pop()
    return " ".join(sentences)


def find_summary_problems(summary: str, source: str, title: str) -> list[str]:
    """Why the summary cannot be believed, a phrase each; empty if nothing speaks against it.

    `source` is the text the summary was made from (all of the section, not only what the prompt showed). A summary must
    not loop, must have enough of its words from the source or title, and no number or name that is not there. Names are
    words with a capital letter that do not begin a sentence, and words with capitals or digits inside.
    """
    if not any(map(str.isalnum, summary)):
        return ["it holds no full sentence"]
    words = count_words(summary)
    if words < _MIN_WORDS:
        return ["it is too short"]
    problems: list[str] = []
    if words > MAX_SUMMARY_WORDS:
        problems.append("it is too long")
    if is_looping(summary):
        problems.append("it repeats itself")
    known = _fold(f"{title}\n{unwrap_lines(source)}")
    known_numbers = {_plain_number(number) for number in _NUMBER.findall(known)}
    strange = [number for number in _NUMBER.findall(_fold(summary)) if _plain_number(number) not in known_numbers]
    if strange:
        problems.append(f"the number {strange[0]} is not in the text")
    known_words = set(_NAME.findall(known.casefold()))
    known_words |= {part for word in known_words for part in re.split(r"['’-]", word)}
    for name in _names(_fold(summary)):
        parts = [part for part in re.split(r"['’-]", name.casefold()) if len(part) > 1]
        if not all(part in known_words or part.removesuffix("s") in known_words for part in parts):
            problems.append(f"the name {name} is not in the text")
            break
    problems.extend(_word_problems(summary, known))
    if _TALKS_OF_ITSELF.search(summary) and not _TALKS_OF_ITSELF.search(known):
        problems.append("it speaks of the text and not of its subject")
    return problems


def _word_problems(summary: str, known: str) -> list[str]:
    """Whether its words come from the source, and whether those that stand side by side do so there too.

    The second finds the summary that is pieced together from words of unrelated sentences.
    """
    places: dict[str, set[int]] = {}
    for index, sentence in enumerate(split_sentences(known)):
        for stem in content_words(sentence):
            places.setdefault(stem, set()).add(index)
    stems = content_words(summary)
    if sum(stem in places for stem in stems) < _MIN_KNOWN * len(stems):
        return ["too few of its words are in the text"]
    pairs = list(pairwise(stems))
    together = sum(not places.get(first, set()).isdisjoint(places.get(second, set())) for first, second in pairs)
    if together < _MIN_TOGETHER * len(pairs):
        return ["it puts together what the text does not"]
    return []


def is_looping(text: str) -> bool:
    """Whether the text goes in circles: a sentence or four words in a row twice, or one word four times running."""
    words = [word.casefold() for word in _NAME.findall(text)]
    runs = Counter(tuple(words[index : index + _LOOP_WORDS]) for index in range(len(words) - _LOOP_WORDS + 1))
    if runs and max(runs.values()) >= 2:
        return True
    sentences = Counter(sentence.casefold() for sentence in split_sentences(text))
    if sentences and max(sentences.values()) >= 2:
        return True
    return any(len(set(words[index : index + 4])) == 1 for index in range(len(words) - 3))


def _is_finished(sentence: str) -> bool:
    return sentence.rstrip(_CLOSING).endswith(_ENDS)


def _names(text: str) -> list[str]:
    """Words that look like names: a capital not at the start of a sentence, or capitals or digits inside."""
    names: list[str] = []
    for sentence in split_sentences(text):
        for index, found in enumerate(_NAME.finditer(sentence)):
            word = found.group()
            inner = any(character.isupper() or character.isdigit() for character in word[1:])
            if len(word) > 1 and (inner or (index > 0 and word[0].isupper())):
                names.append(word)
    return names


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\u00ad", "").replace("’", "'")


def _plain_number(number: str) -> str:
    return number.replace(",", "").rstrip(".")


def _one_line(text: str) -> str:
    # A summary is shown where titles are, and is cleaned like one; it may be longer.
    return " ".join(clean_title(word) for word in text.split())
