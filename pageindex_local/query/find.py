"""From a question to ranked pages: the stages of a query in order, over one pinned release.

Question -> documents -> evidence -> tree search -> pages -> rerank. Reads the index, writes nothing but a missing
search file. Works without a model on full text alone.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pageindex_local.errors import CorruptIndexError, IndexNotFoundError, QueryError
from pageindex_local.llm.base import TextModel
from pageindex_local.query.analyse import Question, analyse_question
from pageindex_local.query.calibration import choose_plan
from pageindex_local.query.confidence import measure_confidence
from pageindex_local.query.describe import describe_candidate, describe_document, describe_question, describe_search
from pageindex_local.query.described import judge_documents
from pageindex_local.query.documents import RankedDocument, choose_documents, rank_documents
from pageindex_local.query.evidence import Evidence, gather_evidence
from pageindex_local.query.excerpts import excerpt, word_weights
from pageindex_local.query.findings import Findings, SearchedDocument
from pageindex_local.query.fulltext import open_search_index, search_path
from pageindex_local.query.judges import RERANK_DEPTH, Judges
from pageindex_local.query.rerank import Candidate, drop_repeats, fuse_pages, rerank_pages, take_in_turn
from pageindex_local.query.search import SearchResult, search_tree
from pageindex_local.query.search_index import SearchIndex
from pageindex_local.query.spelling import correct_spelling
from pageindex_local.query.strategies import CANNOT_SCORE, Plan
from pageindex_local.query.trace import Trace
from pageindex_local.settings import QuerySettings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release

if TYPE_CHECKING:
    from pageindex_local.query.vectors import Ranker, VectorSearch

DOCUMENT_SHARPNESS = 4  # how fast pages of lesser documents fall behind
LEAVES_PER_PAGE = 3
VECTOR_DEPTH = 100  # pages that vectors may name
EXCERPT_WORDS = 110


def find_pages(
    question: str | Question,
    store: IndexStore,
    *,
    release: Release | str | None,
    doc_ids: Sequence[str] | None,
    model: TextModel | None,
    settings: QuerySettings,
    max_pages: int,
    trace: Trace,
    plan: Plan | None = None,
    hidden: str = "",
    vectors: "VectorSearch | None" = None,
) -> Findings:
    """The best pages for a question, with everything that led to them. `plan` overrides what the settings choose.

    `hidden` is a sentence that summaries are read without, for questions that the index is asked about itself.
    `vectors` is an embedder kept open between questions, for where the settings name one; else it is opened for this.

    Raises:
        QueryError: the question has no words.
        IndexNotFoundError: no such release or document.
        CorruptIndexError: a stored version cannot be read.
    """
    pinned = release if isinstance(release, Release) else store.release(release) if release else store.require_current()
    with trace.step("analyse the question") as details:
        analysed = analyse_question(question) if isinstance(question, str) else question
        details.update(describe_question(analysed))
        trace.question = analysed.text
    if not analysed.words:
        raise QueryError("the question has no words to search for", next_step="Ask in words, such as a full sentence.")
    allowed = _doc_keys(pinned, doc_ids)
    for attempt in (1, 2):
        try:
            with store.lease(pinned), open_search_index(store, pinned) as index:
                begun = _begin(analysed, pinned, index, trace)
                return _find(begun, store, index, allowed, model, settings, max_pages, trace, plan, hidden, vectors)
        except sqlite3.DatabaseError as error:
            trace.count("search file rebuilt")
            if attempt == 2:
                raise CorruptIndexError(
                    f"cannot be read ({error})", subject=str(search_path(store, pinned)), next_step="Delete the file."
                ) from error
            search_path(store, pinned).unlink(missing_ok=True)
    raise AssertionError("unreachable")


def _begin(question: Question, release: Release, index: SearchIndex, trace: Trace) -> Findings:
    """Nothing found yet; the question with words that occur nowhere corrected, and notices of it."""
    corrected, notices = correct_spelling(question, index)
    if notices:
        trace.count("word that occurs nowhere")
    return Findings(corrected, release, notices=notices)


def _find(
    findings: Findings,
    store: IndexStore,
    index: SearchIndex,
    allowed: set[str] | None,
    model: TextModel | None,
    settings: QuerySettings,
    max_pages: int,
    trace: Trace,
    plan: Plan | None,
    hidden: str,
    vectors: "VectorSearch | None",
) -> Findings:
    question, release = findings.question, findings.release
    with trace.step("choose a strategy") as details:
        plan = plan or choose_plan(store, release, model, settings)
        details.update(
            {"strategy": plan.strategy.value, "why": plan.reason, "model's share of sections": plan.section_share}
        )
        details["model's share of pages"] = plan.page_share
        details["model's share of documents"] = plan.document_share
        if plan.reason == CANNOT_SCORE:
            trace.count("model cannot score")
    with trace.step("choose documents") as details:
        choice = rank_documents(index, question, allowed)
        findings.notices.extend(choice.notices)
        judges = Judges(plan, model, question.text, settings, hidden, documents=len(choice.ranked))
        found = list(choice.ranked)
        if judges.documents is not None:
            found = judge_documents(
                found, release, judges.documents, share=plan.document_share, depth=judges.document_depth
            )
            details["judged by description"] = sum(ranked.model is not None for ranked in found)
        chosen, compared = choose_documents(found, question)
        details["documents"] = [describe_document(ranked) for ranked in found[:10]]
        details["searched"] = [ranked.document.doc_id for ranked in chosen]
        details["compared"] = compared
    near = _open_vectors(store, release, index, question, settings, vectors, trace)
    for ranked in chosen:
        key = ranked.document.doc_key
        with trace.step(f"search {ranked.document.doc_id}") as details:
            evidence = gather_evidence(index, ranked.document, question)
            share = _document_share(ranked, chosen[0], compared=compared)
            searched = SearchedDocument(ranked, store.open_document(release, key), evidence, share)
            searched.result = _search(searched, question, judges, settings, max_pages)
            findings.documents[key] = searched
            candidates = _page_candidates(searched, plan.path_share)
            details.update(describe_search(searched.tree, evidence, searched.result))
            if near is not None:
                nearest = near(ranked.document)[:VECTOR_DEPTH]
                candidates = fuse_pages(candidates, nearest, key, share)
                details["nearest by vectors"] = [page for page, _ in nearest[:5]]
            findings.candidates.extend(candidates)
    findings.candidates.sort(key=lambda found: (-found.score, found.doc_key, found.page_number))
    with trace.step("rank pages") as details:
        before = len(findings.candidates)
        findings.candidates = drop_repeats(findings.candidates)
        details["repeats dropped"] = before - len(findings.candidates)
        if judges.pages is not None:
            findings.candidates = rerank_pages(
                findings.candidates, judges.pages, _excerpts(findings), weight=plan.page_share, depth=RERANK_DEPTH
            )
        if compared:
            findings.candidates = take_in_turn(findings.candidates)
        del findings.candidates[max_pages:]
        details["pages"] = [_describe_page(findings, found) for found in findings.candidates]
        if plan.asks_model:
            details["model calls left"], details["model tokens left"] = judges.left()
        for event in judges.events():
            trace.count(event)
    _weigh(findings, index, trace)
    return findings


def _doc_keys(release: Release, doc_ids: Sequence[str] | None) -> set[str] | None:
    if not doc_ids:
        if not release.documents:
            raise IndexNotFoundError("holds no document", subject=f"release {release.name}")
        return None
    keys = set()
    for doc_id in doc_ids:
        found = release.find(doc_id)
        if found is None:
            known = ", ".join(sorted(entry.doc_id for entry in release.documents.values())[:5])
            raise IndexNotFoundError(
                f"is not in release {release.name}", subject=doc_id, next_step=f"There are: {known}. See `status`."
            )
        keys.add(found[0])
    return keys


def _weigh(findings: Findings, index: SearchIndex, trace: Trace) -> None:
    with trace.step("weigh the evidence") as details:
        findings.confidence = measure_confidence(
            index, findings.question, [doc.evidence for doc in findings.documents.values()]
        )
        details["evidence"] = findings.confidence.value
        details["coverage"] = findings.confidence.coverage
        details["unknown names"] = list(findings.confidence.unknown)
        details["named elsewhere"] = list(findings.confidence.elsewhere)


def _open_vectors(
    store: IndexStore,
    release: Release,
    index: SearchIndex,
    question: Question,
    settings: QuerySettings,
    vectors: "VectorSearch | None",
    trace: Trace,
) -> "Ranker | None":
    """Ranks the pages of a document by dense vectors, where the settings name an embedder."""
    if not settings.vectors:
        return None
    from pageindex_local.query.vectors import VectorSearch  # noqa: PLC0415 - needs numpy, mostly unused

    with ExitStack() as stack, trace.step("open vectors") as details:
        opened = vectors or stack.enter_context(VectorSearch(settings.vectors))
        return opened.ranker(store, release, index, question.text, details)


def _document_share(ranked: RankedDocument, first: RankedDocument, *, compared: bool) -> float:
    """What the pages of a document are worth beside those of the first."""
    return 1.0 if compared or first.score <= 0 else (ranked.score / first.score) ** DOCUMENT_SHARPNESS


def leaf_reader(version: StoredVersion, question: Question, evidence: Evidence) -> Callable[[str], str]:
    """Reads the part of a leaf that speaks of a question, by node id."""
    weights = word_weights(question, evidence)
    nodes = version.tree().nodes

    def read(node_id: str) -> str:
        text = version.own_text(nodes[node_id])
        return excerpt(list(enumerate(text.split("\n"))), weights, EXCERPT_WORDS)

    return read


def _search(
    searched: SearchedDocument, question: Question, judges: Judges, settings: QuerySettings, max_pages: int
) -> SearchResult:
    tree = searched.tree
    first_pass, judge = judges.for_tree(tree, searched.evidence)
    return search_tree(
        tree,
        first_pass,
        judge,
        leaf_reader(searched.version, question, searched.evidence),
        beam=settings.beam,
        max_leaves=LEAVES_PER_PAGE * max_pages,
        max_nodes=settings.max_nodes,
        max_pages=settings.max_covered_pages,
    )


def _page_candidates(searched: SearchedDocument, path_share: float) -> list[Candidate]:
    """The pages with evidence inside the leaves found, each with the best leaf on it."""
    assert searched.result is not None
    tree = searched.tree
    paths: dict[int, tuple[float, str]] = {}
    for leaf in searched.result.leaves:
        node = tree.nodes[leaf.node_id]
        for page_number in range(node.first_page, node.last_page + 1):
            worth = leaf.path_score, leaf.node_id
            if page_number not in paths or worth[0] > paths[page_number][0]:
                paths[page_number] = worth
    best = max((page.score for page in searched.evidence.pages), default=0.0) or 1.0
    return [
        Candidate(
            searched.ranked.document.doc_key,
            page.page_number,
            paths[page.page_number][1],
            searched.share * ((1 - path_share) * page.score / best + path_share * paths[page.page_number][0]),
            page.content_hash,
        )
        for page in searched.evidence.pages
        if page.page_number in paths
    ]


def _excerpts(findings: Findings) -> Callable[[Candidate], str]:
    def excerpt_of(candidate: Candidate) -> str:
        searched = findings.documents[candidate.doc_key]
        weights = word_weights(findings.question, searched.evidence)
        return excerpt(searched.page_lines(candidate.page_number), weights, EXCERPT_WORDS)

    return excerpt_of


def _describe_page(findings: Findings, found: Candidate) -> dict[str, object]:
    searched = findings.documents[found.doc_key]
    return describe_candidate(searched.ranked.document.doc_id, searched.tree.nodes[found.node_id].title, found)
