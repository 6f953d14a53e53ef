"""What gc is about to remove, where no lock keeps publishers away: written before, so that nobody pins it meanwhile.

Order of events: gc writes the list, then swaps CURRENT (for a release equal to the live one), then removes. A publisher
reads CURRENT, then the list, then swaps CURRENT. So whichever swap comes second has seen the other's work, or fails.
"""

from pydantic import BaseModel, ConfigDict

from pageindex_local.store.files import FileSystem
from pageindex_local.store.layout import Layout, canonical_json
from pageindex_local.store.reader import read_record


class Condemned(BaseModel):
    """Releases and versions (document key, version id) that gc decided to remove. Entries may be gone already."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_version: int = 1
    releases: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()


def read_condemned(files: FileSystem, layout: Layout) -> tuple[Condemned, bytes | None]:
    """The list with its bytes; empty and None where there is none, as always where locks do this work.

    Raises:
        CorruptIndexError: it is damaged.
    """
    if files.has_locks:
        return Condemned(), None
    try:
        data = files.read_bytes(layout.condemned)
    except FileNotFoundError:
        return Condemned(), None
    return read_record(data, Condemned, subject=str(layout.condemned)), data


def read_versions(files: FileSystem, layout: Layout) -> set[tuple[str, str]]:
    """The versions that nobody may pin any more."""
    return set(read_condemned(files, layout)[0].versions)


def write_condemned(files: FileSystem, layout: Layout, listed: Condemned, before: bytes | None) -> None:
    """Replace the list.

    Raises:
        ConflictError: another gc replaced it meanwhile.
    """
    files.replace_file(layout.condemned, canonical_json(listed.model_dump(mode="json"), indent=None), before)
