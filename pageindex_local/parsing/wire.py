"""What crosses the pipe between parser child and parent: records to JSON values and back. One line of JSON per record.

No pickle: nothing that a damaged or hostile document makes the child say can run in the parent.
"""

import json
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from pageindex_local.errors import DamagedSourceError, SourceError
from pageindex_local.parsing.page_records import End, Head, PageRecord
from pageindex_local.records import Line, MediaType, OutlineEntry, Source
from pageindex_local.settings import ParseSettings

_KINDS: tuple[type[SourceError], ...] = (SourceError, *SourceError.__subclasses__())
_ERRORS = {kind.__name__: kind for kind in _KINDS}


@dataclass(frozen=True, slots=True)
class Request:
    """One document to parse. The password is kept out of `repr`."""

    source: Source
    settings: ParseSettings
    password: str | None = field(repr=False)


def encode_request(request: Request) -> bytes:
    """One line of JSON."""
    return _line(
        {"source": asdict(request.source), "settings": request.settings.model_dump(), "password": request.password}
    )


def decode_request(line: bytes) -> Request:
    """The request of such a line."""
    value = json.loads(line)
    source = value["source"]
    source["media_type"] = MediaType(source["media_type"])
    return Request(Source(**source), ParseSettings.model_validate(value["settings"]), value["password"])


def encode_record(record: Head | PageRecord | End) -> bytes:
    """One line of JSON: a letter that names the kind, then the fields in order."""
    if isinstance(record, PageRecord):
        lines = [
            [line.text, *line.box, line.size, line.font, line.bold, line.italic, line.block, line.cells, line.lead]
            for line in record.lines
        ]
        return _line(
            [
                "P",
                record.page_number,
                record.label,
                lines,
                record.width,
                record.height,
                record.characters,
                record.garbage,
                record.error,
            ]
        )
    if isinstance(record, Head):
        return _line(["H", record.page_count, dict(record.metadata)])
    entries = [[entry.level, entry.title, entry.page_number, entry.top] for entry in record.outline]
    return _line(["E", entries, list(record.warnings)])


def encode_error(error: SourceError) -> bytes:
    """One line of JSON with the error's class and sentences."""
    return _line(["X", type(error).__name__, error.problem, error.subject, error.next_step])


def decode_record(line: bytes) -> Head | PageRecord | End:
    """The record of such a line.

    Raises:
        SourceError: the line holds one, of the kind that the child raised.
    """
    kind, *values = json.loads(line)
    if kind == "P":
        number, label, lines, width, height, characters, garbage, error = values
        decoded = tuple([_decode_line(*value) for value in lines])
        return PageRecord(number, label, decoded, width, height, characters, garbage, error)
    if kind == "H":
        return Head(*values)
    if kind == "E":
        entries, warnings = values
        return End(tuple(OutlineEntry(*entry) for entry in entries), tuple(warnings))
    name, problem, subject, next_step = values
    raise _ERRORS.get(name, DamagedSourceError)(problem, subject=subject, next_step=next_step)


def _decode_line(
    text: str,
    x0: float,
    y0: float,
    x1: float,
    y1: float,
    size: float,
    font: str,
    bold: bool,
    italic: bool,
    block: int,
    cells: int,
    lead: int,
) -> Line:
    return Line(text, (x0, y0, x1, y1), size, sys.intern(font), bold, italic, block, cells=cells, lead=lead)


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
