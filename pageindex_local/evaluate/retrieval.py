"""How good retrieval is: ranked pages compared with pages known to hold the evidence. Numbers out; searches nothing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pageindex_local.errors import SettingsError

CUTOFFS = (1, 3, 5, 10, 20)


class EvidenceQuestion(BaseModel):
    """One question with the pages that answer it: physical page numbers, from 1, of the document `doc_name`.

    `doc_name` is a `doc_id` or one without its suffix. Other keys of a question file are ignored.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    question_id: str
    question: str = Field(min_length=1)
    doc_name: str
    evidence_pages: tuple[int, ...] = Field(min_length=1)
    answer: str | int | float | None = None


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


def read_questions(path: Path) -> list[EvidenceQuestion]:
    """The questions of a JSON Lines file.

    Raises:
        SettingsError: the file cannot be read, or a line is no question; names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot be read ({error})", subject=str(path)) from None
    questions = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            questions.append(EvidenceQuestion.model_validate(json.loads(line)))
        except (json.JSONDecodeError, ValidationError) as error:
            reason = str(error).splitlines()[0]
            raise SettingsError(f"line {number} is no question ({reason})", subject=str(path)) from None
    return questions


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
        reciprocal += next((1 / rank for rank, page in enumerate(pages, 1) if page in gold), 0.0)
    return RetrievalScore(
        questions=len(questions),
        recall={cutoff: hits / count for cutoff, hits in recall.items()},
        all={cutoff: hits / count for cutoff, hits in complete.items()},
        mrr=reciprocal / count,
    )


def score_abstention(answerable: Sequence[bool], unanswerable: Sequence[bool]) -> AbstentionScore:
    """Counts from one flag a question: whether it was refused."""
    return AbstentionScore(len(answerable), sum(answerable), len(unanswerable), sum(unanswerable))
