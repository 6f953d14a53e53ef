"""What the steps of a query found, as JSON values for the trace. Describes; decides nothing."""

from typing import Any

from pageindex_local.query.analyse import Question
from pageindex_local.query.documents import RankedDocument
from pageindex_local.query.evidence import Evidence
from pageindex_local.query.rerank import Candidate
from pageindex_local.query.search import SearchResult
from pageindex_local.records import SectionTree

_CHILDREN = 8  # of an opened section that the trace names


def describe_question(question: Question) -> dict[str, Any]:
    """What the question says before any document is read."""
    return {
        "words": [f"{word.word}:{word.weight:g}" for word in question.words],
        "phrases": list(question.phrases),
        "section numbers": list(question.section_numbers),
        "years": list(question.years),
        "periods": list(question.periods),
        "versions": list(question.versions),
        "names": list(question.names),
        "asks for figures": question.asks_figures,
    }


def describe_document(ranked: RankedDocument) -> dict[str, Any]:
    """A document and the parts of its score."""
    return {
        "doc_id": ranked.document.doc_id,
        "score": round(ranked.score, 4),
        "text": round(ranked.text, 4),
        "name": round(ranked.name, 4),
        "title": round(ranked.title, 4),
        "year": round(ranked.year, 4),
        **({} if ranked.model is None else {"model": round(ranked.model, 4)}),
    }


def describe_search(tree: SectionTree, evidence: Evidence, result: SearchResult) -> dict[str, Any]:
    """Every section that was opened, how its children were judged, and the leaves found."""
    nodes = tree.nodes
    return {
        "doc_id": evidence.document.doc_id,
        "version": evidence.document.version_id,
        "pages with evidence": len(evidence.pages),
        "sections judged": result.judged,
        "opened": [
            {
                "section": "(top)" if step.node_id is None else nodes[step.node_id].title,
                "node_id": step.node_id,
                "children": [
                    {"node_id": node_id, "title": nodes[node_id].title, "score": round(score, 4)}
                    for node_id, score in step.children[:_CHILDREN]
                ],
                "left out": step.dropped + max(len(step.children) - _CHILDREN, 0),
            }
            for step in result.steps
        ],
        "leaves": [
            {"node_id": leaf.node_id, "title": nodes[leaf.node_id].title, "path score": round(leaf.path_score, 4)}
            for leaf in result.leaves
        ],
        "stopped by": result.stopped_by,
    }


def describe_candidate(doc_id: str, title: str, found: Candidate) -> dict[str, Any]:
    """A page in its last place."""
    return {
        "doc_id": doc_id,
        "page": found.page_number,
        "node_id": found.node_id,
        "section": title,
        "score": round(found.score, 4),
        **({} if found.likelihood is None else {"gain": round(found.likelihood, 4)}),
    }
