"""What a page reader hands on, in this order: one `Head`, a `PageRecord` per page, one `End`. Plain values only."""

from collections.abc import Mapping
from dataclasses import dataclass

from pageindex_local.records import Line, OutlineEntry


@dataclass(frozen=True, slots=True)
class Head:
    """What is known before the first page."""

    page_count: int
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One page as read.

    `characters` and `garbage` count characters before cleaning; `error` says why the page is unreadable, if it is.
    """

    page_number: int
    label: str
    lines: tuple[Line, ...]
    width: float
    height: float
    characters: int
    garbage: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """What is known after the last page."""

    outline: tuple[OutlineEntry, ...]
    warnings: tuple[str, ...]
