"""Structure benchmark: trees built from PDFs are compared with the outlines their authors wrote.

    python -m tests.benchmarks.structure DATASET [--strategy S] [--hide-outline] [--cut-contents] [--model M]
                                         [--cache FILE] [--no-controls] [--max-pages-per-node N] [--only NAME]
                                         [--out DIR] [--json] [--jobs N] [--misses]

DATASET is a folder name under the shared data or a path; it holds PDFs and gold.json ({"file.pdf": [[level, title,
page], ...]}). Every tree is also checked against the tree invariants. Pages a second count processor time of one core,
parsing included. `--model perfect` answers from the gold outline. Where a model is given, `given` is the F1 of the
evidence that it was given, without it.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pageindex_local.chunking import cut_chunks
from pageindex_local.errors import SourceError
from pageindex_local.evaluate.structure import (
    Entry,
    StructureScore,
    match_entries,
    mean_scores,
    score_structure,
    search_cost,
)
from pageindex_local.export import is_entry, to_pageindex
from pageindex_local.headings import find_headings
from pageindex_local.headings.printed_toc.pages import find_contents_lists
from pageindex_local.llm.cache import CachedModel, CompletionCache
from pageindex_local.llm.models import open_model
from pageindex_local.parsing.pdf import parse_pdf
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import Heading, Page, ParsedDocument, SectionTree
from pageindex_local.settings import Settings, read_settings
from pageindex_local.tree.assemble import build_tree
from pageindex_local.tree.merge import merge_mini_tocs
from pageindex_local.tree.mini_toc import MiniToc, build_mini_tocs, describe_degraded
from pageindex_local.tree.validate import validate_tree
from tests.benchmarks.metered import MeteredModel, Spent
from tests.benchmarks.perfect import PerfectModel

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
PERFECT = "perfect"


@dataclass(frozen=True, slots=True)
class Options:
    """What is measured."""

    strategy: str
    hide_outline: bool
    cut_contents: bool
    model: str
    cache: str
    control_questions: bool
    max_pages_per_node: int
    out: str
    misses: bool


@dataclass(frozen=True, slots=True)
class FileResult:
    """One file's figures; `problems` are broken invariants, `notes` lines for the reader (misses, sources)."""

    name: str
    score: StructureScore
    page_count: int
    cpu_seconds: float
    parse_seconds: float
    cost_mean: float
    cost_worst: int
    given_f1: float
    asked_chunks: int
    degraded_chunks: int
    model_calls: int
    cached_calls: int
    input_tokens: int
    output_tokens: int
    model_seconds: float
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 where a tree breaks an invariant or a file could not be built."""
    arguments = _read_arguments(argv)
    folder = Path(arguments.dataset)
    if not folder.is_dir():
        folder = SHARED_DATA / arguments.dataset
    gold_file = next((folder / name for name in ("gold.json", "gold_outline.json") if (folder / name).exists()), None)
    if gold_file is None:
        print(f"{folder} has no gold.json", file=sys.stderr)
        return 2
    gold = json.loads(gold_file.read_text(encoding="utf-8"))
    options = Options(
        arguments.strategy,
        arguments.hide_outline,
        arguments.cut_contents,
        arguments.model,
        arguments.cache,
        not arguments.no_controls,
        arguments.max_pages_per_node,
        arguments.out,
        arguments.misses,
    )
    if options.out:
        Path(options.out).mkdir(parents=True, exist_ok=True)
    tasks = [(str(folder / name), entries, options) for name, entries in gold.items() if arguments.only in name]
    if not tasks:
        print(f"no file of {folder} has {arguments.only!r} in its name", file=sys.stderr)
        return 2
    if arguments.jobs > 1:
        with ProcessPoolExecutor(arguments.jobs) as pool:
            results = list(pool.map(_run_file, tasks))
    else:
        results = [_run_file(task) for task in tasks]
    if arguments.json:
        print(json.dumps(_summary(results), indent=2))
    else:
        _print_table(results)
    return int(any(result.problems for result in results))


def _read_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.structure")
    parser.add_argument("dataset")
    parser.add_argument("--strategy", default="auto", choices=("auto", "outline", "toc", "layout", "model"))
    parser.add_argument("--hide-outline", action="store_true", help="the embedded outline is not read")
    parser.add_argument("--cut-contents", action="store_true", help="pages with printed contents are taken out")
    parser.add_argument("--model", default="", help="an entry, a GGUF or `perfect`; without, none is asked")
    parser.add_argument("--cache", default="", help="keep answers of the model in this file, and use them")
    parser.add_argument("--no-controls", action="store_true", help="the model's answers count whatever it calls text")
    parser.add_argument("--max-pages-per-node", type=int, default=0, help="0: as the settings say")
    parser.add_argument("--only", default="", help="files with this in their name")
    parser.add_argument("--out", default="", help="write trees in PageIndex's form into this folder")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--misses", action="store_true", help="list missing and extra entries")
    return parser.parse_args(argv)


def _run_file(task: tuple[str, list[list[Any]], Options]) -> FileResult:
    path, gold_rows, options = Path(task[0]), task[1], task[2]
    gold = [Entry(int(level), str(title), int(page)) for level, title, page in gold_rows]
    overrides: dict[str, dict[str, Any]] = {
        "tree": {"strategy": options.strategy, "control_questions": options.control_questions}
    }
    if options.max_pages_per_node:
        overrides["tree"]["max_pages_per_node"] = options.max_pages_per_node
    if options.model and options.model != PERFECT:
        overrides["model"] = {"name": options.model}
    settings = read_settings(overrides=overrides)
    started = time.process_time()
    try:
        document = parse_pdf(read_source(path.name, path, settings.parse), settings.parse)
    except SourceError as error:
        return _failed(path.name, gold, str(error))
    parsed = time.process_time()
    if options.hide_outline:
        document = replace(document, outline=())
    if options.cut_contents:
        document, gold = cut_contents(document, gold)
    built_from = time.process_time()
    model = _open(settings, options)
    built = _build(document, settings, model, gold)
    finished = time.process_time()
    tree = built.tree
    entries = tree_entries(tree)
    cost = search_cost(tree)
    if options.out:
        text = json.dumps(to_pageindex(path.name, tree, has_pages=True), ensure_ascii=False, indent=1)
        (Path(options.out) / f"{path.stem}.json").write_text(text, encoding="utf-8")
    given = tree if model is None else build_tree(document, built.given, settings.tree, candidates=built.candidates)
    spent = Spent() if model is None else model.spent
    if model is not None:
        model.close()
    return FileResult(
        name=path.name,
        score=score_structure(gold, entries),
        page_count=len(document.pages),
        cpu_seconds=parsed - started + finished - built_from,
        parse_seconds=parsed - started,
        cost_mean=cost.mean,
        cost_worst=cost.worst,
        given_f1=score_structure(gold, tree_entries(given)).f1,
        asked_chunks=sum(part.calls > 0 for part in built.parts),
        degraded_chunks=sum(bool(part.problem) for part in built.parts),
        model_calls=spent.calls,
        cached_calls=spent.cached_calls,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        model_seconds=spent.seconds,
        problems=tuple(validate_tree(tree, document.pages)),
        notes=(*built.sources, *built.warnings, *_misses(gold, entries, tree)) if options.misses else (),
    )


def _open(settings: Settings, options: Options) -> MeteredModel | None:
    if not options.model:
        return None
    if options.model == PERFECT:
        return MeteredModel(PerfectModel())
    model = open_model(settings.model)
    return MeteredModel(CachedModel(model, CompletionCache(Path(options.cache))) if options.cache else model)


@dataclass(frozen=True, slots=True)
class _Built:
    tree: SectionTree
    given: Sequence[Heading]
    candidates: Sequence[Heading]
    parts: Sequence[MiniToc]
    sources: Sequence[str]
    warnings: Sequence[str]


def _build(document: ParsedDocument, settings: Settings, model: MeteredModel | None, gold: Sequence[Entry]) -> _Built:
    evidence = find_headings(document, settings.tree)
    headings = evidence.headings
    parts: tuple[MiniToc, ...] = ()
    if model is not None:
        chunks = cut_chunks(document, evidence, model.count_tokens, settings.tree)
        if isinstance(model.inner, PerfectModel):
            model.inner.learn(chunks, gold)
        parts = build_mini_tocs(chunks, model, settings.tree)
        headings = merge_mini_tocs(parts, [chunk.chunk_id for chunk in chunks])
    tree = build_tree(document, headings, settings.tree, candidates=evidence.candidates)
    sources = [f"{item.name}: {item.count} seen, {item.used} used; {item.reason}" for item in evidence.sources]
    return _Built(tree, evidence.headings, evidence.candidates, parts, sources, describe_degraded(parts))


def _failed(name: str, gold: Sequence[Entry], problem: str) -> FileResult:
    return FileResult(name, score_structure(gold, []), 0, 0.0, 0.0, 0.0, 0, 0.0, 0, 0, 0, 0, 0, 0, 0.0, (problem,))


def tree_entries(tree: SectionTree) -> list[Entry]:
    """The entries that the exported tree shows: with levels of that nesting."""
    levels: dict[str, int] = {}
    entries = []
    for node in tree.walk():
        if not is_entry(node):
            continue
        levels[node.node_id] = 1 if node.parent_id is None else levels[node.parent_id] + 1
        entries.append(Entry(levels[node.node_id], node.title, node.first_page))
    return entries


def cut_contents(document: ParsedDocument, gold: Sequence[Entry]) -> tuple[ParsedDocument, list[Entry]]:
    """The document without the pages of its printed contents lists, and the gold outline with pages as they are then.

    Gold entries that start on a page taken out go with it.
    """
    lists = find_contents_lists(document.pages)
    cut = {row.page_number for item in lists if item.is_contents and item.titled for row in item.rows}
    pages: list[Page] = []
    new_number: dict[int, int] = {}
    first_line = 0
    for page in document.pages:
        if page.page_number in cut:
            continue
        new_number[page.page_number] = len(pages) + 1
        pages.append(replace(page, page_number=len(pages) + 1, first_line=first_line))
        first_line += len(page.lines)
    kept = [entry._replace(page_number=new_number[entry.page_number]) for entry in gold if entry.page_number not in cut]
    outline = tuple(replace(entry, page_number=new_number.get(entry.page_number, 0)) for entry in document.outline)
    return replace(document, pages=tuple(pages), outline=outline), kept


def _misses(gold: Sequence[Entry], entries: Sequence[Entry], tree: SectionTree) -> list[str]:
    nodes = [node for node in tree.walk() if is_entry(node)]
    pairs = match_entries(gold, entries)
    matched_gold, matched = {i for i, _ in pairs}, {j for _, j in pairs}
    rows = [(entry.page_number, f"  missing {tuple(entry)}") for i, entry in enumerate(gold) if i not in matched_gold]
    rows += [
        (entry.page_number, f"  extra   {tuple(entry)} {node.origin.value} {node.confidence:.2f} {node.kind.value}")
        for j, (entry, node) in enumerate(zip(entries, nodes, strict=True))
        if j not in matched
    ]
    rows += [
        (gold[i].page_number, f"  page    {tuple(gold[i])} found on {entries[j].page_number}")
        for i, j in pairs
        if gold[i].page_number != entries[j].page_number
    ]
    return [text for _, text in sorted(rows, key=lambda row: row[0])]


def _totals(results: Sequence[FileResult]) -> Mapping[str, float]:
    pages = sum(result.page_count for result in results)
    seconds = sum(result.cpu_seconds for result in results)
    return {
        **mean_scores(result.score for result in results),
        "pages": pages,
        "cpu_seconds": seconds,
        "pages_per_second": pages / seconds if seconds else 0.0,
        "parse_share": sum(result.parse_seconds for result in results) / seconds if seconds else 0.0,
        "search_cost_mean": sum(result.cost_mean for result in results) / len(results),
        "search_cost_worst": max(result.cost_worst for result in results),
        "given_f1": sum(result.given_f1 for result in results) / len(results),
        "asked_chunks": sum(result.asked_chunks for result in results),
        "degraded_chunks": sum(result.degraded_chunks for result in results),
        "model_seconds": sum(result.model_seconds for result in results),
        "model_calls": sum(result.model_calls for result in results),
        "cached_calls": sum(result.cached_calls for result in results),
        "input_tokens": sum(result.input_tokens for result in results),
        "output_tokens": sum(result.output_tokens for result in results),
    }


def _summary(results: Sequence[FileResult]) -> dict[str, Any]:
    return {"files": {result.name: asdict(result) for result in results}, "total": _totals(results)}


def _print_table(results: Sequence[FileResult]) -> None:
    print(
        f"{'file':42} {'gold':>5} {'pred':>5} {'P':>6} {'R':>6} {'F1':>6} {'page=':>6} {'parent':>6} "
        f"{'cost':>6} {'worst':>5} {'p/s':>5} {'given':>6} {'calls':>5}"
    )
    for result in results:
        score = result.score
        speed = result.page_count / result.cpu_seconds if result.cpu_seconds else 0.0
        print(
            f"{result.name[:42]:42} {score.gold_count:5} {score.predicted_count:5} {score.precision:6.3f} "
            f"{score.recall:6.3f} {score.f1:6.3f} {score.page_exact:6.3f} {score.parent:6.3f} "
            f"{result.cost_mean:6.2f} {result.cost_worst:5} {speed:5.0f} {result.given_f1:6.3f} {result.model_calls:5}"
        )
        for line in (*result.problems, *result.notes):
            print(f"    {line}")
    total = _totals(results)
    print(
        f"{'mean over files':42} {'':5} {'':5} {total['precision']:6.3f} {total['recall']:6.3f} {total['f1']:6.3f} "
        f"{total['page_exact']:6.3f} {total['parent']:6.3f} {total['search_cost_mean']:6.2f} "
        f"{total['search_cost_worst']:5.0f} {total['pages_per_second']:5.0f}"
    )
    print(
        f"{total['pages']:.0f} pages, {total['cpu_seconds']:.1f} processor seconds, {total['parse_share']:.0%} parsing"
    )
    if total["model_calls"]:
        print(
            f"F1 of the evidence given {total['given_f1']:.3f}; model calls {total['model_calls']:.0f} "
            f"({total['cached_calls']:.0f} cached), tokens {total['input_tokens']:.0f} in, "
            f"{total['output_tokens']:.0f} out, {total['model_seconds']:.0f} s; {total['asked_chunks']:.0f} chunks "
            f"asked about; {total['degraded_chunks']:.0f} chunks, asked about or not, kept the evidence"
        )


if __name__ == "__main__":
    sys.exit(main())
