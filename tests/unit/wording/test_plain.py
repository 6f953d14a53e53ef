import pytest

from pageindex_local.records import MediaType
from pageindex_local.wording.plain import pages_heading, plural, unit_of_pages


@pytest.mark.parametrize(
    ("kinds", "heading"),
    [
        ([MediaType.PDF, MediaType.PDF], "pages"),
        ([MediaType.MARKDOWN, MediaType.TEXT], "blocks"),
        ([MediaType.TEXT, MediaType.PDF], "pages,\nblocks"),
        ([], "pages"),
    ],
)
def test_pages_heading_names_what_is_counted(kinds: list[MediaType], heading: str) -> None:
    assert pages_heading(kinds) == heading


def test_plural_of_units_reads_as_people_say_it() -> None:
    assert plural(1, unit_of_pages(MediaType.PDF)) == "1 page"
    assert plural(1_158, unit_of_pages(MediaType.MARKDOWN)) == "1,158 blocks"
