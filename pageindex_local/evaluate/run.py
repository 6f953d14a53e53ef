"""Questions asked of an index, and what came back measured. The index is only read, one release for all questions."""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pageindex_local.errors import EngineUnavailableError, SettingsError
from pageindex_local.evaluate.answers import matches_answer
from pageindex_local.evaluate.citations import CitationChecker, PrintedCitation
from pageindex_local.evaluate.questions import EvidenceQuestion
from pageindex_local.evaluate.records import Figures, Outcome, Run
from pageindex_local.evaluate.retrieval import CUTOFFS, score_abstention, score_rankings
from pageindex_local.llm.base import TextModel
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.query import Note, answer, retrieve
from pageindex_local.query.records import Answer, Retrieval
from pageindex_local.settings import QuerySettings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release
from pageindex_local.wording.plain import plural, unit_of_pages

if TYPE_CHECKING:
    from pageindex_local.query.vectors import VectorSearch

FIGURE_NAMES = (
    *(f"recall@{k}" for k in CUTOFFS),
    *(f"all@{k}" for k in CUTOFFS),
    "mrr", "document_first", "citations", "answers", "refused", "caught",
    "calls", "input_tokens", "output_tokens", "seconds",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: a release of a store, with settings, a model (None: full text alone) and the asker's notes.

    `vectors` is the embedder that the settings name, kept open; None opens it for each question.
    """

    name: str
    store: IndexStore
    release: Release
    settings: QuerySettings
    model: TextModel | None = None
    notes: Sequence[Note] = ()
    vectors: "VectorSearch | None" = None


def run_questions(
    questions: Sequence[EvidenceQuestion],
    subject: Subject,
    *,
    in_document: bool = False,
    with_answers: bool = False,
    progress: Progress = NO_PROGRESS,
) -> Run:
    """Ask every question once and measure what comes back.

    Args:
        questions: with what is known of their answers.
        subject: what to ask.
        in_document: search each question only in the document it names; else in the whole release.
        with_answers: also write answers, check their citations and compare them with the expected ones.
        progress: told about every question.

    Raises:
        SettingsError: a question names a document that the release does not have.
        PageindexError: as `retrieve` and `answer`.
    """
    doc_ids = match_documents(questions, subject.release)
    ask = answer if with_answers else retrieve
    checker = CitationChecker(subject.store.layout.folder, subject.release.name, subject.store.files.read_bytes)
    outcomes = []
    progress.start(f"asking {subject.name}", len(questions))
    for question in questions:
        doc_id = doc_ids.get(question.question_id)
        started = time.perf_counter()
        result = ask(
            question.question,
            subject.store,
            release=subject.release,
            doc_ids=[doc_id] if in_document and doc_id else None,
            model=subject.model,
            settings=subject.settings,
            max_pages=max(CUTOFFS),
            notes=subject.notes,
            vectors=subject.vectors,
        )
        outcomes.append(measure_result(question, result, doc_id, checker, time.perf_counter() - started))
        progress.advance()
    progress.finish()
    return Run(
        name=subject.name,
        release=subject.release.name,
        model=_model_name(subject.model),
        figures=total_figures(outcomes),
        outcomes=tuple(outcomes),
        warnings=find_missing_pages(questions, subject.release, doc_ids),
    )


def find_missing_pages(
    questions: Sequence[EvidenceQuestion], release: Release, doc_ids: Mapping[str, str]
) -> tuple[str, ...]:
    """One sentence for each question whose evidence lies beyond the end of its document: it can never be found."""
    warnings = []
    for question in questions:
        found = release.find(doc_ids.get(question.question_id, ""))
        missing = [] if found is None else [page for page in question.evidence_pages if page > found[1].pages]
        if found is not None and missing:
            unit = unit_of_pages(found[1].media_type)
            pages = plural(len(missing), f"evidence {unit}")
            warnings.append(
                f"question {question.question_id}: {pages} beyond the end ({', '.join(map(str, missing))}); "
                f"{found[1].doc_id} has {plural(found[1].pages, unit)} in release {release.name}"
            )
    return tuple(warnings)


def match_documents(questions: Sequence[EvidenceQuestion], release: Release) -> dict[str, str]:
    """Question id -> `doc_id`: by the id itself, its name without folder, or without suffix.

    Raises:
        SettingsError: no document of that name, or several.
    """
    names: dict[str, set[str]] = {}
    for entry in release.documents.values():
        path = PurePosixPath(entry.doc_id)
        for name in (entry.doc_id, path.name, path.stem, str(path.with_suffix(""))):
            names.setdefault(name, set()).add(entry.doc_id)
    chosen = {}
    for question in questions:
        if not question.doc_name:
            continue
        found = {question.doc_name} & names.keys() and names[question.doc_name]
        if not found or len(found) > 1:
            problem = f"names {question.doc_name}, which is " + ("several documents" if found else "no document")
            raise SettingsError(
                f"{problem} of release {release.name}",
                subject=f"question {question.question_id}",
                next_step="Give doc_name as `status` lists it.",
            )
        chosen[question.question_id] = next(iter(found))
    return chosen


def measure_result(
    question: EvidenceQuestion, result: Retrieval, doc_id: str | None, checker: CitationChecker, seconds: float
) -> Outcome:
    """What one result is worth."""
    faults = []
    for citation in result.citations:
        fault = checker.find_fault(PrintedCitation(**citation.model_dump()))
        if fault is not None:
            faults.append(f"{citation.doc_id}, page {citation.first_page}: {fault}")
    is_right = None
    if isinstance(result, Answer) and question.answerable and question.answer is not None:
        is_right = not result.abstained and matches_answer(question.answer, result.answer)
    return Outcome(
        question_id=question.question_id,
        answerable=question.answerable,
        ranking=tuple(page.page_number if page.doc_id == doc_id else 0 for page in result.pages),
        evidence_pages=question.evidence_pages if question.answerable else (),
        document_first=bool(result.pages) and result.pages[0].doc_id == doc_id if doc_id else None,
        abstained=result.abstained,
        evidence=result.evidence,
        answered_right=is_right,
        citations=len(result.citations),
        citation_faults=tuple(faults),
        model_calls=result.cost.model_calls,
        cached_calls=result.cost.cached_calls,
        input_tokens=result.cost.input_tokens,
        output_tokens=result.cost.output_tokens,
        seconds=round(seconds, 4),
    )


def total_figures(outcomes: Sequence[Outcome]) -> Figures:
    """The figures over all outcomes (see `Figures`)."""
    located = [outcome for outcome in outcomes if outcome.evidence_pages]
    values: dict[str, float | None] = dict.fromkeys(FIGURE_NAMES)
    if located:
        score = score_rankings(
            [_as_question(outcome) for outcome in located],
            {outcome.question_id: _ranks(outcome) for outcome in located},
        )
        values |= {f"recall@{k}": share for k, share in score.recall.items()}
        values |= {f"all@{k}": share for k, share in score.all.items()}
        values["mrr"] = score.mrr
    answerable = [outcome for outcome in outcomes if outcome.answerable]
    strangers = [outcome for outcome in outcomes if not outcome.answerable]
    abstention = score_abstention([o.abstained for o in answerable], [o.abstained for o in strangers])
    values["refused"] = abstention.refused_share if answerable else None
    values["caught"] = abstention.caught_share if strangers else None
    values["document_first"] = _share(o.document_first for o in answerable)
    values["answers"] = _share(o.answered_right for o in answerable)
    printed = sum(outcome.citations for outcome in outcomes)
    if printed:
        values["citations"] = 1 - sum(len(outcome.citation_faults) for outcome in outcomes) / printed
    medians: Mapping[str, Callable[[Outcome], float]] = {
        "calls": lambda outcome: outcome.model_calls + outcome.cached_calls,
        "input_tokens": lambda outcome: outcome.input_tokens,
        "output_tokens": lambda outcome: outcome.output_tokens,
        "seconds": lambda outcome: outcome.seconds,
    }
    values |= {name: float(statistics.median(map(read, outcomes))) for name, read in medians.items() if outcomes}
    return Figures(
        questions=len(outcomes),
        with_evidence=len(located),
        unanswerable=len(strangers),
        citations_printed=printed,
        values={name: None if value is None else round(value, 6) for name, value in values.items()},
    )


def _model_name(model: TextModel | None) -> str:
    try:
        return "" if model is None else model.describe().name
    except EngineUnavailableError:  # questions are then searched by full text
        return ""


def _as_question(outcome: Outcome) -> EvidenceQuestion:
    return EvidenceQuestion(
        question_id=outcome.question_id, question="?", doc_name="?", evidence_pages=outcome.evidence_pages
    )


def _ranks(outcome: Outcome) -> list[int]:
    """The ranking with pages of other documents told apart, so that each keeps its rank."""
    return [page or -rank for rank, page in enumerate(outcome.ranking, 1)]


def _share(flags: Iterable[bool | None]) -> float | None:
    known = [flag for flag in flags if flag is not None]
    return sum(known) / len(known) if known else None
