"""Whether the evidence is enough to answer from: evidence and names in, a number from 0 to 1 with its reasons out.

No model. Calibrated on questions asked of documents that answer them and of documents about something else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pageindex_local.query.analyse import Question
from pageindex_local.query.documents import name_words, names_document
from pageindex_local.query.evidence import HEAD_WEIGHT, TITLE_WEIGHT, Evidence
from pageindex_local.query.fulltext import SearchIndex
from pageindex_local.query.words import split_words

STRANGER_FACTOR = 0.2  # the question names something that the documents never mention and that they are not about


@dataclass(frozen=True, slots=True)
class Confidence:
    """How far the documents speak of what is asked. `unknown` are names of the question that none of them holds."""

    value: float
    coverage: float
    unknown: tuple[str, ...]


def measure_confidence(index: SearchIndex, question: Question, found: Sequence[Evidence]) -> Confidence:
    """The share of the question that the best page holds, cut down where the question is about a stranger.

    A name counts as known where all its words occur in one document. Unknown names are forgiven where the question also
    names the document itself: then they are its own abbreviations, or words the asker brought along.
    """
    best, coverage, unknown = 0.0, 0.0, tuple(question.names)
    for evidence in found:
        if not evidence.pages:
            continue
        missing = tuple(name for name in question.names if not _is_known(index, evidence, name))
        named = any(names_document(name, evidence.document) for name in question.names)
        value = evidence.best_share * (STRANGER_FACTOR if missing and not named else 1.0)
        if value > best:
            best, coverage, unknown = value, evidence.coverage, () if named else missing
    return Confidence(round(best, 4), round(coverage, 4), unknown)


def _is_known(index: SearchIndex, evidence: Evidence, name: str) -> bool:
    own = name_words(evidence.document)
    for word in split_words(name):
        if word.isdigit() or word in own:
            continue
        idf = evidence.matched.get(word)
        if idf is None:
            weights = (TITLE_WEIGHT, HEAD_WEIGHT, 1.0)
            idf = index.page_hits(word, evidence.document.page_rows, weights).idf
        if not idf:
            return False
    return True
