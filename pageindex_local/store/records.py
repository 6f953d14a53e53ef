"""What the index keeps and hands out: manifests, releases (pydantic: they come back from disk), drafts, references.

No input or output here. `FORMAT_VERSION` counts incompatible changes of anything inside a collection folder.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pageindex_local.ids import DOC_KEY_PATTERN
from pageindex_local.records import MediaType, ParsedDocument, SectionTree, Span, SummarySource, Usage
from pageindex_local.tree.match_report import Fate, MatchReport

FORMAT_VERSION = 1
SHA256_PATTERN = r"^[0-9a-f]{64}$"
VERSION_PATTERN = r"^v[0-9]{6,}$"
STORED_METADATA = ("title", "author", "subject", "keywords", "version", "date", "year", "creationDate", "modDate")
RELEASE_PATTERN = r"^[0-9]{6,}$"


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredFile(_Stored):
    """One file of a version: its name in the version's folder, size and hash."""

    name: str = Field(pattern=r"^[a-z]+\.(?:json|parquet)$")
    size_bytes: int = Field(ge=0)
    sha256: str = Field(pattern=SHA256_PATTERN)


class Counts(_Stored):
    """What a build found and what it did. `nodes_moved` are reused nodes whose pages or lines changed."""

    pages: int = Field(ge=0)
    nodes: int = Field(ge=0)
    nodes_reused: int = Field(ge=0)
    nodes_rebuilt: int = Field(ge=0)
    nodes_moved: int = Field(ge=0)


class StoredUsage(_Stored):
    """`records.Usage` on disk."""

    model_calls: int = Field(ge=0)
    cached_calls: int = Field(ge=0)
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    seconds: float = Field(ge=0)


class ReleaseEntry(_Stored):
    """One document in a release: which version, the hash of its manifest, and what a listing shows.

    `source_sha256` and `settings_hash` are those of the build: where both are equal to today's, nothing needs building.
    """

    doc_id: str
    version_id: str = Field(pattern=VERSION_PATTERN)
    manifest_sha256: str = Field(pattern=SHA256_PATTERN)
    source_sha256: str = Field(pattern=SHA256_PATTERN)
    settings_hash: str
    media_type: MediaType
    pages: int = Field(ge=0)
    nodes: int = Field(ge=0)
    description: str = ""


class FormerName(_Stored):
    """The document and version that the first version of a renamed document goes on with."""

    doc_id: str
    doc_key: str = Field(pattern=DOC_KEY_PATTERN)
    version_id: str = Field(pattern=VERSION_PATTERN)


class Manifest(_Stored):
    """One version of one document.

    `tree_hash` is logical: a Merkle hash over titles and text, free of positions, ids and file formats.
    `content_hash` is logical too and covers everything stored (nodes with ids, pages, summaries; page texts): two
    versions with the same one are equal whatever wrote the files. `files` covers every other file in the folder.
    `fingerprint` names what built it: package version, prompt versions, model name and sha256, engine build.
    `metadata` is what the file says of itself (see `STORED_METADATA`); versions of earlier programs have none.
    """

    format_version: int = Field(ge=1)
    doc_id: str
    doc_key: str = Field(pattern=DOC_KEY_PATTERN)
    version_id: str = Field(pattern=VERSION_PATTERN)
    parent_version: str | None = Field(default=None, pattern=VERSION_PATTERN)
    parent_manifest_sha256: str | None = Field(default=None, pattern=SHA256_PATTERN)
    source_sha256: str = Field(pattern=SHA256_PATTERN)
    source_size_bytes: int = Field(ge=0)
    media_type: MediaType
    settings_hash: str
    tree_hash: str = Field(pattern=SHA256_PATTERN)
    content_hash: str = Field(pattern=SHA256_PATTERN)
    description: str
    description_source: SummarySource
    files: tuple[StoredFile, ...]
    fingerprint: dict[str, str]
    counts: Counts
    usage: StoredUsage
    warnings: tuple[str, ...] = ()
    created_at: str
    renamed_from: FormerName | None = Field(default=None, exclude_if=lambda name: name is None)
    metadata: dict[str, str] = Field(default_factory=dict, exclude_if=lambda metadata: not metadata)

    @property
    def has_pages(self) -> bool:
        """Whether page numbers mean printed pages (PDF) and not blocks of lines."""
        return self.media_type is MediaType.PDF


class Release(_Stored):
    """One state of the whole collection: for each document key the version that answers.

    `parent_sha256` is the hash of the parent release's file, so that the newest release vouches for all before it.
    """

    format_version: int = Field(ge=1)
    name: str = Field(pattern=RELEASE_PATTERN)
    parent: str | None = Field(default=None, pattern=RELEASE_PATTERN)
    parent_sha256: str | None = Field(default=None, pattern=SHA256_PATTERN)
    created_at: str
    reason: str = ""
    documents: dict[str, ReleaseEntry]

    def find(self, doc_id: str) -> tuple[str, ReleaseEntry] | None:
        """The document key and entry of a `doc_id`, or None."""
        for doc_key, entry in self.documents.items():
            if entry.doc_id == doc_id:
                return doc_key, entry
        return None


class Pointer(_Stored):
    """The file CURRENT: which release is live, and the hash of its file."""

    format_version: int = Field(ge=1)
    release: str = Field(pattern=RELEASE_PATTERN)
    sha256: str = Field(pattern=SHA256_PATTERN)


class Lease(_Stored):
    """A reader's promise to be done with a release at `expires` (seconds since 1970)."""

    release: str = Field(pattern=RELEASE_PATTERN)
    expires: float


class Tombstone(_Stored):
    """An id that is no longer in the tree, and what became of it in which version."""

    fate: Fate
    title: str
    ended_in: str = Field(pattern=VERSION_PATTERN)
    into: str | None = None


class Changes(_Stored):
    """The file changes.json of a version: how it differs from its parent, and every id that ever ended before it."""

    format_version: Literal[1] = 1
    version_id: str = Field(pattern=VERSION_PATTERN)
    parent_version: str | None = Field(default=None, pattern=VERSION_PATTERN)
    report: MatchReport
    tombstones: dict[str, Tombstone]


class StoredGraft(_Stored):
    """`records.Graft` on disk."""

    node_id: str
    title: str
    made_in: str = Field(pattern=VERSION_PATTERN)
    base: tuple[str, ...]
    lines: tuple[str, ...]
    pages: tuple[int, ...]
    before: str
    after: str
    span: Span

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        if len(self.pages) != len(self.lines):
            raise ValueError("pages and lines differ in number")
        return self


class Grafts(_Stored):
    """The file grafts.json of a version: what in it was put in by hand, in the order of the document."""

    format_version: Literal[1] = 1
    grafts: tuple[StoredGraft, ...]


@dataclass(frozen=True, slots=True)
class VersionDraft:
    """Everything a build made, ready to be written as `version_id` (from `IndexStore.next_version_id`).

    `parent_version` is the version whose node ids were carried over (None for a first build); it must exist.
    `renamed_from` is the key and version of the document that this one was before, whose ids were carried over.
    `settings_hash` is the fingerprint of `build.make_fingerprint`: settings, prompts and, where asked, the model.
    """

    version_id: str
    parent_version: str | None
    document: ParsedDocument
    tree: SectionTree
    report: MatchReport
    settings_hash: str
    usage: Usage = field(default_factory=Usage)
    nodes_reused: int = 0
    nodes_rebuilt: int = 0
    nodes_moved: int = 0
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    renamed_from: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class VersionRef:
    """A written version, published or not: what `IndexStore.publish` needs to put it into a release."""

    doc_key: str
    entry: ReleaseEntry

    @property
    def version_id(self) -> str:
        """Such as `v000007`."""
        return self.entry.version_id


@dataclass(frozen=True, slots=True)
class StoredPage:
    """One page as kept: its text with all its lines, and which of them (document-wide numbers) are running heads."""

    page_number: int
    label: str
    first_line: int
    line_count: int
    text: str
    running_lines: tuple[int, ...] = ()

    @property
    def span(self) -> Span:
        """The lines of this page, half open."""
        return self.first_line, self.first_line + self.line_count

    def line_texts(self) -> list[str]:
        """The text of each line."""
        return self.text.split("\n") if self.line_count else []
