"""Questions in, ranked pages, answers and checked citations out.

Importing this loads neither an engine nor a parser nor the table library; a query loads what its release needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pageindex_local.errors import EngineUnavailableError
from pageindex_local.llm.base import OnText, TextModel
from pageindex_local.query.analyse import analyse_question
from pageindex_local.query.answer import WrittenAnswer, write_answer
from pageindex_local.query.conversation import Turn, resolve_question, weigh_carried
from pageindex_local.query.find import find_pages
from pageindex_local.query.findings import Findings
from pageindex_local.query.notes import MatchedNotes, Note, apply_notes
from pageindex_local.query.records import Answer, Citation, Cost, DocumentHit, NodeHit, PageHit, Retrieval
from pageindex_local.query.trace import Trace
from pageindex_local.records import Usage
from pageindex_local.settings import QuerySettings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release

if TYPE_CHECKING:
    from pageindex_local.query.vectors import VectorSearch

__all__ = ["Answer", "Note", "Retrieval", "Trace", "Turn", "answer", "retrieve"]


def retrieve(
    question: str,
    store: IndexStore,
    *,
    release: Release | str | None = None,
    doc_ids: Sequence[str] | None = None,
    model: TextModel | None = None,
    settings: QuerySettings,
    max_pages: int | None = None,
    trace: Trace | None = None,
    history: Sequence[Turn] = (),
    notes: Sequence[Note] = (),
    vectors: "VectorSearch | None" = None,
) -> Retrieval:
    """The pages that answer a question, best first.

    Args:
        question: in plain words.
        store: the index; only read, except for a missing or damaged search file, which is rebuilt, and the lease that
            keeps gc away meanwhile.
        release: what to search; None is the live one. The whole query stays on it.
        doc_ids: only these documents; None or empty means all.
        model: judges sections by likelihood; None searches by full text and structure alone, and so does a model whose
            engine cannot be loaded, which the result then says.
        settings: budgets and weights.
        max_pages: how many pages at most; None takes the setting.
        trace: filled with every step.
        history: earlier turns, oldest first; a question that leans on them is completed from them.
        notes: rules of the asker; those that match steer the search.
        vectors: an embedder kept open between questions, used where the settings name one.

    Raises:
        QueryError: the question has no words.
        IndexNotFoundError: no such release or document, or an empty index.
        CorruptIndexError: a stored version cannot be read.
        ModelError: the model cannot be opened or fails.
    """
    trace = trace or Trace()
    usable, missing = _usable_model(model, trace)
    before = _usage(usable)
    asked = _find(
        question, store, release, doc_ids, usable, settings, max_pages, trace, history, notes, missing, vectors
    )
    findings = asked.findings
    return Retrieval(
        **_common(asked),
        abstained=not findings.candidates or findings.confidence.value < settings.abstain_below,
        cost=_cost(usable, before, trace),
    )


def answer(
    question: str,
    store: IndexStore,
    *,
    release: Release | str | None = None,
    doc_ids: Sequence[str] | None = None,
    model: TextModel | None = None,
    settings: QuerySettings,
    max_pages: int | None = None,
    trace: Trace | None = None,
    history: Sequence[Turn] = (),
    notes: Sequence[Note] = (),
    on_text: OnText | None = None,
    vectors: "VectorSearch | None" = None,
) -> Answer:
    """As `retrieve`, with an answer: short and cited, or `abstained` where the documents do not hold one.

    Every citation names a node and page of the pinned release, and its quote stands on that page. `on_text` hears a
    capable model's draft while it is written; only the answer returned is checked.

    Raises:
        QueryError: the question has no words.
        IndexNotFoundError: no such release or document, or an empty index.
        CorruptIndexError: a stored version cannot be read.
        ModelError: the model cannot be opened or fails while sections are judged.
    """
    trace = trace or Trace()
    usable, missing = _usable_model(model, trace)
    before = _usage(usable)
    asked = _find(
        question, store, release, doc_ids, usable, settings, max_pages, trace, history, notes, missing, vectors
    )
    written = write_answer(
        asked.findings, usable, settings, trace, history=history, notes=asked.matched.texts, on_text=on_text
    )
    return Answer(
        **_common(asked),
        answer=written.text,
        abstained=written.abstained,
        citations=_citations(asked.findings, written),
        answered_by=written.written_by,
        uncited=written.uncited,
        cost=_cost(usable, before, trace),
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked in the asker's words, with the notes that matched, and what was found."""

    question: str
    matched: MatchedNotes
    findings: Findings


def _find(
    question: str,
    store: IndexStore,
    release: Release | str | None,
    doc_ids: Sequence[str] | None,
    model: TextModel | None,
    settings: QuerySettings,
    max_pages: int | None,
    trace: Trace,
    history: Sequence[Turn],
    notes: Sequence[Note],
    missing: str,
    vectors: "VectorSearch | None",
) -> _Asked:
    resolved = resolve_question(question, history, model, trace)
    matched = apply_notes(weigh_carried(analyse_question(resolved), question, history), notes)
    if matched.notes:
        with trace.step("notes") as details:
            details["matched"] = [note.name for note in matched.notes]
            details["words added"] = [word.word for word in matched.question.added]
            details["titles to look at"] = list(matched.question.titles)
    findings = find_pages(
        matched.question,
        store,
        release=release,
        doc_ids=doc_ids,
        model=model,
        settings=settings,
        max_pages=max_pages or settings.max_pages,
        trace=trace,
        vectors=vectors,
    )
    findings.notices.extend(filter(None, [missing]))
    return _Asked(question, matched, findings)


def _usable_model(model: TextModel | None, trace: Trace) -> tuple[TextModel | None, str]:
    """The model, or None with a sentence about what is missing where its engine is not there."""
    if model is None:
        return None, ""
    try:
        model.describe()
    except EngineUnavailableError as error:
        trace.count("no engine")
        reason = error.problem.removesuffix(".")
        return None, f"Full text and structure alone were used: {reason}."
    return model, ""


def _common(asked: _Asked) -> dict[str, object]:
    findings = asked.findings
    return {
        "release": findings.release.name,
        "question": asked.question,
        "asked_as": findings.question.text if findings.question.text != asked.question else "",
        "notes": tuple(note.name for note in asked.matched.notes),
        "documents": tuple(
            DocumentHit(
                doc_id=searched.ranked.document.doc_id,
                version=searched.version.version_id,
                score=round(searched.ranked.score, 4),
            )
            for searched in findings.documents.values()
        ),
        "pages": tuple(
            PageHit(
                doc_id=findings.documents[found.doc_key].ranked.document.doc_id,
                page_number=found.page_number,
                node_id=found.node_id,
                score=round(found.score, 4),
            )
            for found in findings.candidates
        ),
        "nodes": _nodes(findings),
        "evidence": findings.confidence.value,
        "notices": tuple(findings.notices),
    }


def _nodes(findings: Findings) -> tuple[NodeHit, ...]:
    hits: dict[tuple[str, str], NodeHit] = {}
    for found in findings.candidates:
        key = found.doc_key, found.node_id
        if key in hits:
            continue
        searched = findings.documents[found.doc_key]
        node = searched.tree.nodes[found.node_id]
        hits[key] = NodeHit(
            doc_id=searched.ranked.document.doc_id,
            version=searched.version.version_id,
            node_id=node.node_id,
            title=node.title,
            path=tuple(searched.tree.nodes[above].title for above in searched.tree.path(node.node_id)),
            first_page=node.first_page,
            last_page=node.last_page,
            score=round(found.score, 4),
        )
    return tuple(hits.values())


def _citations(findings: Findings, written: WrittenAnswer) -> tuple[Citation, ...]:
    return tuple(
        Citation(
            doc_id=findings.documents[quote.doc_key].ranked.document.doc_id,
            version=findings.documents[quote.doc_key].version.version_id,
            node_id=quote.node_id,
            title=findings.documents[quote.doc_key].tree.nodes[quote.node_id].title,
            first_page=quote.page_number,
            last_page=quote.page_number,
            quote=quote.text,
            columns=quote.columns,
        )
        for quote in written.quotes
    )


def _usage(model: TextModel | None) -> Usage:
    usage = getattr(model, "usage", None)
    return usage if isinstance(usage, Usage) else Usage()


def _cost(model: TextModel | None, before: Usage, trace: Trace) -> Cost:
    spent = _usage(model) - before
    return Cost(
        model_calls=spent.model_calls,
        cached_calls=spent.cached_calls,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        seconds=round(sum(step.seconds for step in trace.steps), 3),
    )
