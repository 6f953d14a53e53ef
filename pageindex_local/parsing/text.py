"""A Markdown or text file in, blocks of verbatim lines out. Headings are found elsewhere."""

from pathlib import Path

from pageindex_local.errors import EmptySourceError
from pageindex_local.records import Line, Page, ParsedDocument, Source
from pageindex_local.settings import ParseSettings


def parse_text(source: Source, settings: ParseSettings) -> ParsedDocument:
    """The file as pages, each a block of at most `settings.block_lines` lines."""
    text = Path(source.path).read_text("utf-8", errors="replace")
    lines = text.splitlines()
    if not text.strip():
        raise EmptySourceError("has no text", subject=source.doc_id)
    step = settings.block_lines
    pages = [
        Page(number, str(number), start, tuple(Line(line) for line in lines[start : start + step]))
        for number, start in enumerate(range(0, len(lines), step), 1)
    ]
    return ParsedDocument(source, tuple(pages))
