"""Expert knowledge as rules: a notes file in; for a question, words and titles to look at and text to read out.

`For EBITDA look at the income statement`: whoever knows the documents writes that once. Notes steer the search and
stand in the prompt of a capable model; they are the asker's own words, never evidence, and nothing can cite them.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from pageindex_local.errors import SettingsError, reading_problem
from pageindex_local.query.analyse import Question, QuestionWord
from pageindex_local.query.patterns import SafePattern, compile_pattern
from pageindex_local.query.words import is_stop_word, split_words

ADDED_WEIGHT = 0.6  # of a word that a note adds, against 1 for a word that was asked
_MAX_BYTES = 1_000_000
_KEYS = {"when": "when", "look at": "look_at", "look_at": "look_at", "add": "add"}
_KEY_LINE = re.compile(r"\s*(?:[-*]\s+)?\**(when|look[ _]at|add)\**\s*:\**\s*(.*)", re.IGNORECASE)
_TABLE = re.compile(r"\s*\[\[\s*note\s*\]\]")
_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*$")
_ITEM = re.compile(r"/(?P<pattern>(?:[^/\\]|\\.)+)/|\"(?P<quoted>[^\"]+)\"|(?P<plain>[^,;]+)")


class _BadEntry(ValueError):  # noqa: N818 - never leaves this module
    """One entry of a rule that cannot be used."""

    def __init__(self, entry: str, problem: str) -> None:
        super().__init__(f"{entry} {problem}")
        self.entry = entry


class Note(BaseModel):
    """One rule.

    `when`: words or phrases, or `/regular expressions/`; one of them in the question is enough. `look_at`: section
    titles or numbers. `add`: words to search for besides. `text`: what a model should know.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(min_length=1)
    when: tuple[str, ...] = Field(min_length=1)
    look_at: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    text: str = ""

    @field_validator("when", "look_at", "add", mode="before")
    @classmethod
    def _split_text(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("when")
    @classmethod
    def _check_patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            if _is_pattern(entry):
                try:
                    compile_pattern(entry[1:-1])
                except ValueError as error:
                    raise _BadEntry(entry, str(error)) from None
            elif not split_words(entry):
                raise _BadEntry(entry, "has no words")
        return value

    def matches(self, question: str) -> bool:
        """Whether the rule is about a question: words are compared whole and case folded."""
        words = f" {' '.join(split_words(question))} "
        return any(
            _compiled(entry[1:-1]).is_in(question)
            if _is_pattern(entry)
            else f" {' '.join(split_words(entry))} " in words
            for entry in self.when
        )


@dataclass(frozen=True, slots=True)
class MatchedNotes:
    """The rules that a question meets, and the question with what they add."""

    notes: tuple[Note, ...]
    question: Question

    @property
    def texts(self) -> tuple[str, ...]:
        """What a model should read, in the order of the file."""
        return tuple(note.text for note in self.notes if note.text)


def read_notes(path: Path) -> tuple[Note, ...]:
    """The rules of a TOML file (`[[note]]` tables) or of a Markdown file (one heading a rule).

    Raises:
        SettingsError: unreadable, of another form, or a rule without `when`; names the rule.
    """
    try:
        data = path.read_bytes()
        if len(data) > _MAX_BYTES:
            raise SettingsError(f"has {len(data):,} bytes; notes may have {_MAX_BYTES:,}", subject=str(path))
        text = data.decode("utf-8-sig")
        entries = _markdown_entries(text) if path.suffix.casefold() in (".md", ".markdown") else _toml_entries(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            reading_problem(error),
            subject=str(path),
            next_step="Check the path; docs/answers.md shows what notes look like.",
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"the notes cannot be read as TOML ({error})",
            subject=str(path),
            next_step="See docs/answers.md; notes in Markdown end in .md.",
        ) from None
    notes = []
    lines = text.splitlines()
    for number, (start, entry) in enumerate(entries, 1):
        try:
            notes.append(Note.model_validate({"name": f"note {number}", **entry}))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            faulty = first["ctx"]["error"].entry if isinstance(first.get("ctx", {}).get("error"), _BadEntry) else where
            problem = first["msg"].removeprefix("Value error, ")
            raise SettingsError(
                f"line {_line_of(lines, start, faulty)}, note {number} ({entry.get('name', 'no name')}): "
                f"{where}: {problem}",
                subject=str(path),
                next_step="A note has `when`, and `look_at`, `add` or `text`; see docs/answers.md.",
            ) from None
    return tuple(notes)


def apply_notes(question: Question, notes: Sequence[Note]) -> MatchedNotes:
    """The notes that match, and the question steered by them. Words that were asked for anyway are not added again."""
    matched = tuple(note for note in notes if note.matches(question.text))
    asked = {word.word for word in question.words}
    added = dict.fromkeys(
        word
        for note in matched
        for text in note.add
        for word in split_words(text)
        if not is_stop_word(word) and word not in asked
    )
    titles = dict.fromkeys(title for note in matched for title in note.look_at if split_words(title))
    return MatchedNotes(
        matched,
        replace(question, added=tuple(QuestionWord(word, ADDED_WEIGHT) for word in added), titles=tuple(titles)),
    )


def _is_pattern(entry: str) -> bool:
    return len(entry) > 2 and entry.startswith("/") and entry.endswith("/")


@lru_cache(maxsize=1_000)
def _compiled(source: str) -> SafePattern:
    return compile_pattern(source)


def _line_of(lines: Sequence[str], start: int, value: object) -> int:
    """The line, from 1, that a fault of a rule stands on: the first from its beginning on that holds the value."""
    holding = (place for place in range(start, len(lines)) if isinstance(value, str) and value in lines[place])
    return 1 + next(holding, start)


def _toml_entries(text: str) -> list[tuple[int, dict[str, Any]]]:
    """Each rule with the line that it begins at, from 0."""
    data = tomllib.loads(text)
    entries = data.pop("note", [])
    if data or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise tomllib.TOMLDecodeError("only [[note]] tables are expected")
    starts = [place for place, line in enumerate(text.splitlines()) if _TABLE.match(line)]
    if len(starts) != len(entries):  # written as an array, or a text that looks like the head of a table
        starts = [0] * len(entries)
    return list(zip(starts, entries, strict=True))


def _markdown_entries(text: str) -> list[tuple[int, dict[str, Any]]]:
    """Each rule with the line of its heading, from 0."""
    starts: list[int] = []
    entries: list[dict[str, Any]] = []
    prose: list[str] = []

    def close() -> None:
        if entries:
            entries[-1]["text"] = " ".join(" ".join(prose).split())
        prose.clear()

    for place, line in enumerate(text.splitlines()):
        heading, key_line = _HEADING.match(line), _KEY_LINE.match(line)
        if heading:
            close()
            starts.append(place)
            entries.append({"name": heading.group(1)})
        elif key_line and entries:
            key = _KEYS[key_line.group(1).casefold()]
            entries[-1].setdefault(key, []).extend(_split_items(key_line.group(2)))
        elif entries:
            prose.append(line)
    close()
    found = zip(starts, entries, strict=True)
    return [(start, entry) for start, entry in found if len(entry) > 2]  # with text alone it is a title of the file


def _split_items(text: str) -> list[str]:
    found = []
    for match in _ITEM.finditer(text):
        item = f"/{match['pattern']}/" if match["pattern"] else (match["quoted"] or match["plain"] or "").strip()
        if item:
            found.append(item)
    return found
