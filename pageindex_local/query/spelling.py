"""Words of a question that a release does not have: the word, and the release's own words in; the likeliest one out.

The full text finds other inflections itself, because it keeps stems. This is for slips of the finger and for British
against American spelling, and only for words that occur nowhere: a question whose words all exist is left as it is.
"""

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pageindex_local.query.analyse import Question, QuestionWord
from pageindex_local.query.words import quote_word, split_words

if TYPE_CHECKING:
    from pageindex_local.query.search_index import SearchIndex

TOKENIZER = "porter unicode61 remove_diacritics 2"  # as search files are made
SHORTEST_WORD = 5  # letters; shorter words have too many neighbours
_TABLES = ("passage_text", "page_text")
# British and American endings, each way; what stands before them is kept. `travelled` and `enrolment` have the stems of
# `traveled` and `enrollment`; words of one syllable do not, and `filled` is no other spelling of `filed`.
_SPELLINGS = (
    ("our", "or"), ("ours", "ors"), ("oured", "ored"), ("ouring", "oring"), ("oural", "oral"), ("ourable", "orable"),
    ("ise", "ize"), ("ises", "izes"), ("ised", "ized"), ("ising", "izing"), ("isation", "ization"),
    ("isations", "izations"), ("yse", "yze"), ("ysed", "yzed"), ("ysing", "yzing"), ("re", "er"), ("res", "ers"),
    ("ogue", "og"), ("ogues", "ogs"), ("ence", "ense"), ("ences", "enses"), ("ialled", "ialed"), ("ialling", "ialing"),
    ("uelled", "ueled"), ("uelling", "ueling"), ("mme", "m"), ("mmes", "ms"), ("que", "ck"), ("ques", "cks"),
)  # fmt: skip
_OLD_VOWEL = re.compile(r"(?:ae|oe)(?!s?$)")  # an `e` of today, as in foetus; shoes and canoe keep theirs
_INFLECTIONS = ("", "e", "s", "es", "d", "ed", "ing")  # of the same word
_NOUNS = ("ation", "ations")  # of verbs in `ise` and `ize`
_PLACES_READ = 200  # at most, of each stem, to see how it is printed


def correct_spelling(question: Question, index: "SearchIndex") -> tuple[Question, list[str]]:
    """The question with words that occur nowhere replaced by their neighbours, and a sentence about each.

    Names are only asked about, never replaced: a question about a stranger must not become one about a namesake. What
    a slip may have been is only a guess (`police` and `policy`): it is searched, and is no evidence. Costs a look for
    each word of five letters and more, and a part of the vocabulary for each that is missing.
    """
    names = {word for name in question.names for word in split_words(name)}
    corrected: dict[str, QuestionWord] = {}
    notices = []
    for asked in question.words:
        word = asked.word
        if len(word) < SHORTEST_WORD or not word.isalpha() or not word.isascii() or index.has_word(word):
            continue
        if any(word in document.doc_id.casefold() for document in index.documents.values()):
            continue
        spelling = index.other_spelling(word)
        similar = spelling or index.near_word(word)
        if similar is None:
            continue
        if word in names:
            notices.append(f'"{word}" occurs nowhere. Did you mean "{similar}"?')
        else:
            corrected[word] = replace(asked, word=similar, is_evidence=asked.is_evidence and spelling is not None)
            notices.append(f'"{word}" occurs nowhere; "{similar}" was searched.')
    if not corrected:
        return question, notices
    words = tuple(corrected.get(asked.word, asked) for asked in question.words)
    now = {old: new.word for old, new in corrected.items()}
    pairs = tuple((now.get(first, first), now.get(second, second)) for first, second in question.pairs)
    return replace(question, words=words, pairs=pairs), notices


def holds_word(connection: sqlite3.Connection, word: str) -> bool:
    """Whether a word occurs anywhere in a search file, in any inflection that the tokenizer knows."""
    return any(
        connection.execute(f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1", (quote_word(word),)).fetchone()  # noqa: S608 - ours
        for table in _TABLES
    )


def find_other_spelling(connection: sqlite3.Connection, word: str) -> str | None:
    """The British or American spelling of a missing word, where a search file has it printed, inflected or not."""
    return next((other for other in _other_spellings(word) if _is_printed(connection, other)), None)


def find_near_word(connection: sqlite3.Connection, word: str) -> str | None:
    """The word of a search file that a missing one may have been meant to be, as it is printed there.

    The most frequent that differs by one letter (missing, added, other, or two changed about) and begins with the same
    one; so do their stems.
    """
    connection.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.asked USING fts5(word, tokenize='{TOKENIZER}')")
    for name, kind in (("asked_stem", "row"), ("stem", "row"), ("place", "instance")):
        source = "'temp', 'asked'" if name == "asked_stem" else "'main', 'passage_text'"
        connection.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name} USING fts5vocab({source}, '{kind}')")
    connection.execute("DELETE FROM temp.asked")
    connection.execute("INSERT INTO temp.asked VALUES (?)", (word,))
    asked = connection.execute("SELECT term FROM temp.asked_stem").fetchone()[0]
    found = connection.execute(
        "SELECT term, doc FROM temp.stem WHERE term >= ? AND term < ?", (asked[0], chr(ord(asked[0]) + 1))
    )
    near = sorted(((count, term) for term, count in found if is_one_slip(asked, term)), reverse=True)
    printed = (form for _, term in near for form in _printed_forms(connection, term))
    return next((form for form in printed if is_one_slip(word, form)), None)


def is_one_slip(asked: str, term: str) -> bool:
    """Whether two words differ by one letter missing, added or other, or by two neighbours changed about.

    A short word with another letter is another word: battles are no bottles.
    """
    if asked == term or abs(len(asked) - len(term)) > 1 or min(len(asked), len(term)) < SHORTEST_WORD - 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(asked, term, strict=False)) if a != b), min(len(asked), len(term)))
    a, b = asked[start:], term[start:]
    is_other = a[1:] == b[1:] and len(asked) > SHORTEST_WORD
    return a[1:] == b or a == b[1:] or is_other or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _other_spellings(word: str) -> list[str]:
    endings = [pair for pairs in ((a, b) for a, b in _SPELLINGS) for pair in (pairs, pairs[::-1])]
    found = [word.removesuffix(old) + new for old, new in endings if word.endswith(old)]
    return list(dict.fromkeys([*found, _OLD_VOWEL.sub("e", word)]))


def _is_printed(connection: sqlite3.Connection, word: str) -> bool:
    """Whether a passage has a word or an inflection of it: words with the same stem may be others (liter, literal)."""
    base = word.removesuffix("e")
    endings = (*_INFLECTIONS, *_NOUNS) if base.endswith(("is", "iz")) else _INFLECTIONS
    forms = {stem + ending for stem in (word, base) for ending in endings}
    texts = connection.execute(
        "SELECT titles || ' ' || body FROM passage_text WHERE passage_text MATCH ? LIMIT ?",
        (quote_word(word), _PLACES_READ),
    )
    return any(not forms.isdisjoint(text.casefold().split()) for (text,) in texts)


def _printed_forms(connection: sqlite3.Connection, term: str) -> Iterator[str]:
    """The words behind a stem, as they stand in passages."""
    places = connection.execute("SELECT doc, col, offset FROM temp.place WHERE term = ? LIMIT ?", (term, _PLACES_READ))
    for row, column, offset in places.fetchall():
        text = connection.execute(f"SELECT {column} FROM passage_text WHERE rowid = ?", (row,)).fetchone()  # noqa: S608 - a column of ours
        words = text[0].casefold().split()
        if offset < len(words):
            yield str(words[offset])
