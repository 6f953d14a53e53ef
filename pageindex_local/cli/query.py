"""`ask` and `retrieve`: a question in, pages and an answer with checked citations out."""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pageindex_local.cli.answer_text import Places, result_lines
from pageindex_local.cli.asking import Asker, Place, open_asker
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
    check_output,
    load_settings,
)
from pageindex_local.cli.trace_output import TERMINAL
from pageindex_local.errors import QueryError
from pageindex_local.wording.plain import plural

if TYPE_CHECKING:
    from pageindex_local.query import Turn
    from pageindex_local.query.records import Answer, Retrieval

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
        asker = open_asker(stack, place, settings, model_name=model, no_model=no_model)
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
        asker = open_asker(stack, place, settings, model_name=model, no_model=no_model)
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
        asker = open_asker(stack, place, settings, model_name=model, no_model=no_model)
        result = asker.retrieve(question, trace)
    _show(result, asker, trace, as_json=as_json)


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
