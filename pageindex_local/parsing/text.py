"""A Markdown or text file in, blocks of verbatim lines out. There are no pages: a block stands for one.

Lines are kept as they are, except that characters which could steer a terminal or a reader are dropped and that very
long lines are split where a sentence or a word ends.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pageindex_local.errors import DamagedSourceError, EmptySourceError, SourceError, SourceLimitError
from pageindex_local.headings.markdown import find_markdown_headings, front_matter_end
from pageindex_local.ids import sha256_hex
from pageindex_local.parsing.clean import clean_text, clean_verbatim
from pageindex_local.parsing.decode import decode_text
from pageindex_local.records import Line, MediaType, Page, ParsedDocument, Source
from pageindex_local.settings import ParseSettings

LONGEST_LINE = 1_000  # characters; longer ones are split, so that chunks and citations can point into them
_SHORTEST_PIECE = 400  # characters before a sentence end that is worth splitting at
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f\u061f][\"'\u201d\u2019)\]]*\s+|[\u3002\uff01\uff1f]")
_FACT = re.compile(r"(title|version|date|year)\s*[:=]\s*[\"']?(.*?)[\"']?\s*$", re.IGNORECASE)
_LONGEST_FACT = 1_000
_MARKUP = "#=-~`>+*|_"  # a piece of a long line that started so would be read as Markdown
_LINE_END = re.compile(r"\r\n|\r|\n")


def parse_text(source: Source, settings: ParseSettings) -> ParsedDocument:
    """The file as blocks of at most `settings.block_lines` lines; Markdown blocks also start at headings.

    Raises:
        SourceError: cannot be read, or changed since its record was made.
        EmptySourceError: nothing but white space in it.
        SourceLimitError: more characters or blocks than the settings allow.
    """
    try:
        data = Path(source.path).read_bytes()
    except OSError as error:
        raise SourceError(
            f"cannot be read ({error.strerror}).",
            subject=source.doc_id,
            next_step="Check the path and its permissions.",
        ) from None
    if sha256_hex(data) != source.sha256:
        raise DamagedSourceError(
            "changed while it was being read.", subject=source.doc_id, next_step="Build again once it is written."
        )
    text, warnings = decode_text(data, source.doc_id)
    if len(text) > settings.max_characters:
        raise SourceLimitError(
            f"has {len(text):,} characters, more than parse.max_characters = {settings.max_characters:,}.",
            subject=source.doc_id,
            next_step="Raise the limit, or split the file.",
        )
    lines = tuple(Line(piece) for piece in split_lines(text))
    if not any(line.text.strip() for line in lines):
        raise EmptySourceError("has no text.", subject=source.doc_id, next_step="Leave it out.")
    return lay_out_text(source, lines, settings, warnings=warnings)


def lay_out_text(
    source: Source, lines: tuple[Line, ...], settings: ParseSettings, *, warnings: tuple[str, ...] = ()
) -> ParsedDocument:
    """Lines of a Markdown or text file in blocks.

    Raises:
        SourceLimitError: more blocks than the settings allow.
    """
    whole = ParsedDocument(source, (Page(1, "1", 0, lines),), warnings=warnings)
    cuts: set[int] = set()
    metadata: dict[str, str] = {}
    if source.media_type is MediaType.MARKDOWN:
        metadata = _read_front_matter(lines)
        cuts = {heading.span[0] for heading in find_markdown_headings(whole).headings}
    pages = tuple(_blocks(lines, cuts, settings.block_lines))
    if len(pages) > settings.max_pages:
        raise SourceLimitError(
            f"has {len(lines):,} lines in {len(pages):,} blocks, more than parse.max_pages = {settings.max_pages:,}.",
            subject=source.doc_id,
            next_step="Raise the limit or parse.block_lines, or split the file.",
        )
    return replace(whole, pages=pages, metadata=metadata)


def split_lines(text: str) -> Iterator[str]:
    """The lines without their ends, long ones in pieces. A last line end does not start another line."""
    lines = _LINE_END.split(text)
    if lines and not lines[-1]:
        lines.pop()
    for line in lines:
        cleaned = clean_verbatim(line)
        if len(cleaned) <= LONGEST_LINE:
            yield cleaned
        else:
            yield from _split_long(cleaned)


def _split_long(line: str) -> Iterator[str]:
    """Pieces of a long line: to the last sentence end that fits, else to the last space, else at the limit."""
    start = 0
    while len(line) - start > LONGEST_LINE:
        end = start + LONGEST_LINE
        cut = 0
        for found in _SENTENCE_END.finditer(line, start + _SHORTEST_PIECE, end):
            if line[found.end()] not in _MARKUP:
                cut = found.end()
        space = end
        while not cut and space > start + _SHORTEST_PIECE:
            space = line.rfind(" ", start + _SHORTEST_PIECE, space)
            if space < 0:
                break
            cut = space + 1 if line[space + 1] not in _MARKUP else 0
        yield line[start : cut or end].rstrip()
        start = cut or end
    yield line[start:].rstrip()


def _blocks(lines: tuple[Line, ...], cuts: set[int], block_lines: int) -> Iterator[Page]:
    """Blocks of lines, each from a heading on; long ones end at a blank line of their second half where there is one.

    Only the text near a cut decides it, so an edit moves no cut beyond the next heading. Headings without text between
    them share a block.
    """
    start = number = 0
    while start < len(lines):
        limit = min(start + block_lines, len(lines))
        end = limit
        has_text = False
        for at in range(start + 1, limit):
            if at in cuts and has_text:
                end = at
                break
            has_text = has_text or (at - 1 not in cuts and bool(lines[at - 1].text.strip()))
        else:
            if limit < len(lines):
                end = next(
                    (at + 1 for at in range(limit - 1, start + block_lines // 2, -1) if not lines[at].text.strip()),
                    limit,
                )
        number += 1
        yield Page(number, str(number), start, lines[start:end])
        start = end


def _read_front_matter(lines: Sequence[Line]) -> dict[str, str]:
    """The title, version, date and year that a Markdown file gives in its front matter; of repeats the first."""
    texts = [line.text for line in lines[:400]]
    facts: dict[str, str] = {}
    for text in texts[: front_matter_end(texts)]:
        found = _FACT.match(text)
        value = clean_text(found.group(2)[:_LONGEST_FACT]) if found else ""
        if found and value:
            facts.setdefault(found.group(1).lower(), value)
    return facts
