"""Documents under another name, found once for all new ones and kept in the work folder for the runs that build them.

Each run builds one document. Comparing all new ones with all that are gone in each of them would be work squared.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pageindex_local.ids import make_doc_key
from pageindex_local.planning import Action, PlannedDocument
from pageindex_local.records import Source
from pageindex_local.store.records import ReleaseEntry


@dataclass(frozen=True, slots=True)
class PlannedNames:
    """What a plan said of new documents: by key the content that was compared, and the old document's key and version.

    `gone` are the keys of the documents whose files were missing then.
    """

    gone: frozenset[str] = frozenset()
    contents: Mapping[str, str] = field(default_factory=dict)
    former: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def knows(self, source: Source, gone: Mapping[str, ReleaseEntry]) -> bool:
        """Whether the plan compared this document with everything that is gone now."""
        return self.contents.get(source.doc_key) == source.sha256 and gone.keys() <= self.gone

    def find_former(self, doc_key: str, gone: Mapping[str, ReleaseEntry]) -> tuple[str, str] | None:
        """The old document and version that a new one goes on with, while nobody else went on with it or changed it."""
        former = self.former.get(doc_key)
        return former if former and former[0] in gone and gone[former[0]].version_id == former[1] else None


def names_of(planned: Sequence[PlannedDocument]) -> PlannedNames:
    """What a plan says of new documents and of those that are gone."""
    added = [entry for entry in planned if entry.action is Action.ADD]
    former = {
        entry.doc_key: (make_doc_key(entry.renamed_from.doc_id), entry.renamed_from.version_id)
        for entry in planned  # also one that cannot be read: while it cannot, the old one stays
        if entry.renamed_from
    }
    removed = {entry.doc_key for entry in planned if entry.action is Action.REMOVE}
    return PlannedNames(
        frozenset(removed | {old for old, _ in former.values()}),
        {entry.doc_key: entry.source.sha256 for entry in added if entry.source},
        former,
    )


def read_names(file: Path) -> PlannedNames:
    """The last plan that was written; an empty one where the file is missing or of another form."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        record = json.loads(file.read_text(encoding="utf-8"))
        former = {str(key): (str(old), str(version)) for key, (old, version) in record["former"].items()}
        return PlannedNames(frozenset(record["gone"]), dict(record["contents"]), former)
    return PlannedNames()


def write_names(file: Path, names: PlannedNames) -> None:
    """Keep a plan for the runs to come; a half-written file is never read."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.partial")
    record = {"gone": sorted(names.gone), "contents": names.contents, "former": names.former}
    partial.write_text(json.dumps(record) + "\n", encoding="utf-8")
    partial.replace(file)
