"""Whether the evidence is enough to answer from: evidence and names in, a number from 0 to 1 with its reasons out.

No model. Calibrated on questions asked of documents that answer them and of documents about something else.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pageindex_local.query.analyse import Question
from pageindex_local.query.documents import match_names, name_words, names_document
from pageindex_local.query.evidence import HEAD_WEIGHT, TITLE_WEIGHT, Evidence
from pageindex_local.query.search_index import SearchIndex
from pageindex_local.query.words import split_words

ENOUGH = 0.5  # the value of evidence that is just what a question of its length needs
_NEEDED = 0.8  # of a question's words on one page, less 0.13 times the logarithm of one more than their number
_NEEDED_LESS = 0.13
_NEEDED_BOUNDS = (0.4, 0.6)  # three words of five are enough, and two of three
STRANGER_FACTOR = 0.2  # what is left where the question is about something that the searched documents are not
_TITLE_WORDS = 4  # of fewer words, all with capitals, some may well be a name
_OTHERS_NAME = 0.5  # a name match above this makes a document the one that is asked about


@dataclass(frozen=True, slots=True)
class Confidence:
    """How far the documents speak of what is asked, 0 to 1; `ENOUGH` is just enough.

    `unknown` are names of the question that the best document never mentions; `elsewhere` the documents of the release
    that the question names while none of those searched is named.
    """

    value: float
    coverage: float
    unknown: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()


def measure_confidence(index: SearchIndex, question: Question, found: Sequence[Evidence]) -> Confidence:
    """The share of the question that the best page holds, against the share that a question of its length needs.

    Three words can stand on one page by chance or not at all; of twenty words in a whole sentence half is much. It is
    cut down where the question is about a stranger.

    A stranger is another document of the release that the question names, or a name that no page mentions. Unknown
    names are forgiven where the question also names the document itself: then they are words the asker brought along.
    """
    names = () if _is_capitalised_throughout(question.text) else question.names
    named = {
        evidence.document.doc_key
        for evidence in found
        if any(names_document(name, evidence.document) for name in names)
    }
    searched = {evidence.document.doc_key for evidence in found}
    matches = match_names(question, index.documents)
    named |= {key for key in searched if matches[key] >= _OTHERS_NAME}
    others = [key for key, match in matches.items() if match >= _OTHERS_NAME and key not in searched]
    elsewhere = tuple(sorted(index.documents[key].doc_id for key in others)) if not named else ()
    best = Confidence(0.0, 0.0, names, elsewhere)
    for evidence in found:
        if not evidence.pages:
            continue
        missing = tuple(name for name in names if not _is_known(index, evidence, name))
        own = evidence.document.doc_key in named
        value = weigh_share(evidence.best_share, len(question.words)) * (
            STRANGER_FACTOR if elsewhere or (missing and not own) else 1.0
        )
        if value > best.value:
            coverage = round(evidence.coverage, 4)
            best = Confidence(round(value, 4), coverage, () if own else missing, elsewhere)
    return best


def weigh_share(share: float, words: int) -> float:
    """A share of a question's words as evidence: `ENOUGH` at what a question of that length needs, 1 at all of them.

    Linear below and above.
    """
    needed = needed_share(words)
    if share < needed:
        return ENOUGH * share / needed
    return ENOUGH + (1 - ENOUGH) * (min(share, 1.0) - needed) / (1 - needed)


def needed_share(words: int) -> float:
    """The share of a question's words that one page must hold to speak of it, by the number of the words.

    Chosen on questions asked of documents that hold their answer and of others (tests.benchmarks.abstention, and
    analysts' questions about filings): share and length together part them best, the rarity of the words adds nothing.
    A stricter line catches more strangers, but people ask in other words than documents use.
    """
    lowest, highest = _NEEDED_BOUNDS
    return min(highest, max(lowest, _NEEDED - _NEEDED_LESS * math.log1p(words)))


def _is_capitalised_throughout(text: str) -> bool:
    """Whether a question is written like a title or all in capitals, so that capitals do not mean names."""
    initials = [word[0] for word in text.split() if word[0].isalpha()]
    return len(initials) >= _TITLE_WORDS and sum(letter.isupper() for letter in initials) > 0.75 * len(initials)


def _is_known(index: SearchIndex, evidence: Evidence, name: str) -> bool:
    """Whether a document mentions a name: its words one after another, or each of them in the document's own name."""
    own = name_words(evidence.document)
    words = [word for word in split_words(name) if not word.isdigit()]
    if not words or all(word in own for word in words) or "".join(words) in own:
        return True
    weights = (TITLE_WEIGHT, HEAD_WEIGHT, 1.0)
    return bool(index.page_hits(" ".join(words), evidence.document.page_rows, weights).rows)
