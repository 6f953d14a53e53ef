"""Ids of sections that the author named with an explicit anchor."""

import pytest

from pageindex_local.tree.identity import Identified, assign_ids
from pageindex_local.tree.match_report import MatchStep
from pageindex_local.tree.text import own_text
from tests.sections import Rendered, Section, render
from tests.unit.tree.test_identity import assert_kept, find, first, ids_by_key, manual, prose


def compare_anchored(
    old_sections: list[Section], old_names: dict[str, str], new_sections: list[Section], new_names: dict[str, str]
) -> tuple[dict[str, str], dict[str, str], Identified]:
    """As `compare`, with explicit anchors by the key of their section."""
    old, new = render(old_sections), render(new_sections)

    def lines(rendered: Rendered, names: dict[str, str]) -> dict[int, str]:
        places = {rendered.keys[node.node_id]: node.heading[0] for node in rendered.tree.walk()}
        return {places[key]: name for key, name in names.items()}

    before = first(old)
    after = assign_ids(
        new.tree,
        before.tree,
        doc_id="m",
        version_id="v000002",
        document=new.document,
        old_text=lambda node: own_text(old.document, before.tree, node),
        anchors=lines(new, new_names),
        old_anchors=lines(old, old_names),
    )
    return ids_by_key(old, before.tree), ids_by_key(new, after.tree), after


def test_carry_anchored_section_with_new_title_text_and_place_keeps_its_id() -> None:
    changed = manual()
    stop = find(changed, "b2")
    changed[1].children.remove(stop)
    stop.title, stop.text = "3.3 Emergency shutdown", prose(31)
    changed[2].children.append(stop)
    names = {"b2": "stop"}

    before, after, result = compare_anchored(manual(), names, changed, names)

    assert_kept(before, after)
    kept = next(entry for entry in result.report.kept if entry.node_id == before["b2"])
    assert (kept.step, kept.changes) == (MatchStep.ANCHOR, ("moved", "retitled", "edited"))


def test_carry_anchor_goes_before_equal_text() -> None:
    # The author took the text of one named section into another, and wrote the first one anew.
    changed = manual()
    start, stop = find(changed, "b1"), find(changed, "b2")
    stop.text, start.text = start.text, prose(32)
    names = {"b1": "start", "b2": "stop"}

    before, after, _ = compare_anchored(manual(), names, changed, names)

    assert_kept(before, after)


@pytest.mark.parametrize("name", ["sec-{}", "_Toc47{}", "{}", "section.{}.1", "p{}"])
def test_carry_anchors_that_only_count_are_not_names(name: str) -> None:
    # A section is put in before; the tool that made the anchors numbers them anew.
    changed = manual()
    changed[2].children.insert(0, Section("new", "3.1 Filters", prose(33)))
    old_names = {"c1": name.format(1), "c2": name.format(2)}
    new_names = {"new": name.format(1), "c1": name.format(2), "c2": name.format(3)}

    before, after, _ = compare_anchored(manual(), old_names, changed, new_names)

    assert_kept(before, after)
    assert after["new"] not in before.values()


def test_carry_anchor_that_stands_twice_names_nothing() -> None:
    changed = manual()
    changed[2].children.insert(0, Section("new", "3.1 Filters", prose(34)))

    before, after, _ = compare_anchored(manual(), {"c1": "oil"}, changed, {"new": "oil", "c1": "oil"})

    assert_kept(before, after)
    assert after["new"] not in before.values()
