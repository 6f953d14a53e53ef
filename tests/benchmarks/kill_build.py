"""Builds killed with SIGKILL at random moments: is the old release always there, and is finished model work kept?

    python -m tests.benchmarks.kill_build [--kills 20] [--sections 24] [--seed 1] [--model NAME]

Each round changes every section of a Markdown manual, starts a build, kills it after a random part of the time that a
whole build takes, asks the index a question, and lets a build complete. What the killed build had finished is counted
in the completion cache by this script itself, and must be missing from what the completing build asks the model.
"""

import argparse
import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("pageindex-local")

_SUBJECTS = ("valve", "pump", "filter", "sensor", "gasket", "bearing", "relay", "boiler", "fan", "motor")
_VERBS = ("is inspected", "is replaced", "is cleaned", "is tested", "is calibrated", "is sealed", "is lubricated")
_WHEN = ("every month", "after each shift", "before start-up", "twice a year", "when the alarm sounds", "on Mondays")
_WHO = ("the operator", "the shift leader", "a certified technician", "the safety officer", "the night crew")


@dataclass(frozen=True, slots=True)
class Round:
    """One kill and what followed. Calls are the model's own, not those answered by the cache."""

    killed_after_s: float
    build_was_over: bool
    finished_before_kill: int
    needed: int
    asked_again: int
    old_release_answered: bool
    completed: bool

    @property
    def holds(self) -> bool:
        """Whether the old release answered, the next build completed, and nothing finished was asked again."""
        return (
            self.old_release_answered and self.completed and self.asked_again == self.needed - self.finished_before_kill
        )


def write_manual(file: Path, sections: int, rng: random.Random) -> None:
    """A Markdown manual with that many sections of about eighty words; all text depends on `rng`."""
    parts = ["# Maintenance manual\n"]
    for number in range(1, sections + 1):
        subject = rng.choice(_SUBJECTS)
        sentences = [
            f"The {subject} of unit {rng.randrange(999)} {rng.choice(_VERBS)} by {rng.choice(_WHO)} "
            f"{rng.choice(_WHEN)}."
            for _ in range(7)
        ]
        parts.append(f"## {number} Care of the {subject}\n\n{' '.join(sentences)}\n")
    file.write_text("\n".join(parts), encoding="utf-8")


def run_command(*arguments: str) -> dict[str, object]:
    """One command of the program with `--json`, as the object it printed."""
    command = [str(PROGRAM), *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    result: dict[str, object] = json.loads(done.stdout)
    return result


def count_stored_completions(index: Path) -> int:
    """Completions in the cache of the collection `kill`, read with plain SQL."""
    file = index / "kill" / "work" / "completions.sqlite"
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        return int(connection.execute("SELECT count(*) FROM generations").fetchone()[0])


def run_rounds(folder: Path, *, kills: int, sections: int, seed: int, model: str) -> list[Round]:
    """A first build, then `kills` rounds."""
    rng = random.Random(seed)
    manual, index = folder / "manual.md", folder / "indexes"
    build = ("build", str(manual), "--index", str(index), "--collection", "kill", "--model", model)
    write_manual(manual, sections, rng)
    started = time.monotonic()
    release = run_command(*build)["release"]
    whole_build_s = time.monotonic() - started
    rounds: list[Round] = []
    for _ in range(kills):
        write_manual(manual, sections, rng)
        stored = count_stored_completions(index)
        delay_s = rng.uniform(0.1, 1.0) * whole_build_s
        process = subprocess.Popen(
            [str(PROGRAM), *build],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            was_over = process.wait(timeout=delay_s) == 0
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            was_over = False
        finished = count_stored_completions(index) - stored
        answer = run_command(
            "retrieve", "Who cleans the pump?", "--index", str(index), "--collection", "kill", "--no-model"
        )
        result = run_command(*build)
        # A kill can come after the new release was published: then the new one answers, and nothing is left to build.
        answered = bool(answer["pages"]) and answer["release"] in (release, result["release"])
        documents = result["documents"]
        assert isinstance(documents, list)
        document = documents[0]
        asked, cached = int(document["model_calls"]), int(document["cached_calls"])
        if was_over or answer["release"] != release:
            asked, cached, finished = 0, 0, 0
        release = result["release"]
        rounds.append(Round(delay_s, was_over, finished, asked + cached, asked, answered, document["error"] is None))
    return rounds


def main() -> int:
    """Run the rounds, print a line each and the sums; exit 1 if any round does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--sections", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rounds = run_rounds(
            Path(folder), kills=options.kills, sections=options.sections, seed=options.seed, model=options.model
        )
    print("killed after  needed  kept  asked again  old release answers  completes")
    for row in rounds:
        print(
            f"{row.killed_after_s:10.2f} s {row.needed:7} {row.finished_before_kill:5} {row.asked_again:12} "
            f"{row.old_release_answered!s:>20} {row.completed!s:>10}{'  (was over)' if row.build_was_over else ''}"
        )
    kept = sum(row.finished_before_kill for row in rounds)
    print(f"{len(rounds)} kills, {sum(row.holds for row in rounds)} hold; {kept} finished calls kept, none repeated")
    return 0 if all(row.holds for row in rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
