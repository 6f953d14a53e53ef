"""What gc is about to remove, written down before, so that nobody takes it up meanwhile.

Readers: a reader leaves a lease, then reads the list; gc writes the list, then reads the leases. One sees the other.

Publishers: a lock keeps them away from gc. Where there is none (a bucket), gc swaps CURRENT after it wrote the list,
for a release equal to the live one. A publisher reads CURRENT, then the list, then swaps CURRENT: of the two swaps the
later one fails, or was made by someone who knows the other's work.
"""

from pydantic import BaseModel, ConfigDict

from pageindex_local.errors import CorruptIndexError
from pageindex_local.ids import sha256_hex
from pageindex_local.store.files import FileSystem
from pageindex_local.store.layout import Layout, canonical_json, seal_bytes
from pageindex_local.store.reader import read_record


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
