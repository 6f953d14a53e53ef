"""A process that publishes for ever, started again and again by one that has everything imported: to be killed.

Reads one line from standard input for each child to start, writes its process id, and waits for its end.
Usage: python -m tests.faults.publisher INDEX, a folder or the address of a bucket
"""

import os
import sys
from pathlib import Path

import pageindex_local.store.writer  # noqa: F401 - the children must not spend their short lives importing
from pageindex_local.errors import ConflictError
from pageindex_local.store.gc import apply_gc
from pageindex_local.store.index import IndexStore
from pageindex_local.store.places import BucketPath, read_place
from tests.store_samples import make_store, sample_sections, write_sections


def publish_pair(store: IndexStore, mark: str) -> None:
    """Publish two documents that bear the same mark, in one release."""
    live = store.current()
    refs = [write_sections(store, sample_sections(mark), doc_id) for doc_id in ("pump.md", "valve.md")]
    store.publish({ref.doc_key: ref for ref in refs}, expected_parent=live.name if live else None)


def publish_for_ever(root: Path) -> None:
    """Publish pairs whose mark counts up from the number of the live release; collect garbage now and then."""
    store = make_store(root, lock_timeout_s=20, grace_s=0)
    while True:
        live = store.current()
        number = int(live.name) if live else 0
        try:
            publish_pair(store, str(number + 1))
            if number % 7 == 6:
                apply_gc(store, keep_releases=5)
        except ConflictError:
            continue


def main() -> None:
    """Start a child for each line of input."""
    root = read_place(sys.argv[1])
    # A disk is tried once for all: children are killed too early to spend their time on it. A bucket is not opened
    # here, for not every library of buckets works in a child that was forked after its first use.
    if not isinstance(root, BucketPath):
        make_store(root).files.check_medium(root / "main", allow_network_disk=False)
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                publish_for_ever(root)
            finally:
                os._exit(1)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
