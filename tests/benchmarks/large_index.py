"""An index of many small documents: how long the store takes to open it, change one document, verify, resolve, export.

Usage: python -m tests.benchmarks.large_index FOLDER [--documents 10000]

Writes the index into FOLDER first where it is not there yet (no parsing, no model: the store alone). Seconds of wall
clock; the second figure is processor time.
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pageindex_local.store.gc import plan_gc
from pageindex_local.store.history import resolve_node
from pageindex_local.store.index import IndexStore
from pageindex_local.store.verify import verify_index
from tests.sections import Section
from tests.store_samples import make_store, write_sections


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long the block took."""
    wall, processor = time.perf_counter(), time.process_time()
    yield
    print(f"{what:44} {time.perf_counter() - wall:8.3f} s {time.process_time() - processor:8.3f} s")


def fill(store: IndexStore, documents: int) -> None:
    """Write and publish that many documents of twenty sections."""
    refs = {}
    for number in range(documents):
        sections = [
            Section(f"s{place}", f"{place} Title {place}", [f"Text of section {place} of document {number}."])
            for place in range(1, 21)
        ]
        ref = write_sections(store, sections, f"folder{number % 100}/document-{number}.md")
        refs[ref.doc_key] = ref
    store.publish(refs, expected_parent=None)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=10_000)
    options = parser.parse_args()
    if make_store(options.folder).current() is None:
        with timed(f"write {options.documents} documents"):
            fill(make_store(options.folder), options.documents)
    store = make_store(options.folder)
    with timed("open the live release"):
        release = store.require_current()
    doc_key = list(release.documents)[-1]
    with timed("open one document, tree and pages"):
        version = store.open_document(release, doc_key)
        version.tree()
        version.pages()
    with timed("write one changed document"):
        ref = write_sections(store, [Section("z", "Changed", ["Text."])], release.documents[doc_key].doc_id)
    with timed("publish it"):
        release = store.publish({doc_key: ref}, expected_parent=release.name)
    node_id = next(iter(store.open_document(release, doc_key).tree().nodes))
    with timed("resolve an id without naming its document"):
        resolve_node(store, release, node_id)
    with timed("plan gc"):
        plan_gc(store)
    with timed("verify"):
        report = verify_index(store)
    print(
        f"{len(release.documents)} documents, {report.files} files, {report.size_bytes} bytes, clean: {report.is_clean}"
    )


if __name__ == "__main__":
    main()
