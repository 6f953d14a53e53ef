"""A correction through later builds: kept while the source says there what it said, given up aloud when it does not."""

import pytest

from pageindex_local.grafts.carry import align, apply_grafts
from pageindex_local.parsing.text import lay_out_text
from pageindex_local.records import Graft, Line, MediaType, Origin, ParsedDocument, Source
from pageindex_local.settings import read_settings
from tests.unit.grafts.conftest import PORT, Port, paragraph


@pytest.fixture
def corrected(port: Port) -> Port:
    port.replace("North quay", lambda text: text.replace("4 crowns", "44 crowns"))
    return port


def test_build_after_an_edit_elsewhere_keeps_the_correction(corrected: Port) -> None:
    node = corrected.node("North quay")
    draft = corrected.build(PORT.replace("7 crowns", "8 crowns").replace("# Rules", "\n\n\n# Rules"))
    kept = draft.tree.nodes[node.node_id]
    assert (kept.own_hash, kept.summary, kept.origin) == (node.own_hash, node.summary, Origin.HAND)
    assert "44 crowns" in corrected.live.own_text(kept)
    assert draft.warnings == ()
    assert [graft.node_id for graft in corrected.live.grafts()] == [node.node_id]


def test_build_under_the_same_source_gives_the_same_hashes(corrected: Port) -> None:
    before = corrected.live.tree()
    draft = corrected.build(PORT)
    assert draft.tree == before
    assert draft.usage.model_calls == 0


def test_correction_moves_with_its_section(corrected: Port) -> None:
    node = corrected.node("North quay")
    start, end = PORT.index("## Quays"), PORT.index("## Locks")
    corrected.build(PORT[:start] + PORT[end:] + "\n" + PORT[start:end])
    assert "44 crowns" in corrected.live.own_text(corrected.live.tree().nodes[node.node_id])


def test_build_after_an_edit_of_the_section_takes_the_source_and_says_so(corrected: Port) -> None:
    node = corrected.node("North quay")
    draft = corrected.build(PORT.replace("4 crowns", "5 crowns"))
    assert "5 crowns" in corrected.live.own_text(draft.tree.nodes[node.node_id])
    assert corrected.live.grafts() == ()
    (warning,) = draft.warnings
    assert "“North quay”" in warning
    assert "v000002" in warning
    assert "no longer in use" in warning


def test_correction_that_the_source_took_over_ends_with_a_note(corrected: Port) -> None:
    draft = corrected.build(PORT.replace("4 crowns", "44 crowns"))
    assert corrected.live.grafts() == ()
    (warning,) = draft.warnings
    assert "has done its work" in warning


def test_section_removed_from_the_source_takes_its_correction_along_and_says_so(corrected: Port) -> None:
    start, end = PORT.index("### North"), PORT.index("### South")
    draft = corrected.build(PORT[:start] + PORT[end:])
    assert "“North quay”" in draft.warnings[0]


def test_warning_is_given_once_and_not_carried_on(corrected: Port) -> None:
    corrected.build(PORT.replace("4 crowns", "5 crowns"))
    assert corrected.build(PORT.replace("4 crowns", "6 crowns")).warnings == ()


def test_two_corrections_are_kept_apart(corrected: Port) -> None:
    corrected.replace("Ferries", lambda text: text + f"\n{paragraph('night ferry', 90)}\n")
    draft = corrected.build(PORT.replace("6 crowns", "66 crowns"))
    by_hand = {node.title for node in draft.tree.walk() if node.origin is Origin.HAND}
    assert by_hand == {"North quay", "Ferries"}
    for graft in corrected.live.grafts():
        lines = "\n".join(page.text for page in corrected.live.pages()).split("\n")
        assert tuple(lines[graft.span[0] : graft.span[1]]) == graft.lines


def document(*texts: str) -> ParsedDocument:
    source = Source("d.txt", "d-0000000000", "", "0" * 64, 1, MediaType.TEXT)
    return lay_out_text(source, tuple(Line(text) for text in texts), read_settings().parse)


def graft(base: str, new: str, before: str = "", after: str = "") -> Graft:
    return Graft("n" + "a" * 13, "T", "v000002", (base,), (new,), (0,), before, after)


def texts(document: ParsedDocument) -> list[str]:
    return [line.text for _, line in document.lines()]


def test_equal_lines_are_told_apart_by_their_neighbours() -> None:
    parse = read_settings().parse
    found = apply_grafts(document("a", "None.", "b", "None.", "c"), [graft("None.", "Some.", "b", "c")], parse)
    assert texts(found) == ["a", "None.", "b", "Some.", "c"]


def test_equal_lines_that_nothing_tells_apart_stay_and_a_warning_says_so() -> None:
    parse = read_settings().parse
    found = apply_grafts(document("a", "None.", "b", "a", "None.", "b"), [graft("None.", "Some.", "a", "b")], parse)
    assert texts(found) == ["a", "None.", "b", "a", "None.", "b"]
    assert len(found.warnings) == 1


def test_blank_lines_and_spacing_do_not_hide_the_lines_that_were_replaced() -> None:
    parse = read_settings().parse
    found = apply_grafts(document("a", "  None   at all.", "b"), [graft("None at all.", "Some.")], parse)
    assert texts(found) == ["a", "Some.", "b"]


def test_align_pairs_equal_lines_and_spreads_rewritten_ones() -> None:
    assert align(["a", "b", "c"], ["a", "b", "c"]) == [0, 1, 2]
    assert align(["a", "x", "y", "c"], ["a", "p", "q", "c"]) == [0, 1, 2, 3]
    assert align(["a", "c"], ["a", "new", "c"]) == [0, 0, 1]
    assert align(["a", "b", "c"], ["a", "c"]) == [0, 2]
