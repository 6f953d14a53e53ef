"""Question files: JSON Lines in, checked questions out. Reads one file, nothing else."""

import json
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pageindex_local.errors import SettingsError, reading_problem
from pageindex_local.query.words import split_words

_FORM = "Give a JSON Lines file, one question a line; docs/answers.md describes it."


class EvidenceQuestion(BaseModel):
    """One question and what is known about its answer.

    `doc_name` is a `doc_id` or one without its folder or suffix; `evidence_pages` are physical page numbers from 1 of
    that document (blocks, where a document has no pages). `answerable: false` marks a question that the documents do
    not answer. Other keys are ignored: question sets carry many.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    question_id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    doc_name: str = ""
    evidence_pages: tuple[int, ...] = ()
    answer: str | int | float | None = None
    answerable: bool = True

    @model_validator(mode="after")
    def _says_what_is_expected(self) -> Self:
        if any(page < 1 for page in self.evidence_pages):
            raise ValueError("evidence_pages count from 1")
        if self.answerable and not self.evidence_pages and self.answer is None:
            raise ValueError("neither evidence_pages nor answer nor answerable: false")
        if self.evidence_pages and not self.doc_name:
            raise ValueError("evidence_pages without doc_name")
        return self


def read_questions(path: Path) -> list[EvidenceQuestion]:
    """The questions of a JSON Lines file, blank lines skipped.

    Raises:
        SettingsError: the file cannot be read or holds no question, a line is none, or an id comes twice; names the
            line and the key.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # JSON may hold other line separators
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(reading_problem(error), subject=str(path), next_step=_FORM) from None
    questions: dict[str, EvidenceQuestion] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            question = EvidenceQuestion.model_validate(json.loads(line))
        except ValidationError as error:
            raise SettingsError(
                f"line {number} is no question ({_first_problem(error)})",
                subject=str(path),
                next_step="A line needs question_id, question, and doc_name with evidence_pages, an answer, or "
                '"answerable": false.',
            ) from None
        except (ValueError, RecursionError) as error:
            problem = getattr(error, "msg", type(error).__name__)
            raise SettingsError(
                f"line {number} is no JSON object ({problem})", subject=str(path), next_step=_FORM
            ) from None
        if not split_words(question.question):
            raise SettingsError(f"line {number} is no question (question: it has no words)", subject=str(path))
        if question.question_id in questions:
            raise SettingsError(f"line {number} repeats the id {question.question_id}", subject=str(path))
        questions[question.question_id] = question
    if not questions:
        raise SettingsError("holds no question", subject=str(path), next_step=_FORM)
    return list(questions.values())


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    message = str(first["msg"]).removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
