"""Small published indexes for tests of querying: sections in, a real store with a release out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pageindex_local.ids import mint_node_id
from pageindex_local.records import MediaType, SectionTree
from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release, VersionDraft
from pageindex_local.tree.match_report import Added, MatchReport
from tests.sections import Rendered, Section, render


def publish(
    root: Path,
    documents: Mapping[str, Sequence[Section]],
    *,
    lines_per_page: int = 10,
    metadata: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[IndexStore, Release]:
    """Write every document as a new version and publish them over whatever is live.

    `metadata` is what the file of a `doc_id` says of itself.
    """
    store = IndexStore(root, "test", read_settings().store)
    current = store.current()
    refs = {}
    for doc_id, sections in documents.items():
        rendered = render(sections, doc_id=doc_id, lines_per_page=lines_per_page, media_type=MediaType.PDF)
        document = replace(rendered.document, metadata=(metadata or {}).get(doc_id, {}))
        source = document.source
        version_id = store.next_version_id(source.doc_key)
        tree = _with_ids(rendered, version_id)
        report = MatchReport(added=tuple(Added(node.node_id, node.title) for node in tree.walk()))
        refs[source.doc_key] = store.write_version(
            VersionDraft(version_id, None, document, tree, report, settings_hash="test")
        )
    return store, store.publish(refs, expected_parent=None if current is None else current.name)


def _with_ids(rendered: Rendered, version_id: str) -> SectionTree:
    tree = rendered.tree
    seen: Counter[tuple[str, ...]] = Counter()
    ids: dict[str, str] = {}
    for node in tree.walk():
        path = tuple(tree.nodes[above].title for above in tree.path(node.node_id))
        ids[node.node_id] = mint_node_id(rendered.document.source.doc_id, version_id, path, seen[path])
        seen[path] += 1
    nodes = {
        ids[node.node_id]: replace(
            node,
            node_id=ids[node.node_id],
            parent_id=None if node.parent_id is None else ids[node.parent_id],
            children=tuple(ids[child] for child in node.children),
        )
        for node in tree.walk()
    }
    return SectionTree(tuple(ids[root] for root in tree.roots), nodes)


def filler(topic: str, count: int = 12) -> list[str]:
    """Lines about nothing in particular."""
    return [f"The {topic} chapter goes on with ordinary remark number {number}." for number in range(count)]


HARBOUR = [
    Section("opening", "Harbour rules", filler("opening")),
    Section(
        "mooring",
        "Mooring",
        ["Every vessel pays a mooring fee of 45 crowns for each night.", *filler("mooring")],
        [
            Section("buoys", "Buoys", ["Yellow buoys belong to the lifeboat and stay free.", *filler("buoys")]),
            Section("quays", "Quays", ["Ropes on the northern quay are renewed each spring.", *filler("quays")]),
        ],
    ),
    Section("fuel", "Fuel", ["Diesel is sold from the pontoon between seven and nineteen.", *filler("fuel")]),
]
ORCHARD = [
    Section("trees", "Apple trees", ["Apple trees are pruned in February, before the buds swell.", *filler("apple")]),
    Section("bees", "Bees", ["Four hives stand at the southern hedge of the orchard.", *filler("bees")]),
]
