"""Releases and the pointer to the live one: read, checked, written under a lock. Does not look into versions."""

from datetime import UTC, datetime

from pageindex_local.errors import CorruptIndexError, IndexNotFoundError
from pageindex_local.ids import sha256_hex
from pageindex_local.store.files import FileSystem
from pageindex_local.store.layout import TEMPORARY, Layout, canonical_json, release_name, temporary_name
from pageindex_local.store.reader import read_checked, read_record
from pageindex_local.store.records import FORMAT_VERSION, Pointer, Release, ReleaseEntry


def now() -> str:
    """The time in UTC as it is written into manifests and releases."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def list_numbers(files: FileSystem, layout: Layout) -> list[int]:
    """The numbers of all release files, ascending, those that never became live included."""
    names = (name.removesuffix(".json") for name in files.list_names(layout.releases) if name.endswith(".json"))
    return sorted(int(name) for name in names if name.isdecimal())


def read_pointer(files: FileSystem, layout: Layout) -> Pointer | None:
    """What CURRENT says; None where nothing was ever published.

    Raises:
        CorruptIndexError: CURRENT is damaged, or missing although several releases exist.
        FormatVersionError: written by a newer format.
    """
    subject = str(layout.current)
    try:
        data = files.read_bytes(layout.current)
    except FileNotFoundError:
        # One release without CURRENT is what a crash before the very first publication leaves; more is a loss.
        if len(list_numbers(files, layout)) > 1:
            raise CorruptIndexError(
                "is missing although the collection has releases",
                subject=subject,
                next_step="Restore the file from a copy or import a bundle; the releases themselves are still there.",
            ) from None
        return None
    pointer = read_record(data, Pointer, subject=subject)
    if data != pointer_bytes(pointer):
        raise CorruptIndexError("is not the text that was written", subject=subject, next_step="Restore the file.")
    return pointer


def pointer_bytes(pointer: Pointer) -> bytes:
    """CURRENT as it is written; every byte of it is checked when read."""
    return canonical_json(pointer.model_dump(mode="json"))


def read_release(files: FileSystem, layout: Layout, name: str, sha256: str | None) -> tuple[Release, str]:
    """A release and the hash of its file.

    Raises:
        IndexNotFoundError: no such release.
        CorruptIndexError: not the bytes that `sha256` names, or no release.
    """
    path = layout.release(name)
    if sha256 is None and not files.exists(path):
        raise IndexNotFoundError("there is no such release", subject=name, next_step="See `release list`.")
    data = read_checked(files, path, sha256)
    release = read_record(data, Release, subject=str(path))
    if release.name != name:
        raise CorruptIndexError(f"says that it is release {release.name}", subject=str(path))
    return release, sha256_hex(data)


def write_release(
    files: FileSystem,
    layout: Layout,
    parent: tuple[Release, str] | None,
    documents: dict[str, ReleaseEntry],
    reason: str,
    at_least: int = 1,
) -> tuple[Release, str]:
    """Write the next release and make it live. The caller holds the publish lock and has checked the parent.

    Release numbers are never used twice, not even those of releases that a crash kept from becoming live. `at_least`
    asks for a higher one than the next.
    """
    number = max(at_least, max(list_numbers(files, layout), default=0) + 1)
    release = Release(
        format_version=FORMAT_VERSION,
        name=release_name(number),
        parent=parent[0].name if parent else None,
        parent_sha256=parent[1] if parent else None,
        created_at=now(),
        reason=reason,
        documents=dict(sorted(documents.items())),
    )
    data = canonical_json(release.model_dump(mode="json"), indent=None)
    install_release(files, layout, release.name, data, live_number=int(parent[0].name) if parent else 0)
    return release, sha256_hex(data)


def install_release(files: FileSystem, layout: Layout, name: str, data: bytes, *, live_number: int) -> None:
    """Write the file of a release and make it live. The caller holds the publish lock.

    Releases above the live one never became live (a crash came between); they go first, so that nobody takes them for
    history later.
    """
    remove_unfinished(files, layout)
    if not files.exists(layout.releases):
        files.make_folder(layout.releases)
        files.sync_folder(layout.folder)
    for number in list_numbers(files, layout):
        if number > live_number:
            files.remove(layout.release(release_name(number)))
    temporary = layout.releases / temporary_name()
    files.write_new(temporary, data)
    files.sync_file(temporary)
    files.rename(temporary, layout.release(name))
    files.sync_folder(layout.releases)
    set_current(files, layout, name, sha256_hex(data))


def set_current(files: FileSystem, layout: Layout, name: str, sha256: str) -> None:
    """Swap the pointer. The caller holds the publish lock."""
    pointer = Pointer(format_version=FORMAT_VERSION, release=name, sha256=sha256)
    temporary = layout.folder / temporary_name()
    files.write_new(temporary, pointer_bytes(pointer))
    files.sync_file(temporary)
    files.replace(temporary, layout.current)
    files.sync_folder(layout.folder)


def remove_unfinished(files: FileSystem, layout: Layout) -> None:
    """Remove what crashed publishers and imports left. The caller holds the publish lock."""
    for folder in (layout.folder, layout.releases):
        for name in files.list_names(folder):
            if name.startswith(TEMPORARY):
                files.remove(folder / name)
