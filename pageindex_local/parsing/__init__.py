"""A source in, pages of lines out: PDF in a child process with limits, Markdown and text in this one."""

from pageindex_local.parsing.parser_process import ParserProcess
from pageindex_local.parsing.text import parse_text
from pageindex_local.records import MediaType, ParsedDocument, Source
from pageindex_local.settings import ParseSettings


def parse_source(
    source: Source, settings: ParseSettings, *, password: str | None = None, parser: ParserProcess | None = None
) -> ParsedDocument:
    """The document as pages of lines.

    A PDF is read by `parser`, or by a child of its own where none is given (which costs most of a second to start).

    Raises:
        SourceError: the kind says what is wrong with the file.
    """
    if source.media_type is not MediaType.PDF:
        return parse_text(source, settings)
    if parser is not None:
        return parser.parse(source, settings, password=password)
    with ParserProcess() as own:
        return own.parse(source, settings, password=password)
