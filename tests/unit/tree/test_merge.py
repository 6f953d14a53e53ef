from dataclasses import replace

import pytest

from pageindex_local.errors import TreeError
from pageindex_local.records import Heading, Origin
from pageindex_local.tree.merge import as_partial, merge_mini_tocs, merge_pair, number_depth, settle_levels
from pageindex_local.tree.mini_toc import MiniToc, TocItem


def _heading(line: int, title: str, level: int = 1, origin: Origin = Origin.LAYOUT, confidence: float = 0.8) -> Heading:
    return Heading(title, level, (line, line + 1), 1, origin, confidence)


def _part(name: str, *headings: Heading) -> MiniToc:
    return MiniToc(name, (0, 100), tuple(TocItem(heading) for heading in headings))


def test_merge_parts_gives_headings_in_document_order() -> None:
    first, second = _part("a", _heading(3, "A"), _heading(9, "B")), _part("b", _heading(20, "C"))
    assert [heading.title for heading in merge_mini_tocs([second, first], ["a", "b"])] == ["A", "B", "C"]


def test_merge_missing_part_raises() -> None:
    with pytest.raises(TreeError, match=r"of 3 chunks 1 never arrived and 0 came unasked \(first: c\)"):
        merge_mini_tocs([_part("a"), _part("b")], ["a", "b", "c"])


def test_merge_unasked_part_raises() -> None:
    with pytest.raises(TreeError, match=r"0 never arrived and 1 came unasked \(first: x\)"):
        merge_mini_tocs([_part("a"), _part("x")], ["a"])


def test_merge_nothing_raises() -> None:
    with pytest.raises(TreeError, match="no chunk was expected"):
        merge_mini_tocs([], [])


def test_merge_part_that_arrives_twice_counts_once() -> None:
    part = _part("a", _heading(3, "A"))
    assert merge_mini_tocs([part, part], ["a"]) == (part.items[0].heading,)


def test_merge_overlap_keeps_the_stronger_evidence() -> None:
    weak = _part("a", _heading(7, "Scope", 3, Origin.MODEL, 0.6))
    strong = _part("b", _heading(7, "1.2 Scope", 2, Origin.OUTLINE, 1.0))
    for parts in ([weak, strong], [strong, weak]):
        assert merge_mini_tocs(parts, ["a", "b"]) == (strong.items[0].heading,)


def test_merge_unprinted_headings_at_one_place_are_all_kept_in_order() -> None:
    headings = [Heading(title, level, (5, 5), 2, Origin.OUTLINE, 1.0) for title, level in (("Z", 1), ("A", 2))]
    part = MiniToc("a", (0, 9), tuple(TocItem(heading, order) for order, heading in enumerate(headings)))
    assert merge_mini_tocs([part], ["a"]) == tuple(headings)


def test_merge_pair_is_idempotent() -> None:
    partial = as_partial(_part("a", _heading(3, "A"), _heading(9, "B")))
    assert merge_pair(partial, partial) == partial


def test_settle_numbered_pick_takes_the_level_of_equal_numbers() -> None:
    items = [
        TocItem(_heading(1, "Part", 1)),
        TocItem(_heading(2, "1 Cats", 2)),
        TocItem(_heading(3, "1.1 Coat", 3)),
        TocItem(_heading(4, "1.2 Diet", 6, Origin.MODEL, 0.6), asked_level=1),
        TocItem(_heading(5, "2 Dogs", 6, Origin.MODEL, 0.6), asked_level=4),
        TocItem(_heading(6, "2.1.1 Fur", 6, Origin.MODEL, 0.6), asked_level=1),
    ]
    assert [heading.level for heading in settle_levels(items)] == [1, 2, 3, 3, 2, 4]


def test_settle_unnumbered_pick_keeps_the_level_of_its_style() -> None:
    items = [
        TocItem(_heading(1, "Cats", 1)),
        TocItem(_heading(2, "Coat", 2, Origin.MODEL, 0.6), asked_level=5),
    ]
    assert [heading.level for heading in settle_levels(items)] == [1, 2]


def test_settle_without_any_evidence_takes_the_model_at_its_word() -> None:
    picks = [
        TocItem(_heading(1, "The harbour", 1, Origin.MODEL), asked_level=1),
        TocItem(_heading(9, "A storm", 1, Origin.MODEL), asked_level=2),
    ]
    assert [heading.level for heading in settle_levels(picks)] == [1, 2]


def test_settle_evidence_is_never_changed() -> None:
    items = [TocItem(_heading(1, "1.1.1 Odd", 1)), TocItem(replace(_heading(2, "2 Even"), level=5))]
    assert settle_levels(items) == tuple(item.heading for item in items)


@pytest.mark.parametrize(
    ("title", "depth"),
    [("3 Cats", 1), ("3.1 Coat", 2), ("3.1.4. Length", 3), ("Appendix A.2 Tools", 2), ("Cats", 0), ("IV. Dogs", 1)],
)
def test_count_number_depth(title: str, depth: int) -> None:
    assert number_depth(title) == depth
