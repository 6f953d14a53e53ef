"""`evaluate`: a file of questions in, figures of retrieval, citations, abstention and cost out."""

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pageindex_local.cli.asking import open_asker_vectors, open_question_model, read_asker_notes
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
    load_settings,
    open_store,
    read_release,
)
from pageindex_local.cli.progress_bars import show_progress
from pageindex_local.cli.query import NoModelOption, NotesOption
from pageindex_local.inert_text import inert
from pageindex_local.wording.plain import plural

if TYPE_CHECKING:
    from pageindex_local.evaluate.records import Comparison, Evaluation, Pair, Run
    from pageindex_local.evaluate.run import Subject
    from pageindex_local.settings import Settings
    from pageindex_local.store import IndexStore

MISSED_THRESHOLD = 11  # exit code
_LISTED = 12  # questions named on each side of a comparison
_LABELS = {
    "mrr": "MRR of the first evidence page",
    "document_first": "right document first",
    "citations": "citations that hold",
    "answers": "answers that match",
    "refused": "answerable questions refused",
    "caught": "unanswerable questions refused",
    "calls": "model calls a question, median",
    "input_tokens": "tokens in, median",
    "output_tokens": "tokens out, median",
    "seconds": "seconds a question, median",
}
_EXAMPLES = (
    "evaluate questions.jsonl --index ./indexes --answers",
    "evaluate q.jsonl --min recall@5=0.5 --max refused=0.2",
    "evaluate questions.jsonl --release 000003 --against 000004",
    "evaluate q.jsonl --settings-b wide.toml --in-document",
)
_REMARK = (
    f"Exit code {MISSED_THRESHOLD} means that a figure misses its --min or --max; with --against or --settings-b the "
    "second run is held to them. docs/answers.md describes the file and every figure."
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, evaluate, panel=ASKING, examples=_EXAMPLES, remark=_REMARK, needs_arguments=True)


def evaluate(
    questions: Annotated[
        Path, typer.Argument(metavar="QUESTIONS", help="JSON Lines file of questions.", show_default=False)
    ],
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    release: ReleaseOption = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="NAME", help="Run a second time on this release and compare.")
    ] = None,
    settings_b: Annotated[
        Path | None,
        typer.Option("--settings-b", metavar="FILE", help="Run a second time with this file over the settings."),
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", metavar="", help="Write answers too: check citations, compare with expected.")
    ] = False,
    in_document: Annotated[
        bool, typer.Option("--in-document", metavar="", help="Search each question only in the document it names.")
    ] = False,
    minimum: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="FIGURE=X", help="Fail below this, such as recall@5=0.5; repeatable."),
    ] = None,
    maximum: Annotated[
        list[str] | None, typer.Option("--max", metavar="FIGURE=X", help="Fail above this, such as refused=0.2.")
    ] = None,
    notes: NotesOption = None,
    model: ModelOption = None,
    no_model: NoModelOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure retrieval, citations, abstention and cost with a file of questions, for you or for CI."""
    from pageindex_local.evaluate.compare import compare_runs, find_missed, read_thresholds
    from pageindex_local.evaluate.questions import read_questions
    from pageindex_local.evaluate.records import Evaluation
    from pageindex_local.evaluate.run import run_questions

    at_least, at_most = read_thresholds("--min", minimum or ()), read_thresholds("--max", maximum or ())
    asked = read_questions(questions)
    settings = load_settings(config, model={"name": model})
    store = open_store(index, collection, settings)
    with contextlib.ExitStack() as stack:
        subjects = [_subject("A", store, release, settings, stack, model, notes, no_model=no_model)]
        if against is not None or settings_b is not None:
            changed = settings if settings_b is None else _settings_over(config, settings_b, model)
            keeps_model = no_model or changed.model == settings.model  # two open models need twice the memory
            second = _subject("B", store, against or release, changed, stack, model, notes, no_model=keeps_model)
            subjects.append(replace(second, model=subjects[0].model) if keeps_model else second)
        for subject in subjects:
            stack.enter_context(store.lease(subject.release))
        progress = stack.enter_context(show_progress(quiet=as_json))
        runs = [
            run_questions(asked, subject, in_document=in_document, with_answers=answers, progress=progress)
            for subject in subjects
        ]
    result = Evaluation(
        questions_file=str(questions),
        runs=tuple(runs),
        comparison=compare_runs(*runs) if len(runs) == 2 else None,
        missed=tuple(find_missed(runs[-1], at_least, at_most)),
    )
    if as_json:
        emit_json(result.model_dump(mode="json"))
    else:
        emit("\n".join(table_lines(result)))
    for sentence in dict.fromkeys(warning for run in runs for warning in run.warnings):
        hint(f"warning: {inert(sentence)}")
    for sentence in result.missed:
        hint(f"missed: {sentence}")
    if not answers and {"answers", "citations"} & {*at_least, *at_most}:
        hint("  `answers` and `citations` are measured with --answers only")
    if result.missed:
        raise typer.Exit(MISSED_THRESHOLD)


def _settings_over(config: Path | None, changes: Path, model: str | None) -> "Settings":
    """The settings of the first run with what another file names changed."""
    import tomllib

    from pageindex_local.errors import SettingsError, reading_problem
    from pageindex_local.settings import read_settings

    try:
        layer = tomllib.loads(changes.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(reading_problem(error), subject=str(changes)) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"is not TOML: {error}", subject=str(changes)) from None
    for section, values in layer.items():
        if not isinstance(values, dict):
            raise SettingsError(f"{section} is no section", subject=str(changes))
    return read_settings(config, {**layer, "model": {"name": model, **layer.get("model", {})}})


def _subject(
    name: str,
    store: "IndexStore",
    release: str | None,
    settings: "Settings",
    stack: contextlib.ExitStack,
    model_name: str | None,
    notes: Path | None,
    *,
    no_model: bool,
) -> "Subject":
    from pageindex_local.evaluate.run import Subject

    model, missing = (None, "") if no_model else open_question_model(stack, store, settings, is_named=bool(model_name))
    if missing:
        hint(f"note: {missing}")
    rules = read_asker_notes(notes, settings)
    pinned = read_release(store, release)
    vectors = open_asker_vectors(stack, store, pinned, settings)
    return Subject(name, store, pinned, settings.query, model, rules, vectors)


def table_lines(result: "Evaluation") -> list[str]:
    """The figures as a table of at most 80 columns, one column a run, then what a comparison found."""
    runs = result.runs
    figures = runs[0].figures
    counts = f"{figures.with_evidence} with evidence pages, {figures.unanswerable} unanswerable"
    printed = plural(figures.citations_printed, "citation")
    lines = [f"{plural(figures.questions, 'question')}: {counts}, {printed} printed"]
    lines += [inert(f"{run.name}: release {run.release}, {run.model or 'no model'}") for run in runs]
    lines += ["", _row("", [run.name for run in runs])]
    for name in figures.values:
        values = [run.figures.values[name] for run in runs]
        if any(value is not None for value in values):
            lines.append(_row(_LABELS.get(name, name), [_number(name, value) for value in values]))
    for run in runs:
        lines += _fault_lines(run)
    if result.comparison is not None:
        lines += _comparison_lines(result.comparison)
    return [line.rstrip() for line in lines]


def _row(label: str, cells: list[str]) -> str:
    return f"{label:36}" + "".join(f"{cell:>12}" for cell in cells)


def _number(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if name in ("calls", "input_tokens", "output_tokens") else f"{value:.3f}"


def _fault_lines(run: "Run") -> list[str]:
    faults = [(outcome.question_id, fault) for outcome in run.outcomes for fault in outcome.citation_faults]
    return ["", f"Citations of {run.name} that do not hold:"] * bool(faults) + [
        inert(f"  {question_id}: {fault}")[:80] for question_id, fault in faults[:_LISTED]
    ]


def _comparison_lines(comparison: "Comparison") -> list[str]:
    won, lost = comparison.won_by_b, comparison.lost_by_b
    counts = f"B ahead on {len(won)}, behind on {len(lost)}, equal on {comparison.equal}"
    lines = ["", f"First evidence page: {counts}; chance {comparison.chance:.2f}"]
    return lines + _pair_lines("B ahead", won) + _pair_lines("B behind", lost)


def _pair_lines(title: str, pairs: "tuple[Pair, ...]") -> list[str]:
    lines = [
        f"  {title}: {inert(pair.question_id)}  rank {pair.rank_a or '-'} -> {pair.rank_b or '-'}" for pair in pairs
    ]
    return lines[:_LISTED] + [f"  and {len(lines) - _LISTED} more"] * (len(lines) > _LISTED)
