"""Counts, sizes, places and titles as people read them."""

from collections.abc import Callable, Iterable

from pageindex_local.inert_text import inert
from pageindex_local.records import MediaType, Node


def plural(count: int, noun: str, many: str = "") -> str:
    """A count with its noun: `1 page`, `2 pages`, `1,158 pages`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def unit_of_pages(media_type: MediaType) -> str:
    """What the pages of a document are called: `page`, or `block` where it is text that nobody paginated."""
    return "page" if media_type is MediaType.PDF else "block"


def pages_heading(media_types: Iterable[MediaType]) -> str:
    """The heading of a column that counts pages: `pages`, `blocks`, or both, one a line."""
    units = sorted({f"{unit_of_pages(media_type)}s" for media_type in media_types}, reverse=True)
    return ",\n".join(units) or "pages"


def size_text(size_bytes: int) -> str:
    """A size for a person: `812 B`, `3.4 kB`, `1.2 MB`."""
    value, unit = float(size_bytes), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def count_text(count: int) -> str:
    """A count that stays narrow in a table: `987`, `12.3k`, `4.5M`."""
    steps: tuple[tuple[int, Callable[[int], str]], ...] = (
        (10_000, str),
        (1_000_000, lambda n: f"{n / 1000:.1f}k"),
    )
    for limit, show in steps:
        if count < limit:
            return show(count)
    return f"{count / 1_000_000:.1f}M"


def place_text(node: Node, *, has_pages: bool) -> str:
    """Where a node is, for a person: `p. 3–7`, or `l. 120–180` where the document has no pages."""
    if has_pages:
        first, last, name = node.first_page, node.last_page, "p."
    else:
        first, last, name = node.span[0] + 1, node.span[1], "l."
    return f"{name} {first}" if first >= last else f"{name} {first}–{last}"


def title_text(node: Node) -> str:
    """A node's title for a person. Introductions bear their parent's title, which would only repeat it."""
    return f"{inert(node.title)} (introduction)" if node.kind.value == "introduction" else inert(node.title)
