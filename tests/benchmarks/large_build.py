"""A collection of many small documents through the real command line: what each command takes, process start included.

Usage: python -m tests.benchmarks.large_build FOLDER [--documents 10000] [--no-dagster]

Writes Markdown files of twenty sections into FOLDER/documents where they are not there yet, and builds
FOLDER/index with the stand-in model. A second run in the same folder measures the later commands alone. Seconds of
wall clock, then processor time of the command.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_STEMS = (
    "pump",
    "seal",
    "rotor",
    "valve",
    "tank",
    "pipe",
    "cable",
    "motor",
    "gear",
    "shaft",
    "brake",
    "filter",
    "winch",
)
_ACTS = ("checks", "cleans", "drains", "opens", "closes", "greases", "lifts", "marks", "measures", "moves", "paints")
_WHEN = ("daily", "weekly", "monthly", "yearly", "before", "after", "without", "beside", "under", "between", "behind")


def document_text(number: int) -> str:
    """A Markdown document of twenty sections: four chapters of four, each with about sixty words."""
    words = random.Random(number)
    lines = []
    for chapter in range(1, 5):
        lines += [f"# {chapter} {words.choice(_STEMS).title()} of site {number}", ""]
        for section in range(1, 5):
            lines += [f"## {chapter}.{section} The {words.choice(_STEMS)} {words.choice(_WHEN)} {section}", ""]
            for _ in range(6):
                crew, code = words.choice(_STEMS), words.randrange(100_000)
                lines.append(
                    f"Crew {code} {words.choice(_ACTS)} the {crew} {words.choice(_WHEN)} the {words.choice(_STEMS)}."
                )
            lines.append("")
    return "\n".join(lines)


def write_documents(folder: Path, count: int) -> None:
    """The files, a hundred to a subfolder; those that are there stay."""
    for number in range(count):
        path = folder / f"site{number // 100:03}" / f"document-{number:05}.md"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(document_text(number), encoding="utf-8")


def run(what: str, arguments: Sequence[object]) -> str:
    """Run a command of the program, print how long it took, return what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command = [sys.executable, "-c", "from pageindex_local.cli import main; main()", *map(str, arguments)]
    environment = os.environ | {"COLUMNS": "80"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = after.ru_maxrss // 1024
    print(f"{what:46} {seconds:8.2f} s {processor:8.2f} s  exit {done.returncode}, up to {peak} MB", flush=True)
    if done.returncode not in (0, 10):
        raise SystemExit(done.stderr[-2_000:])
    return done.stdout


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--no-dagster", action="store_true")
    options = parser.parse_args()
    documents, index = options.folder / "documents", options.folder / "index"
    write_documents(documents, options.documents)
    build = ["build", documents, "--index", index, "--model", "fake", "--json"]
    if options.no_dagster:
        build.append("--no-dagster")
    if not (index / "default" / "CURRENT").exists():
        report = json.loads(run(f"first build of {options.documents} documents", build))
        nodes = sum(document["nodes"] for document in report["documents"])
        calls = sum(document["model_calls"] for document in report["documents"])
        print(f"    {nodes} nodes, {calls} model calls")
    run("build, nothing changed", build)
    run("build --check, nothing changed", [*build, "--check"])
    changed = documents / "site000" / "document-00042.md"
    text = document_text(42)
    mark = "Crew" if changed.read_text(encoding="utf-8") != text else "Gang"
    changed.write_text(text.replace("Crew", mark, 1), encoding="utf-8")
    report = json.loads(run("build, one document changed", build))
    rebuilt = [document for document in report["documents"] if document["changed"]]
    print(f"    rebuilt {len(rebuilt)}: {[(d['nodes_rebuilt'], d['model_calls']) for d in rebuilt]}")
    question = "Which crew greases the pump monthly at site 777?"
    retrieve = ["retrieve", question, "--index", index, "--no-model", "--json"]
    run("retrieve, all documents", retrieve)
    run("retrieve, one document", [*retrieve, "--doc", "site007/document-00777.md"])
    run("status", ["status", "--index", index, "--json"])


if __name__ == "__main__":
    main()
