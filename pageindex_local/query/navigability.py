"""How often the sections of a release can find themselves: sections asked for by their own words. Calls no model.

Enters: a store and a release. Leaves: shares, and the sections that cannot be found with the reason.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pageindex_local.ids import normalise_text
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.query.find import find_pages
from pageindex_local.query.findings import Findings
from pageindex_local.query.places import KnownPlace, sample_headings, sample_sentences, usable_sentences
from pageindex_local.query.strategies import FULLTEXT_PLAN
from pageindex_local.query.trace import Trace
from pageindex_local.records import Node, SectionTree
from pageindex_local.settings import QuerySettings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release

if TYPE_CHECKING:
    from pageindex_local.query.vectors import VectorSearch

FIRST = 3  # a section counts as found when it is among so many first ones


@dataclass(frozen=True, slots=True)
class LostSection:
    """A section that cannot be found by its own words, and why."""

    doc_id: str
    node_id: str
    title: str
    reason: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class Navigability:
    """Shares from 0 to 1, by kind of question.

    `found` of the sections asked for stood among the first three, `right_document` counts those whose document came
    first. `without_text` are leaves that nothing can be asked of; `lost` names them after those not found.
    """

    release: str
    leaves: int
    asked: dict[str, int]
    found: dict[str, float]
    right_document: dict[str, float]
    without_text: int
    lost: tuple[LostSection, ...]

    @property
    def share(self) -> float:
        """The share of the sentences' sections that were found; 1 where nothing could be asked."""
        return self.found.get("sentence", 1.0)


def measure_navigability(
    store: IndexStore,
    release: Release,
    settings: QuerySettings,
    *,
    samples: int,
    seed: int,
    progress: Progress = NO_PROGRESS,
    vectors: "VectorSearch | None" = None,
) -> Navigability:
    """Ask for `samples` sections by a sentence of theirs with words left out, and for half as many by their titles.

    Cost: one full-text question a sample over the whole release.

    Raises:
        CorruptIndexError: a stored version cannot be read.
    """
    versions = {key: store.open_document(release, key) for key in release.documents}
    opened = list(versions.values())
    places = sample_sentences(opened, samples, seed) + sample_headings(opened, samples // 2, seed)
    twins = _twins(opened)
    lost: list[LostSection] = []
    asked: Counter[str] = Counter()
    found: Counter[str] = Counter()
    right_document: Counter[str] = Counter()
    progress.start("ask the index about itself", len(places))
    for place in places:
        findings = find_pages(
            place.question, store, release=release, doc_ids=None, model=None, settings=settings, max_pages=8,
            trace=Trace(), plan=FULLTEXT_PLAN, vectors=vectors,
        )  # fmt: skip
        order = list(dict.fromkeys((hit.doc_key, hit.node_id) for hit in findings.candidates))
        asked[place.kind] += 1
        right_document[place.kind] += bool(order) and order[0][0] == place.doc_key
        if (place.doc_key, place.node_id) in order[:FIRST]:
            found[place.kind] += 1
        else:
            tree = versions[place.doc_key].tree()
            reason = _reason(place, tree, twins, findings, order)
            lost.append(
                LostSection(place.doc_id, place.node_id, tree.nodes[place.node_id].title, reason, place.question)
            )
        progress.advance()
    progress.finish()
    empty = _without_text(opened)
    return Navigability(
        release=release.name,
        leaves=sum(1 for version in opened for _ in version.tree().leaves()),
        asked=dict(asked),
        found={kind: round(found[kind] / count, 4) for kind, count in asked.items()},
        right_document={kind: round(right_document[kind] / count, 4) for kind, count in asked.items()},
        without_text=len(empty),
        lost=(*lost, *empty),
    )


def _without_text(versions: Sequence[StoredVersion]) -> list[LostSection]:
    lost = []
    for version in versions:
        for leaf in version.tree().leaves():
            if not version.own_text(leaf).strip():
                lost.append(LostSection(version.manifest.doc_id, leaf.node_id, leaf.title, "no text of its own"))
            elif not usable_sentences(version, leaf) and not normalise_text(leaf.title):
                lost.append(
                    LostSection(version.manifest.doc_id, leaf.node_id, leaf.title, "neither title nor sentence")
                )
    return lost


def _twins(versions: Sequence[StoredVersion]) -> dict[str, list[tuple[str, Node]]]:
    """Leaves by the hash of title and text."""
    twins: dict[str, list[tuple[str, Node]]] = {}
    for version in versions:
        for leaf in version.tree().leaves():
            twins.setdefault(leaf.own_hash, []).append((version.manifest.doc_id, leaf))
    return twins


def _reason(
    place: KnownPlace,
    tree: SectionTree,
    twins: Mapping[str, Sequence[tuple[str, Node]]],
    findings: Findings,
    order: Sequence[tuple[str, str]],
) -> str:
    node = tree.nodes[place.node_id]
    equal = [(doc_id, leaf) for doc_id, leaf in twins.get(node.own_hash, ()) if leaf.node_id != node.node_id]
    if equal:
        return f"the same text stands in {equal[0][0]}, {equal[0][1].title} ({equal[0][1].node_id})"
    same_title = sum(normalise_text(leaf.title) == normalise_text(node.title) for leaf in tree.leaves()) - 1
    if place.kind == "heading" and same_title > 0:
        return f"its title is shared by {same_title} other sections of the document"
    if not order:
        return "none of its words is in the index"
    doc_key, node_id = order[0]
    first = findings.documents[doc_key]
    title = first.tree.nodes[node_id].title
    if doc_key != place.doc_key:
        return f"another document says it as well: {first.ranked.document.doc_id}, {title} ({node_id})"
    if (place.doc_key, place.node_id) in order:
        return f"it comes {order.index((place.doc_key, place.node_id)) + 1}th, after {title} ({node_id})"
    return f"its words point to {title} ({node_id})"
