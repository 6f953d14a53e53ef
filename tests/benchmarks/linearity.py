"""Linearity benchmark: processor time and memory of parsing, headings and tree over a document cut to several lengths.

    python -m tests.benchmarks.linearity [FILE[:PAGES,PAGES,...] ...] [--json]

Without FILE: the made 5,000 pages of the shared data at a tenth, a fifth, a half and in full, and its manual of 1,158
pages at a quarter, a half and in full. A cut file holds the first pages, without an outline. Each length is measured in
a process of its own; the parser's child counts with its own time and memory. A stage that is linear takes the same time
a page at every length.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from pageindex_local.headings import find_headings
from pageindex_local.parsing import parse_source
from pageindex_local.parsing.parser_process import ParserProcess
from pageindex_local.parsing.sources import read_source
from pageindex_local.settings import read_settings
from pageindex_local.tree.assemble import build_tree
from pageindex_local.tree.validate import validate_tree
from tests.benchmarks.structure import SHARED_DATA

DEFAULT = ("odd/syn-5000-pages.pdf:500,1000,2500,5000", "outline-dev/octave.pdf:290,579,1158")
_UNIT = 1 if sys.platform == "darwin" else 1_024  # of ru_maxrss, in bytes


@dataclass(frozen=True, slots=True)
class Measured:
    """One length of one file: processor seconds of each stage, and the peak memory of both processes in bytes."""

    name: str
    pages: int
    lines: int
    nodes: int
    child_seconds: float
    assemble_seconds: float
    headings_seconds: float
    tree_seconds: float
    parent_bytes: int
    child_bytes: int
    problems: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Processor seconds of all stages in both processes."""
        return self.child_seconds + self.assemble_seconds + self.headings_seconds + self.tree_seconds

    @property
    def pages_per_second(self) -> float:
        """Pages for one second of processor time."""
        return self.pages / self.seconds


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 where a tree breaks an invariant, 2 where a file is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.linearity")
    parser.add_argument("files", nargs="*", metavar="FILE[:PAGES,...]", default=list(DEFAULT))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    rows: list[Measured] = []
    with tempfile.TemporaryDirectory() as work:
        for item in arguments.files:
            name, _, lengths = item.partition(":")
            path = next((place for place in (Path(name), SHARED_DATA / name) if place.is_file()), None)
            if path is None:
                print(f"{name} is not here; looked in {SHARED_DATA} too", file=sys.stderr)
                return 2
            for cut in _cut(path, [int(length) for length in lengths.split(",") if length], Path(work)):
                rows.append(_measure_apart(cut))
                if not arguments.json:
                    _print_row(rows)
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    return int(any(row.problems for row in rows))


def _cut(path: Path, lengths: Sequence[int], work: Path) -> list[Path]:
    """Copies of the file with so many of its first pages (all where no lengths are given), the shortest first."""
    import pymupdf

    cuts = []
    with pymupdf.open(path) as document:
        document.set_toc([])
        for length in sorted(lengths or [document.page_count], reverse=True):
            document.select(range(min(length, document.page_count)))
            cuts.append(work / f"{length:05}-{path.name}")
            document.save(cuts[-1], garbage=2)
    for cut in cuts:
        with pymupdf.open(cut) as document:
            document.select([0])
            document.save(work / f"first-{cut.name}", garbage=2)
    return cuts[::-1]


def _measure_apart(path: Path) -> Measured:
    """The figures of one file, taken in a fresh process, so that peaks are its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure, path).result()


def _measure(path: Path) -> Measured:
    settings = read_settings()
    source = read_source(path.name, path, settings.parse)
    first = path.parent / f"first-{path.name}"
    with ParserProcess() as parser:
        # The child's start, with the PDF library, costs the same for every length: a single page pays for it.
        parse_source(read_source(first.name, first, settings.parse), settings.parse, parser=parser)
        before = _child_seconds(parser)
        started = time.process_time()
        document = replace(parse_source(source, settings.parse, parser=parser), outline=())
        parsed = time.process_time()
        child_seconds = _child_seconds(parser) - before
    evidence = find_headings(document, settings.tree)
    found = time.process_time()
    tree = build_tree(document, evidence.headings, settings.tree, candidates=evidence.candidates)
    built = time.process_time()
    return Measured(
        name=path.name.partition("-")[2],
        pages=len(document.pages),
        lines=document.line_count,
        nodes=len(tree.nodes),
        child_seconds=child_seconds,
        assemble_seconds=parsed - started,
        headings_seconds=found - parsed,
        tree_seconds=built - found,
        parent_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT,
        child_bytes=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _UNIT,
        problems=tuple(validate_tree(tree, document.pages)),
    )


def _child_seconds(parser: ParserProcess) -> float:
    """Processor seconds that the parser's child has used."""
    assert parser._child is not None
    fields = Path(f"/proc/{parser._child.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _print_row(rows: Sequence[Measured]) -> None:
    if len(rows) == 1:
        print(
            f"{'file':24} {'pages':>6} {'lines':>7} {'nodes':>6} {'child':>7} {'parent':>7} {'heads':>7} {'tree':>7} "
            f"{'ms/page':>8} {'parent MB':>9} {'child MB':>9}"
        )
    row = rows[-1]
    print(
        f"{row.name[:24]:24} {row.pages:6} {row.lines:7} {row.nodes:6} {row.child_seconds:7.2f} "
        f"{row.assemble_seconds:7.2f} {row.headings_seconds:7.2f} {row.tree_seconds:7.2f} "
        f"{1000 * row.seconds / row.pages:8.2f} {row.parent_bytes / 1e6:9.0f} {row.child_bytes / 1e6:9.0f}",
        *row.problems,
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
