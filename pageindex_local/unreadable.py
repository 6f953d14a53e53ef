"""Documents that could not be read: remembered by content, so that no build reads the same bytes in vain again.

In: a source, today's settings; out: the error it gave before. Derived and safe to delete: the next build tries again.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pageindex_local import __version__
from pageindex_local.build import ALGORITHM_VERSION
from pageindex_local.errors import PageindexError, ParserCrashError, SourceError, StoreError
from pageindex_local.ids import hash_parts
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import Source
from pageindex_local.settings import ParseSettings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import canonical_json

UNCHANGED = "could not be read before, and has not changed since"
NOT_TRIED = f"{UNCHANGED}: not tried again (--force does)"
_MOST = 10_000  # entries that are kept, the newest ones
_KINDS: dict[str, type[SourceError]] = {
    kind.__name__: kind for kind in (*SourceError.__subclasses__(), ParserCrashError)
}


class _Entry(BaseModel):
    """Content that could not be read: its last name, under which settings, and the error's parts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    doc_id: str
    settings_hash: str
    kind: str
    problem: str
    next_step: str


class _File(BaseModel):
    """The file `work/unreadable.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_version: int = 1
    documents: dict[str, _Entry] = {}


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What earlier builds could not read, by its bytes and type; `data` are the bytes of the file."""

    settings_hash: str = ""
    entries: Mapping[str, _Entry] = field(default_factory=dict)
    data: bytes | None = None

    def find(self, source: Source) -> SourceError | None:
        """The error that these bytes gave under today's settings and program."""
        entry = self.entries.get(_key(source))
        if entry is None or entry.settings_hash != self.settings_hash:
            return None
        return _KINDS[entry.kind](entry.problem, subject=source.doc_id, next_step=entry.next_step)


def read_unreadable(store: IndexStore, settings: ParseSettings) -> Unreadable:
    """What earlier builds of this index could not read; nothing where the file is missing or damaged."""
    try:
        data = store.files.read_bytes(_path(store))
    except (OSError, StoreError):
        return Unreadable(_settings_hash(settings))
    try:
        listed = _File.model_validate_json(data)
    except ValidationError:
        return Unreadable(_settings_hash(settings), data=data)
    entries = {key: entry for key, entry in listed.documents.items() if entry.kind in _KINDS}
    return Unreadable(_settings_hash(settings), entries, data)


def remember_unreadable(
    store: IndexStore,
    settings: ParseSettings,
    known: Unreadable,
    failed: Iterable[tuple[Source, PageindexError]],
    read: Iterable[Source],
) -> None:
    """Note the documents that could not be read, and forget those that were.

    What was noted of other documents stays: another branch may have them. An error of the moment is not noted: a file
    that may not be opened, or that changed meanwhile. Nothing depends on the file, so a medium that refuses it stops no
    build.
    """
    done = {_key(source) for source in read}
    entries = {key: entry for key, entry in known.entries.items() if key not in done}
    for source, error in failed:
        if type(error).__name__ in _KINDS and _is_unchanged(source, settings):
            entries.pop(_key(source), None)
            entries[_key(source)] = _Entry(
                doc_id=source.doc_id,
                settings_hash=known.settings_hash,
                kind=type(error).__name__,
                problem=error.problem,
                next_step=error.next_step,
            )
    if entries == known.entries:
        return
    listed = _File(documents=dict(list(entries.items())[-_MOST:]))
    with suppress(OSError, StoreError):
        store.files.make_folders(store.layout.work)
        store.files.replace_file(_path(store), canonical_json(listed.model_dump(mode="json")), known.data)


def _key(source: Source) -> str:
    """Content and how it is read: equal bytes may be fit for one type and not for another."""
    return f"{source.sha256} {source.media_type.value}"


def _path(store: IndexStore) -> Path:
    return store.layout.work / "unreadable.json"


def _settings_hash(settings: ParseSettings) -> str:
    """What decides, beside the bytes, whether a document can be read: limits, program and PDF library."""
    try:
        library = version("pymupdf")
    except PackageNotFoundError:
        library = ""
    return hash_parts([__version__, str(ALGORITHM_VERSION), library, settings.model_dump_json()])


def _is_unchanged(source: Source, settings: ParseSettings) -> bool:
    try:
        return read_source(source.doc_id, Path(source.path), settings).sha256 == source.sha256
    except SourceError:
        return False
