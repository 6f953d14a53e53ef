"""What gc is about to remove, written down before, so that nobody takes it up meanwhile.

Readers: a reader leaves a lease, then reads the list; gc writes the list, then reads the leases. One sees the other.

Publishers: a lock keeps them away from gc. Where there is none (a bucket), gc swaps CURRENT after it wrote the list,
for a release equal to the live one. A publisher reads CURRENT, then the list, then swaps CURRENT: of the two swaps the
later one fails, or was made by someone who knows the other's work.
"""

from contextlib import suppress

from pydantic import BaseModel, ConfigDict

from pageindex_local.errors import CorruptIndexError, IndexNotFoundError
from pageindex_local.ids import sha256_hex
from pageindex_local.store.files import FileSystem
from pageindex_local.store.layout import Layout, canonical_json, seal_bytes
from pageindex_local.store.reader import read_record
from pageindex_local.store.records import Pointer


class Condemned(BaseModel):
    """Releases and versions (document key, version id) that gc decided to remove. Entries may be gone already."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_version: int = 1
    releases: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()


def read_condemned(files: FileSystem, layout: Layout) -> tuple[Condemned, bytes | None]:
    """The list with its bytes; empty and None where there is none.

    Raises:
        CorruptIndexError: it is damaged.
        FormatVersionError: written by a newer format.
    """
    try:
        data = files.read_bytes(layout.condemned)
    except FileNotFoundError:
        return Condemned(), None
    body, newline, seal = data.partition(b"\n")
    listed = read_record(body, Condemned, subject=str(layout.condemned))
    if seal != seal_bytes(sha256_hex(body + newline)):
        raise CorruptIndexError(
            "is not the text that was written", subject=str(layout.condemned), next_step="Remove it and run gc again."
        )
    return listed, data


def read_versions(files: FileSystem, layout: Layout) -> set[tuple[str, str]]:
    """The versions that nobody may pin any more; none where locks keep gc and publishers apart."""
    return set() if files.has_locks else set(read_condemned(files, layout)[0].versions)


def write_condemned(files: FileSystem, layout: Layout, listed: Condemned, before: bytes | None) -> None:
    """Replace the list.

    Raises:
        ConflictError: another gc replaced it meanwhile.
    """
    body = canonical_json(listed.model_dump(mode="json"), indent=None)
    files.replace_file(layout.condemned, body + seal_bytes(sha256_hex(body)), before)


def check_release(files: FileSystem, layout: Layout, name: str) -> None:
    """Make sure that no gc removes a release whose lease was just written.

    A live release was live when any gc at work made its plan, and no plan drops that. For another the list decides.

    Raises:
        IndexNotFoundError: it is being removed, or was.
    """
    with suppress(FileNotFoundError):
        pointer = read_record(files.read_bytes(layout.current), Pointer, subject=str(layout.current))
        if pointer.release == name:
            return
    if name in read_condemned(files, layout)[0].releases or not files.exists(layout.release(name)):
        raise IndexNotFoundError(
            "this release has just been removed by gc", subject=name, next_step="Run the command again."
        )
