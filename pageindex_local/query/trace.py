"""What happened while a question was answered, step by step, as plain data. It decides nothing and prints nothing."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TRACE_FORMAT = 1
_SHOWN = 12  # entries of a list that the readable form shows
_NAMES = ("title", "section", "doc_id", "node_id")


@dataclass(slots=True)
class TraceStep:
    """One step: its name, how long it took, and what it found (JSON values only)."""

    name: str
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


class Trace:
    """Collects steps and counts fallbacks. Cheap enough to be always on."""

    def __init__(self) -> None:
        self.steps: list[TraceStep] = []
        self.counters: dict[str, int] = {}
        self.question = ""

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a step; what the caller puts into the dictionary becomes its details."""
        step = TraceStep(name)
        self.steps.append(step)
        started = time.perf_counter()
        try:
            yield step.details
        finally:
            step.seconds = round(time.perf_counter() - started, 4)

    def count(self, event: str) -> None:
        """Count an event worth watching, such as a fallback."""
        self.counters[event] = self.counters.get(event, 0) + 1

    def as_data(self) -> dict[str, Any]:
        """The trace as JSON values."""
        return {
            "format": TRACE_FORMAT,
            "question": self.question,
            "steps": [{"name": step.name, "seconds": step.seconds, **step.details} for step in self.steps],
            "counters": dict(sorted(self.counters.items())),
        }

    def write(self, path: Path) -> None:
        """Write the trace as a JSON file.

        Raises:
            OSError: the file cannot be written.
        """
        path.write_text(json.dumps(self.as_data(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    def outline(self) -> list[tuple[int, str]]:
        """The trace for a person: (depth, line) pairs in order, to be drawn as a tree."""
        lines: list[tuple[int, str]] = []
        for step in self.steps:
            lines.append((0, f"{step.name} ({step.seconds:.2f} s)"))
            lines.extend(_outline_values(step.details))
        lines.extend((0, f"{event}: {count}") for event, count in sorted(self.counters.items()))
        return lines


def _outline_values(details: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    for key, value in details.items():
        if _is_table(value):
            yield 1, f"{key}: {len(value)}"
            for entry in value[:_SHOWN]:
                yield 2, _line({name: item for name, item in entry.items() if not _is_table(item)})
                for rows in (item for item in entry.values() if _is_table(item)):
                    yield from ((3, _line(row)) for row in rows[:_SHOWN])
            if len(value) > _SHOWN:
                yield 2, f"and {len(value) - _SHOWN} more"
        elif value not in ([], {}, "", None):
            yield 1, f"{key}: {_short(value)}"


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _line(entry: Mapping[str, Any]) -> str:
    """One entry for a person: its title or name first, ids left out."""
    named = [str(entry[key]) for key in ("title", "section", "doc_id") if entry.get(key)][:1]
    rest = [f"{key} {_short(item)}" for key, item in entry.items() if key not in _NAMES and item not in (None, 0, [])]
    return ", ".join([_short(name) for name in named] + rest)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list | tuple):
        return ", ".join(_short(item) for item in value[:_SHOWN]) + (", ..." if len(value) > _SHOWN else "")
    if isinstance(value, dict):
        return ", ".join(f"{name} {_short(item)}" for name, item in value.items())
    text = " ".join(str(value).split())
    return text if len(text) <= 100 else text[:99] + "…"
