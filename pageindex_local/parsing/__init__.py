"""A source in, pages of lines out: PDF in a child process with limits, Markdown and text in this one."""

from pageindex_local.parsing.pdf import parse_pdf
from pageindex_local.parsing.text import parse_text
from pageindex_local.records import MediaType, ParsedDocument, Source
from pageindex_local.settings import ParseSettings


def parse_source(source: Source, settings: ParseSettings, *, password: str | None = None) -> ParsedDocument:
    """The document as pages of lines.

    Raises:
        SourceError: the kind says what is wrong with the file.
    """
    if source.media_type is MediaType.PDF:
        return parse_pdf(source, settings, password=password)
    return parse_text(source, settings)
