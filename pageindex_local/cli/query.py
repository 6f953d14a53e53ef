"""`ask` and `retrieve`: a question in, pages and an answer with checked citations out."""

import contextlib
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    check_document,
    load_settings,
    open_store,
    read_release,
)
from pageindex_local.inert_text import inert
from pageindex_local.wording.plain import plural

if TYPE_CHECKING:
    from pageindex_local.query.records import Retrieval
    from pageindex_local.records import SectionTree
    from pageindex_local.settings import Settings
    from pageindex_local.store import IndexStore
    from pageindex_local.store.records import Release

_WIDTH = 80
QuestionArgument = Annotated[
    str, typer.Argument(metavar="QUESTION", help="The question, in quotes.", show_default=False)
]
DocOption = Annotated[
    list[str] | None,
    typer.Option("--doc", "-d", metavar="DOC", help="Only this document; repeatable."),
]
PagesOption = Annotated[int | None, typer.Option("--pages", "-p", min=1, metavar="N", help="Pages to read at most.")]
TraceOption = Annotated[
    Path | None, typer.Option("--trace", metavar="FILE", help="Write every step of the search there, as JSON.")
]
NoModelOption = Annotated[
    bool, typer.Option("--no-model", metavar="", help="Search by full text and structure alone; no model is opened.")
]

_ASK_EXAMPLES = (
    'ask "Which files are stored under /etc/opt?" --index ./indexes',
    'ask "What must section 4 contain?" --doc manual.pdf --json',
)
_ASK_REMARK = (
    "Every citation names document, version, section and pages, and its quote stands on the cited page. Where the "
    "documents do not hold an answer, the command says so and still exits with 0."
)
_RETRIEVE_EXAMPLES = (
    'retrieve "mandatory control fields" --index ./indexes --pages 5',
    'retrieve "Net revenue 2022" --doc 10-K.pdf --json --trace trace.json',
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_command(app, ask, panel=ASKING, examples=_ASK_EXAMPLES, remark=_ASK_REMARK, needs_arguments=True)
    add_command(app, retrieve, panel=ASKING, examples=_RETRIEVE_EXAMPLES, needs_arguments=True)


def ask(
    question: QuestionArgument,
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    doc: DocOption = None,
    release: ReleaseOption = None,
    pages: PagesOption = None,
    trace: TraceOption = None,
    model: ModelOption = None,
    no_model: NoModelOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from an index, with citations that were checked against the pages."""
    from pageindex_local.query import answer

    question_options = QuestionOptions(question, tuple(doc or ()), release, pages, trace, no_model, as_json)
    settings = load_settings(config, model={"name": model})
    _run(answer, open_store(index, collection, settings), settings, question_options)


def retrieve(
    question: QuestionArgument,
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    doc: DocOption = None,
    release: ReleaseOption = None,
    pages: PagesOption = None,
    trace: TraceOption = None,
    model: ModelOption = None,
    no_model: NoModelOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the pages and sections that hold the answer, best first, without writing one."""
    from pageindex_local.query import retrieve as run_retrieve

    question_options = QuestionOptions(question, tuple(doc or ()), release, pages, trace, no_model, as_json)
    settings = load_settings(config, model={"name": model})
    _run(run_retrieve, open_store(index, collection, settings), settings, question_options)


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """What was asked, where to look, and how to show what was found."""

    question: str
    docs: tuple[str, ...]
    release: str | None
    pages: int | None
    trace: Path | None
    no_model: bool
    as_json: bool


def _run(run: "Callable[..., Retrieval]", store: "IndexStore", settings: "Settings", options: QuestionOptions) -> None:
    from pageindex_local.query.trace import Trace

    release = read_release(store, options.release)
    known = [entry.doc_id for entry in release.documents.values()]
    for doc_id in options.docs:
        check_document(doc_id, known, f"release {release.name}")
    trace = Trace()
    with contextlib.ExitStack() as stack:
        stack.enter_context(store.lease(release))
        model = None
        if not options.no_model:
            from pageindex_local.llm.lazy import open_lazily

            model = open_lazily(settings.model, store.work_folder / "completions.sqlite")
            stack.callback(model.close)
        result = run(
            options.question,
            store,
            release=release,
            doc_ids=options.docs,
            model=model,
            settings=settings.query,
            max_pages=options.pages,
            trace=trace,
        )
    if options.trace is not None:
        trace.write(options.trace)
    if options.as_json:
        emit_json(result.model_dump(mode="json"))
        return
    emit("\n".join(result_lines(result, Places(store, release))))
    for notice in result.notices:
        hint(f"note: {notice}")
    cost = result.cost
    calls = f"{plural(cost.model_calls, 'model call')}, {cost.cached_calls} cached"
    hint(
        f"release {result.release}; {calls}, {cost.input_tokens:,}+{cost.output_tokens:,} tokens, {cost.seconds:.1f} s"
    )
    if options.trace is not None:
        hint(f"trace written to {options.trace}")


class Places:
    """Says where something stands: by pages, or by lines where the document has no pages."""

    def __init__(self, store: "IndexStore", release: "Release") -> None:
        self._store = store
        self._release = release
        self._trees: dict[str, SectionTree] = {}

    def describe(self, doc_id: str, node_id: str, first_page: int, last_page: int) -> str:
        """`page 3`, `pages 3–5`, or `lines 40–52`: those of the node."""
        found = self._release.find(doc_id)
        if found is None or found[1].media_type.value == "application/pdf":
            return _range_text("page", first_page, last_page)
        if doc_id not in self._trees:
            self._trees[doc_id] = self._store.open_document(self._release, found[0]).tree()
        node = self._trees[doc_id].nodes.get(node_id)
        if node is None:
            return _range_text("block", first_page, last_page)
        return _range_text("line", node.span[0] + 1, node.span[1])


def result_lines(result: "Retrieval", places: Places) -> list[str]:
    """An answer with its citations, or pages with the sections on them, as lines of text."""
    lines: list[str] = []
    if result.abstained:
        lines.append("Not in these documents: nothing found is strong enough to answer from.")
    elif result.answer:
        lines += textwrap.wrap(inert(result.answer), _WIDTH)
    for number, citation in enumerate(result.citations, 1):
        where = places.describe(citation.doc_id, citation.node_id, citation.first_page, citation.last_page)
        lines += ["", f"[{number}] {inert(citation.doc_id)}, {where}: {inert(citation.title)}  ({citation.node_id})"]
        lines += textwrap.wrap(
            f"\u201c{inert(citation.quote)}\u201d", _WIDTH, initial_indent="    ", subsequent_indent="    "
        )
    if result.citations:
        return lines
    titles = {(node.doc_id, node.node_id): node for node in result.nodes}
    if result.pages:
        lines += ["", "Nearest pages:"] if lines else ["Pages, best first:"]
    for page in result.pages:
        node = titles.get((page.doc_id, page.node_id))
        where = places.describe(page.doc_id, page.node_id, page.page_number, page.page_number)
        title = "" if node is None else ": " + " › ".join(node.path)
        lines.append(_cut(f"  {page.score:5.3f}  {inert(page.doc_id)}, {where}{inert(title)}"))
    return lines


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _range_text(name: str, first: int, last: int) -> str:
    return f"{name} {first}" if first >= last else f"{name}s {first}\u2013{last}"
