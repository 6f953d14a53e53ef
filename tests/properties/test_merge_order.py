"""Merging mini-TOCs is a join: order, grouping and repetition do not matter."""

from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from pageindex_local.records import Heading, Origin
from pageindex_local.tree.merge import PartialToc, as_partial, merge_mini_tocs, merge_pair
from pageindex_local.tree.mini_toc import MiniToc, TocItem

titles = st.sampled_from(["1 A", "1.1 B", "1.2.3 C", "Scope", "Appendix A", "2 D", "II. E"])


@st.composite
def parts(draw: st.DrawFn) -> list[MiniToc]:
    """Parts of a document whose chunks may overlap and disagree."""
    found: list[MiniToc] = []
    for number in range(draw(st.integers(1, 7))):
        lines = draw(st.lists(st.integers(0, 12), max_size=6).map(sorted))
        items: list[TocItem] = []
        for line in lines:
            heading = Heading(
                title=draw(titles),
                level=draw(st.integers(1, 4)),
                span=(line, line + draw(st.integers(0, 1))),
                page_number=draw(st.integers(1, 3)),
                origin=draw(st.sampled_from(list(Origin))),
                confidence=draw(st.sampled_from([0.3, 0.6, 1.0])),
            )
            order = sum(item.heading.span[0] == line for item in items)
            items.append(TocItem(heading, order, draw(st.one_of(st.none(), st.integers(1, 6)))))
        found.append(MiniToc(f"c{number}", (0, 13), tuple(items)))
    return found


@settings(max_examples=300, deadline=None)
@given(st.data(), parts())
def test_merge_any_order_gives_the_same(data: st.DataObject, found: list[MiniToc]) -> None:
    expected = [part.chunk_id for part in found]
    shuffled = data.draw(st.permutations(found))
    assert merge_mini_tocs(shuffled, expected) == merge_mini_tocs(found, expected)


@settings(max_examples=300, deadline=None)
@given(st.data(), parts())
def test_merge_any_grouping_gives_the_same(data: st.DataObject, found: list[MiniToc]) -> None:
    pieces = [as_partial(part) for part in data.draw(st.permutations(found))]
    while len(pieces) > 1:
        index = data.draw(st.integers(0, len(pieces) - 2))
        pieces[index : index + 2] = [merge_pair(pieces[index], pieces[index + 1])]
    straight = reduce(merge_pair, [as_partial(part) for part in found], PartialToc())
    assert pieces[0].chunk_ids == straight.chunk_ids
    assert dict(pieces[0].items) == dict(straight.items)


@settings(max_examples=200, deadline=None)
@given(st.data(), parts())
def test_merge_repeated_parts_change_nothing(data: st.DataObject, found: list[MiniToc]) -> None:
    expected = [part.chunk_id for part in found]
    again = data.draw(st.lists(st.sampled_from(found), max_size=4))
    assert merge_mini_tocs([*found, *again], expected) == merge_mini_tocs(found, expected)


@settings(max_examples=200, deadline=None)
@given(parts())
def test_merge_result_is_in_document_order_with_one_printed_heading_a_line(found: list[MiniToc]) -> None:
    headings = merge_mini_tocs(found, [part.chunk_id for part in found])
    assert [heading.span[0] for heading in headings] == sorted(heading.span[0] for heading in headings)
    printed = [heading.span[0] for heading in headings if heading.span[0] < heading.span[1]]
    assert len(printed) == len(set(printed))
    lines = {item.heading.span[0] for part in found for item in part.items}
    assert {heading.span[0] for heading in headings} == lines
