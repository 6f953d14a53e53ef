"""Files of full text and of vectors: which are kept, and how those of an index in a bucket come here and go back.

They are derived, so nothing here may fail a build or a question: who misses one makes it again from the nearest.
"""

from contextlib import suppress
from pathlib import Path

from pageindex_local.errors import StoreError
from pageindex_local.ids import sha256_hex
from pageindex_local.store.copies import write_copy
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import SEAL_SUFFIX, TEMPORARY, seal_bytes
from pageindex_local.store.leases import read_leases

SEARCH_SUFFIX = ".sqlite"
VECTORS_SUFFIX = ".vectors.npz"
CALIBRATION_SUFFIX = ".calibration.json"
KEPT_CALIBRATIONS = 30  # newest ones, also of releases that are gone: later releases go by them while they fit
_KEPT = 2  # newest files of each kind: the live release's, and the one before, which a rollback or slow reader wants
_KEPT_HERE = 4  # files on this machine of an index in a bucket: also those of releases that are asked today


def find_old_search_files(store: IndexStore) -> list[Path]:
    """Full text and vectors that need not be kept: all but the newest of each, the live release's and leased ones.

    A reader that has such a file open goes on reading it; one that looks for it makes it again.
    """
    names = [name for name in store.files.list_names(store.layout.search) if not name.startswith(TEMPORARY)]
    held = {int(name) for name in read_leases(store.files, store.layout)[0]}
    live = store.current()
    if live is not None:
        held.add(int(live.name))
    old = []
    for suffix in (SEARCH_SUFFIX, VECTORS_SUFFIX):
        newest = sorted(_number(name) for name in names if name.endswith(suffix))[-_KEPT:]
        derived = [name for name in names if name.removesuffix(SEAL_SUFFIX).endswith(suffix)]
        old += [store.layout.search / name for name in derived if _number(name) not in {*held, *newest}]
    return old


def drop_old_search_files(store: IndexStore) -> None:
    """Remove what `find_old_search_files` names. Called once a newer file is in its place."""
    with suppress(OSError, StoreError):
        for path in find_old_search_files(store):
            store.files.remove(path)


def put_sealed(finished: Path, path: Path, sha256: str) -> None:
    """Move a finished file to its place, with the seal by which `verify` finds damage.

    A crash may leave a file without a seal, never with the seal of another.

    Raises:
        OSError: the disk refused.
    """
    seal = path.with_name(path.name + SEAL_SUFFIX)
    seal.unlink(missing_ok=True)
    finished.replace(path)
    seal.write_bytes(seal_bytes(sha256))


def trim_copies(store: IndexStore, suffix: str) -> None:
    """Remove the oldest files on this machine of an index in a bucket, which gc of the index does not see."""
    if store.search_folder == store.layout.search:
        return
    with suppress(OSError):
        files = sorted(store.search_folder.glob(f"[0-9]*{suffix}"), key=lambda file: file.stat().st_mtime)
        for file in files[:-_KEPT_HERE]:
            file.unlink(missing_ok=True)
            file.with_name(file.name + SEAL_SUFFIX).unlink(missing_ok=True)


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
            write_copy(path.with_name(path.name + SEAL_SUFFIX), seal)
            trim_copies(store, SEARCH_SUFFIX)


def fetch_nearest_search_file(store: IndexStore, path: Path) -> None:
    """Bring the file to this machine from which that of a release is best made: of the nearest one that has any."""
    if store.search_folder == store.layout.search:
        return
    with suppress(OSError, StoreError):
        here = {file.name for file in path.parent.glob(f"[0-9]*{SEARCH_SUFFIX}")}
        names = here | {name for name in store.files.list_names(store.layout.search) if name.endswith(SEARCH_SUFFIX)}
        nearest = min(names - {path.name}, key=lambda name: (abs(_number(name) - _number(path.name)), name), default="")
        if nearest and nearest not in here:
            fetch_search_file(store, path.with_name(nearest))


def share_search_file(store: IndexStore, path: Path) -> None:
    """Put a search file that was built on this machine into the bucket, where it is the first; drop old ones here."""
    shared = store.layout.search / path.name
    if shared == path:
        return
    with suppress(OSError, StoreError):
        data = path.read_bytes()
        store.files.create_file(shared, data)
        store.files.create_file(shared.with_name(shared.name + SEAL_SUFFIX), seal_bytes(sha256_hex(data)))
    trim_copies(store, SEARCH_SUFFIX)


def _number(name: str) -> int:
    """The number of the release that a file belongs to; 0 for a name that is none of ours."""
    digits = name.partition(".")[0]
    return int(digits) if digits.isdecimal() else 0
