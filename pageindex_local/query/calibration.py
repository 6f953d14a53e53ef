"""What was measured of a model on a release, kept in a file beside the release's search file; and the plan it gives.

A measurement counts for the model, the form of measuring and the documents that it was made with. A later release takes
over its ancestor's while most of the documents are still the same, so that a nightly build does not lose it.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pageindex_local.errors import CorruptIndexError, QueryError
from pageindex_local.ids import sha256_hex
from pageindex_local.llm.base import TextModel
from pageindex_local.query.strategies import PATH_SHARE, Plan, Strategy, make_plan
from pageindex_local.settings import QuerySettings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import SEAL_SUFFIX, canonical_json, seal_bytes
from pageindex_local.store.records import Release
from pageindex_local.store.search_copies import CALIBRATION_SUFFIX, KEPT_CALIBRATIONS

FORMAT = 1
SAME_SHARE = 0.8  # of the documents that must be unchanged for an ancestor's measurement to count


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Choice(_Record):
    """One setting that was tried: shares of the model, and how well it found known places (0 to 1)."""

    strategy: Strategy
    share: float = Field(ge=0, le=1)
    score: float = Field(ge=0, le=1)
    error: float = Field(ge=0, description="standard error of the score")


class ModelMeasurement(_Record):
    """What one model adds to full text on one release: the shares chosen, and all that were tried.

    `held_out` is the score of pages on samples that their share was not chosen by.
    """

    model_name: str
    model_fingerprint: str
    samples: int
    seed: int
    strategy: Strategy
    section_share: float = Field(ge=0, le=1)
    page_share: float = Field(ge=0, le=1)
    document_share: float = Field(default=0.0, ge=0, le=1)
    sections_tried: tuple[Choice, ...]
    pages_tried: tuple[Choice, ...]
    documents_tried: tuple[Choice, ...] = ()
    held_out: float = Field(ge=0, le=1)


class Calibration(_Record):
    """The measurements of one release; `manifests` are the versions it pinned, by `doc_key`."""

    format: int
    release: str
    manifests: dict[str, str]
    models: tuple[ModelMeasurement, ...] = ()

    def of_model(self, fingerprint: str) -> ModelMeasurement | None:
        """The measurement of the model with this fingerprint, if there is one."""
        return next((found for found in self.models if found.model_fingerprint == fingerprint), None)


def calibration_name(release: str) -> str:
    """The file's name in the folder of search files."""
    return f"{release}{CALIBRATION_SUFFIX}"


def read_calibration(store: IndexStore, release: str) -> Calibration | None:
    """The measurements of exactly this release; None where there are none, or in another form.

    Raises:
        CorruptIndexError: the file is not what was written.
    """
    path = store.layout.search / calibration_name(release)
    try:
        data = store.files.read_bytes(path)
        seal = store.files.read_bytes(path.with_name(path.name + SEAL_SUFFIX))
    except FileNotFoundError:
        return None
    if seal != seal_bytes(sha256_hex(data)):
        raise CorruptIndexError(
            "is not what was written", subject=str(path), next_step="Delete the file, or run `calibrate` again."
        )
    try:
        found = Calibration.model_validate_json(data)
    except ValidationError:
        return None
    return found if found.format == FORMAT else None


def write_calibration(store: IndexStore, release: Release, measured: ModelMeasurement) -> Calibration:
    """Store a measurement beside those of other models; one of the same model is replaced.

    Raises:
        StoreError: the folder cannot be written.
    """
    try:
        before = read_calibration(store, release.name)
    except CorruptIndexError:
        before = None
    others = () if before is None else before.models
    kept = [model for model in others if model.model_fingerprint != measured.model_fingerprint]
    calibration = Calibration(
        format=FORMAT, release=release.name, manifests=_manifests(release), models=(*kept, measured)
    )
    data = canonical_json(calibration.model_dump(mode="json"))
    path = store.layout.search / calibration_name(release.name)
    seal = path.with_name(path.name + SEAL_SUFFIX)
    store.files.make_folders(store.layout.search)
    store.files.remove(seal)  # a crash may leave a file without a seal, never with the seal of another
    store.files.settle(store.layout.search)
    try:
        expected: bytes | None = store.files.read_bytes(path)
    except FileNotFoundError:
        expected = None
    store.files.replace_file(path, data, expected)
    store.files.replace_file(seal, seal_bytes(sha256_hex(data)), None)
    return calibration


def adopt_calibration(store: IndexStore, release: Release, data: bytes, *, subject: str) -> Calibration:
    """Take over measurements made elsewhere, such as before a bundle was carried here.

    Raises:
        QueryError: no calibration, of another format, or made on other documents.
        StoreError: the folder cannot be written.
    """
    try:
        brought = Calibration.model_validate_json(data)
    except ValidationError:
        raise QueryError("is no calibration", subject=subject, next_step="`calibrate --output` writes one.") from None
    if brought.format != FORMAT:
        raise QueryError(f"has format {brought.format}, not {FORMAT}", subject=subject, next_step="Calibrate again.")
    if not _is_like(brought, release):
        raise QueryError(
            f"was measured on other documents than those of release {release.name}",
            subject=subject,
            next_step="Calibrate here.",
        )
    for measured in brought.models:
        write_calibration(store, release, measured)
    return brought


def find_measurement(store: IndexStore, release: Release, fingerprint: str) -> tuple[ModelMeasurement, str] | None:
    """The newest measurement of a model that counts for a release, and the release it was made on.

    That of the release itself, or of one before it of which at least `SAME_SHARE` of the documents are unchanged. A
    damaged file counts as none. Cost: one listing of a folder, and a reading of each file looked at, newest first.
    """
    for calibration in _read_newest(store, release):
        measured = calibration.of_model(fingerprint)
        if measured is not None and _is_like(calibration, release):
            return measured, calibration.release
    return None


def choose_plan(store: IndexStore, release: Release, model: TextModel | None, settings: QuerySettings) -> Plan:
    """The plan that the settings' strategy gives for this model on this release.

    Where nothing that was measured counts, its reason says what there is: of another model, or of other documents.
    """
    strategy = Strategy(settings.strategy)
    if strategy is not Strategy.AUTO or model is None:
        return make_plan(strategy, model, settings)
    fingerprint = model.describe().fingerprint
    found = find_measurement(store, release, fingerprint)
    if found is None:
        plan = make_plan(strategy, model, settings)
        reasons = [plan.reason, _explain_missing(store, release, fingerprint)]
        return replace(plan, reason="; ".join(filter(None, reasons)))
    measured, name = found
    calibrated = Plan(
        measured.strategy,
        measured.section_share,
        measured.page_share,
        PATH_SHARE,
        f"measured on release {name} with {measured.samples} samples",
        measured.document_share,
    )
    return make_plan(strategy, model, settings, calibrated)


def list_measurements(store: IndexStore, release: Release) -> list[tuple[ModelMeasurement, str, bool]]:
    """The newest measurement of every model, the release it was made on, and whether it counts for this release.

    One of another build of the engine or of another file of the same name is another model's.
    """
    newest: dict[str, tuple[ModelMeasurement, str, bool]] = {}
    for calibration in _read_newest(store, release):
        counts = _is_like(calibration, release)
        for measured in calibration.models:
            known = newest.get(measured.model_fingerprint)
            if known is None or (counts and not known[2]):
                newest[measured.model_fingerprint] = measured, calibration.release, counts
    return list(newest.values())


def _explain_missing(store: IndexStore, release: Release, fingerprint: str) -> str:
    """Why what was measured does not count, for a trace; empty where nothing was."""
    others = ""
    for measured, name, counts in list_measurements(store, release):
        if measured.model_fingerprint == fingerprint:
            return f"too many documents have changed since release {name} was measured"
        if counts and not others:
            others = f"what was measured on release {name} is of another model, {measured.model_name}"
    return others


def _read_newest(store: IndexStore, release: Release) -> Iterator[Calibration]:
    """What was measured on a release and on those before it, newest first; damaged files left out."""
    measured_on = [
        name.removesuffix(CALIBRATION_SUFFIX)
        for name in store.files.list_names(store.layout.search)
        if name.endswith(CALIBRATION_SUFFIX)
    ]
    for name in sorted((name for name in measured_on if name <= release.name), reverse=True)[:KEPT_CALIBRATIONS]:
        with suppress(CorruptIndexError):
            calibration = read_calibration(store, name)
            if calibration is not None:
                yield calibration


def _is_like(calibration: Calibration, release: Release) -> bool:
    """Whether enough of the documents are the very versions that were measured."""
    wanted = _manifests(release)
    same = len(wanted.items() & calibration.manifests.items())
    return same >= SAME_SHARE * max(len(wanted), len(calibration.manifests))


def _manifests(release: Release) -> dict[str, str]:
    return {doc_key: entry.manifest_sha256 for doc_key, entry in sorted(release.documents.items())}
