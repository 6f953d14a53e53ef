"""Lasting ids for a draft tree: carried over from the previous version where a node is recognised, minted where not.

An id is never given to another section and never used again once its section is gone. Where several old nodes fit
equally well none is taken, and the report says so: a lost id is a nuisance, a wrong one makes an old citation lie.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pageindex_local.ids import mint_node_id, normalise_title, own_hash
from pageindex_local.records import Node, NodeKind, ParsedDocument, SectionTree
from pageindex_local.tree.match_report import Added, Ambiguous, Candidate, Fate, Kept, MatchReport, Removed
from pageindex_local.tree.matching.forest import NONE, ROOT, Forest, Matching
from pageindex_local.tree.matching.rounds import Result, match_forests
from pageindex_local.tree.order import longest_increasing
from pageindex_local.tree.text import own_text


@dataclass(frozen=True, slots=True)
class Identified:
    """A tree with lasting ids, and what became of every node."""

    tree: SectionTree
    report: MatchReport


def assign_ids(
    draft: SectionTree,
    previous: SectionTree | None,
    *,
    doc_id: str,
    version_id: str,
    document: ParsedDocument,
    old_text: Callable[[Node], str] | None = None,
    ended_ids: Collection[str] = (),
    pinned: Mapping[str, str] | None = None,
    anchors: Mapping[int, str] = MappingProxyType({}),
    old_anchors: Mapping[int, str] = MappingProxyType({}),
    is_renamed: bool = False,
) -> Identified:
    """The draft tree with lasting ids, and the match report. Deterministic; calls no model.

    Args:
        draft: a tree with draft ids and hashes, as `build_tree` gives it.
        previous: the tree of the version whose ids are carried on; None for a first build.
        doc_id: the document, for minting.
        version_id: the version in which new ids are born.
        document: the parsed document of the draft.
        old_text: own text of a node of `previous` (`StoredVersion.own_text`). Without it sections that were edited and
            also retitled or moved cannot be recognised.
        ended_ids: ids of removed sections (`Changes.tombstones`), never to be minted again.
        pinned: draft id -> id in `previous`, for sections that are known to be the same whatever they say now.
        anchors: explicit anchors of the document, by the line on which their heading starts.
        old_anchors: those of the document of `previous`.
        is_renamed: `previous` is of a document that had another name: sections must be alike, title and place do not
            do.
    """
    if previous is None:
        names = _mint(draft, {}, doc_id, version_id, frozenset(ended_ids))
        report = MatchReport(added=tuple(Added(names[node.node_id], node.title) for node in draft.walk()))
        return Identified(_rename(draft, names), report)
    result = match_forests(
        Forest(previous, old_text, old_anchors),
        Forest(draft, lambda node: own_text(document, draft, node), anchors),
        pinned or {},
        only_alike=is_renamed,
    )
    matching = result.matching
    carried = {
        matching.new.node(new).node_id: matching.old.node(old).node_id
        for new, old in enumerate(matching.to_old)
        if new != ROOT and old != NONE
    }
    names = _mint(draft, carried, doc_id, version_id, frozenset(ended_ids) | previous.nodes.keys())
    return Identified(_rename(draft, names), _report(result, names))


def _mint(
    draft: SectionTree, carried: dict[str, str], doc_id: str, version_id: str, taken: frozenset[str]
) -> dict[str, str]:
    """Draft id to lasting id, for every node."""
    names: dict[str, str] = {}
    paths: dict[str, tuple[str, ...]] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    used = set(taken) | set(carried.values())
    for node in draft.walk():
        above = paths[node.parent_id] if node.parent_id else ()
        label = node.title if node.kind is NodeKind.SECTION else f"{node.kind}: {node.title}"
        path = paths[node.node_id] = (*above, label)
        if node.node_id in carried:
            names[node.node_id] = carried[node.node_id]
            seen[path] += 1
            continue
        while True:
            name = mint_node_id(doc_id, version_id, path, seen[path])
            seen[path] += 1
            if name not in used:
                break
        used.add(name)
        names[node.node_id] = name
    return names


def _rename(tree: SectionTree, names: dict[str, str]) -> SectionTree:
    nodes = {
        names[node.node_id]: replace(
            node,
            node_id=names[node.node_id],
            parent_id=names[node.parent_id] if node.parent_id else None,
            children=tuple(names[child] for child in node.children),
        )
        for node in tree.walk()
    }
    return replace(tree, roots=tuple(names[root] for root in tree.roots), nodes=nodes)


def _report(result: Result, names: dict[str, str]) -> MatchReport:
    matching, lineage = result.matching, result.lineage
    old, new = matching.old, matching.new
    moved = _moved(matching)
    kept: list[Kept] = []
    added: list[Added] = []
    removed: list[Removed] = []
    for index in range(1, len(new)):
        node = new.node(index)
        partner = matching.to_old[index]
        if partner == NONE:
            sources = (old.node(source).node_id for source in lineage.derived_from.get(index, ()))
            added.append(Added(names[node.node_id], node.title, tuple(sources)))
            continue
        before = old.node(partner)
        changes = _changes(before, node, new.text(index), moved=index in moved)
        kept.append(
            Kept(
                names[node.node_id],
                matching.evidence[index].step,
                round(matching.evidence[index].score, 3),
                changes,
                before.title if before.title != node.title else "",
                before.parent_id if "moved" in changes else None,
            )
        )
    for index in matching.free_old():
        node = old.node(index)
        heir = lineage.merged_into.get(index)
        if heir is None:
            removed.append(Removed(node.node_id, node.title, Fate.DELETED))
        else:
            removed.append(Removed(node.node_id, node.title, Fate.MERGED_INTO, names[new.node(heir).node_id]))
    ambiguous = tuple(
        Ambiguous(
            names[new.node(index).node_id],
            new.node(index).title,
            tuple(
                Candidate(old.node(pair.old).node_id, old.node(pair.old).title, round(pair.score, 3)) for pair in pairs
            ),
        )
        for index, pairs in sorted(result.ambiguous.items())
    )
    return MatchReport(tuple(kept), tuple(added), tuple(removed), ambiguous)


def _changes(before: Node, after: Node, text: str, *, moved: bool) -> tuple[str, ...]:
    changes = ["moved"] if moved else []
    if normalise_title(before.title) != normalise_title(after.title):
        changes.append("retitled")
    elif before.title != after.title:
        changes.append("renumbered")
    if own_hash(before.title, text) != before.own_hash:
        changes.append("edited")
    return tuple(changes)


def _moved(matching: Matching) -> set[int]:
    """New nodes that have another parent, or that changed places with siblings which stayed."""
    moved: set[int] = set()
    for new in range(1, len(matching.new)):
        old = matching.to_old[new]
        if old != NONE and not matching.parents_match(old, new):
            moved.add(new)
    for parent in range(len(matching.new)):
        row = [
            child for child in matching.new.children[parent] if matching.to_old[child] != NONE and child not in moved
        ]
        stayed = longest_increasing([matching.to_old[child] for child in row])
        moved.update(child for place, child in enumerate(row) if place not in stayed)
    return moved
