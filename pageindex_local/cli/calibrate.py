"""`calibrate`: an index asked about itself: which sections can be found, and how far a model helps to find them."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pageindex_local.cli.asking import open_asker_vectors
from pageindex_local.cli.commands import ASKING, add_command
from pageindex_local.cli.console import emit, emit_json, hint
from pageindex_local.cli.options import (
    DEFAULT_INDEX,
    CollectionOption,
    ConfigOption,
    IndexOption,
    JsonOption,
    ModelOption,
    ReleaseOption,
    check_output,
    load_settings,
    open_store,
    read_release,
)
from pageindex_local.cli.progress_bars import show_progress
from pageindex_local.errors import SettingsError, reading_problem
from pageindex_local.inert_text import inert

if TYPE_CHECKING:
    from pageindex_local.query.calibration import ModelMeasurement
    from pageindex_local.query.navigability import Navigability
    from pageindex_local.settings import Settings
    from pageindex_local.store import IndexStore
    from pageindex_local.store.records import Release

_SHOWN = 20
_EXAMPLES = (
    "calibrate --index ./indexes --samples 100 --no-model",
    "calibrate --index ./indexes -m qwen.gguf -o qwen.json",
    "calibrate --index ./imported --take qwen.json",
    "calibrate --index ./indexes --config vectors.toml --vectors",
)
_REMARK = (
    "Sentences and headings are taken from sections, words are left out, and the index is asked where they stand: no "
    "questions or answers have to be written. What is measured of a model is stored beside the release, and `ask` and "
    "`retrieve` follow it with that model, also on later releases while four in five documents are unchanged. Results "
    "flatter full text, since the questions use the documents' own words."
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, calibrate, panel=ASKING, examples=_EXAMPLES, remark=_REMARK)


def calibrate(
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    release: ReleaseOption = None,
    samples: Annotated[int, typer.Option("--samples", "-n", min=5, metavar="N", help="Sections to ask for.")] = 40,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed asks the same.")] = 7,
    model: ModelOption = None,
    no_model: Annotated[
        bool, typer.Option("--no-model", metavar="", help="Only ask which sections are found.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write what was measured of the model there too."),
    ] = None,
    measured_elsewhere: Annotated[
        Path | None,
        typer.Option("--take", metavar="FILE", help="Take over such a file instead of measuring.", dir_okay=False),
    ] = None,
    vectors: Annotated[
        bool,
        typer.Option(
            "--vectors", metavar="", help="Only make the vectors of query.vectors, anew if they are another model's."
        ),
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure on the index itself how well sections are found, and how much a model should count."""
    from pageindex_local.query.calibrate import measure_model
    from pageindex_local.query.calibration import write_calibration
    from pageindex_local.query.navigability import measure_navigability

    if output is not None and (no_model or vectors or measured_elsewhere is not None):
        raise SettingsError(
            "there is nothing to write: it takes what is measured of a model",
            subject="--output",
            next_step="Leave out --no-model, --take and --vectors.",
        )
    check_output("--output", output)
    settings = load_settings(config, model={"name": model})
    store = open_store(index, collection, settings)
    pinned = read_release(store, release)
    if measured_elsewhere is not None:
        _take(store, pinned, measured_elsewhere, as_json=as_json)
        return
    if vectors:
        _make_vectors(store, pinned, settings, as_json=as_json)
        return
    measured: ModelMeasurement | None = None
    with contextlib.ExitStack() as stack:
        stack.enter_context(store.lease(pinned))
        searched = open_asker_vectors(stack, store, pinned, settings, quiet=as_json)
        progress = stack.enter_context(show_progress(quiet=as_json))
        found = measure_navigability(
            store, pinned, settings.query, samples=samples, seed=seed, progress=progress, vectors=searched
        )
        if not no_model:
            from pageindex_local.llm.lazy import open_lazily

            opened = open_lazily(settings.model, store.work_folder / "completions.sqlite")
            stack.callback(opened.close)
            measured = measure_model(
                store, pinned, opened, settings.query, samples=samples, seed=seed, progress=progress, vectors=searched
            )
            if measured.samples:
                stored = write_calibration(store, pinned, measured)
                if output is not None:
                    output.write_text(stored.model_dump_json(indent=1) + "\n", encoding="utf-8")
    if as_json:
        emit_json(report(found, measured))
        return
    emit(
        "\n".join(
            navigability_lines(found)
            + (["", *model_lines(measured)] if measured is not None and measured.samples else [])
        )
    )
    if measured is not None and not measured.samples:
        hint(
            "note: no section holds a sentence that can be asked for; nothing was measured of the model, nothing stored"
        )
    elif measured is not None:
        hint(f"stored with release {pinned.name}; `ask` and `retrieve` follow it with this model")


def _take(store: "IndexStore", release: "Release", file: Path, *, as_json: bool) -> None:
    """Store what was measured elsewhere."""
    from pageindex_local.query.calibration import adopt_calibration

    try:
        data = file.read_bytes()
    except OSError as error:
        raise SettingsError(reading_problem(error), subject=str(file)) from None
    taken = adopt_calibration(store, release, data, subject=str(file))
    if as_json:
        emit_json({"release": release.name, "models": [model.model_name for model in taken.models]})
    else:
        hint(f"stored with release {release.name}: {', '.join(model.model_name for model in taken.models)}")


def _make_vectors(store: "IndexStore", release: "Release", settings: "Settings", *, as_json: bool) -> None:
    """Make the vectors of a release by the embedder that the settings name."""
    if not settings.query.vectors:
        raise SettingsError(
            "no embedder is named",
            subject="query.vectors",
            next_step="Name one under [query] in the file of --config.",
        )
    from pageindex_local.query.vectors import VectorSearch

    opened = VectorSearch(settings.query.vectors, threads=settings.model.threads)
    with store.lease(release), opened, show_progress(quiet=as_json) as progress:
        done = opened.prepare(store, release, progress, anew=True)
    there = len(done.stored.matrix) - done.made - done.taken
    if as_json:
        emit_json(
            {
                "release": release.name,
                "model": done.stored.fingerprint,
                "made": done.made,
                "taken_over": done.taken,
                "there": there,
            }
        )
    else:
        counts = f"{done.made:,} made, {done.taken:,} taken over from another release, {there:,} were there"
        hint(f"release {release.name}, {inert(done.stored.fingerprint)}: vectors of passages: {counts}")


def report(found: "Navigability", measured: "ModelMeasurement | None") -> dict[str, Any]:
    """The result as JSON values."""
    return {
        "release": found.release,
        "leaves": found.leaves,
        "asked": found.asked,
        "found_in_three": found.found,
        "right_document_first": found.right_document,
        "without_text": found.without_text,
        "lost": [
            {
                "doc_id": section.doc_id,
                "node_id": section.node_id,
                "title": section.title,
                "reason": section.reason,
                "question": section.question,
            }
            for section in found.lost
        ],
        "model": None if measured is None else measured.model_dump(mode="json"),
    }


def navigability_lines(found: "Navigability") -> list[str]:
    """How often sections find themselves, and which do not."""
    lines = [f"release {found.release}: {found.leaves:,} leaf sections, {found.without_text:,} without text"]
    lines += [
        f"asked for {count} by a {kind}: {found.found[kind]:.0%} among the first three, "
        f"right document first {found.right_document[kind]:.0%}"
        for kind, count in found.asked.items()
    ]
    for section in found.lost[:_SHOWN]:
        lines.append(f"  {inert(section.doc_id)}: {inert(section.title)} ({section.node_id}): {inert(section.reason)}")
    if len(found.lost) > _SHOWN:
        lines.append(f"  and {len(found.lost) - _SHOWN} more; --json lists them")
    return lines


def model_lines(measured: "ModelMeasurement") -> list[str]:
    """What the model adds at every share that was tried."""
    lines = [f"{measured.model_name}, {measured.samples} samples (mean reciprocal rank at each share of the model)"]
    tables = (
        ("sections", measured.sections_tried),
        ("pages", measured.pages_tried),
        ("documents", measured.documents_tried),
    )
    for name, tried in tables:
        by_kind: dict[str, list[str]] = {}
        for choice in tried:
            by_kind.setdefault(choice.strategy.value, []).append(f"{choice.share:g}: {choice.score:.3f}")
        lines += [f"  {name}, {kind}: {', '.join(shares)}" for kind, shares in by_kind.items()]
    shares = f"{measured.section_share:g} of sections, {measured.page_share:g} of pages, "
    shares += f"{measured.document_share:g} of documents"
    return [*lines, f"chosen: {measured.strategy.value}, {shares}"]
