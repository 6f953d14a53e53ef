"""A release as one file to carry to another machine, and back: nothing of it is visible before all of it is verified.

Its form is that of `bundle_format`. Import compares every byte with it, headers and padding included.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pageindex_local.errors import ConflictError, CorruptIndexError, StoreError, reading_problem
from pageindex_local.ids import sha256_hex
from pageindex_local.store import condemned
from pageindex_local.store import releases as release_files
from pageindex_local.store.bundle_format import (
    LISTING,
    RELEASE,
    BundleReader,
    Listing,
    Member,
    Members,
    ending,
    header,
    padded_bytes,
    padding,
    read_listing,
    read_members,
    root_hash,
)
from pageindex_local.store.disk import LocalFiles
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import MANIFEST, canonical_json, temporary_name
from pageindex_local.store.reader import StoredVersion, read_record
from pageindex_local.store.records import FORMAT_VERSION, Release
from pageindex_local.store.verify import deep_problems


@dataclass(frozen=True, slots=True)
class BundleInfo:
    """What a bundle holds. `root_hash` covers every byte of it that matters: compare it by another channel."""

    release: str
    release_sha256: str
    root_hash: str
    documents: int
    files: int
    size_bytes: int


def export_bundle(store: IndexStore, target: Path, release: Release | None = None) -> BundleInfo:
    """Write a release with all versions that it pins into one file. The same release always gives the same bytes.

    Raises:
        IndexNotFoundError: nothing was published.
        CorruptIndexError: a file of the release is damaged; nothing is written then.
        StoreError: the target cannot be written, or exists.
    """
    wanted = release or store.require_current()
    data = store.files.read_bytes(store.layout.release(wanted.name))
    with store.lease(wanted):
        versions = [store.open_document(wanted, doc_key) for doc_key in wanted.documents]
        members = [Member(path=RELEASE, size_bytes=len(data), sha256=sha256_hex(data))]
        for version in versions:
            folder = f"documents/{version.doc_key}/{version.version_id}"
            size = len(store.files.read_bytes(store.layout.version(version.doc_key, version.version_id) / MANIFEST))
            members.append(Member(path=f"{folder}/{MANIFEST}", size_bytes=size, sha256=version.manifest_sha256))
            members.extend(
                Member(path=f"{folder}/{entry.name}", size_bytes=entry.size_bytes, sha256=entry.sha256)
                for entry in version.manifest.files
            )
        listing = Listing(
            format_version=FORMAT_VERSION,
            release=wanted.name,
            release_sha256=sha256_hex(data),
            root_hash=root_hash(members),
            members=tuple(members),
        )
        try:
            _write_bundle(store, target, listing, data)
        except OSError as error:
            raise StoreError(
                f"cannot be written ({error.strerror or error})",
                subject=str(target),
                next_step="Choose a file that does not exist yet, in a folder with enough space.",
            ) from error
    return _info(listing)


def import_bundle(store: IndexStore, source: Path, *, expected_root_hash: str | None = None) -> BundleInfo:
    """Make the release in a bundle the live one. Nothing is written before all of it is verified.

    The bundle is read twice: checked where it lies, then copied, and every byte is checked again on the way.

    Into an empty collection the release comes with its own name and bytes. Elsewhere a new release with the same
    documents follows the live one; it bears the bundle's number where that is not taken yet.

    Raises:
        CorruptIndexError: not a bundle, cut, altered, or not with the expected root hash.
        ConflictError: the collection holds another version of the same name, or somebody is publishing.
        StoreError: larger than `settings.max_bundle_bytes`, or the disk refused.
    """
    try:
        stream = source.open("rb")
    except OSError as error:
        raise StoreError(
            reading_problem(error), subject=str(source), next_step="Give the path of a file that `export` wrote."
        ) from None
    with stream:
        reader = BundleReader(stream, source)
        listing = read_listing(reader, store.settings.max_bundle_bytes)
        if expected_root_hash is not None and listing.root_hash != expected_root_hash:
            raise CorruptIndexError(
                f"has the root hash {listing.root_hash}, not the expected one",
                subject=str(source),
                next_step="Nothing was imported. Compare with what `export` printed, or copy the bundle again.",
            )
        members = read_members(reader, listing)
        release_data = members.read_bytes(Path(RELEASE))
        release, versions = _check_release(listing, release_data, members, source)
        with store.publishing():
            _install(store, release, release_data, versions)
    return _info(listing)


def _info(listing: Listing) -> BundleInfo:
    return BundleInfo(
        release=listing.release,
        release_sha256=listing.release_sha256,
        root_hash=listing.root_hash,
        documents=sum(member.path.endswith(f"/{MANIFEST}") for member in listing.members),
        files=len(listing.members),
        size_bytes=sum(member.size_bytes for member in listing.members),
    )


# Writing


def _write_bundle(store: IndexStore, target: Path, listing: Listing, release_data: bytes) -> None:
    temporary = target.with_name(target.name + temporary_name())
    if target.exists():
        raise FileExistsError(17, "File exists", str(target))
    try:
        with temporary.open("xb") as stream:
            for block in _blocks(listing, lambda path: _member_data(store, path, release_data)):
                stream.write(block)
        files = LocalFiles()
        files.sync_file(temporary)
        files.rename(temporary, target)
        files.sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _member_data(store: IndexStore, path: str, release_data: bytes) -> bytes:
    if path == RELEASE:
        return release_data
    parts = path.split("/")
    return store.files.read_bytes(store.layout.version(parts[1], parts[2]) / parts[3])


def _blocks(listing: Listing, read: Callable[[str], bytes]) -> Iterator[bytes]:
    head = canonical_json(listing.model_dump(mode="json"), indent=None)
    yield header(LISTING, len(head)) + head + padding(len(head))
    written = padded_bytes(len(head))
    for member in listing.members:
        data = read(member.path)
        if len(data) != member.size_bytes or sha256_hex(data) != member.sha256:
            raise CorruptIndexError("is not what its manifest says", subject=member.path, next_step="Run `verify`.")
        yield header(member.path, len(data)) + data + padding(len(data))
        written += padded_bytes(len(data))
    yield ending(written)


def _check_release(
    listing: Listing, data: bytes, members: Members, source: Path
) -> tuple[Release, dict[str, StoredVersion]]:
    """The release with its versions, once its files are exactly those in the bundle and every version is sound."""
    release = read_record(data, Release, subject=RELEASE)
    if release.name != listing.release or sha256_hex(data) != listing.release_sha256:
        raise CorruptIndexError("is not the release that the listing names", subject=RELEASE)
    if data != canonical_json(release.model_dump(mode="json"), indent=None):
        raise CorruptIndexError("is not in the form in which releases are written", subject=RELEASE)
    listed = {member.path for member in listing.members} - {RELEASE}
    versions: dict[str, StoredVersion] = {}
    for doc_key, entry in release.documents.items():
        folder = Path("documents") / doc_key / entry.version_id
        version = StoredVersion(members, folder, doc_key, entry.version_id, entry.manifest_sha256)
        needed = {f"{folder}/{name}" for name in (MANIFEST, *(file.name for file in version.manifest.files))}
        if not needed <= listed:
            raise CorruptIndexError(f"lacks files of {doc_key}", subject=str(source))
        listed -= needed
        for problem in deep_problems(version):
            raise CorruptIndexError(problem, subject=f"{doc_key} {entry.version_id}")
        # A fresh one, so that what was read for the check need not stay in memory.
        versions[doc_key] = StoredVersion(members, folder, doc_key, entry.version_id, entry.manifest_sha256)
    if listed:
        raise CorruptIndexError(
            f"holds files that its release does not pin, such as {min(listed)}", subject=str(source)
        )
    return release, versions


def _install(store: IndexStore, release: Release, data: bytes, versions: dict[str, StoredVersion]) -> None:
    """Write the versions, then publish. The caller is publishing."""
    files, layout = store.files, store.layout
    fresh: list[StoredVersion] = []
    for doc_key, version in versions.items():
        path = layout.version(doc_key, version.version_id) / MANIFEST
        if not files.exists(path):
            fresh.append(version)
        elif sha256_hex(files.read_bytes(path)) != version.manifest_sha256:
            raise _other_version(version)
    for version in fresh:
        folder = layout.versions(version.doc_key)
        files.make_folders(folder)
        names = [file.name for file in version.manifest.files]
        contents = {name: version.read_file(name) for name in names} | {MANIFEST: version.read_manifest()}
        with files.lock(
            layout.document_lock(version.doc_key), store.settings.lock_timeout_s, what=f"document {version.doc_key}"
        ):
            files.clear_unfinished(folder)
            try:
                files.create_folder(folder / version.version_id, contents)
            except FileExistsError:
                raise _other_version(version) from None
    live = store.live()
    going = condemned.read_versions(files, layout)
    if any((version.doc_key, version.version_id) in going for version in versions.values()):
        raise ConflictError(
            "gc is removing a version that the bundle holds",
            subject=str(layout.folder),
            next_step="Import into another collection.",
        )
    if live is None:
        _install_first(store, release, data)
    elif live[0].documents != release.documents:
        reason = f"{release_files.IMPORT}{release.name}"
        release_files.write_release(files, layout, live, dict(release.documents), reason, at_least=int(release.name))


def _install_first(store: IndexStore, release: Release, data: bytes) -> None:
    files, layout = store.files, store.layout
    if files.has_locks:
        files.remove(layout.release(release.name))  # if a crashed publisher left one, it never became live
    try:
        release_files.install_release(files, layout, release.name, data, None)
    except FileExistsError:
        raise ConflictError(
            f"somebody has begun another release {release.name} here",
            subject=str(layout.folder),
            next_step="Import into another collection, or see whether somebody else is publishing.",
        ) from None


def _other_version(version: StoredVersion) -> ConflictError:
    return ConflictError(
        f"there is another version {version.version_id} of this document here",
        subject=version.manifest.doc_id,
        next_step="Import into an empty collection.",
    )
