"""The index of one collection as readers see it: releases, versions and documents out. Writes nothing but leases."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from pageindex_local.errors import CorruptIndexError, IndexNotFoundError
from pageindex_local.settings import StoreSettings
from pageindex_local.store import releases as release_files
from pageindex_local.store.files import FileSystem
from pageindex_local.store.layout import MANIFEST, Layout, last_version_bytes, sort_versions, version_number
from pageindex_local.store.leases import hold_lease
from pageindex_local.store.places import open_files
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release, VersionRef


class IndexReader:
    """One collection below an index root, for reading.

    Take a `Release` once (`require_current`) and open every version through it; a release never changes.

    Args:
        root: the folder or bucket given to `--index` (see `places.read_place`); it may not exist yet.
        collection: a folder name in it.
        settings: lock time-outs and how much history is kept.
        files: the medium, where it is not the one that `root` names; tests put a recording or failing one here.
    """

    def __init__(self, root: Path, collection: str, settings: StoreSettings, files: FileSystem | None = None) -> None:
        self.layout = Layout.of(root, collection)
        self.settings = settings
        self.files: FileSystem = files or open_files(root, settings)
        self._cached: tuple[str, Release] | None = None
        self._cached_chain: tuple[str, release_files.Chain] | None = None
        self._is_trusted = False  # whether the medium was tried

    @property
    def search_folder(self) -> Path:
        """The folder of search files on this machine; derived and rebuildable."""
        return self.files.local_folder(self.layout.search)

    @property
    def work_folder(self) -> Path:
        """The folder of caches on this machine; safe to delete."""
        return self.files.local_folder(self.layout.work)

    def uncached(self) -> Self:
        """The same index, read from its medium alone and never from copies near by."""
        twin = type(self)(self.layout.folder.parent, self.layout.folder.name, self.settings, self.files.uncached())
        twin._is_trusted = self._is_trusted
        twin._cached = self._cached
        return twin

    def current(self) -> Release | None:
        """The live release; None where nothing was published yet.

        Raises:
            CorruptIndexError: the pointer or the release is damaged.
            FormatVersionError: written by a newer format.
        """
        live = self.live()
        return live[0] if live else None

    def live(self) -> tuple[Release, str] | None:
        """The live release and the hash of its file; raises as `current`."""
        pointer = release_files.read_pointer(self.files, self.layout)
        if pointer is None:
            return None
        while self._cached is None or self._cached[0] != pointer.sha256:
            try:
                release, sha256 = release_files.read_release(self.files, self.layout, pointer.release, pointer.sha256)
            except CorruptIndexError:
                # Between the two reads a release may have followed and gc have taken this one.
                before, pointer = pointer, release_files.read_pointer(self.files, self.layout)
                if pointer is None or pointer == before:
                    raise
            else:
                self._cached = (sha256, release)
        if self._cached[1].name != pointer.release:
            raise CorruptIndexError(f"names release {pointer.release}", subject=str(self.layout.current))
        return self._cached[1], pointer.sha256

    def require_current(self) -> Release:
        """The live release.

        Raises:
            IndexNotFoundError: nothing was published here.
        """
        release = self.current()
        if release is None:
            raise IndexNotFoundError(
                "there is no published index here",
                subject=str(self.layout.folder),
                next_step="Run `pageindex-local build SOURCE --index DIR` first, or check --index and --collection.",
            )
        return release

    def release(self, name: str) -> Release:
        """A release by name.

        Raises:
            IndexNotFoundError: no such release, or one that never became live.
        """
        live = self.live()
        if live is not None and live[0].name == name:
            return live[0]
        sha256 = self._known_chain(live).hashes.get(name) if live is not None else None
        if sha256 is not None and self.files.exists(self.layout.release(name)):
            try:
                return release_files.read_release(self.files, self.layout, name, sha256)[0]
            except CorruptIndexError:
                if self.files.exists(self.layout.release(name)):
                    raise
        raise IndexNotFoundError("there is no such release", subject=name, next_step="See `release list`.")

    def releases(self) -> tuple[str, ...]:
        """Names of all releases that are or were live and are still kept, oldest first."""
        return () if self.live() is None else tuple(reversed(self.chain().hashes))

    def chain(self) -> release_files.Chain:
        """The live release and those before it that are kept.

        Raises:
            IndexNotFoundError: nothing was published here.
            CorruptIndexError: one of them is damaged.
        """
        self.require_current()
        live = self.live()
        assert live is not None
        return self._read_chain(live)

    def open_version(self, doc_key: str, version_id: str, manifest_sha256: str | None = None) -> StoredVersion:
        """A version; its manifest is checked against the given hash, or the live release's where that has this version.

        Raises:
            IndexNotFoundError: no such document or version.
            CorruptIndexError: a file is missing or altered (also later, when another file is first read).
        """
        if manifest_sha256 is None:
            live = self.live()
            entry = live[0].documents.get(doc_key) if live else None
            if entry is not None and entry.version_id == version_id:
                manifest_sha256 = entry.manifest_sha256
        folder = self.layout.version(doc_key, version_id)
        return StoredVersion(self.files, folder, doc_key, version_id, manifest_sha256)

    def open_document(self, release: Release, doc_key: str) -> StoredVersion:
        """The version of a document that a release pins.

        Raises:
            IndexNotFoundError: the release has no such document.
            CorruptIndexError: as `open_version`.
        """
        entry = release.documents.get(doc_key)
        if entry is None:
            raise IndexNotFoundError(
                f"release {release.name} has no such document", subject=doc_key, next_step="See `status`."
            )
        return self.open_version(doc_key, entry.version_id, entry.manifest_sha256)

    def version_ids(self, doc_key: str) -> tuple[str, ...]:
        """The versions of a document that are there, oldest first, published or not."""
        return sort_versions(self.files.list_whole(self.layout.versions(doc_key), MANIFEST))

    def begun_version_ids(self, doc_key: str) -> tuple[str, ...]:
        """As `version_ids`, with those that a writer has begun and not finished (a bucket shows them)."""
        return sort_versions(self.files.list_names(self.layout.versions(doc_key)))

    def version_ref(self, doc_key: str, version_id: str) -> VersionRef:
        """The reference of a version that was written earlier, perhaps by another process.

        Raises:
            IndexNotFoundError: no such version.
            CorruptIndexError: its manifest is damaged.
        """
        version = self.open_version(doc_key, version_id)
        return VersionRef(doc_key, release_files.make_entry(version.manifest, version.manifest_sha256))

    def find_unpublished(self, doc_key: str) -> StoredVersion | None:
        """The newest version of a document where it was written on top of the live one and never published.

        A crash came between. If its source and settings are those of today it can be published as it is.

        Raises:
            CorruptIndexError: its manifest is damaged.
        """
        versions = self.version_ids(doc_key)
        live = self.live()
        entry = live[0].documents.get(doc_key) if live else None
        live_id = entry.version_id if entry else None
        if not versions or versions[-1] == live_id:
            return None
        version = self.open_version(doc_key, versions[-1])
        return version if version.manifest.parent_version == live_id else None

    def last_version(self, doc_key: str) -> str | None:
        """The highest version of a document that gc removed, if it removed the newest.

        Raises:
            CorruptIndexError: the file that remembers it is damaged.
        """
        path = self.layout.last_version(doc_key)
        try:
            data = self.files.read_bytes(path)
        except FileNotFoundError:
            return None
        name = data.decode("ascii", "replace").partition(" ")[0]
        if version_number(name) is None or data != last_version_bytes(name):
            raise CorruptIndexError("is not the text that was written", subject=str(path))
        return name

    def lease(self, release: Release) -> AbstractContextManager[None]:
        """Keep gc away from everything a release pins while the block runs (at most `settings.lease_s` seconds).

        Where it cannot be written the block runs without: on a read-only medium there is no gc either.

        Raises:
            IndexNotFoundError: a newer release is live, and gc has just removed this one.
        """
        return hold_lease(self.files, self.layout, release.name, self.settings.lease_s)

    def _read_chain(self, live: tuple[Release, str]) -> release_files.Chain:
        chain = release_files.read_chain(self.files, self.layout, live)
        self._cached_chain = live[1], chain
        return chain

    def _known_chain(self, live: tuple[Release, str]) -> release_files.Chain:
        """The chain as it was when this release became live here; gc may have removed old ones since."""
        if self._cached_chain is not None and self._cached_chain[0] == live[1]:
            return self._cached_chain[1]
        return self._read_chain(live)
