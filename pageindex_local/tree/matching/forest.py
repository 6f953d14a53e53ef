"""A section tree as arrays for matching, and the pairs found so far. Texts and features are kept once asked for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pageindex_local.ids import normalise_text, normalise_title, own_hash
from pageindex_local.records import Node, NodeKind, SectionTree
from pageindex_local.tree.match_report import MatchStep
from pageindex_local.tree.matching.features import Features, text_features

ROOT = 0
NONE = -1


class Forest:
    """The nodes of a tree in pre-order at indexes from 1; index 0 is a made-up root above the top-level nodes.

    `end[i]` is one past the last descendant of `i`, so that `i < j < end[i]` says whether `j` lies below `i`.
    `hollow[i]` says that neither the node nor anything below it has text. `anchors[i]` is the explicit anchor of a
    section, empty where it has none.
    """

    def __init__(
        self,
        tree: SectionTree,
        read_text: Callable[[Node], str] | None,
        anchors: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        order = list(tree.walk())
        index = {node.node_id: number for number, node in enumerate(order, 1)}
        self.nodes: list[Node | None] = [None, *order]
        self.parent = [NONE] + [index[node.parent_id] if node.parent_id else ROOT for node in order]
        self.children = [[index[root] for root in tree.roots]] + [[index[c] for c in node.children] for node in order]
        self.titles = [""] + [normalise_title(node.title) for node in order]
        self.kinds = [NodeKind.SECTION] + [node.kind for node in order]
        self.anchors = [""] + [
            anchors.get(node.heading[0], "") if node.heading[0] < node.heading[1] else "" for node in order
        ]
        self.paths = [0]  # the titles from the top down to the node, as one number
        for number in range(1, len(order) + 1):
            above = self.paths[self.parent[number]]
            self.paths.append(hash((above, self.kinds[number], self.titles[number])))
        self.end = list(range(1, len(order) + 2))
        self.hollow = [False] + [node.own_hash == own_hash(node.title, "") for node in order]
        for number in range(len(order), 0, -1):
            parent = self.parent[number]
            self.end[parent] = max(self.end[parent], self.end[number])
            self.hollow[parent] = self.hollow[parent] and self.hollow[number]
        self.place = [0] * (len(order) + 1)
        for row in self.children:
            for place, child in enumerate(row):
                self.place[child] = place
        self._read_text = read_text
        self._texts: dict[int, str] = {}
        self._features: dict[int, Features] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def node(self, index: int) -> Node:
        """The node at an index from 1."""
        node = self.nodes[index]
        assert node is not None
        return node

    @property
    def has_texts(self) -> bool:
        """Whether texts can be read."""
        return self._read_text is not None

    def text(self, index: int) -> str:
        """The node's own text, normalised; empty where texts cannot be read."""
        if index not in self._texts:
            raw = self._read_text(self.node(index)) if self._read_text and not self.children[index] else ""
            self._texts[index] = normalise_text(raw)
        return self._texts[index]

    def own_features(self, index: int) -> Features:
        """The features of the node's own text."""
        if index not in self._features:
            self._features[index] = text_features(self.text(index))
        return self._features[index]

    def body_parts(self, index: int) -> list[int]:
        """The leaves that hold the text of a section itself: it, or its introduction and parts."""
        if not self.children[index]:
            return [index]
        kinds = (NodeKind.INTRODUCTION, NodeKind.PART)
        return [child for child in self.children[index] if self.kinds[child] in kinds and not self.children[child]]

    def body_features(self, index: int) -> Features:
        """The features of a section's own text, also where an introduction or parts hold it."""
        parts = self.body_parts(index)
        if parts == [index]:
            return self.own_features(index)
        return frozenset().union(*(self.own_features(part) for part in parts))

    def neighbour(self, index: int, step: int) -> int | None:
        """The sibling so many places further on (back where negative), or None past either end."""
        row = self.children[self.parent[index]]
        place = self.place[index] + step
        return row[place] if 0 <= place < len(row) else None


@dataclass(slots=True)
class Evidence:
    """Why a pair was accepted, and how sure (0 to 1)."""

    step: MatchStep
    score: float


@dataclass
class Matching:
    """Pairs of indexes between an old and a new forest; at most one partner each. The two roots are always a pair."""

    old: Forest
    new: Forest
    to_new: list[int] = field(init=False)
    to_old: list[int] = field(init=False)
    evidence: dict[int, Evidence] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.to_new = [NONE] * len(self.old)
        self.to_old = [NONE] * len(self.new)
        self.to_new[ROOT] = self.to_old[ROOT] = ROOT

    def link(self, old: int, new: int, step: MatchStep, score: float) -> None:
        """Pair two nodes that are both free."""
        assert self.to_new[old] == NONE
        assert self.to_old[new] == NONE
        self.to_new[old] = new
        self.to_old[new] = old
        self.evidence[new] = Evidence(step, score)

    def part(self, old: int, new: int) -> None:
        """Undo a pair."""
        assert self.to_new[old] == new
        self.to_new[old] = self.to_old[new] = NONE
        del self.evidence[new]

    def is_free(self, old: int, new: int) -> bool:
        """Whether neither node has a partner and both are of one kind."""
        return self.to_new[old] == NONE and self.to_old[new] == NONE and self.old.kinds[old] == self.new.kinds[new]

    def parents_match(self, old: int, new: int) -> bool:
        """Whether the parents are a pair."""
        return self.to_new[self.old.parent[old]] == self.new.parent[new]

    def free_old(self) -> Iterator[int]:
        """Old nodes without a partner, pre-order."""
        return (index for index in range(1, len(self.old)) if self.to_new[index] == NONE)

    def free_new(self) -> Iterator[int]:
        """New nodes without a partner, pre-order."""
        return (index for index in range(1, len(self.new)) if self.to_old[index] == NONE)

    def count_common(self, old: int, new: int) -> int:
        """How many descendants of `old` have their partner below `new`."""
        end = self.new.end[new]
        return sum(new < partner < end for partner in self.to_new[old + 1 : self.old.end[old]])
