"""The index of one collection: the one door through which the program reads and writes it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from pageindex_local.errors import ConflictError, IndexNotFoundError, StoreError
from pageindex_local.ids import sha256_hex
from pageindex_local.store import releases as release_files
from pageindex_local.store.index_reader import IndexReader
from pageindex_local.store.layout import CHANGES, MANIFEST, TEMPORARY, version_name
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


class IndexStore(IndexReader):
    """One collection below an index root, for reading and writing.

    Writers: `next_version_id`, build, `write_version`, then one `publish` for all documents. Nothing is visible before.
    Beside this module: `verify_index`, `plan_gc` and `apply_gc`, `export_bundle` and `import_bundle`, and `history`.
    """

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
