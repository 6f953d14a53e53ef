"""An index and what questions to it need, opened for a command: settings and options in, an `Asker` out.

Everything that was opened is closed with the exit stack of the command. Prints nothing.
"""

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pageindex_local.cli.options import check_document, open_store, read_release
from pageindex_local.cli.progress_bars import show_draft, show_progress
from pageindex_local.cli.trace_output import write_trace
from pageindex_local.errors import ModelFileError

if TYPE_CHECKING:
    from pageindex_local.llm.base import TextModel
    from pageindex_local.query import Note, Turn
    from pageindex_local.query.records import Answer, Retrieval
    from pageindex_local.query.vectors import VectorSearch
    from pageindex_local.settings import Settings
    from pageindex_local.store import IndexStore
    from pageindex_local.store.records import Release


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look: index, collection, release, documents, pages at most, and the notes that steer."""

    index: Path
    collection: str | None
    release: str | None
    docs: tuple[str, ...]
    pages: int | None
    notes: Path | None


@dataclass(frozen=True, slots=True)
class Asker:
    """An open index and model, ready for questions. `missing` says what could not be opened."""

    store: "IndexStore"
    release: "Release"
    settings: "Settings"
    place: Place
    notes: "tuple[Note, ...]"
    model: "TextModel | None"
    missing: str
    vectors: "VectorSearch | None" = None

    def answer(self, question: str, history: "Sequence[Turn]", trace: Path | None, *, is_watched: bool) -> "Answer":
        """One answer; a watched one shows the model's draft on a terminal while it is written."""
        from pageindex_local.query import answer

        with show_draft(is_watched) as on_text:
            return self._run(answer, question, trace, history=history, on_text=on_text)  # type: ignore[return-value]

    def retrieve(self, question: str, trace: Path | None) -> "Retrieval":
        """The pages for a question."""
        from pageindex_local.query import retrieve as run_retrieve

        return self._run(run_retrieve, question, trace)

    def _run(self, run: "Callable[..., Retrieval]", question: str, trace: Path | None, **more: object) -> "Retrieval":
        from pageindex_local.query.trace import Trace

        steps = Trace()
        result = run(
            question.encode(errors="surrogateescape").decode(errors="replace"),  # typed in another encoding
            self.store,
            release=self.release,
            doc_ids=self.place.docs,
            model=self.model,
            settings=self.settings.query,
            max_pages=self.place.pages,
            trace=steps,
            notes=self.notes,
            vectors=self.vectors,
            **more,
        )
        if trace is not None:
            write_trace(steps, trace, self.store, self.release)
        return result.model_copy(update={"notices": (*result.notices, self.missing)}) if self.missing else result


def open_asker(
    stack: contextlib.ExitStack, place: Place, settings: "Settings", *, model_name: str | None, no_model: bool
) -> Asker:
    """The index, notes, model and embedder of a command, closed with the stack.

    Raises:
        IndexNotFoundError: no such index, release or document.
        SettingsError: the notes cannot be used.
        ModelError: a model that was named, or the embedder, cannot be opened.
    """
    store = open_store(place.index, place.collection, settings)
    release = read_release(store, place.release)
    known = [entry.doc_id for entry in release.documents.values()]
    for doc_id in place.docs:
        check_document(doc_id, known, f"release {release.name}")
    stack.enter_context(store.lease(release))
    model, missing = (None, "") if no_model else open_question_model(stack, store, settings, is_named=bool(model_name))
    vectors = open_asker_vectors(stack, store, release, settings)
    return Asker(store, release, settings, place, read_asker_notes(place.notes, settings), model, missing, vectors)


def open_asker_vectors(
    stack: contextlib.ExitStack,
    store: "IndexStore",
    release: "Release",
    settings: "Settings",
    *,
    quiet: bool = False,
    anew: bool = False,
) -> "VectorSearch | None":
    """The embedder that `query.vectors` names, if any, closed with the stack; missing vectors are made under a bar.

    Raises:
        QueryError: the vectors there are another embedder's (unless they are made `anew`).
        ModelError: the embedder cannot be opened.
    """
    if not settings.query.vectors:
        return None
    from pageindex_local.query.vectors import VectorSearch

    vectors = stack.enter_context(VectorSearch(settings.query.vectors, threads=settings.model.threads))
    with show_progress(quiet=quiet) as progress:
        vectors.prepare(store, release, progress, anew=anew)
    return vectors


def open_question_model(
    stack: contextlib.ExitStack, store: "IndexStore", settings: "Settings", *, is_named: bool
) -> "tuple[TextModel | None, str]":
    """The model that helps with questions, closed with the stack; or None and a sentence about what is missing.

    Questions can do without: only a model that was named on the command line must be there.

    Raises:
        ModelError: the named model cannot be opened.
    """
    from pageindex_local.llm.lazy import open_lazily

    try:
        model = open_lazily(settings.model, cache_file(stack, store.work_folder))
    except ModelFileError as error:
        if is_named:
            raise
        return None, f"Full text and structure alone were used: {error.subject} {error.problem}."
    stack.callback(model.close)
    if is_named:
        model.describe()
    return model, ""


def cache_file(stack: contextlib.ExitStack, folder: Path) -> Path:
    """The completion cache of an index; one for this process alone where the index may only be read."""
    name = "completions.sqlite"
    found = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=found):
            return folder / name
    except OSError:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))) / name


def read_asker_notes(file: Path | None, settings: "Settings") -> "tuple[Note, ...]":
    """The notes of the option, or else those that the settings name."""
    if file is None and not settings.query.notes:
        return ()
    from pageindex_local.query.notes import read_notes

    return read_notes(file or Path(settings.query.notes))
