"""Ids over the real version series: which are kept, lost or wrong, and how many nodes a build would have to redo.

Usage: python -m tests.benchmarks.versions [SERIES ...] [--calls] [--data DIR]

Prints a table, a row for each pair of consecutive versions; with `--calls` two more, of what a rebuild asks a model.
`unchanged` are the old nodes whose title and own text occur exactly once in either version; `kept` of those must be
all. `redone` are nodes whose summary inputs changed: the edited and added ones and their ancestors.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pageindex_local.build import read_anchors
from pageindex_local.headings import find_headings
from pageindex_local.ids import own_hash
from pageindex_local.parsing import parse_source
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import Node, NodeKind, ParsedDocument, SectionTree
from pageindex_local.settings import Settings, read_settings
from pageindex_local.tree.assemble import build_tree
from pageindex_local.tree.identity import Identified, assign_ids
from pageindex_local.tree.text import own_text
from tests.benchmarks.version_cost import print_costs

SERIES = ("commonmark-commits", "commonmark-spec", "openapi-spec", "rust-book-single")


@dataclass(frozen=True)
class Truth:
    """What a person who read the differences of one pair says: sections renamed, new and gone, by title."""

    series: str
    old: str
    new: str
    renamed: dict[str, str]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


# Written down from the diffs of the headings and of the text below them, before the program was asked. Titles as the
# parser gives them, without Markdown's marks.
TRUTHS = (
    Truth(
        "commonmark-spec",
        "01",
        "02",
        renamed={
            "Horizontal rules": "Thematic breaks",
            "ATX headers": "ATX headings",
            "Setext headers": "Setext headings",
            "Entities": "Entity and numeric character references",
        },
    ),
    Truth(
        "openapi-spec",
        "03",
        "04",
        renamed={
            "Version 3.0.1": "Version 3.0.2",
            "Info Object Example:": "Info Object Example",
            "Contact Object Example:": "Contact Object Example",
            "License Object Example:": "License Object Example",
            "Example Object Example": "Example Object Examples",
        },
    ),
    Truth(
        "rust-book-single",
        "02",
        "03",
        renamed={
            "Modules Quick Reference": "Modules Cheat Sheet",
            "Only Inserting a Value If the Key Has No Value": "Adding a Key and Value Only If a Key Isn’t Present",
            "Returning a Result from new Instead of Calling panic!": "Returning a Result Instead of Calling panic!",
            "Calling Config::new and Handling Errors": "Calling Config::build and Handling Errors",
            "Closures: Anonymous Functions that Can Capture Their Environment": (
                "Closures: Anonymous Functions that Capture Their Environment"
            ),
            "Moving Captured Values Out of the Closure and the Fn Traits": (
                "Moving Captured Values Out of Closures and the Fn Traits"
            ),
            "Object Oriented Programming Features of Rust": "Object-Oriented Programming Features of Rust",
            "Adding the approve Method that Changes the Behavior of content": (
                "Adding approve to Change the Behavior of content"
            ),
            "Code Structure If We Could Spawn a Thread for Each Request": "Spawning a Thread for Each Request",
            "Creating a Similar Interface for a Finite Number of Threads": "Creating a Finite Number of Threads",
            "Building the ThreadPool Struct Using Compiler Driven Development": (
                "Building ThreadPool Using Compiler Driven Development"
            ),
        },
        added=("Choosing Between Loops or Iterators",),
        removed=("Fixing the largest Function with Trait Bounds",),
    ),
)


@dataclass(frozen=True)
class Pair:
    """Two consecutive versions with ids carried from the first to the second."""

    series: str
    old_name: str
    new_name: str
    old_document: ParsedDocument
    old: SectionTree
    document: ParsedDocument
    result: Identified
    seconds: float

    @property
    def new(self) -> SectionTree:
        """The new tree with its ids."""
        return self.result.tree


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    nodes: int
    unchanged: int
    kept: int
    redone: int
    counts: dict[str, int]


def load_version(folder: Path, settings: Settings) -> tuple[ParsedDocument, SectionTree]:
    """The document in a version's folder and its draft tree, without any model."""
    path = next(path for path in folder.iterdir() if path.suffix in (".md", ".pdf"))
    document = parse_source(read_source(path.name, path, settings.parse), settings.parse)
    return document, build_tree(document, find_headings(document, settings.tree).headings, settings.tree)


def iter_pairs(data: Path, series: str) -> Iterator[Pair]:
    """Each version with the one before it; ids run through the whole series."""
    settings = read_settings()
    before: tuple[str, ParsedDocument, SectionTree] | None = None
    for number, folder in enumerate(sorted(path for path in (data / series).iterdir() if path.is_dir()), 1):
        document, draft = load_version(folder, settings)
        version_id = f"v{number:06d}"
        started = time.process_time()
        if before is None:
            result = assign_ids(draft, None, doc_id=series, version_id=version_id, document=document)
        else:
            result = carry_ids(before[1], before[2], document, draft, series, version_id)
            seconds = time.process_time() - started
            yield Pair(series, before[0], folder.name, before[1], before[2], document, result, seconds)
        before = (folder.name, document, result.tree)


def carry_ids(
    old_document: ParsedDocument,
    old: SectionTree,
    document: ParsedDocument,
    draft: SectionTree,
    series: str,
    version: str,
) -> Identified:
    """Ids of a draft, carried from an older tree."""

    def read(node: Node) -> str:
        return own_text(old_document, old, node)

    return assign_ids(
        draft,
        old,
        doc_id=series,
        version_id=version,
        document=document,
        old_text=read,
        anchors=_anchors(document),
        old_anchors=_anchors(old_document),
    )


def _anchors(document: ParsedDocument) -> Mapping[int, str]:
    return read_anchors(document.source.media_type, [line.text for _, line in document.lines()])


def measure(pair: Pair) -> Row:
    """Kept ids among nodes with text of their own that did not change, and what a build would redo."""
    old_hashes = Counter(node.own_hash for node in pair.old.walk())
    new_hashes = Counter(node.own_hash for node in pair.new.walk())
    old_ids = {node.own_hash: node.node_id for node in pair.old.walk()}
    unchanged = [
        node
        for node in pair.new.walk()
        if old_hashes[node.own_hash] == new_hashes[node.own_hash] == 1 and node.own_hash != own_hash(node.title, "")
    ]
    redone: set[str] = set()
    for node in pair.new.walk():
        before = pair.old.nodes.get(node.node_id)
        if before is None or before.subtree_hash != node.subtree_hash:
            redone.update(pair.new.path(node.node_id))
    return Row(
        nodes=len(pair.new.nodes),
        unchanged=len(unchanged),
        kept=sum(old_ids[node.own_hash] == node.node_id for node in unchanged),
        redone=len(redone),
        counts=pair.result.report.counts(),
    )


def judge(pair: Pair, truth: Truth) -> tuple[int, list[str], list[str]]:
    """Changed sections whose truth is known: how many, which lost their id, and which got another section's.

    Sections are named by title; those whose title occurs several times in a version take part only where it occurs
    equally often in both, in order.
    """
    old_by_title = _by_title(pair.old)
    new_by_title = _by_title(pair.new)
    new_name = truth.renamed
    partner: dict[str, str] = {}
    for title, olds in old_by_title.items():
        news = new_by_title.get(new_name.get(title, title), [])
        if len(olds) == len(news) and title not in truth.removed:
            partner |= {new.node_id: old.node_id for old, new in zip(olds, news, strict=True)}
    changed = 0
    lost_titles: list[str] = []
    wrong_titles: list[str] = []
    for title, news in new_by_title.items():
        for new in news:
            expected = partner.get(new.node_id)
            if expected is None:
                if title in truth.added and new.node_id in pair.old.nodes:
                    wrong_titles.append(title)
                continue
            if pair.old.nodes[expected].subtree_hash == new.subtree_hash:
                continue
            changed += 1
            if new.node_id == expected:
                continue
            if new.node_id in pair.old.nodes:
                wrong_titles.append(title)
            else:
                lost_titles.append(title)
    return changed, lost_titles, wrong_titles


def _by_title(tree: SectionTree) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in tree.walk():
        if node.kind is NodeKind.SECTION:
            found.setdefault(node.title.replace("`", ""), []).append(node)
    return found


def main() -> None:
    """Print the table and the judgement of the pairs whose truth is written down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("series", nargs="*", default=list(SERIES))
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[3] / "shared/data/versions")
    parser.add_argument("--calls", action="store_true", help="build every version, and count the calls")
    options = parser.parse_args()
    print(
        "series              pair    nodes unchanged kept  redone  edited retitled moved added removed split merged amb"
    )
    totals: Counter[str] = Counter()
    for series in options.series:
        for pair in iter_pairs(options.data, series):
            row = measure(pair)
            count = row.counts
            totals.update(pairs=1, unchanged=row.unchanged, kept=row.kept)
            name = f"{series:19} {pair.old_name}>{pair.new_name}"
            print(
                f"{name} {row.nodes:6} {row.unchanged:9} {row.kept:4} {row.redone:7}"
                f" {count['edited']:7} {count['retitled']:8} {count['moved']:5} {count['added']:5} {count['removed']:7}"
                f" {count['split']:5} {count['merged']:6} {count['ambiguous']:3} {pair.seconds:5.1f} s"
            )
            for truth in TRUTHS:
                if (truth.series, truth.old, truth.new) == (series, pair.old_name, pair.new_name):
                    changed, lost, wrong = judge(pair, truth)
                    print(f"    by hand: {changed} changed sections, lost {lost}, wrong {wrong}")
    print(f"{totals['pairs']} pairs: {totals['kept']} of {totals['unchanged']} unchanged nodes kept their id")
    if options.calls:
        with tempfile.TemporaryDirectory() as work:
            print_costs(options.data, options.series, Path(work))


if __name__ == "__main__":
    main()
