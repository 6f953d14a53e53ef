"""Full-text evidence for a question in one document: question and search index in, scored pages and leaves out.

No model. Scores are relative to the best page of the document (1.0), so that they can be fused with other judgements;
`coverage` is absolute and says how much of the question the document speaks of at all.
"""

import math
from dataclasses import dataclass

from pageindex_local.query.analyse import Question
from pageindex_local.query.fulltext import IndexedDocument, PageRow, SearchIndex
from pageindex_local.query.words import split_words

TITLE_WEIGHT = 2.0  # a word in a section title on the page counts as two
HEAD_WEIGHT = 1.0
PAIR_WEIGHT = 0.15  # neighbouring words of the question that stand together on a page
PASSAGE_PAIR_WEIGHT = 0.6  # the same in a passage, where it means more
PHRASE_WEIGHT = 2.0  # what the asker put in quotation marks
NUMBER_WEIGHT = 3.0  # a section number that was asked for, in a title
NOTED_TITLE_WEIGHT = 3.0  # a title or section number that a note of the asker names
FIGURES_WEIGHT = 1.2  # for questions about quantities: share of words that are numbers
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
    weight that the best single page holds.
    """

    document: IndexedDocument
    pages: tuple[ScoredPage, ...]
    leaves: dict[str, float]
    matched: dict[str, float]
    coverage: float
    best_share: float


def gather_evidence(index: SearchIndex, document: IndexedDocument, question: Question) -> Evidence:
    """Score the pages and leaves of a document for a question. One index query a word; cost grows with the hits."""
    page_scores, matched, shares = _score_rows(index, document, question, passages=False)
    passage_scores, _, _ = _score_rows(index, document, question, passages=True)
    rows = index.pages(document) if page_scores else {}
    best = max(page_scores.values(), default=0.0) or 1.0
    pages = sorted(
        (_score_page(rows[row], score / best, question) for row, score in page_scores.items() if row in rows),
        key=lambda page: (-page.score, page.page_number),
    )
    leaves: dict[str, float] = {}
    best_passage = max(passage_scores.values(), default=0.0) or 1.0
    places = index.passages(document) if passage_scores else {}
    for row, score in passage_scores.items():
        node_id = places[row][0]
        leaves[node_id] = max(score / best_passage, leaves.get(node_id, 0.0))
    total = sum(word.weight for word in question.words) or 1.0
    return Evidence(
        document=document,
        pages=tuple(pages),
        leaves=leaves,
        matched=matched,
        coverage=sum(word.weight for word in question.words if matched.get(word.word)) / total,
        best_share=max(shares.values(), default=0.0) / total,
    )


def _score_page(row: PageRow, words: float, question: Question) -> ScoredPage:
    prior = MENTIONS_WEIGHT * math.log1p(row.mentions)
    if question.asks_figures:
        prior += FIGURES_WEIGHT * row.figures
    return ScoredPage(row.page_number, words + prior, words, row.figures, row.mentions, row.content_hash)


def _score_rows(
    index: SearchIndex, document: IndexedDocument, question: Question, *, passages: bool
) -> tuple[dict[int, float], dict[str, float], dict[int, float]]:
    """BM25 with idf taken inside the document; also idf by word, and the weight of words present by row."""
    scores: dict[int, float] = {}
    matched: dict[str, float] = {}
    shares: dict[int, float] = {}
    rows = document.passage_rows if passages else document.page_rows
    hits_of = index.passage_hits if passages else index.page_hits
    weights = (TITLE_WEIGHT, 1.0) if passages else (TITLE_WEIGHT, HEAD_WEIGHT, 1.0)
    wanted = [(word.word, word.weight, False) for word in question.words]
    pair_weight = PASSAGE_PAIR_WEIGHT if passages else PAIR_WEIGHT
    wanted += [(" ".join(pair), pair_weight, False) for pair in question.pairs]
    wanted += [(phrase, PHRASE_WEIGHT, False) for phrase in question.prepared_phrases]
    wanted += [(" ".join(split_words(number)), NUMBER_WEIGHT, True) for number in question.section_numbers]
    wanted += [(word.word, word.weight, False) for word in question.added]
    wanted += [(" ".join(split_words(title)), NOTED_TITLE_WEIGHT, True) for title in question.titles]
    for place, (text, weight, titles_only) in enumerate(wanted):
        is_asked = place < len(question.words)  # and not a phrase of one word that is among them
        hits = hits_of(text, rows, weights, titles_only=titles_only)
        if is_asked:
            matched[text] = hits.idf
        for row, frequency in hits.rows.items():
            scores[row] = scores.get(row, 0.0) + weight * hits.idf * frequency
            if is_asked:
                shares[row] = shares.get(row, 0.0) + weight
    return scores, matched, shares
