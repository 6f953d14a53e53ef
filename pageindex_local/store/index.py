"""The index of one collection: the one door through which the program reads and writes it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from pageindex_local.errors import ConflictError, CorruptIndexError, IndexNotFoundError, StoreError
from pageindex_local.ids import sha256_hex
from pageindex_local.settings import StoreSettings
from pageindex_local.store import releases as release_files
from pageindex_local.store.files import FileSystem
from pageindex_local.store.layout import (
    CHANGES,
    MANIFEST,
    TEMPORARY,
    Layout,
    last_version_bytes,
    sort_versions,
    version_name,
    version_number,
)
from pageindex_local.store.leases import hold_lease
from pageindex_local.store.places import open_files
from pageindex_local.store.reader import StoredVersion, read_record
from pageindex_local.store.records import (
    Changes,
    Manifest,
    Release,
    ReleaseEntry,
    Tombstone,
    VersionDraft,
    VersionRef,
)


class IndexStore:
    """One collection below an index root.

    Readers: take a `Release` once (`require_current`) and open every version through it; a release never changes.
    Writers: `next_version_id`, build, `write_version`, then one `publish` for all documents. Nothing is visible before.
    Beside this module: `verify_index`, `plan_gc` and `apply_gc`, `export_bundle` and `import_bundle`, and `history`.

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
        self._is_trusted = False

    @property
    def search_folder(self) -> Path:
        """The folder of search files on this machine; derived and rebuildable."""
        return self.files.local_folder(self.layout.search)

    @property
    def work_folder(self) -> Path:
        """The folder of caches on this machine; safe to delete."""
        return self.files.local_folder(self.layout.work)

    def uncached(self) -> "IndexStore":
        """The same index, read from its medium alone and never from copies near by."""
        twin = IndexStore(self.layout.folder.parent, self.layout.folder.name, self.settings, self.files.uncached())
        twin._is_trusted = self._is_trusted
        twin._cached = self._cached
        return twin

    # Reading

    def current(self) -> Release | None:
        """The live release; None where nothing was published yet.

        Raises:
            CorruptIndexError: the pointer or the release is damaged.
            FormatVersionError: written by a newer format.
        """
        live = self.live()
        return live[0] if live else None

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

    def _read_chain(self, live: tuple[Release, str]) -> release_files.Chain:
        chain = release_files.read_chain(self.files, self.layout, live)
        self._cached_chain = live[1], chain
        return chain

    def _known_chain(self, live: tuple[Release, str]) -> release_files.Chain:
        """The chain as it was when this release became live here; gc may have removed old ones since."""
        if self._cached_chain is not None and self._cached_chain[0] == live[1]:
            return self._cached_chain[1]
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

    # Writing

    def next_version_id(self, doc_key: str) -> str:
        """The id that the next version of a document gets: one more than any that was ever used.

        A document that came with a bundle may have had this name before, and bears ids that were minted under it. So
        where nothing is known of a name and history is not all here, numbers begin above the release's from which on it
        is: each release gives a document one number at most.
        """
        last = self._last_number(doc_key)
        live = self.live()
        if not last and live is not None:
            last = int(self._known_chain(live).last_foreign or 0)
        return version_name(last + 1)

    def _last_number(self, doc_key: str) -> int:
        """The highest version number of a document that is known here; 0 where none is."""
        versions = self.begun_version_ids(doc_key)
        last = self.last_version(doc_key)  # after the list: gc writes it before it removes the newest version
        live = self.live()
        entry = live[0].documents.get(doc_key) if live else None
        known = [*versions[-1:], *([entry.version_id] if entry else []), *([last] if last else [])]
        return max((int(name[1:]) for name in known), default=0)

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

    def write_version(self, draft: VersionDraft) -> VersionRef:
        """Write a version. It is durable when this returns and invisible until published.

        Raises:
            ConflictError: another process wrote this version id meanwhile, or is writing.
            IndexNotFoundError: the parent version is not there.
            TreeError: the draft breaks an invariant of the store.
            StoreError: the disk refused.
        """
        from pageindex_local.store.writer import build_files  # noqa: PLC0415 - pyarrow costs 0.1 s, readers need none

        source = draft.document.source
        doc_key = source.doc_key
        parent, tombstones = self._parent(doc_key, draft.parent_version)
        former, ended = self._parent(*draft.renamed_from) if draft.renamed_from else (None, {})
        contents = build_files(
            draft,
            parent.manifest if parent else None,
            parent.manifest_sha256 if parent else None,
            tombstones | ended,
            release_files.now(),
            former.manifest if former else None,
        )
        with self._writing(self.layout.versions(doc_key), self.layout.document_lock(doc_key), source.doc_id):
            self.files.clear_unfinished(self.layout.versions(doc_key))
            # Where nothing is known of a name gc or an import may have raised the first number meanwhile.
            last = self._last_number(doc_key)
            is_next = not last or draft.version_id == version_name(last + 1)
            try:
                if is_next:
                    self.files.create_folder(self.layout.version(doc_key, draft.version_id), contents)
            except FileExistsError:
                is_next = False
            if not is_next:
                raise ConflictError(
                    f"another build wrote a version while this one prepared {draft.version_id}",
                    subject=source.doc_id,
                    next_step="Run the build again; finished model calls are not repeated.",
                )
        manifest_bytes = contents[MANIFEST]
        manifest = read_record(manifest_bytes, Manifest, subject=MANIFEST)
        return VersionRef(doc_key, release_files.make_entry(manifest, sha256_hex(manifest_bytes)))

    def publish(
        self,
        changes: Mapping[str, VersionRef | None],
        *,
        expected_parent: str | None,
        reason: str = "build",
        exact: bool = False,
    ) -> Release:
        """Make versions live in one step; None removes a document. Returns the live release.

        `expected_parent` is the release that the changes were computed from. Where another process has published since
        then, changes to other documents are kept and ours are added; changes to the same documents are a conflict, and
        with `exact` any change is.
        Without any difference no release is written.

        Raises:
            ConflictError: somebody else changed the same documents, or holds the lock.
            CorruptIndexError: a version to be published is not on disk as referenced.
            StoreError: the disk refused.
        """
        deadline = time.monotonic() + self.settings.lock_timeout_s
        with self.publishing():
            while True:
                live = self.live()
                self._check_parent(live, changes, expected_parent, exact=exact)
                documents = release_files.join_documents(self.files, self.layout, live, changes)
                if live is not None and documents == live[0].documents:
                    return live[0]
                try:
                    release, sha256 = release_files.write_release(self.files, self.layout, live, documents, reason)
                except ConflictError:
                    # Without locks another publisher may be quicker: what it changed is looked at, then we try again.
                    if time.monotonic() > deadline:
                        raise
                    continue
                self._cached = (sha256, release)
                return release

    def rollback(self, name: str) -> Release:
        """Make a new release that pins what release `name` pinned. Nothing is removed.

        Raises:
            IndexNotFoundError: no such release.
            CorruptIndexError: a version that it pins is damaged or gone.
            ConflictError: somebody published meanwhile, or holds the lock.
        """
        live = self.require_current()
        target = self.release(name).documents
        changes: dict[str, VersionRef | None] = {key: None for key in live.documents if key not in target}
        changes |= {key: VersionRef(key, entry) for key, entry in target.items() if live.documents.get(key) != entry}
        return self.publish(changes, expected_parent=live.name, reason=f"rollback to {name}", exact=True)

    def pin(self, doc_key: str, version_id: str) -> Release:
        """Make a new release in which one document is at an earlier version. The next build of it starts from there.

        Raises:
            IndexNotFoundError: no such version.
            CorruptIndexError: the version is damaged.
            ConflictError: somebody changed the document meanwhile, or holds the lock.
        """
        live = self.require_current()
        ref = self.version_ref(doc_key, version_id)
        return self.publish({doc_key: ref}, expected_parent=live.name, reason=f"pin {ref.entry.doc_id} at {version_id}")

    def lease(self, release: Release) -> AbstractContextManager[None]:
        """Keep gc away from everything a release pins while the block runs (at most `settings.lease_s` seconds).

        Where it cannot be written the block runs without: on a read-only medium there is no gc either.

        Raises:
            IndexNotFoundError: a newer release is live, and gc has just removed this one.
        """
        return hold_lease(self.files, self.layout, release.name, self.settings.lease_s)

    # Inside

    def publishing(self) -> AbstractContextManager[None]:
        """Hold the lock under which releases change, where there are locks; OSError inside becomes StoreError."""
        return self._writing(self.layout.folder, self.layout.publish_lock, "the right to publish")

    @contextmanager
    def _writing(self, folder: Path, lock: Path, what: str) -> Iterator[None]:
        try:
            if not self._is_trusted:
                self.files.check_medium(folder, allow_network_disk=self.settings.allow_network_disk)
                self._is_trusted = True
            self.files.make_folders(folder)
            with self.files.lock(lock, self.settings.lock_timeout_s, what=what):
                yield
        except OSError as error:
            name = str(error.filename or folder)
            raise StoreError(
                f"cannot be written ({error.strerror or error})",
                subject=str(self.layout.folder) if TEMPORARY in name else name,  # a name of the moment says nothing
                next_step="Nothing was published. Check free space and permissions, then run the command again.",
            ) from error

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

    def _check_parent(
        self,
        live: tuple[Release, str] | None,
        changes: Mapping[str, VersionRef | None],
        expected_parent: str | None,
        *,
        exact: bool,
    ) -> None:
        name = live[0].name if live else None
        if name == expected_parent:
            return
        after = live[0].documents if live else {}
        try:
            before = self.release(expected_parent).documents if expected_parent is not None else {}
        except IndexNotFoundError:  # gc removed it; but a version knows on which one it was built
            disputed = sorted(key for key, ref in changes.items() if not self._is_built_on(after.get(key), ref))
        else:
            disputed = sorted(key for key in changes if before.get(key) != after.get(key))
        if live is None or disputed or exact:
            subject = after[disputed[0]].doc_id if disputed and disputed[0] in after else ", ".join(disputed[:1])
            raise ConflictError(
                f"release {name} was published meanwhile and changed {len(disputed)} of the same documents "
                f"(this change was computed from {expected_parent})",
                subject=subject or str(self.layout.folder),
                next_step="Run the command again; finished model calls are not repeated.",
            )

    def _is_built_on(self, entry: ReleaseEntry | None, ref: VersionRef | None) -> bool:
        if ref is None:
            return False
        version = self.open_version(ref.doc_key, ref.version_id, ref.entry.manifest_sha256)
        return version.manifest.parent_version == (entry.version_id if entry else None)

    def _parent(self, doc_key: str, version_id: str | None) -> tuple[StoredVersion | None, dict[str, Tombstone]]:
        if version_id is None:
            return None, {}
        parent = self.open_version(doc_key, version_id)
        changes = read_record(parent.read_file(CHANGES), Changes, subject=CHANGES)
        return parent, changes.tombstones
