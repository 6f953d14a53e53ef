"""A draft in, the content of the files of one immutable version out. Writes nothing."""

import dataclasses
from collections.abc import Iterator, Sequence

from pageindex_local.errors import StoreError, TreeError
from pageindex_local.export import to_pageindex
from pageindex_local.ids import hash_parts, sha256_hex
from pageindex_local.records import LineRole, Page, SectionTree
from pageindex_local.store import layout
from pageindex_local.store.columns import write_nodes, write_pages
from pageindex_local.store.layout import canonical_json
from pageindex_local.store.records import (
    FORMAT_VERSION,
    STORED_METADATA,
    Changes,
    Counts,
    FormerName,
    Grafts,
    Manifest,
    StoredFile,
    StoredGraft,
    StoredPage,
    StoredUsage,
    Tombstone,
    VersionDraft,
)


def stored_page(page: Page) -> StoredPage:
    """A page as it is kept.

    Raises:
        StoreError: a line holds a line break, so that line numbers would not find their text again.
    """
    running = tuple(number for number, line in enumerate(page.lines, page.first_line) if line.role is LineRole.RUNNING)
    if any("\n" in line.text for line in page.lines):
        raise StoreError(
            "a line holds a line break", subject=f"page {page.page_number}", next_step="Please report this document."
        )
    return StoredPage(page.page_number, page.label, page.first_line, len(page.lines), page.text, running)


def tree_hash(tree: SectionTree) -> str:
    """The logical hash of a whole tree: titles and texts, no positions, no ids."""
    return hash_parts(["tree", *(tree.nodes[root].subtree_hash for root in tree.roots)])


def content_hash(tree: SectionTree, pages: Sequence[StoredPage]) -> str:
    """The logical hash of everything that a version keeps of its document, whatever the file format."""
    return hash_parts(_content_parts(tree, pages))


def _content_parts(tree: SectionTree, pages: Sequence[StoredPage]) -> Iterator[str]:
    yield from ("description", tree.description, tree.description_source.value)
    for node in tree.walk():
        yield "node"
        yield from (str(getattr(node, name)) for name in _NODE_FIELDS)
    for page in pages:
        yield "page"
        yield from (str(getattr(page, name)) for name in _PAGE_FIELDS)


_NODE_FIELDS = (
    *("node_id", "parent_id", "children", "title", "level", "kind", "span", "heading", "first_page", "last_page"),
    *("origin", "confidence", "own_hash", "subtree_hash", "summary", "summary_source"),
)
_PAGE_FIELDS = tuple(field.name for field in dataclasses.fields(StoredPage))


def build_files(
    draft: VersionDraft,
    parent: Manifest | None,
    parent_sha256: str | None,
    tombstones: dict[str, Tombstone],
    created_at: str,
    former: Manifest | None = None,
) -> dict[str, bytes]:
    """The content of every file of a version, `manifest.json` last.

    `tombstones` are those of the parent version, `former` is the last manifest under another name.

    Raises:
        TreeError: the tree is not a pre-order map, or its ids are not those of the match report, or an id is reissued.
        StoreError: text that cannot be stored.
    """
    _check_order(draft.tree)
    ended = _end_ids(draft, tombstones)
    source = draft.document.source
    pages = tuple(stored_page(page) for page in draft.document.pages)
    changes = Changes(
        version_id=draft.version_id, parent_version=draft.parent_version, report=draft.report, tombstones=ended
    )
    nested = to_pageindex(source.doc_id, draft.tree, has_pages=draft.document.has_pages, details=True)
    try:
        files = {
            layout.TREE: canonical_json(nested),
            layout.NODES: write_nodes(draft.tree),
            layout.PAGES: write_pages(pages),
            layout.CHANGES: canonical_json(changes.model_dump(mode="json"), indent=None),
        }
        if draft.document.grafts:
            stored = tuple(StoredGraft(**dataclasses.asdict(graft)) for graft in draft.document.grafts)
            files[layout.GRAFTS] = canonical_json(Grafts(grafts=stored).model_dump(mode="json"), indent=None)
    except UnicodeEncodeError as error:
        raise StoreError(
            f"holds text that is not Unicode (lone surrogate at {error.start})",
            subject=source.doc_id,
            next_step="Please report this document.",
        ) from None
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        doc_id=source.doc_id,
        doc_key=source.doc_key,
        version_id=draft.version_id,
        parent_version=parent.version_id if parent else None,
        parent_manifest_sha256=parent_sha256,
        source_sha256=source.sha256,
        source_size_bytes=source.size_bytes,
        media_type=source.media_type,
        settings_hash=draft.settings_hash,
        tree_hash=tree_hash(draft.tree),
        content_hash=content_hash(draft.tree, pages),
        description=draft.tree.description,
        description_source=draft.tree.description_source,
        files=tuple(
            StoredFile(name=name, size_bytes=len(data), sha256=sha256_hex(data)) for name, data in files.items()
        ),
        fingerprint=dict(sorted(draft.fingerprint.items())),
        counts=Counts(
            pages=len(pages),
            nodes=len(draft.tree.nodes),
            nodes_reused=draft.nodes_reused,
            nodes_rebuilt=draft.nodes_rebuilt,
            nodes_moved=draft.nodes_moved,
        ),
        usage=StoredUsage(**dataclasses.asdict(draft.usage)),
        warnings=draft.warnings,
        created_at=created_at,
        renamed_from=FormerName(doc_id=former.doc_id, doc_key=former.doc_key, version_id=former.version_id)
        if former
        else None,
        metadata={name: draft.document.metadata[name] for name in STORED_METADATA if draft.document.metadata.get(name)},
    )
    files[layout.MANIFEST] = canonical_json(manifest.model_dump(mode="json"))
    return files


def _check_order(tree: SectionTree) -> None:
    order = iter(tree.nodes)
    stack: list[tuple[str, str | None]] = [(root, None) for root in reversed(tree.roots)]
    while stack:
        node_id, parent_id = stack.pop()
        node = tree.nodes.get(node_id)
        if node is None or next(order, None) != node_id or node.node_id != node_id or node.parent_id != parent_id:
            raise TreeError(f"node {node_id} is not where the pre-order of the tree wants it")
        stack.extend((child, node_id) for child in reversed(node.children))
    if next(order, None) is not None:
        raise TreeError("the tree holds nodes that no top-level node leads to")


def _end_ids(draft: VersionDraft, tombstones: dict[str, Tombstone]) -> dict[str, Tombstone]:
    report = draft.report
    living = [kept.node_id for kept in report.kept] + [added.node_id for added in report.added]
    if len(living) != len(draft.tree.nodes) or set(living) != set(draft.tree.nodes):
        raise TreeError(
            f"the match report names {len(living)} nodes, the tree has {len(draft.tree.nodes)}",
            subject=draft.document.source.doc_id,
        )
    ended = dict(tombstones)
    for entry in report.removed:
        ended[entry.old_id] = Tombstone(fate=entry.fate, title=entry.title, ended_in=draft.version_id, into=entry.into)
    reissued = ended.keys() & draft.tree.nodes.keys()
    if reissued:
        raise TreeError(
            f"{len(reissued)} ids of removed sections are used again, such as {min(reissued)}",
            subject=draft.document.source.doc_id,
        )
    return ended
