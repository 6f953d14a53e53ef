"""What an index no longer needs: a plan as data, and its execution. Never touches what a release or a reader holds.

What is to go is first written down as `condemned`, see there.
"""

import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

from pageindex_local.errors import ConflictError, IndexNotFoundError
from pageindex_local.ids import DOC_KEY_PATTERN
from pageindex_local.store import releases as release_files
from pageindex_local.store.condemned import Condemned, read_condemned, write_condemned
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import MANIFEST, SEAL_SUFFIX, TEMPORARY, last_version_bytes, release_name
from pageindex_local.store.leases import read_leases
from pageindex_local.store.search_copies import CALIBRATION_SUFFIX, KEPT_CALIBRATIONS, find_old_search_files

_MOMENT_S = 60.0  # more than anybody needs between two steps, as in a trial of the medium


@dataclass(frozen=True, slots=True)
class GcPlan:
    """What would be removed: releases (oldest first), versions (document key, version), and leftovers of crashes.

    `search` are full-text files of releases that go, never became live, or are too old to keep theirs; `leases` those
    that have run out.
    """

    live: str | None
    kept_releases: tuple[str, ...]
    releases: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    leftovers: tuple[Path, ...]
    search: tuple[Path, ...]
    leases: tuple[Path, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.releases or self.versions or self.leftovers or self.search or self.leases)


def plan_gc(store: IndexStore, keep_releases: int | None = None) -> GcPlan:
    """What gc would remove. Changes nothing.

    Kept are the newest `keep_releases` releases (the settings' number by default; marks of gc do not count), those that
    a reader has leased and all between, every version that one of them pins, and everything younger than
    `settings.grace_s`. Only the oldest releases go, so that the newer ones go on vouching for each other.

    Raises:
        CorruptIndexError: a kept release cannot be read, so nobody knows what it pins.
    """
    return _plan(store, keep_releases, Condemned())


def _plan(store: IndexStore, keep_releases: int | None, condemned: Condemned) -> GcPlan:
    """A plan that goes on with what an earlier gc has condemned, unless it was pinned before that took effect."""
    keep = max(1, store.settings.keep_releases if keep_releases is None else keep_releases)
    marks = store.chain().marks if store.current() else frozenset()
    names = store.releases()
    leased, expired, damaged = read_leases(store.files, store.layout)
    expired += [path for path in damaged if _is_old(store, path)]
    real = [name for name in names if name not in marks]
    first_kept = names.index(real[-keep]) if len(real) > keep else 0
    first_kept = max([first_kept, *(names.index(name) + 1 for name in condemned.releases if name in names[:-1])])
    first_kept = min([first_kept, *(names.index(name) for name in leased if name in names)])
    kept = names[first_kept:]
    pinned = {(doc_key, entry.version_id) for name in kept for doc_key, entry in store.release(name).documents.items()}
    versions: list[tuple[str, str]] = []
    leftovers: list[Path] = []
    for doc_key in _document_keys(store):
        folder = store.layout.versions(doc_key)
        leftovers.extend(folder / name for name in store.files.list_names(folder) if name.startswith(TEMPORARY))
        versions.extend(
            (doc_key, version_id)
            for version_id in store.begun_version_ids(doc_key)
            if (doc_key, version_id) not in pinned
            and (
                (doc_key, version_id) in condemned.versions or _is_old(store, store.layout.version(doc_key, version_id))
            )
        )
    for folder in (store.layout.folder, store.layout.releases, store.layout.search):
        leftovers.extend(folder / name for name in store.files.list_names(folder) if name.startswith(TEMPORARY))
    # Without locks an unfinished write may be somebody's trial of the medium, made a moment ago.
    shield_s = 0.0 if store.files.has_locks else _MOMENT_S
    leftovers = [path for path in leftovers if _is_old(store, path, shield_s)]
    leftovers += [path for path in _dead_releases(store) if _is_old(store, path)]
    return GcPlan(
        live=names[-1] if names else None,
        kept_releases=kept,
        releases=names[:first_kept],
        versions=tuple(versions),
        leftovers=tuple(leftovers),
        search=tuple(_stale_search_files(store, kept)),
        leases=tuple(expired),
    )


def apply_gc(store: IndexStore, keep_releases: int | None = None) -> GcPlan:
    """Remove what `plan_gc` names, planned anew under the publish lock. Returns what was removed.

    Releases go before the versions they pin, so that a crash leaves no release without its versions.

    Raises:
        ConflictError: somebody is publishing or writing.
        CorruptIndexError: as `plan_gc`.
        StoreError: the disk refused.
    """
    with store.publishing():
        plan = _condemn(store, keep_releases)
        for name in plan.releases:
            store.files.remove(store.layout.release(name))
        store.files.settle(store.layout.releases)
        for doc_key, version_id in plan.versions:
            _remove_version(store, doc_key, version_id)
        for path in (*plan.leftovers, *plan.search, *plan.leases):
            store.files.remove(path)
        if store.files.has_locks:
            store.files.remove(store.layout.condemned)  # no other gc can be at work with it
        return plan


def _condemn(store: IndexStore, keep_releases: int | None) -> GcPlan:
    """A plan that no publisher and no reader can cross any more.

    Its list is out; where no lock keeps publishers away CURRENT was swapped after that; and then the leases were read
    once more.
    """
    deadline = time.monotonic() + store.settings.lock_timeout_s
    while True:
        try:
            return _try_to_condemn(store, keep_releases)
        except (ConflictError, IndexNotFoundError):  # a publisher or another gc was quicker
            if store.files.has_locks or time.monotonic() > deadline:
                raise


def _try_to_condemn(store: IndexStore, keep_releases: int | None) -> GcPlan:
    condemned, before = read_condemned(store.files, store.layout)
    live = store.live()
    leased = read_leases(store.files, store.layout)[0]
    plan = _plan(store, keep_releases, condemned)
    if live is None or not (plan.releases or plan.versions):
        return plan
    write_condemned(store.files, store.layout, _join(store, condemned, plan), before)
    if not store.files.has_locks:
        release_files.write_release(store.files, store.layout, live, dict(live[0].documents), release_files.GC_MARK)
    if read_leases(store.files, store.layout)[0] <= leased:
        return plan
    again = _plan(store, keep_releases, condemned)
    return replace(
        plan,
        releases=tuple(name for name in plan.releases if name in again.releases),
        versions=tuple(version for version in plan.versions if version in again.versions),
    )


def _join(store: IndexStore, condemned: Condemned, plan: GcPlan) -> Condemned:
    """The next list. What another gc may be removing at this moment stays on it, until it is gone.

    But for what somebody pinned before the other gc had swapped CURRENT: that gc has planned anew, or died.
    """
    names = store.releases()
    outside = [store.release(name) for name in names if name not in condemned.releases]
    pinned = {(doc_key, entry.version_id) for release in outside for doc_key, entry in release.documents.items()}
    there = {
        (doc_key, version_id)
        for doc_key in {doc_key for doc_key, _ in condemned.versions}
        for version_id in store.begun_version_ids(doc_key)
    }
    releases = [name for name in names if name in condemned.releases or name in plan.releases]
    versions = (set(condemned.versions) & there - pinned) | set(plan.versions)
    return Condemned(releases=tuple(releases), versions=tuple(sorted(versions)))


def _dead_releases(store: IndexStore) -> list[Path]:
    """Release files that never became live and will not."""
    numbers = release_files.list_numbers(store.files, store.layout)
    live = store.current()
    if live is None:
        return []
    dead = store.chain().dead_numbers(numbers)
    if store.files.has_locks:  # nobody is publishing, so those above the live one are dead as well
        dead += [number for number in numbers if number > int(live.name)]
    return [store.layout.release(release_name(number)) for number in dead]


def _remove_version(store: IndexStore, doc_key: str, version_id: str) -> None:
    files, layout = store.files, store.layout
    with files.lock(layout.document_lock(doc_key), store.settings.lock_timeout_s, what=f"document {doc_key}"):
        if store.begun_version_ids(doc_key)[-1:] == (version_id,):
            _remember(store, doc_key, version_id)
        files.remove_whole(layout.version(doc_key, version_id), MANIFEST)


def _remember(store: IndexStore, doc_key: str, version_id: str) -> None:
    """Note the highest version number, so that it is not given again. Versions go oldest first: it only rises."""
    files, layout = store.files, store.layout
    last = store.last_version(doc_key)
    if last is not None and last >= version_id and len(last) >= len(version_id):
        return
    files.clear_unfinished(layout.document(doc_key))
    files.replace_file(
        layout.last_version(doc_key), last_version_bytes(version_id), last_version_bytes(last) if last else None
    )


def _document_keys(store: IndexStore) -> list[str]:
    return [name for name in store.files.list_names(store.layout.documents) if re.fullmatch(DOC_KEY_PATTERN, name)]


def _is_old(store: IndexStore, path: Path, at_least_s: float = 0.0) -> bool:
    try:
        return store.files.modified_time(path) <= time.time() - max(store.settings.grace_s, at_least_s)
    except FileNotFoundError:
        return False


def _stale_search_files(store: IndexStore, kept: tuple[str, ...]) -> list[Path]:
    """Derived files of releases that go, or that publishing should have dropped.

    What was measured of a model on a release that goes still counts for the releases after it, and no build makes it
    again: so the newest of these files stay.
    """
    names = [name for name in store.files.list_names(store.layout.search) if not name.startswith(TEMPORARY)]
    measured = [name for name in names if name.removesuffix(SEAL_SUFFIX).endswith(CALIBRATION_SUFFIX)]
    newest = sorted({name.partition(".")[0] for name in measured})[-KEPT_CALIBRATIONS:]
    staying = {name for name in measured if name.partition(".")[0] in newest}
    gone = {store.layout.search / name for name in names if name.partition(".")[0] not in kept and name not in staying}
    return sorted(path for path in gone | set(find_old_search_files(store)) if _is_old(store, path))
