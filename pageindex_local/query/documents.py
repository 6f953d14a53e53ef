"""Which documents a question is about: question, search index and release in, documents in order with reasons out.

Full text over passages first; then what the question says of a document itself: its name and title, its year, period
or version. There is one ranking, so nothing to fuse. Deterministic, no model.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pageindex_local.query.analyse import Question
from pageindex_local.query.document_metadata import made_years, stated_versions, stated_years, title_words
from pageindex_local.query.search_index import IndexedDocument, SearchIndex
from pageindex_local.query.words import split_words

PASSAGES_READ = 100  # best passages of the release that vote for their documents
VOTE_POWER = (
    3  # a vote counts with the cube of its score, so that one passage that says it all beats many that touch it
)
NAME_WEIGHT = 1.0  # a document whose name the question holds, against 1.0 for the best full-text score
TITLE_WEIGHT = 0.8  # of a title that the question holds word for word; less than a name, since titles may be general
OWNERSHIP_POWER = 2
YEAR_WEIGHT = 0.5
PERIOD_WEIGHT = 0.5
VERSION_WEIGHT = 0.5
MAX_DOCUMENTS = 3  # that one question searches, unless it compares more
DOCUMENT_FLOOR = 0.6  # documents below this share of the best one's score are not searched
_OPENING_WORDS = 120  # about what a title page says
_ACRONYM_LETTERS = 4
_SUFFIX = re.compile(r"\.(?:pdf|md|markdown|txt|text)$", re.IGNORECASE)
_LETTERS = re.compile(r"[a-z]{2,}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_NUMBERED = re.compile(r"(?<![\d.])v?(\d+(?:\.\d+)+|(?<=v)\d+)(?![\d])", re.IGNORECASE)
_PERIOD = re.compile(r"((?:19|20)\d\d)[\W_]*(Q[1-4]|H[12])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document and why it was chosen. Scores are parts of `score`; text is 1 for the best document by full text.

    `model` is what a model made of its name and description, from 0 to 1; None where none judged.
    """

    document: IndexedDocument
    score: float
    text: float
    name: float
    year: float  # years, periods and versions together
    title: float = 0.0
    model: float | None = None


@dataclass(frozen=True, slots=True)
class DocumentChoice:
    """Documents best first. `notices` are sentences for the asker, such as a year that no document has."""

    ranked: tuple[RankedDocument, ...]
    notices: tuple[str, ...] = ()


def score_documents(passages: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Sum of a document's passage scores over the square root of one more than their number.

    Many middling passages so count more than one, but less than in proportion.
    Source: the document search of PageIndex's own documentation.
    """
    totals: dict[str, tuple[float, int]] = {}
    for doc_key, score in passages:
        total, count = totals.get(doc_key, (0.0, 0))
        totals[doc_key] = total + score, count + 1
    return {key: total / math.sqrt(count + 1) for key, (total, count) in totals.items()}


def rank_documents(index: SearchIndex, question: Question, allowed: Collection[str] | None = None) -> DocumentChoice:
    """All documents (of `allowed` doc_keys) that the question may be about, best first; ties by `doc_id`."""
    documents = {key: doc for key, doc in index.documents.items() if allowed is None or key in allowed}
    wanted = [*(word.word for word in question.words), *(" ".join(pair) for pair in question.pairs)]
    text = _score_text(index, documents, wanted)
    top = max(text.values(), default=0.0) or 1.0
    names = match_names(question, documents, index)
    titles = match_titles(question, documents)
    years = {key: match_years(question, doc) + match_versions(question, doc) for key, doc in documents.items()}
    ranked = [
        RankedDocument(
            document,
            text.get(key, 0.0) / top + NAME_WEIGHT * names[key] + TITLE_WEIGHT * titles[key] + years[key],
            text.get(key, 0.0) / top,
            names[key],
            years[key],
            titles[key],
        )
        for key, document in documents.items()
    ]
    ranked.sort(key=lambda found: (-found.score, found.document.doc_id))
    return DocumentChoice(tuple(ranked), _notices(question, ranked))


def choose_documents(ranked: Sequence[RankedDocument], question: Question) -> tuple[list[RankedDocument], bool]:
    """The documents to search, and whether they are compared: then each of them counts as much as the others.

    A question that sets years or versions against each other needs the best document of each, as far as they bear the
    same name. Otherwise the few best documents whose score is not far behind.
    """
    if not ranked:
        return [], False
    if question.compares:
        alike = [found for found in ranked if found.name >= ranked[0].name and found.score > 0]
        chosen: dict[str, RankedDocument] = {}
        asked: tuple[int | str, ...] = (*question.years, *question.versions)
        for wanted in asked:
            best = next((found for found in alike if _is_of(found.document, wanted)), None)
            if best is not None:
                chosen.setdefault(best.document.doc_key, best)
        if len(chosen) > 1:
            return sorted(chosen.values(), key=lambda found: (-found.score, found.document.doc_id)), True
    floor = DOCUMENT_FLOOR * ranked[0].score
    return [found for found in ranked[:MAX_DOCUMENTS] if found.score >= floor], False


def document_versions(document: IndexedDocument) -> tuple[str, ...]:
    """The version numbers that a document's name (`3.0` for `fhs-3.0.pdf`) and its front matter carry."""
    named = _NUMBERED.findall(_SUFFIX.sub("", document.doc_id))
    return tuple(dict.fromkeys([*named, *stated_versions(document.metadata)]))


def match_versions(question: Question, document: IndexedDocument) -> float:
    """VERSION_WEIGHT where the document's name or front matter carries a version that the question asks for."""
    have = document_versions(document) if question.versions else ()
    return VERSION_WEIGHT * any(wanted in have for wanted in question.versions)


def document_years(document: IndexedDocument) -> tuple[int, ...]:
    """The years that a document's name carries, else its front matter, else the year named most on its first pages."""
    named = tuple(int(year) for year in _YEAR.findall(document.doc_id)) or stated_years(document.metadata)
    if named:
        return named
    counts: dict[int, int] = {}
    for year in re.findall(r"\b(?:19|20)\d\d\b", document.opening):
        counts[int(year)] = counts.get(int(year), 0) + 1
    return (max(counts, key=lambda year: (counts[year], year)),) if counts else ()


def match_years(question: Question, document: IndexedDocument) -> float:
    """How well a document's years and period fit those of the question: 0 to YEAR_WEIGHT + PERIOD_WEIGHT."""
    score = 0.0
    if question.years:
        have = document_years(document) or made_years(document.metadata)
        if max(question.years) in have:
            score += YEAR_WEIGHT
        elif any(year in have for year in question.years):
            score += YEAR_WEIGHT / 2
    asked = set(question.periods)
    if asked:
        score += PERIOD_WEIGHT * any(
            f"{year}{part.upper()}" in asked or part.upper() in asked for year, part in _PERIOD.findall(document.doc_id)
        )
    return score


def match_names(
    question: Question, documents: Mapping[str, IndexedDocument], index: SearchIndex | None = None
) -> dict[str, float]:
    """How well each document's name is named by the question, 0 to 1.

    A name counts whole ("Verizon"), run together ("American Express" for `AMERICANEXPRESS_2022`), or as an abbreviation
    in capitals that starts the name and follows its letters ("AMEX", "JnJ"). Words that most documents share (years,
    kinds of document) count little; with an `index` also words that other documents use ("policy", "guide"), since who
    says them need not mean the name.
    """
    asked = [word.word for word in question.words]
    joined = {"".join(pair) for pair in pairwise(asked)} | set(asked)
    short = [name for name in question.names if _may_abbreviate(name)]
    words_of = {key: name_words(doc) for key, doc in documents.items() if short or _may_be_named(doc.doc_id, joined)}
    shared = Counter(word for words in words_of.values() for word in set(words))
    scores = dict.fromkeys(documents, 0.0)
    for key, words in words_of.items():
        best = 0.0
        for word in words:
            if word in joined:
                rare = 1 - (shared[word] - 1) / max(len(documents), 2)
                best = max(best, rare * (1.0 if index is None else _ownership(index, word, words_of)))
        squeezed = "".join(words)
        if not best and any(is_abbreviation(name, squeezed) for name in short):
            best = 0.8
        scores[key] = best
    return scores


def _may_be_named(doc_id: str, words: Collection[str]) -> bool:
    """Whether one of the words can be among `name_words`, which are cut from the id: a look at its letters, no more."""
    folded = doc_id.casefold()
    return not folded.isascii() or "," in folded or any(word in folded for word in words)


def match_titles(question: Question, documents: Mapping[str, IndexedDocument]) -> dict[str, float]:
    """Whether the question holds the title of a document's metadata word for word, 0 to 1; less where many bear it."""
    asked = f" {' '.join(split_words(question.text))} "
    titles = {
        key: " ".join(title_words(doc.metadata)) if _may_hold(asked, doc.metadata.get("title", "")) else ""
        for key, doc in documents.items()
    }
    bearers = Counter(titles.values())
    return {
        key: 1 - (bearers[title] - 1) / max(len(documents), 2) if title and f" {title} " in asked else 0.0
        for key, title in titles.items()
    }


def _may_hold(asked: str, title: str) -> bool:
    """Whether prepared text can hold the words of a title: its first run of letters must stand in it."""
    run = _LETTERS.search(title.casefold()) if title.isascii() else None
    return bool(title) and (run is None or run.group() in asked)


def _ownership(index: SearchIndex, word: str, words_of: Mapping[str, Sequence[str]]) -> float:
    """How sure a word means the documents whose name holds it: the squared share of its passages that are theirs.

    A word that no passage holds can mean nothing but the name.
    """
    everywhere = index.count_passages(word)
    if not everywhere:
        return 1.0
    own = sum(
        index.count_passages(word, index.documents[key].passage_rows)
        for key, words in words_of.items()
        if word in words
    )
    return (own / everywhere) ** OWNERSHIP_POWER


def names_document(name: str, document: IndexedDocument) -> bool:
    """Whether a name of the question is the document's own: in its id, title or title page (short acronyms aside)."""
    own = name_words(document)
    words = split_words(name)
    if any(word in own for word in words) or "".join(words) in own or is_abbreviation(name, "".join(own)):
        return True
    if len(words) == 1 and len(name) <= _ACRONYM_LETTERS and name.isupper():
        return False
    opening = " ".join(document.opening.casefold().split()[:_OPENING_WORDS])
    title = " ".join(split_words(document.metadata.get("title", "")))
    return bool(words) and any(f" {' '.join(words)} " in f" {text} " for text in (opening, title))


def is_abbreviation(short: str, squeezed: str) -> bool:
    """Whether a capitalised word such as `AMEX` or `JnJ` abbreviates a name given in lower case without spaces."""
    if not _may_abbreviate(short):
        return False
    letters = "".join(char for char in short if char.isalpha())
    wanted = letters.casefold()
    if len(wanted) >= len(squeezed) or squeezed[:1] != wanted[0]:
        return False
    rest = iter(squeezed)
    return all(char in rest for char in wanted)


def _may_abbreviate(short: str) -> bool:
    letters = "".join(char for char in short if char.isalpha())
    return 3 <= len(letters) <= 6 and sum(char.isupper() for char in letters) >= 2 and " " not in short


def name_words(document: IndexedDocument) -> list[str]:
    """The words of a document's name: its id without suffix, numbers and years."""
    stem = _SUFFIX.sub("", document.doc_id)
    return [
        word
        for word in split_words(re.sub(r"[_/\-.]+", " ", stem))
        if len(word) > 1 and not word.isdigit() and not _YEAR.search(word)
    ]


def _score_text(
    index: SearchIndex, documents: Mapping[str, IndexedDocument], wanted: Sequence[str]
) -> dict[str, float]:
    if len(index.documents) == 1:  # whatever its passages score, it is the best by them
        return dict.fromkeys(documents, float(index.has_any(wanted)))
    owners = sorted((doc.passage_rows[0], key) for key, doc in index.documents.items())
    starts = [start for start, _ in owners]
    votes = []
    for row, score in index.best_passages(wanted, PASSAGES_READ):
        key = owners[max(bisect_right(starts, row) - 1, 0)][1]
        if key in documents:
            votes.append((key, max(score, 0.0) ** VOTE_POWER))
    return score_documents(votes)


def _is_of(document: IndexedDocument, wanted: int | str) -> bool:
    """Whether a document's own name or front matter says that it is of a year or version."""
    if isinstance(wanted, int):
        return str(wanted) in _YEAR.findall(document.doc_id) or wanted in stated_years(document.metadata)
    return wanted in document_versions(document)


def _notices(question: Question, ranked: Sequence[RankedDocument]) -> tuple[str, ...]:
    """A sentence for every year or version that is asked for and that no document of the name has."""
    if not ranked or not ranked[0].name:
        return ()
    named = [found.document for found in ranked if found.name == ranked[0].name]
    notices = []
    years = sorted({year for document in named for year in document_years(document)})
    asked_years = question.years if question.compares else sorted(question.years)[-1:]
    if years and (question.compares or not set(years) & set(question.years)):
        for asked in sorted(set(asked_years) - set(years)):
            nearest = min(years, key=lambda year: (abs(year - asked), -year))
            notices.append(f"No document of that name is for {asked}; the nearest year there is {nearest}.")
    versions = sorted({version for document in named for version in document_versions(document)}, key=_version_key)
    for wanted in question.versions:
        if versions and wanted not in versions:
            older = [version for version in versions if _version_key(version) < _version_key(wanted)]
            near = older[-1] if older else versions[0]
            notices.append(f"No document of that name is version {wanted}; the nearest there is {near}.")
    return tuple(notices)


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
