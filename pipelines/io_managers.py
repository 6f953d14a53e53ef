"""Stage outputs as JSON files in the work folder: readable, no pickle, nothing executes when they are read."""

import re
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import TypeAdapter

from pageindex_local.build import BuildJob, BuiltTree, DraftTree, MiniTocBatch
from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.records import ParsedDocument
from pageindex_local.store.records import VersionRef
from pipelines.records import ChunkBatch, ChunkIds

# The closed set of what may be stored; a file names its record, so the reader needs no annotation.
_RECORDS: tuple[type[Any], ...] = (
    BuildJob,
    ParsedDocument,
    HeadingEvidence,
    ChunkBatch,
    ChunkIds,
    MiniTocBatch,
    DraftTree,
    BuiltTree,
    VersionRef,
)
_ADAPTERS = {kind.__name__: TypeAdapter(kind) for kind in _RECORDS}
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def dump_record(value: object) -> bytes:
    """A record with the name of its kind in front, as JSON.

    Raises:
        TypeError: not one of the known kinds.
    """
    name = type(value).__name__
    if name not in _ADAPTERS:
        raise TypeError(f"{name} is no stage output; known are {', '.join(_ADAPTERS)}")
    return name.encode() + b"\n" + _ADAPTERS[name].dump_json(value)


def load_record(data: bytes) -> object:
    """A record from what `dump_record` gave.

    Raises:
        ValueError: unknown kind, or not the record it says it is.
    """
    name, _, body = data.partition(b"\n")
    adapter = _ADAPTERS.get(name.decode("ascii", "replace"))
    if adapter is None:
        raise ValueError(f"{name[:40]!r} is no kind of stage output")
    return adapter.validate_json(body)


class StageFiles(dg.ConfigurableIOManager):
    """One file a stage and document below `folder`; the steps inside a graph add their run and mapping key."""

    folder: str

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Write an output; a half-written file is never read."""
        if obj is None:
            return
        file = self._file(context, context.partition_key if context.has_partition_key else "")
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        partial.write_bytes(dump_record(obj))
        partial.replace(file)

    def load_input(self, context: dg.InputContext) -> object:
        """Read the output that a stage asks for."""
        if context.upstream_output is None:
            raise dg.Failure("only outputs of stages can be read", allow_retries=False)
        # The run's own partition: a check has none of its own and would be handed those of all documents.
        partition = context.partition_key if context.has_partition_key else ""
        return load_record(self._file(context.upstream_output, partition).read_bytes())

    def _file(self, output: dg.OutputContext, partition: str) -> Path:
        if output.has_asset_key:
            parts = [partition or "all", *output.asset_key.path]
        else:
            parts = ["steps", *(str(part) for part in output.get_identifier())]
        return Path(self.folder, *(_UNSAFE.sub("_", part) for part in parts)).with_suffix(".json")
