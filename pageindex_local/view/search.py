"""A recorded search as it is drawn over a section tree: trace data in, scores and ranks by node out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pageindex_local.inert_text import inert
from pageindex_local.wording.plain import plural

_RESULTS = 12


@dataclass(frozen=True, slots=True)
class FoundPage:
    """One page of the result. `node_id` is empty where it stands in another document."""

    rank: int
    page: int
    title: str
    doc_id: str
    node_id: str
    score: str


@dataclass(frozen=True, slots=True)
class ShownQuote:
    """One quote of the answer. `doc_id` is empty where it stands in the document shown."""

    text: str
    columns: str
    page: int
    doc_id: str


@dataclass(frozen=True, slots=True)
class SearchView:
    """One search of one document: `scores` of the sections judged, `ranks` of the leaves on found pages.

    `verdict` is what was answered in words other than the documents', `quotes` what it rests on; both are empty where
    no answer was asked for.
    """

    question: str
    facts: str
    verdict: str = ""
    quotes: tuple[ShownQuote, ...] = ()
    results: tuple[FoundPage, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    opened: frozenset[str] = frozenset()


def read_search(trace: Mapping[str, Any], doc_id: str, question: str = "") -> SearchView:
    """What a trace (as `Trace.as_data` gives it) says of one document; empty where it was not searched."""
    steps: list[Mapping[str, Any]] = list(trace.get("steps", ()))
    search: Mapping[str, Any] = next((step for step in steps if step.get("doc_id") == doc_id and "opened" in step), {})
    scores: dict[str, float] = {}
    opened: set[str] = set()
    for entry in search.get("opened", ()):
        if entry.get("node_id"):
            opened.add(entry["node_id"])
        scores.update({child["node_id"]: child["score"] for child in entry.get("children", ())})
    results: list[FoundPage] = []
    ranks: dict[str, int] = {}
    pages = next((step.get("pages", ()) for step in steps if step.get("name") == "rank pages"), ())
    for rank, page in enumerate(pages, 1):
        here = page["doc_id"] == doc_id
        if here:
            ranks.setdefault(page["node_id"], rank)
        if rank <= _RESULTS:
            results.append(
                FoundPage(
                    rank=rank,
                    page=page["page"],
                    title=inert(page["section"]),
                    doc_id="" if here else inert(page["doc_id"]),
                    node_id=page["node_id"] if here else "",
                    score=f"{page['score']:.2f}",
                )
            )
    answer: Mapping[str, Any] = next((step for step in steps if step.get("name") == "answer"), {})
    abstained = "Not in these documents." if answer.get("abstained") else ""
    strategy = next((step["strategy"] for step in steps if "strategy" in step), "")
    described = next((step["judged by description"] for step in steps if "judged by description" in step), 0)
    facts = [
        f"strategy {strategy}" if strategy else "",
        f"{described} documents judged by description" if described else "",
        plural(search["sections judged"], "section") + " judged" if search else "this document was not searched",
        f"stopped: {search['stopped by']}" if search else "",
        f"{sum(step.get('seconds', 0.0) for step in steps):.2f} s",
        *(f"{inert(event)}: {count}" for event, count in trace.get("counters", {}).items()),
    ]
    return SearchView(
        question=inert(question or str(trace.get("question", ""))),
        facts=" · ".join(filter(None, facts)),
        verdict=abstained or inert(str(answer.get("text", ""))),
        quotes=tuple(
            ShownQuote(
                text=inert(quote["quote"]),
                columns=inert(quote["columns"]),
                page=quote["page"],
                doc_id="" if quote["doc_id"] == doc_id else inert(quote["doc_id"]),
            )
            for quote in answer.get("citations", ())
        ),
        results=tuple(results),
        scores=scores,
        ranks=ranks,
        opened=frozenset(opened),
    )
