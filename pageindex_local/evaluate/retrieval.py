"""How good retrieval is: ranked pages compared with pages known to hold the evidence. Numbers out; searches nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pageindex_local.evaluate.questions import EvidenceQuestion, read_questions

__all__ = [
    "CUTOFFS",
    "AbstentionScore",
    "EvidenceQuestion",
    "RetrievalScore",
    "read_questions",
    "reciprocal_rank",
    "score_abstention",
    "score_rankings",
]

CUTOFFS = (1, 3, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class RetrievalScore:
    """Shares from 0 to 1 over all questions.

    `recall[k]`: at least one evidence page among the first k; `all[k]`: every one of them; `mrr`: mean of 1 over the
    rank of the first evidence page, 0 where it was not found.
    """

    questions: int
    recall: dict[int, float]
    all: dict[int, float]
    mrr: float


@dataclass(frozen=True, slots=True)
class AbstentionScore:
    """How often weak evidence was called weak, on questions that can be answered and on questions that cannot."""

    answerable: int
    refused: int
    unanswerable: int
    caught: int

    @property
    def refused_share(self) -> float:
        """Share of the answerable questions that were refused (lower is better)."""
        return self.refused / self.answerable if self.answerable else 0.0

    @property
    def caught_share(self) -> float:
        """Share of the unanswerable questions that were refused (higher is better)."""
        return self.caught / self.unanswerable if self.unanswerable else 0.0


def score_rankings(
    questions: Sequence[EvidenceQuestion], rankings: Mapping[str, Sequence[int]], cutoffs: Iterable[int] = CUTOFFS
) -> RetrievalScore:
    """Scores of ranked pages by question id. Repeats in a ranking count once; a missing ranking is a miss."""
    cutoffs = tuple(cutoffs)
    count = len(questions) or 1
    recall = dict.fromkeys(cutoffs, 0)
    complete = dict.fromkeys(cutoffs, 0)
    reciprocal = 0.0
    for question in questions:
        gold = set(question.evidence_pages)
        pages = list(dict.fromkeys(rankings.get(question.question_id, ())))
        for cutoff in cutoffs:
            first = set(pages[:cutoff])
            recall[cutoff] += bool(gold & first)
            complete[cutoff] += gold <= first
        reciprocal += reciprocal_rank(question.evidence_pages, pages)
    return RetrievalScore(
        questions=len(questions),
        recall={cutoff: hits / count for cutoff, hits in recall.items()},
        all={cutoff: hits / count for cutoff, hits in complete.items()},
        mrr=reciprocal / count,
    )


def reciprocal_rank(gold: Iterable[int], ranking: Iterable[int]) -> float:
    """1 over the rank of the first evidence page, 0 where none is ranked. Repeats in the ranking count once."""
    known = set(gold)
    return next((1 / rank for rank, page in enumerate(dict.fromkeys(ranking), 1) if page in known), 0.0)


def score_abstention(answerable: Sequence[bool], unanswerable: Sequence[bool]) -> AbstentionScore:
    """Counts from one flag a question: whether it was refused."""
    return AbstentionScore(len(answerable), sum(answerable), len(unanswerable), sum(unanswerable))
