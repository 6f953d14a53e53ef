"""Full-text evidence for a question in one document: question and search index in, scored pages and leaves out.

No model. Scores are relative to the best page of the document (1.0), so that they can be fused with other judgements;
`coverage` is absolute and says how much of the question the document speaks of at all.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pageindex_local.query.analyse import Question
from pageindex_local.query.search_index import (
    LARGEST_FREQUENCY,
    IndexedDocument,
    PageRow,
    SearchIndex,
    TermHits,
    rarity,
)
from pageindex_local.query.words import split_words

TITLE_WEIGHT = 2.0  # a word in a section title on the page counts as two
HEAD_WEIGHT = 1.0
PAIR_WEIGHT = 0.15  # neighbouring words of the question that stand together on a page
PASSAGE_PAIR_WEIGHT = 0.6  # the same in a passage, where it means more
PHRASE_WEIGHT = 2.0  # what the asker put in quotation marks
NUMBER_WEIGHT = 3.0  # a section number that was asked for, in a title
NOTED_TITLE_WEIGHT = 3.0  # a title or section number that a note of the asker names
FIGURES_WEIGHT = 1.2  # for questions about quantities: share of words that are numbers
COMMON_PASSAGES = 2_000  # a word in more passages of a document may be left to those that hold a rarer one
NEGLIGIBLE = 0.2  # of the best passage: what those without a rarer word may miss at most by that
MENTIONS_WEIGHT = 0.08  # for each doubling or so of the pages that name a title of this page


@dataclass(frozen=True, slots=True)
class ScoredPage:
    """One page and its evidence. `score` holds the priors, `words` is the part that comes from the question's words."""

    page_number: int
    score: float
    words: float
    figures: float
    mentions: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence in one document.

    `pages` best first, only pages with a word of the question. `leaves` holds a score (0 to 1) for each leaf that has
    one, `matched` the idf of each question word found (0 where it is absent), `best_share` the share of the question's
    weight that the best single page holds; `coverage` and it leave out what is no evidence.
    """

    document: IndexedDocument
    pages: tuple[ScoredPage, ...]
    leaves: dict[str, float]
    matched: dict[str, float]
    coverage: float
    best_share: float


def gather_evidence(index: SearchIndex, document: IndexedDocument, question: Question) -> Evidence:
    """Score the pages and leaves of a document for a question.

    One index query a word and table; cost grows with the hits. Words that stand in very many passages and that say
    little beside the others are looked up only in passages with a rarer word (see `_common_terms`).
    """
    page_scores, matched, shares = _score_rows(index, document, question, passages=False)
    passage_scores, _, _ = _score_rows(index, document, question, passages=True)
    rows = index.pages(document, page_scores) if page_scores else {}
    best = max(page_scores.values(), default=0.0) or 1.0
    pages = sorted(
        (_score_page(rows[row], score / best, question) for row, score in page_scores.items() if row in rows),
        key=lambda page: (-page.score, page.page_number),
    )
    leaves: dict[str, float] = {}
    best_passage = max(passage_scores.values(), default=0.0) or 1.0
    places = index.passages(document, passage_scores) if passage_scores else {}
    for row, score in passage_scores.items():
        node_id = places[row][0]
        leaves[node_id] = max(score / best_passage, leaves.get(node_id, 0.0))
    total = sum(word.weight for word in question.words) or 1.0
    return Evidence(
        document=document,
        pages=tuple(pages),
        leaves=leaves,
        matched=matched,
        coverage=sum(word.weight for word in question.words if matched.get(word.word) and word.is_evidence) / total,
        best_share=max(shares.values(), default=0.0) / total,
    )


def _score_page(row: PageRow, words: float, question: Question) -> ScoredPage:
    prior = MENTIONS_WEIGHT * math.log1p(row.mentions)
    if question.asks_figures:
        prior += FIGURES_WEIGHT * row.figures
    return ScoredPage(row.page_number, words + prior, words, row.figures, row.mentions, row.content_hash)


@dataclass(frozen=True, slots=True)
class _Term:
    """A word or phrase to look for. `is_asked` are the question's words, each once; `is_evidence` as there."""

    text: str
    weight: float
    titles_only: bool = False
    is_asked: bool = False
    is_evidence: bool = True


def _terms(question: Question, pair_weight: float) -> list[_Term]:
    terms = [_Term(word.word, word.weight, is_asked=True, is_evidence=word.is_evidence) for word in question.words]
    terms += [_Term(" ".join(pair), pair_weight) for pair in question.pairs]
    terms += [_Term(phrase, PHRASE_WEIGHT) for phrase in question.prepared_phrases]
    terms += [_Term(" ".join(split_words(number)), NUMBER_WEIGHT, True) for number in question.section_numbers]
    terms += [_Term(word.word, word.weight) for word in question.added]
    terms += [_Term(" ".join(split_words(title)), NOTED_TITLE_WEIGHT, True) for title in question.titles]
    return terms


def _score_rows(
    index: SearchIndex, document: IndexedDocument, question: Question, *, passages: bool
) -> tuple[dict[int, float], dict[str, float], dict[int, float]]:
    """BM25 with idf taken inside the document; also idf by word, and the weight of words present by row."""
    scores: dict[int, float] = {}
    matched: dict[str, float] = {}
    shares: dict[int, float] = {}
    rows = document.passage_rows if passages else document.page_rows
    weights = (TITLE_WEIGHT, 1.0) if passages else (TITLE_WEIGHT, HEAD_WEIGHT, 1.0)

    def add(term: _Term, hits: TermHits) -> None:
        if term.is_asked:
            matched[term.text] = hits.idf
        for row, frequency in hits.rows.items():
            scores[row] = scores.get(row, 0.0) + term.weight * hits.idf * frequency
            if term.is_asked and term.is_evidence:
                shares[row] = shares.get(row, 0.0) + term.weight

    terms = _terms(question, PASSAGE_PAIR_WEIGHT if passages else PAIR_WEIGHT)
    common = _common_terms(index, terms, rows) if passages else {}
    rare = [term for term in terms if term not in common]
    for term in rare:
        hits_of = index.passage_hits if passages else index.page_hits
        add(term, hits_of(term.text, rows, weights, titles_only=term.titles_only))
    left = NEGLIGIBLE * max(scores.values(), default=0.0)
    for term, worth in common.items():
        left -= worth
        among = [(other.text, other.titles_only) for other in rare] if left >= 0 else []
        add(term, index.passage_hits(term.text, rows, weights, titles_only=term.titles_only, among=among))
    return scores, matched, shares


def _common_terms(index: SearchIndex, terms: Sequence[_Term], rows: tuple[int, int]) -> dict[_Term, float]:
    """Those in more passages than are worth reading, with the most that each can add to a passage, least first.

    In documents of ordinary length there are none. A passage without any rarer term may go without evidence as long as
    all that it can miss is next to nothing beside the best passage; one with a rarer term never misses anything.
    """
    if rows[1] - rows[0] < COMMON_PASSAGES:
        return {}
    worths = {}
    for term in terms:
        count = index.count_passages(term.text, rows, titles_only=term.titles_only)
        if count > COMMON_PASSAGES:
            worths[term] = term.weight * rarity(count, rows) * LARGEST_FREQUENCY
    return dict(sorted(worths.items(), key=lambda found: found[1]))
