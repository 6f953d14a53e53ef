"""Markdown lines in, headings by CommonMark out, with exact line numbers and plain-text titles.

Only headings of the document itself count: not those inside fences, indented code, quotes, lists or HTML, and nothing
in a front matter block.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pageindex_local.headings.evidence import SourceResult
from pageindex_local.records import Heading, Origin, ParsedDocument

_FRONT_MATTER_LINES = 400  # a block that does not end by then is a thematic break, not front matter
_FRONT_MATTER_ENDS = {"---": ("---", "..."), "+++": ("+++",)}
# Attributes of pandoc, kramdown and others; `-` is pandoc's for a heading without a number.
_ATTRIBUTES = re.compile(r"\s*\{:?\s*(?=[#.-])(?:[#.][\w:.-]+\s*|-\s*|[\w-]+=(?:\"[^\"]*\"|\S+?)\s*)+\}\s*$")
_ATTRIBUTE_ID = re.compile(r"#([\w:.-]+)")
_HTML_ID = re.compile(r"<\w+\s[^>]*?\b(?:id|name)\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_MAY_BE_ANCHOR = re.compile(r"\{:?\s*[#.]|<\w+\s[^>]*\b(?:id|name)\s*=", re.IGNORECASE)
_ANCHOR_LINE = re.compile(r"\s{0,3}<a\s[^>]*>\s*(?:</a>)?\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _MarkdownHeading:
    title: str
    level: int
    first: int
    end: int
    anchor: str


def find_markdown_headings(document: ParsedDocument) -> SourceResult:
    """The headings of a Markdown document; a span covers the title's lines, the underline of a setext heading included.

    Source: CommonMark 0.31, sections 4.2 (ATX headings) and 4.3 (setext headings).
    """
    starts = [page.first_line for page in document.pages]
    headings = tuple(
        Heading(
            found.title,
            found.level,
            (found.first, found.end),
            document.pages[bisect_right(starts, found.first) - 1].page_number,
            Origin.MARKDOWN,
            1.0,
        )
        for found in _read_headings([line.text for _, line in document.lines()])
    )
    return SourceResult(headings, 1.0 if headings else 0.0, f"{len(headings)} CommonMark headings")


def find_markdown_anchors(lines: Sequence[str]) -> Mapping[int, str]:
    """Explicit anchors by the line on which their heading starts: `{#id}`, or `<a id>` in it or on the line before."""
    if not any(_MAY_BE_ANCHOR.search(line) for line in lines):
        return {}
    return {found.first: found.anchor for found in _read_headings(lines) if found.anchor}


def front_matter_end(lines: Sequence[str]) -> int:
    """How many lines at the start are front matter (YAML between `---`, TOML between `+++`); 0 where there is none."""
    ends = _FRONT_MATTER_ENDS.get(lines[0].rstrip()) if lines else None
    if ends is None:
        return 0
    for number, line in enumerate(lines[1:_FRONT_MATTER_LINES], 1):
        if line.rstrip() in ends:
            return number + 1
    return 0


def _read_headings(lines: Sequence[str]) -> Iterator[_MarkdownHeading]:
    skipped = front_matter_end(lines)
    text = "\n".join([*[""] * skipped, *lines[skipped:]])
    # The words of paragraphs are of no use here, and reading them takes most of the time.
    parser = MarkdownIt("commonmark").disable(["inline", "text_join"])
    environment: dict[str, object] = {}
    tokens = parser.parse(text, environment)
    words = MarkdownIt("commonmark")
    for position, token in enumerate(tokens):
        if token.type != "heading_open" or token.level != 0 or token.map is None:
            continue
        first, end = token.map
        content = tokens[position + 1].content
        anchor = ""
        attributes = _ATTRIBUTES.search(content)
        if attributes:
            content = content[: attributes.start()]
            named = _ATTRIBUTE_ID.search(attributes.group())
            anchor = named.group(1) if named else ""
        inline = words.parseInline(content, environment)
        title = " ".join(_plain_text(inline[0].children or ()).split())
        if not title:
            continue
        anchor = anchor or _html_id(content) or (_anchor_before(lines, first) if first else "")
        yield _MarkdownHeading(title, int(token.tag[1:]), first, end, anchor)


def _plain_text(tokens: Sequence[Token]) -> str:
    """Words without markup: link and emphasis marks and HTML tags dropped, code and image descriptions kept."""
    parts = []
    for token in tokens:
        if token.type in ("text", "text_special", "code_inline"):
            parts.append(token.content)
        elif token.type == "image":
            parts.append(_plain_text(token.children or ()))
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
    return "".join(parts)


def _html_id(text: str) -> str:
    found = _HTML_ID.search(text)
    return found.group(1) if found else ""


def _anchor_before(lines: Sequence[str], first: int) -> str:
    """The id of an anchor that stands alone on the line before, at most one blank line between."""
    for number in range(first - 1, max(-1, first - 3), -1):
        line = lines[number]
        if _ANCHOR_LINE.match(line):
            return _html_id(line)
        if line.strip():
            return ""
    return ""
