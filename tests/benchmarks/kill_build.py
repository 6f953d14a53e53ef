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
class Kill:
    """One killed build and what followed. Calls are the model's own, not those answered by the cache.

    `was_published` says that the kill came after the new release was published: then there is nothing left to ask.
    """

    killed_after_s: float
    was_published: bool
    finished_before_kill: int
    needed: int
    asked_again: int
    release_answered: bool
    completed: bool

    @property
    def holds(self) -> bool:
        """Whether a whole release answered, the next build completed, and nothing finished was asked again."""
        left = 0 if self.was_published else self.needed - self.finished_before_kill
        return self.release_answered and self.completed and self.asked_again == left


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


def run_kills(
    folder: Path, *, kills: int, sections: int, seed: int, model: str, after_results: int | None = None
) -> list[Kill]:
    """A first build, then builds of changed text until that many were killed.

    The moment is random over the time of a whole build, or, with `after_results`, when the cache holds so many new
    completions. A build that ends before its moment is no kill: its round is left out and another one made.
    """
    rng = random.Random(seed)
    manual, index = folder / "manual.md", folder / "indexes"
    build = ("build", str(manual), "--index", str(index), "--collection", "kill", "--model", model)
    write_manual(manual, sections, rng)
    started = time.monotonic()
    release = run_command(*build)["release"]
    whole_build_s = time.monotonic() - started
    done: list[Kill] = []
    while len(done) < kills:
        write_manual(manual, sections, rng)
        stored = count_stored_completions(index)
        process = subprocess.Popen(
            [str(PROGRAM), *build], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        started, delay_s = time.monotonic(), rng.uniform(0.1, 1.0) * whole_build_s
        while process.poll() is None:
            if after_results is None and time.monotonic() - started >= delay_s:
                break
            if after_results is not None and count_stored_completions(index) - stored >= after_results:
                break
            time.sleep(0.02)
        was_over = process.poll() is not None
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed_after_s = time.monotonic() - started
        finished = count_stored_completions(index) - stored
        answer = run_command(
            "retrieve", "Who cleans the pump?", "--index", str(index), "--collection", "kill", "--no-model"
        )
        result = run_command(*build)
        if not was_over:
            was_published = answer["release"] != release
            answered = bool(answer["pages"]) and answer["release"] == (result["release"] if was_published else release)
            documents = result["documents"]
            assert isinstance(documents, list)
            asked, cached = int(documents[0]["model_calls"]), int(documents[0]["cached_calls"])
            completed = documents[0]["error"] is None
            done.append(Kill(killed_after_s, was_published, finished, asked + cached, asked, answered, completed))
        release = result["release"]
    return done


def main() -> int:
    """Kill the builds, print a line each and the sums; exit 1 if any does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--sections", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = run_kills(
            Path(folder), kills=options.kills, sections=options.sections, seed=options.seed, model=options.model
        )
    print("killed after  needed  kept  asked again  answered by  completes  holds")
    for kill in done:
        print(
            f"{kill.killed_after_s:10.2f} s {kill.needed:7} {kill.finished_before_kill:5} {kill.asked_again:12} "
            f"{'new' if kill.was_published else 'old':>12} {kill.completed!s:>10} {kill.holds!s:>6}"
        )
    kept = [kill.finished_before_kill for kill in done if kill.finished_before_kill]
    print(
        f"{len(done)} kills, {sum(kill.holds for kill in done)} hold; {len(kept)} of them had finished calls, "
        f"{sum(kept)} together"
    )
    return 0 if all(kill.holds for kill in done) else 1


if __name__ == "__main__":
    sys.exit(main())
