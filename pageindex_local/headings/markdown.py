"""Markdown lines in, headings by CommonMark out."""

from collections.abc import Sequence

from markdown_it import MarkdownIt

from pageindex_local.records import Heading, Origin, ParsedDocument


def find_markdown_headings(document: ParsedDocument) -> tuple[Heading, ...]:
    """The headings that CommonMark sees at the top level of the document."""
    text = "\n".join(line.text for _, line in document.lines())
    tokens = MarkdownIt("commonmark").parse(text)
    headings = []
    for token, inline in zip(tokens, tokens[1:], strict=False):
        if token.type == "heading_open" and token.level == 0 and token.map and inline.content.strip():
            first, last = token.map
            page = next(page for page in document.pages if page.span[0] <= first < page.span[1])
            headings.append(
                Heading(inline.content.strip(), int(token.tag[1:]), (first, last), page.page_number, Origin.MARKDOWN, 1.0)
            )
    return tuple(headings)
