"""What an evaluation comes back with: pydantic records whose JSON is the stable output of `evaluate`."""

from pydantic import BaseModel, ConfigDict


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Outcome(_Record):
    """One question. `ranking` are page numbers of the expected document; a page of another one keeps its rank as 0.

    `answered_right` is None where nothing was expected or no answer was asked for.
    """

    question_id: str
    answerable: bool
    ranking: tuple[int, ...]
    evidence_pages: tuple[int, ...]
    document_first: bool | None
    abstained: bool
    evidence: float
    answered_right: bool | None = None
    citations: int = 0
    citation_faults: tuple[str, ...] = ()
    model_calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


class Figures(_Record):
    """Figures over all questions by name; None where a question file says nothing about it.

    Shares from 0 to 1: `recall@k` (an evidence page among the first k), `all@k` (every one), `mrr`, `document_first`,
    `citations` (that hold), `answers` (that match), `refused` (answerable ones called unanswerable), `caught`
    (unanswerable ones called so). Medians a question: `calls`, `input_tokens`, `output_tokens`, `seconds`.
    """

    questions: int
    with_evidence: int
    unanswerable: int
    citations_printed: int
    values: dict[str, float | None]


class Run(_Record):
    """One side: what was asked, and every outcome. `warnings` are sentences about questions that cannot be measured."""

    name: str
    release: str
    model: str
    figures: Figures
    outcomes: tuple[Outcome, ...]
    warnings: tuple[str, ...] = ()


class Pair(_Record):
    """One question on which two runs differ: the rank of its first evidence page in each, 0 where none was found."""

    question_id: str
    rank_a: int
    rank_b: int


class Comparison(_Record):
    """Two runs over the same questions, by the rank of the first evidence page.

    `chance` is how often an even coin would part the questions at least so unevenly (two-sided sign test).
    """

    won_by_b: tuple[Pair, ...]
    lost_by_b: tuple[Pair, ...]
    equal: int
    chance: float


class Evaluation(_Record):
    """The whole result. `missed` are the thresholds that the last run stays behind, as sentences."""

    questions_file: str
    runs: tuple[Run, ...]
    comparison: Comparison | None = None
    missed: tuple[str, ...] = ()
