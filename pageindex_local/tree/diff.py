"""What differs between two versions' trees, as data that can be applied: `apply_diff(a, diff_trees(a, b)) == b`.

Nodes are compared by their lasting ids; nothing is matched here. Printing is elsewhere.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from pageindex_local.errors import TreeError
from pageindex_local.ids import normalise_text, normalise_title
from pageindex_local.records import Node, SectionTree, SummarySource
from pageindex_local.tree.order import longest_increasing

ReadText = Callable[[Node], str]


class ChangeKind(StrEnum):
    """One way in which a node that both trees have differs."""

    MOVED = "moved"  # other parent, or another place among the siblings that stayed
    RETITLED = "retitled"
    RENUMBERED = "renumbered"  # the title differs by its section number, spacing or case only
    EDITED = "edited"  # own text
    RELOCATED = "relocated"  # other lines or pages, same place in the tree
    RESUMMARISED = "resummarised"
    REGROUPED = "regrouped"  # other children
    REFOUND = "refound"  # other kind, level, origin, confidence or hash: the evidence differs, not the section


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node before and after, and in which ways it differs."""

    before: Node
    after: Node
    kinds: tuple[ChangeKind, ...]


@dataclass(frozen=True, slots=True)
class TreeDiff:
    """Everything that turns one tree into another: `added` in the new order, `removed` in the old one, whole nodes."""

    added: tuple[Node, ...]
    removed: tuple[Node, ...]
    changed: tuple[NodeChange, ...]
    roots: tuple[str, ...]
    description: str
    description_source: SummarySource

    @property
    def is_empty(self) -> bool:
        """Whether no node differs."""
        return not (self.added or self.removed or self.changed)

    def with_kind(self, kind: ChangeKind) -> tuple[NodeChange, ...]:
        """The changed nodes that differ in one way."""
        return tuple(change for change in self.changed if kind in change.kinds)

    def counts(self) -> dict[str, int]:
        """How many nodes were added, removed, moved, retitled, renumbered, edited, relocated and so on."""
        kinds = {kind.value: len(self.with_kind(kind)) for kind in ChangeKind}
        return {"added": len(self.added), "removed": len(self.removed)} | kinds


def diff_trees(
    old: SectionTree, new: SectionTree, old_text: ReadText | None = None, new_text: ReadText | None = None
) -> TreeDiff:
    """The difference. Linear in nodes.

    With both texts at hand, a node that was retitled is also said to be edited if its own text differs; without them
    `edited` is known only where the title stayed the same.
    """
    moved = _moved(old, new)
    changed: list[NodeChange] = []
    for after in new.walk():
        before = old.nodes.get(after.node_id)
        if before is None or before == after:
            continue
        kinds = tuple(_kinds(before, after, moved=after.node_id in moved, old_text=old_text, new_text=new_text))
        changed.append(NodeChange(before, after, kinds))
    return TreeDiff(
        added=tuple(node for node in new.walk() if node.node_id not in old.nodes),
        removed=tuple(node for node in old.walk() if node.node_id not in new.nodes),
        changed=tuple(changed),
        roots=new.roots,
        description=new.description,
        description_source=new.description_source,
    )


def apply_diff(tree: SectionTree, diff: TreeDiff) -> SectionTree:
    """The other tree.

    Raises:
        TreeError: the difference was not made from this tree.
    """
    nodes = dict(tree.nodes)
    for node in diff.removed:
        if nodes.pop(node.node_id, None) != node:
            raise TreeError(f"node {node.node_id}, to be removed, is not as the difference says")
    for change in diff.changed:
        if nodes.get(change.before.node_id) != change.before:
            raise TreeError(f"node {change.before.node_id}, to be changed, is not as the difference says")
        nodes[change.after.node_id] = change.after
    for node in diff.added:
        if node.node_id in nodes:
            raise TreeError(f"node {node.node_id}, to be added, is there already")
        nodes[node.node_id] = node
    ordered: dict[str, Node] = {}
    stack = list(reversed(diff.roots))
    while stack:
        node_id = stack.pop()
        if node_id not in nodes or node_id in ordered:
            raise TreeError(f"node {node_id} is missing or has two places after the change")
        ordered[node_id] = nodes[node_id]
        stack.extend(reversed(nodes[node_id].children))
    if len(ordered) != len(nodes):
        raise TreeError(f"{len(nodes) - len(ordered)} nodes have no place after the change")
    return replace(
        tree,
        roots=diff.roots,
        nodes=ordered,
        description=diff.description,
        description_source=diff.description_source,
    )


def _kinds(
    before: Node, after: Node, *, moved: bool, old_text: ReadText | None, new_text: ReadText | None
) -> Iterator[ChangeKind]:
    if moved:
        yield ChangeKind.MOVED
    same_title = normalise_title(before.title) == normalise_title(after.title)
    if not same_title:
        yield ChangeKind.RETITLED
    elif before.title != after.title:
        yield ChangeKind.RENUMBERED
    if before.own_hash != after.own_hash:
        is_edited = same_title
        if not same_title and old_text is not None and new_text is not None:
            is_edited = normalise_text(old_text(before)) != normalise_text(new_text(after))
        if is_edited:
            yield ChangeKind.EDITED
    if (before.span, before.heading, before.first_page, before.last_page) != (
        after.span,
        after.heading,
        after.first_page,
        after.last_page,
    ):
        yield ChangeKind.RELOCATED
    if (before.summary, before.summary_source) != (after.summary, after.summary_source):
        yield ChangeKind.RESUMMARISED
    if before.children != after.children:
        yield ChangeKind.REGROUPED
    if (before.kind, before.level, before.origin, before.confidence) != (
        after.kind,
        after.level,
        after.origin,
        after.confidence,
    ):
        yield ChangeKind.REFOUND


def _moved(old: SectionTree, new: SectionTree) -> set[str]:
    moved = {
        node.node_id
        for node in new.walk()
        if node.node_id in old.nodes and old.nodes[node.node_id].parent_id != node.parent_id
    }
    place = {node_id: number for number, node_id in enumerate(old.nodes)}
    rows = [new.roots, *(node.children for node in new.walk() if node.children)]
    for row in rows:
        stayed = [child for child in row if child in place and child not in moved]
        kept = longest_increasing([place[child] for child in stayed])
        moved.update(child for number, child in enumerate(stayed) if number not in kept)
    return moved
