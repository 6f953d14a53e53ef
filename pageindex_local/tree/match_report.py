"""What became of every node between two versions, as data. Written by `tree.identity`, kept beside each version.

Nothing here decides anything. `old_id` is always an id of the previous tree, `node_id` always an id of the new one;
for a node that lives on they are the same string and only `node_id` is given.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class MatchStep(StrEnum):
    """Which rule recognised a node, most certain first."""

    ANCHOR = "anchor"  # explicit: an anchor in the title, or a section that was replaced by hand
    SUBTREE = "subtree"  # equal subtree hash
    OWN_TEXT = "own_text"  # equal own hash
    KIND = "kind"  # front matter or introduction under a matched parent
    TITLE = "title"  # equal title under a matched parent
    SIMILARITY = "similarity"  # text, title and neighbours, above the threshold and with a margin
    DESCENDANTS = "descendants"  # most of what it holds is matched
    SPLIT = "split"  # the largest piece of an old node
    MERGE = "merge"  # the largest contributor to a new node


class Fate(StrEnum):
    """What became of an old node whose id is no longer in the tree."""

    DELETED = "deleted"
    MERGED_INTO = "merged_into"


_FORBID: dict[str, str] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Kept:
    """A node that lives on.

    `changes` may hold `moved` (other parent, or another place among the siblings that stayed), `retitled`, `edited`
    (own text) and `renumbered` (the title differs by its section number only); empty means the same.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = _FORBID
    node_id: str
    step: MatchStep
    score: float
    changes: tuple[str, ...] = ()
    old_title: str = ""
    old_parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """A node with a new id. `derived_from` names the old nodes whose text it holds: the one it was split from."""

    __pydantic_config__: ClassVar[dict[str, str]] = _FORBID
    node_id: str
    title: str
    derived_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """A node whose id ends here. `into` names the node that holds its text now, for `merged_into`."""

    __pydantic_config__: ClassVar[dict[str, str]] = _FORBID
    old_id: str
    title: str
    fate: Fate
    into: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One old node that a new node might be, with its score between 0 and 1."""

    __pydantic_config__: ClassVar[dict[str, str]] = _FORBID
    old_id: str
    title: str
    score: float


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A new node that got a new id because several old nodes fit too equally well."""

    __pydantic_config__: ClassVar[dict[str, str]] = _FORBID
    node_id: str
    title: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class MatchReport:
    """Every node of both versions exactly once: `kept` and `added` in the new order, `removed` in the old order."""

    __pydantic_config__: ClassVar[dict[str, str]] = _FORBID
    kept: tuple[Kept, ...] = ()
    added: tuple[Added, ...] = ()
    removed: tuple[Removed, ...] = ()
    ambiguous: tuple[Ambiguous, ...] = ()

    def with_change(self, change: str) -> tuple[str, ...]:
        """Ids of the kept nodes that were `moved`, `retitled`, `edited` or `renumbered`."""
        return tuple(entry.node_id for entry in self.kept if change in entry.changes)

    @property
    def split(self) -> tuple[Added, ...]:
        """The added nodes that hold a piece of an old node."""
        return tuple(entry for entry in self.added if entry.derived_from)

    @property
    def merged(self) -> tuple[Removed, ...]:
        """The removed nodes whose text went into another node."""
        return tuple(entry for entry in self.removed if entry.fate is Fate.MERGED_INTO)

    def counts(self) -> dict[str, int]:
        """How many nodes are kept, moved, retitled, edited, split, merged, added, removed and ambiguous."""
        return {
            "kept": len(self.kept),
            "moved": len(self.with_change("moved")),
            "retitled": len(self.with_change("retitled")),
            "edited": len(self.with_change("edited")),
            "split": len(self.split),
            "merged": len(self.merged),
            "added": len(self.added),
            "removed": len(self.removed),
            "ambiguous": len(self.ambiguous),
        }
