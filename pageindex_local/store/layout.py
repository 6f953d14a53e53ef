"""Where things lie in a collection folder: names in, paths out, and the one canonical JSON form. Touches no disk.

    <root>/<collection>/
      CURRENT                             the live release's name and hash
      releases/000042.json
      documents/<doc_key>/versions/v000007/  manifest.json tree.json nodes.parquet pages.parquet changes.json
                                          and grafts.json where sections were replaced by hand
      documents/<doc_key>/LAST            highest version number ever used, once a newer version was removed
      search/                             derived, rebuildable
      work/                               caches; safe to delete
      leases/                             readers that hold a release

Names that start with `.tmp-` are unfinished writes: nobody reads them, the next writer removes them.
"""

import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pageindex_local.errors import IndexNotFoundError, SettingsError
from pageindex_local.ids import DOC_KEY_PATTERN, sha256_hex
from pageindex_local.store.records import RELEASE_PATTERN, VERSION_PATTERN

TEMPORARY = ".tmp-"
MANIFEST = "manifest.json"
TREE = "tree.json"
NODES = "nodes.parquet"
PAGES = "pages.parquet"
CHANGES = "changes.json"
GRAFTS = "grafts.json"  # only there where sections were replaced by hand
SEAL_SUFFIX = ".sha256"  # beside a derived file: its hash, so that `verify` can tell damage from an old state
VERSION_FILES = (TREE, NODES, PAGES, CHANGES)
OPTIONAL_FILES = (GRAFTS,)
_COLLECTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one collection. Every name that becomes part of a path is checked against its pattern here."""

    folder: Path

    @classmethod
    def of(cls, root: Path, collection: str) -> "Layout":
        """The layout of a collection below an index root.

        Raises:
            SettingsError: the collection's name cannot be a folder name.
        """
        if not _COLLECTION.fullmatch(collection):
            raise SettingsError(
                "is no name for a collection",
                subject=repr(collection),
                next_step="Use up to 64 letters, digits, dots, hyphens or underscores, a letter or digit at both ends.",
            )
        return cls(root / collection)

    @property
    def current(self) -> Path:
        """The pointer file."""
        return self.folder / "CURRENT"

    @property
    def publish_lock(self) -> Path:
        """Held while a release is published."""
        return self.folder / ".publish.lock"

    @property
    def condemned(self) -> Path:
        """The file in which gc says what it is about to remove."""
        return self.folder / "condemned.json"

    @property
    def releases(self) -> Path:
        """The folder of release files."""
        return self.folder / "releases"

    @property
    def documents(self) -> Path:
        """The folder of documents."""
        return self.folder / "documents"

    @property
    def search(self) -> Path:
        """The folder of search files, one a release; derived and rebuildable."""
        return self.folder / "search"

    @property
    def work(self) -> Path:
        """The folder of caches; safe to delete."""
        return self.folder / "work"

    @property
    def leases(self) -> Path:
        """The folder of readers' leases."""
        return self.folder / "leases"

    def release(self, name: str) -> Path:
        """The file of a release."""
        return self.releases / f"{_checked(name, RELEASE_PATTERN, 'release')}.json"

    def document(self, doc_key: str) -> Path:
        """The folder of a document."""
        return self.documents / _checked(doc_key, DOC_KEY_PATTERN, "document key")

    def document_lock(self, doc_key: str) -> Path:
        """Held while a version of the document is written."""
        return self.document(doc_key) / ".lock"

    def last_version(self, doc_key: str) -> Path:
        """The file that remembers the highest version number of a document."""
        return self.document(doc_key) / "LAST"

    def versions(self, doc_key: str) -> Path:
        """The folder of a document's versions."""
        return self.document(doc_key) / "versions"

    def version(self, doc_key: str, version_id: str) -> Path:
        """The folder of a version."""
        return self.versions(doc_key) / _checked(version_id, VERSION_PATTERN, "version")


def version_name(number: int) -> str:
    """`v000007` for 7."""
    return f"v{number:06d}"


def version_number(name: str) -> int | None:
    """7 for `v000007`, None for anything that is no version name."""
    return int(name[1:]) if re.fullmatch(VERSION_PATTERN, name) else None


def sort_versions(names: Iterable[str]) -> tuple[str, ...]:
    """The version names among names, oldest first."""
    numbers = sorted(number for name in names if (number := version_number(name)) is not None)
    return tuple(version_name(number) for number in numbers)


def last_version_bytes(version_id: str) -> bytes:
    """The file LAST: the highest version ever used, with its own hash so that damage shows."""
    return f"{version_id} {sha256_hex(version_id.encode())}\n".encode()


def seal_bytes(sha256: str) -> bytes:
    """The content of a seal file."""
    return f"{sha256}\n".encode()


def release_name(number: int) -> str:
    """`000042` for 42."""
    return f"{number:06d}"


def temporary_name() -> str:
    """A name that no reader looks at and that no other writer uses."""
    return TEMPORARY + secrets.token_hex(8)


def canonical_json(data: Any, *, indent: int | None = 1) -> bytes:
    """JSON as it is stored: UTF-8, keys in the order given, one newline at the end."""
    separators = (",", ":") if indent is None else None
    return (json.dumps(data, ensure_ascii=False, indent=indent, separators=separators) + "\n").encode()


def _checked(name: str, pattern: str, what: str) -> str:
    if not re.fullmatch(pattern, name):
        raise IndexNotFoundError(f"is no {what}", subject=repr(name), next_step="Names are as `status` lists them.")
    return name
