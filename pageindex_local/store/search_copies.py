"""Search files of an index in a bucket: used on this machine, shared through the bucket with their hash beside them.

They are derived, so nothing here may fail a build or a question: without a shared file the next reader builds its own.
"""

from contextlib import suppress
from pathlib import Path

from pageindex_local.errors import StoreError
from pageindex_local.ids import sha256_hex
from pageindex_local.store.copies import write_copy
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import SEAL_SUFFIX, seal_bytes

_KEPT = 4  # search files on this machine: those of releases that are asked today, and one to start the next from


def fetch_search_file(store: IndexStore, path: Path) -> None:
    """Bring a search file to its place on this machine, if it is missing and the bucket has it whole."""
    shared = store.layout.search / path.name
    if shared == path or path.exists():
        return
    with suppress(OSError, StoreError):
        seal = store.files.read_bytes(shared.with_name(shared.name + SEAL_SUFFIX))
        data = store.files.read_bytes(shared)
        if seal == seal_bytes(sha256_hex(data)):
            write_copy(path, data)


def share_search_file(store: IndexStore, path: Path) -> None:
    """Put a search file that was built on this machine into the bucket, where it is the first; drop old ones here."""
    shared = store.layout.search / path.name
    if shared == path:
        return
    with suppress(OSError, StoreError):
        data = path.read_bytes()
        store.files.create_file(shared, data)
        store.files.create_file(shared.with_name(shared.name + SEAL_SUFFIX), seal_bytes(sha256_hex(data)))
    with suppress(OSError):
        files = sorted(path.parent.glob("*.sqlite"), key=lambda file: file.stat().st_mtime)
        for file in files[:-_KEPT]:
            file.unlink(missing_ok=True)
            file.with_name(file.name + SEAL_SUFFIX).unlink(missing_ok=True)
