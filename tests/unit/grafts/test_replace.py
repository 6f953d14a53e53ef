"""A section replaced by hand: it and nothing else changes, and every id that has to stays."""

from pathlib import Path

import pytest

from pageindex_local.errors import SourceError, TreeError
from pageindex_local.records import NodeKind, Origin
from pageindex_local.settings import read_settings
from pageindex_local.store.gc import apply_gc
from pageindex_local.store.index import IndexStore
from pageindex_local.store.verify import verify_index
from tests.unit.grafts.conftest import PORT, Port, paragraph


def test_replace_by_its_own_text_changes_nothing_for_every_section(port: Port) -> None:
    nodes = list(port.live.tree().walk())
    assert len(nodes) == 8  # six headings, and the introductions of the two that have sections below
    for node in nodes:
        assert port.draft(node.node_id, port.section_text(node.node_id)) is None, node.title


def test_replace_keeps_the_id_even_where_nothing_else_is_the_same(port: Port) -> None:
    before = port.live.tree()
    node = port.node("Locks")
    draft = port.replace("Locks", lambda _: f"## Customs\n\n{paragraph('customs house', 40)}\n")
    assert draft.tree.nodes.keys() == before.nodes.keys()
    after = draft.tree.nodes[node.node_id]
    assert (after.title, after.origin) == ("Customs", Origin.HAND)
    assert "customs house pay 40" in port.live.own_text(after)


def test_replace_costs_no_call_outside_of_the_section_and_its_ancestors(port: Port) -> None:
    before = port.live.tree()
    draft = port.replace("North quay", lambda text: text.replace("4 crowns", "44 crowns"))
    path = set(draft.tree.path(port.node("North quay").node_id))
    for node in draft.tree.walk():
        if node.node_id not in path:
            assert node.summary == before.nodes[node.node_id].summary
            assert node.origin == before.nodes[node.node_id].origin
    # The stand-in is asked about the section alone; parents and description are composed of summaries without it.
    assert 1 <= draft.usage.model_calls <= port.settings.summary.attempts


def test_replace_keeps_ids_of_unchanged_sections_inside(port: Port) -> None:
    south, quays = port.node("South quay").node_id, port.node("Quays").node_id
    draft = port.replace(
        "Quays",
        lambda text: text.replace("### South quay", f"### East quay\n\n{paragraph('east quay', 9)}\n\n### South quay"),
    )
    assert south in draft.tree.nodes
    (east,) = [node for node in draft.tree.walk() if node.title == "East quay"]
    assert draft.tree.nodes[quays].children[2:] == (east.node_id, south)
    assert east.node_id not in {kept.node_id for kept in draft.report.kept}
    assert (draft.tree.nodes[south].origin, east.origin) == (Origin.MARKDOWN, Origin.HAND)


def test_replace_without_a_heading_keeps_the_one_there_is(port: Port) -> None:
    draft = port.replace("Ferries", lambda _: "Nobody is ferried on Sundays.")
    node = draft.tree.nodes[port.node("Ferries").node_id]
    assert node.title == "Ferries"
    assert port.live.own_text(node).strip() == "Nobody is ferried on Sundays."


def test_replace_introduction_leaves_the_sections_beside_it(port: Port) -> None:
    (intro,) = [n for n in port.live.tree().walk() if n.kind is NodeKind.INTRODUCTION and n.title == "Quays"]
    draft = port.draft(intro.node_id, "Quays are for ships.")
    assert draft is not None
    assert draft.tree.nodes[intro.node_id].kind is NodeKind.INTRODUCTION
    assert {kept.node_id for kept in draft.report.kept if kept.changes} == {intro.node_id}


def test_new_last_line_is_kept_apart_from_a_heading_that_follows_at_once(tmp_path: Path) -> None:
    port = Port(tmp_path)
    port.build("# Signs\n\nOne\n===\n\n```\nfirst\n```\nTwo\n===\n\nSecond.\n")
    titles = [node.title for node in port.live.tree().walk()]
    draft = port.replace("One", lambda text: text + "And a word after it.\n")
    assert [node.title for node in draft.tree.walk()] == titles
    assert port.draft(port.node("One").node_id, port.section_text(port.node("One").node_id)) is None


def test_lines_that_look_like_headings_without_a_word_are_text(tmp_path: Path) -> None:
    port = Port(tmp_path)
    port.build("# Signs\n\n## One\n\n.\n---\n\nText.\n\n## Two\n\nSecond.\n")
    draft = port.replace("One", lambda text: text + "\nMore.\n")
    assert len(draft.tree.nodes) == 3


@pytest.mark.parametrize(
    ("title", "text", "said"),
    [
        ("Locks", "# Locks\n\nOpen.\n", "level 1"),
        ("Locks", "## Locks\n\nOpen.\n\n## Keys\n\nLost.\n", "“Keys”"),
        ("North quay", "### North quay\n\nOpen.\n\n## Keys\n\nLost.\n", "“Keys”"),
    ],
)
def test_replace_by_more_than_one_section_is_refused(port: Port, title: str, text: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        port.draft(port.node(title).node_id, text)


def test_replace_by_an_open_fence_is_refused_because_it_would_swallow_what_follows(port: Port) -> None:
    with pytest.raises(TreeError, match="“Ferries”"):
        port.draft(port.node("Locks").node_id, "## Locks\n\n```\nno end\n")


def test_replaced_version_is_sound_down_to_its_hashes(port: Port) -> None:
    port.replace("Quays", lambda text: text.replace("3 crowns", "30 crowns"))
    assert verify_index(port.store, deep=True).problems == ()


def test_restore_gives_the_sources_text_and_hashes_again(port: Port) -> None:
    first = port.live.tree()
    port.replace("Quays", lambda text: text.replace("3 crowns", "30 crowns"))
    draft = port.replace("Quays", None)
    assert port.live.grafts() == ()
    assert {n.node_id: n.subtree_hash for n in draft.tree.walk()} == {n.node_id: n.subtree_hash for n in first.walk()}
    assert Origin.HAND not in {node.origin for node in draft.tree.walk()}


def test_restore_of_a_section_that_was_not_replaced_is_refused(port: Port) -> None:
    with pytest.raises(SourceError, match="nothing to restore"):
        port.draft(port.node("Locks").node_id, None)


def test_replace_inside_and_around_a_correction_leaves_one_that_starts_from_the_source(port: Port) -> None:
    port.replace("North quay", lambda text: text.replace("4 crowns", "44 crowns"))
    port.replace("Quays", lambda text: text.replace("5 crowns", "55 crowns"))  # around
    port.replace("South quay", lambda text: text.replace("55 crowns", "66 crowns"))  # inside
    (graft,) = port.live.grafts()
    start, end = PORT.index("## Quays"), PORT.index("## Locks")
    assert "\n".join(graft.base) == PORT[start:end].strip()
    assert "\n".join(graft.lines) == PORT[start:end].replace(" 4 c", " 44 c").replace(" 5 c", " 66 c").strip()


def test_restore_of_an_outer_section_brings_the_correction_inside_back(port: Port) -> None:
    port.replace("North quay", lambda text: text.replace("4 crowns", "44 crowns"))
    inner = port.live
    port.replace("Quays", lambda text: text.replace("3 crowns", "33 crowns").replace("44 crowns", "45 crowns"))
    port.replace("Quays", lambda text: text.replace("33 crowns", "34 crowns"))  # and once more, over its own
    assert [graft.title for graft in port.live.grafts()] == ["Quays"]
    draft = port.replace("Quays", None)
    assert [(graft.title, graft.made_in) for graft in port.live.grafts()] == [("North quay", inner.version_id)]
    assert (
        port.section_text(port.node("Quays").node_id)
        == PORT[PORT.index("## Quays") : PORT.index("## Locks")].replace(" 4 c", " 44 c").strip() + "\n"
    )
    assert {n.node_id: n.subtree_hash for n in draft.tree.walk()} == {
        n.node_id: n.subtree_hash for n in inner.tree().walk()
    }
    port.replace("North quay", None)
    assert port.live.grafts() == ()
    assert port.section_text(port.node("Quays").node_id) in PORT


def test_restore_where_the_earlier_version_is_gone_gives_what_the_source_says(port: Port) -> None:
    port.replace("North quay", lambda text: text.replace("4 crowns", "44 crowns"))
    port.replace("Quays", lambda text: text.replace("3 crowns", "33 crowns"))
    port.build(PORT.replace("6 crowns", "7 crowns"))
    keep = port.store.settings.model_copy(update={"grace_s": 0})
    apply_gc(IndexStore(port.folder / "index", "default", keep), 1)
    port.replace("Quays", None)
    assert port.live.grafts() == ()


def test_piece_of_a_long_section_that_shifts_the_others_names_the_section(tmp_path: Path) -> None:
    port = Port(tmp_path)
    port.settings = read_settings(None, {"model": {"name": "fake"}, "tree": {"max_tokens_per_node": 300}})
    port.build("# Rolls\n\n" + "\n\n".join(paragraph(f"berth {number}", number) for number in range(40)))
    (section,) = port.live.tree().roots
    parts = [node for node in port.live.tree().walk() if node.kind is NodeKind.PART]
    assert len(parts) > 4
    with pytest.raises(TreeError, match=f"replace the section that it is cut from, {section}"):
        port.draft(parts[1].node_id, "\n\n".join(paragraph(f"pier {number}", number) for number in range(90)))
    longer = port.section_text(section) + "\n" + paragraph("last berth", 1)
    assert port.draft(section, longer) is not None
