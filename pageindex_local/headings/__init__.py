"""Where sections start: several sources of evidence, weighed against each other. Pages in, headings out; no model."""

from collections import Counter

from pageindex_local.headings.evidence import HeadingEvidence, SourceReport, SourceResult
from pageindex_local.headings.fuse import Sources, fuse_sources
from pageindex_local.headings.layout import find_layout_headings
from pageindex_local.headings.markdown import find_markdown_headings
from pageindex_local.headings.outline import find_outline_headings
from pageindex_local.headings.plain_text import find_text_headings
from pageindex_local.headings.printed_toc import find_printed_toc_headings
from pageindex_local.headings.title_index import build_title_index
from pageindex_local.records import MediaType, ParsedDocument
from pageindex_local.settings import TreeSettings

__all__ = ["HeadingEvidence", "SourceReport", "SourceResult", "find_headings"]


def find_headings(document: ParsedDocument, settings: TreeSettings) -> HeadingEvidence:
    """The headings of a document by its strongest evidence, with a report on every source.

    Deterministic, no model; time and memory grow linearly with the document.
    """
    if document.source.media_type is not MediaType.PDF:
        return _find_without_pages(document)
    index = build_title_index(document)
    body_size = _body_size(document)
    toc = find_printed_toc_headings(document, index, body_size)
    outline = find_outline_headings(document, index, body_size)
    layout = find_layout_headings(document, toc.contents_lines)
    return fuse_sources(document, Sources(outline, toc, layout), settings)


def _find_without_pages(document: ParsedDocument) -> HeadingEvidence:
    if document.source.media_type is MediaType.MARKDOWN:
        name, result = "markdown", find_markdown_headings(document)
    else:
        name, result = "text", find_text_headings(document)
    headings = result.headings
    report = SourceReport(name, len(headings), len(headings), result.confidence, result.reason)
    by_line = {heading.span[0]: heading for heading in (*result.candidates, *headings)}
    candidates = tuple(by_line[line] for line in sorted(by_line))
    whole = () if headings else ((0, document.line_count),)
    return HeadingEvidence(headings, candidates, (report,), whole)


def _body_size(document: ParsedDocument) -> float:
    sizes: Counter[float] = Counter()
    for _, line in document.lines():
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0
