"""New and changed files become runs. Stopped by default: on one machine the command line is the simpler way."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from pageindex_local.errors import SourceError
from pageindex_local.ids import hash_parts
from pageindex_local.parsing.sources import SourceFile, find_sources
from pageindex_local.planning import Action, PlannedDocument
from pipelines.jobs import index_document, publish_release
from pipelines.partitions import requests_to_add
from pipelines.renames import names_of, write_names
from pipelines.resources import Workspace, WorkspaceSettings
from pipelines.sources import observation

SETTLE_SECONDS = 10.0  # a file that changed more recently may still be written
MAX_REQUESTS = 50  # runs started by one tick
TICK_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a tick remembers.

    `settled` is the digest of the last listing in which nothing was left to do, `last_key` the last document asked for.
    """

    settled: str = ""
    last_key: str = ""

    @classmethod
    def read(cls, text: str | None) -> "Cursor":
        """The cursor of the last tick; an empty one where it is missing or of another form."""
        try:
            data = json.loads(text or "{}")
            return cls(str(data.get("settled", "")), str(data.get("last_key", "")))
        except (ValueError, AttributeError):
            return cls()

    def write(self) -> str:
        """The cursor as Dagster keeps it."""
        return json.dumps({"settled": self.settled, "last_key": self.last_key})


def list_digest(files: Sequence[SourceFile], release: str) -> str:
    """A hash over paths, sizes and times: equal where nothing has to be read again to know that nothing changed."""
    parts = [release]
    for file in files:
        state = file.path.stat()
        parts += [file.doc_id, str(state.st_size), str(state.st_mtime_ns)]
    return hash_parts(parts)


def is_settled(path: Path, now: float) -> bool:
    """Whether a file has not been written to for a while (a time in the future counts as settled)."""
    age = now - path.stat().st_mtime
    return age < 0 or age >= SETTLE_SECONDS


def run_requests(planned: Sequence[PlannedDocument], fingerprint: str) -> list[dg.RunRequest]:
    """A run for each document to be built; the same bytes under the same settings never run twice."""
    return [
        dg.RunRequest(
            partition_key=entry.doc_key,
            run_key=f"{entry.doc_key}:{entry.source.sha256[:16]}:{fingerprint[:16]}",
            job_name=index_document.name,
        )
        for entry in planned
        if entry.source is not None and entry.is_change
    ]


def removal_request(planned: Sequence[PlannedDocument], release: str) -> list[dg.RunRequest]:
    """One run of the release alone where sources are gone, and no other document is to go on with them."""
    former = {old for old, _ in names_of(planned).former.values()}
    gone = [entry.doc_key for entry in planned if entry.action is Action.REMOVE and entry.doc_key not in former]
    if not gone:
        return []
    return [dg.RunRequest(run_key=f"remove:{release}:{hash_parts(gone)[:16]}", job_name=publish_release.name)]


def plan_workspace(workspace: Workspace) -> tuple[list[PlannedDocument], str, str]:
    """What there is to do, the fingerprint of today's builds, and the name of the current release."""
    current = workspace.store.current()
    planned = workspace.plan()
    if any(entry.action is Action.REMOVE or entry.renamed_from is not None for entry in planned):
        write_names(workspace.names_file, names_of(planned))  # the runs need not find them again
    return planned, workspace.fingerprint().with_model, "none" if current is None else current.name


@dg.sensor(
    jobs=[index_document, publish_release],
    minimum_interval_seconds=TICK_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
)
def changed_sources(
    context: dg.SensorEvaluationContext, workspace_settings: WorkspaceSettings
) -> dg.SensorResult | dg.SkipReason:
    """Runs for files that are new, changed or gone, a bounded number a tick."""
    workspace = workspace_settings.open()
    cursor = Cursor.read(context.cursor)
    try:
        files = find_sources(workspace.scope.inputs, exclude=workspace.scope.exclude)
    except SourceError as error:
        return dg.SkipReason(str(error))
    current = workspace.store.current()
    state = f"{'none' if current is None else current.name}:{workspace.fingerprint().with_model}"
    digest = list_digest(files, state)
    if digest == cursor.settled:
        return dg.SkipReason("nothing changed since the last look")
    planned, fingerprint, release = plan_workspace(workspace)
    now = time.time()
    ready = [entry for entry in planned if entry.source is None or is_settled(Path(entry.source.path), now)]
    wanted = run_requests(ready, fingerprint)
    # Go on behind the last key asked for, so that documents which fail again and again do not starve the others.
    later = [request for request in wanted if (request.partition_key or "") > cursor.last_key]
    chosen = (later or wanted)[:MAX_REQUESTS]
    # What this tick saw of the files that it asks runs for: until they ran, the UI shows those documents as stale.
    versions = {entry.doc_key: workspace.source_version(entry.source.sha256) for entry in ready if entry.source}
    is_idle = not wanted and len(ready) == len(planned)
    return dg.SensorResult(
        run_requests=[*chosen, *removal_request(ready, release)],
        dynamic_partitions_requests=requests_to_add(request.partition_key or "" for request in chosen),
        asset_events=[observation(key, versions[key]) for request in chosen if (key := request.partition_key or "")],
        cursor=Cursor(digest if is_idle else "", (chosen[-1].partition_key or "") if chosen else "").write(),
    )
