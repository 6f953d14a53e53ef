"""Documents judged by their names and descriptions: documents in order and a judge in, documents in a new order out.

For small collections, where a plan gives a model a part in it. The judge is one of those that judge sections.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pageindex_local.query.documents import RankedDocument
from pageindex_local.query.rerank import spread_gains
from pageindex_local.query.scorers import NodeScorer, Section
from pageindex_local.store.records import Release

_BETWEEN_WORDS = re.compile(r"[_/\-]+")
_SUFFIX = re.compile(r"\.\w{1,8}$")


@dataclass(frozen=True, slots=True)
class DescribedDocument:
    """A document as a judge sees it; `node_id` is its `doc_key`, `summary` the description that its version has."""

    node_id: str
    title: str
    summary: str


def describe_documents(ranked: Sequence[RankedDocument], release: Release) -> list[Section]:
    """What a judge is shown of each document: its name in plain words, the title its file states, its description."""
    shown = []
    for found in ranked:
        document = found.document
        name = " ".join(_BETWEEN_WORDS.sub(" ", _SUFFIX.sub("", document.doc_id)).split())
        title = " ".join(document.metadata.get("title", "").split())
        titles = tuple(dict.fromkeys(filter(None, (name, title))))
        description = release.documents[document.doc_key].description
        shown.append(Section(DescribedDocument(document.doc_key, title or name, description), titles, ""))
    return shown


def judge_documents(
    ranked: Sequence[RankedDocument], release: Release, judge: NodeScorer, *, share: float, depth: int
) -> list[RankedDocument]:
    """The first `depth` documents reordered by their scores and the judge's opinion, the rest behind them as they were.

    Opinions are spread over their own range, as those of pages are, because only their order carries information.
    """
    head, tail = list(ranked[:depth]), list(ranked[depth:])
    if len(head) < 2 or share == 0:
        return [*head, *tail]
    opinions = spread_gains(judge.score(describe_documents(head, release)))
    top = max(found.score for found in head) or 1.0
    judged = [
        replace(found, model=part, score=(1 - share) * found.score + share * top * part)
        for found, part in zip(head, opinions, strict=True)
    ]
    judged.sort(key=lambda found: (-found.score, found.document.doc_id))
    floor = judged[-1].score
    return [*judged, *(replace(found, score=min(found.score, floor)) for found in tail)]
