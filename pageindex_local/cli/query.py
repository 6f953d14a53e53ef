"""`ask` and `retrieve`: a question in, pages and an answer with checked citations out."""

import contextlib
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pageindex_local.cli.answer_text import Places, result_lines
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
    check_choice,
    check_document,
    check_output,
    load_settings,
    open_store,
    read_release,
)
from pageindex_local.cli.progress_bars import show_draft, show_progress
from pageindex_local.cli.trace_output import TERMINAL, write_trace
from pageindex_local.errors import ModelFileError, QueryError
from pageindex_local.wording.plain import plural

if TYPE_CHECKING:
    from pageindex_local.llm.base import TextModel
    from pageindex_local.query import Note, Turn
    from pageindex_local.query.records import Answer, Retrieval
    from pageindex_local.query.vectors import VectorSearch
    from pageindex_local.settings import Settings
    from pageindex_local.store import IndexStore
    from pageindex_local.store.records import Release

STRATEGIES = ("auto", "fulltext", "likelihood", "choice", "fused")
QuestionArgument = Annotated[
    str, typer.Argument(metavar="QUESTION", help="The question, in quotes.", show_default=False)
]
DocOption = Annotated[
    list[str] | None,
    typer.Option("--doc", "-d", metavar="DOC", help="Only this document; repeatable."),
]
PagesOption = Annotated[int | None, typer.Option("--pages", "-p", min=1, metavar="N", help="Pages to read at most.")]
TraceOption = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        help="Write every step there: JSON, a page if it ends with .html, - for the terminal.",
    ),
]
StrategyOption = Annotated[
    str | None,
    typer.Option("--strategy", "-s", metavar="NAME", help=f"Who judges sections: {', '.join(STRATEGIES)}."),
]
NoModelOption = Annotated[
    bool, typer.Option("--no-model", metavar="", help="Search by full text and structure alone; no model is opened.")
]
NotesOption = Annotated[
    Path | None,
    typer.Option("--notes", metavar="FILE", help="Rules that steer the search (TOML or Markdown).", dir_okay=False),
]
ConversationOption = Annotated[
    Path | None,
    typer.Option(
        "--conversation",
        metavar="FILE",
        help="JSON Lines file: earlier turns are read, this one is added.",
        dir_okay=False,
    ),
]

_ASK_EXAMPLES = (
    'ask "Which files belong in /etc/opt?" --index ./indexes',
    'ask "What must section 4 contain?" --doc manual.pdf --json',
    'ask "And in 2021?" --conversation talk.jsonl --notes ours.md',
)
_ASK_REMARK = (
    "Every citation names document, version, section and pages, and its quote stands on the cited page. Where the "
    "documents do not hold an answer, the command says so and still exits with 0."
)
_CHAT_EXAMPLES = ("chat --index ./indexes", "chat --conversation talk.jsonl --doc 10-K.pdf")
_CHAT_REMARK = "An empty line or the end of the input ends it. Every answer is checked as `ask` checks it."
_RETRIEVE_EXAMPLES = (
    'retrieve "mandatory fields" --index ./indexes --pages 5',
    'retrieve "Revenue 2022" --doc 10-K.pdf --trace trace.json',
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_command(app, ask, panel=ASKING, examples=_ASK_EXAMPLES, remark=_ASK_REMARK, needs_arguments=True)
    add_command(app, chat, panel=ASKING, examples=_CHAT_EXAMPLES, remark=_CHAT_REMARK)
    add_command(app, retrieve, panel=ASKING, examples=_RETRIEVE_EXAMPLES, needs_arguments=True)


def ask(
    question: QuestionArgument,
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    doc: DocOption = None,
    release: ReleaseOption = None,
    pages: PagesOption = None,
    conversation: ConversationOption = None,
    notes: NotesOption = None,
    trace: TraceOption = None,
    strategy: StrategyOption = None,
    model: ModelOption = None,
    no_model: NoModelOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from an index, with citations that were checked against the pages."""
    from pageindex_local.query.conversation import read_conversation

    history = read_conversation(conversation) if conversation else []
    check_output("--conversation", conversation)
    check_output("--trace", trace)
    check_choice("--strategy", strategy, STRATEGIES)
    settings = load_settings(config, model={"name": model}, query={"strategy": strategy})
    place = Place(index, collection, release, tuple(doc or ()), pages, notes)
    with contextlib.ExitStack() as stack:
        asker = _open(stack, place, settings, model_name=model, no_model=no_model)
        result = asker.answer(question, history, trace, is_watched=not as_json)
    if conversation:
        _keep_turn(conversation, result)
    _show(result, asker, trace, as_json=as_json)


def chat(
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    doc: DocOption = None,
    release: ReleaseOption = None,
    pages: PagesOption = None,
    conversation: ConversationOption = None,
    notes: NotesOption = None,
    model: ModelOption = None,
    no_model: NoModelOption = False,
    config: ConfigOption = None,
) -> None:
    """Ask one question after another; each is understood with the ones before."""
    from pageindex_local.query.conversation import read_conversation

    history = read_conversation(conversation) if conversation else []
    check_output("--conversation", conversation)
    settings = load_settings(config, model={"name": model})
    place = Place(index, collection, release, tuple(doc or ()), pages, notes)
    with contextlib.ExitStack() as stack:
        asker = _open(stack, place, settings, model_name=model, no_model=no_model)
        while question := _read_question():
            try:
                result = asker.answer(question, history, None, is_watched=True)
            except QueryError as error:
                hint(f"error: {error}")
                continue
            _show(result, asker, None, as_json=False)
            history.append(_turn(result))
            if conversation:
                _keep_turn(conversation, result)


def retrieve(
    question: QuestionArgument,
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    doc: DocOption = None,
    release: ReleaseOption = None,
    pages: PagesOption = None,
    notes: NotesOption = None,
    trace: TraceOption = None,
    strategy: StrategyOption = None,
    model: ModelOption = None,
    no_model: NoModelOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the pages and sections that hold the answer, best first, without writing one."""
    check_output("--trace", trace)
    check_choice("--strategy", strategy, STRATEGIES)
    settings = load_settings(config, model={"name": model}, query={"strategy": strategy})
    place = Place(index, collection, release, tuple(doc or ()), pages, notes)
    with contextlib.ExitStack() as stack:
        asker = _open(stack, place, settings, model_name=model, no_model=no_model)
        result = asker.retrieve(question, trace)
    _show(result, asker, trace, as_json=as_json)


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


def _open(
    stack: contextlib.ExitStack, place: Place, settings: "Settings", *, model_name: str | None, no_model: bool
) -> Asker:
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


def _read_question() -> str:
    if sys.stdin.isatty():
        sys.stderr.write("\n? ")
        sys.stderr.flush()
    return sys.stdin.readline().strip()


def _turn(result: "Answer") -> "Turn":
    from pageindex_local.query.conversation import Turn

    return Turn(question=result.question, asked_as=result.asked_as, answer=result.answer, release=result.release)


def _keep_turn(path: Path, result: "Answer") -> None:
    from pageindex_local.query.conversation import append_turn

    append_turn(path, _turn(result))


def _show(result: "Retrieval", asker: Asker, trace: Path | None, *, as_json: bool) -> None:
    from pageindex_local.query.answer import WEAK_FACTOR

    if as_json:
        emit_json(result.model_dump(mode="json"))
        return
    emit("\n".join(result_lines(result, Places(asker.store, asker.release))))
    if result.citations and result.evidence < WEAK_FACTOR * asker.settings.query.abstain_below:
        hint(f"note: the evidence is weak ({result.evidence:.2f} of 1); read the cited pages before you rely on it")
    if result.asked_as:
        hint(f"understood as: {result.asked_as}")
    if result.notes:
        hint(f"notes used: {', '.join(result.notes)}")
    for notice in result.notices:
        hint(f"note: {notice}")
    cost = result.cost
    calls = f"{plural(cost.model_calls, 'model call')}, {cost.cached_calls} cached"
    hint(
        f"release {result.release}; {calls}, {cost.input_tokens:,}+{cost.output_tokens:,} tokens, {cost.seconds:.1f} s"
    )
    if trace is not None and trace != TERMINAL:
        hint(f"trace written to {trace}")
