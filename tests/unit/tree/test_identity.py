"""Ids across two versions of a document whose truth is written down: each case says what a person would say."""

import copy
import re

from pageindex_local.ids import NODE_ID_PATTERN
from pageindex_local.records import Node, NodeKind, SectionTree
from pageindex_local.tree.identity import Identified, assign_ids
from pageindex_local.tree.match_report import Fate, MatchStep
from pageindex_local.tree.text import own_text
from tests.sections import Rendered, Section, render

WORDS = (
    *("pump", "valve", "rotor", "seal", "bearing", "housing", "gauge", "wrench", "flange", "gasket", "impeller"),
    *("shaft", "coupling", "motor", "filter", "hose", "manifold", "nozzle", "piston", "cylinder", "spring", "washer"),
    *("bolt", "bracket", "sensor", "relay", "breaker", "conduit", "ballast", "lever"),
)


def prose(seed: int, count: int = 40) -> list[str]:
    """Lines of text that differ from seed to seed."""
    words = [WORDS[(seed * 7 + step * (seed % 11 + 3) + step * step) % len(WORDS)] for step in range(count)]
    words[::9] = [f"{word}{seed}" for word in words[::9]]
    return [" ".join(words[start : start + 10]) + "." for start in range(0, count, 10)]


def manual() -> list[Section]:
    return [
        Section(
            "a",
            "1 Overview",
            prose(1),
            [
                Section("a1", "1.1 Scope", prose(2)),
                Section("a2", "1.2 Terms", prose(3)),
                Section("a3", "Notes", prose(4)),
            ],
        ),
        Section("b", "2 Operation", [], [Section("b1", "2.1 Start", prose(5)), Section("b2", "2.2 Stop", prose(6))]),
        Section("c", "3 Care", prose(7), [Section("c1", "3.1 Oil", prose(8)), Section("c2", "3.2 Seals", prose(9))]),
    ]


def find(sections: list[Section], key: str) -> Section:
    return next(section for root in sections for section in root.walk() if section.key == key)


def first(rendered: Rendered) -> Identified:
    return assign_ids(rendered.tree, None, doc_id="m", version_id="v000001", document=rendered.document)


def second(old: Rendered, old_tree: SectionTree, new: Rendered, version_id: str = "v000002") -> Identified:
    def old_text(node: Node) -> str:
        return own_text(old.document, old_tree, node)

    return assign_ids(new.tree, old_tree, doc_id="m", version_id=version_id, document=new.document, old_text=old_text)


def ids_by_key(rendered: Rendered, tree: SectionTree) -> dict[str, str]:
    return {rendered.keys[draft]: node_id for draft, node_id in zip(rendered.tree.nodes, tree.nodes, strict=True)}


def compare(
    old_sections: list[Section], new_sections: list[Section]
) -> tuple[dict[str, str], dict[str, str], Identified]:
    """Ids by key before and after, and the result of the second version."""
    old, new = render(old_sections), render(new_sections)
    before = first(old)
    after = second(old, before.tree, new)
    return ids_by_key(old, before.tree), ids_by_key(new, after.tree), after


def assert_kept(before: dict[str, str], after: dict[str, str]) -> None:
    assert {key for key in before.keys() & after.keys() if before[key] != after[key]} == set()


def test_mint_first_version_gives_valid_unique_ids() -> None:
    result = first(render(manual()))

    assert all(re.fullmatch(NODE_ID_PATTERN, node_id) for node_id in result.tree.nodes)
    assert len(result.tree.nodes) == len({*result.tree.nodes})
    assert len(result.report.added) == len(result.tree.nodes)


def test_carry_same_document_keeps_every_id_and_changes_nothing() -> None:
    before, after, result = compare(manual(), manual())

    assert before == after
    assert not result.report.added
    assert not result.report.removed
    assert all(entry.changes == () for entry in result.report.kept)


def test_carry_edited_paragraph_keeps_every_id_and_reports_one_edit() -> None:
    new = manual()
    find(new, "b1").text[0] = "Open the inlet before the motor is switched on."

    before, after, result = compare(manual(), new)

    assert before == after
    assert result.report.with_change("edited") == (after["b1"],)


def test_carry_inserted_section_leaves_others_alone() -> None:
    new = manual()
    find(new, "b").children.insert(1, Section("new", "2.2 Idle", prose(20)))
    find(new, "b2").title = "2.3 Stop"

    before, after, result = compare(manual(), new)

    assert_kept(before, after)
    assert after["new"] not in before.values()
    assert result.report.with_change("renumbered") == (after["b2"],)
    assert result.report.with_change("moved") == ()


def test_carry_deleted_section_ends_its_id() -> None:
    new = manual()
    find(new, "b").children.pop(0)

    before, after, result = compare(manual(), new)

    assert_kept(before, after)
    assert [(entry.old_id, entry.fate) for entry in result.report.removed] == [(before["b1"], Fate.DELETED)]


def test_carry_retitled_section_keeps_its_id() -> None:
    new = manual()
    find(new, "c1").title = "3.1 Lubrication"

    before, after, result = compare(manual(), new)

    assert before == after
    assert result.report.with_change("retitled") == (after["c1"],)
    assert result.report.with_change("edited") == ()


def test_carry_retitled_chapter_keeps_its_id_and_introduction() -> None:
    new = manual()
    find(new, "c").title = "3 Maintenance and repair"
    find(new, "c1").text[0] = "Use oil of grade 46 only."

    before, after, _ = compare(manual(), new)

    assert before == after


def test_carry_moved_chapter_keeps_ids_of_whole_subtree() -> None:
    new = manual()
    moved = new.pop(0)
    moved.title = "2 Overview"
    find(new, "c").children.append(moved)

    before, after, result = compare(manual(), new)

    assert before == after
    assert before["a"] in result.report.with_change("moved")
    assert before["a1"] not in result.report.with_change("moved")


def test_carry_swapped_siblings_ids_follow_text() -> None:
    new = manual()
    find(new, "b").children.reverse()

    before, after, result = compare(manual(), new)

    assert before == after
    assert len(result.report.with_change("moved")) == 1


def test_carry_section_moved_and_edited_is_recognised_by_its_text() -> None:
    new = manual()
    moved = find(new, "a2")
    find(new, "a").children.remove(moved)
    moved.text[1] = "A line that was not there before."
    find(new, "c").children.append(moved)

    before, after, result = compare(manual(), new)

    assert before == after
    step = next(entry.step for entry in result.report.kept if entry.node_id == before["a2"])
    assert step is MatchStep.SIMILARITY


def test_carry_duplicated_section_gives_copy_a_new_id() -> None:
    new = manual()
    twin = copy.deepcopy(find(new, "b2"))
    twin.key = "copy"
    find(new, "c").children.append(twin)

    before, after, _ = compare(manual(), new)

    assert_kept(before, after)
    assert after["copy"] not in before.values()


def test_carry_numbered_chapters_shifted_by_a_new_one_ids_follow_text() -> None:
    old = [Section(f"k{number}", f"Chapter {number}", prose(number)) for number in range(1, 6)]
    new = [Section("new", "Chapter 1", prose(30))]
    new += [Section(f"k{number}", f"Chapter {number + 1}", prose(number)) for number in range(1, 6)]
    new[3].text[0] = "This line was edited at the same time."

    before, after, _ = compare(old, new)

    assert_kept(before, after)
    assert after["new"] not in before.values()


def test_carry_boilerplate_sections_only_parents_decide() -> None:
    def chapters(count: int) -> list[Section]:
        return [
            Section(f"k{n}", f"Part {chr(96 + n)}{n}", prose(n), [Section(f"k{n}/notes", "Notes", ["None."])])
            for n in range(1, count)
        ]

    new = chapters(7)
    del new[2]

    before, after, _ = compare(chapters(7), new)

    assert_kept(before, after)


def test_carry_symmetric_twins_without_context_mints_and_reports() -> None:
    text = prose(1)
    old = [
        Section("p", "Pumps", prose(11), [Section("p1", "Safety", text)]),
        Section("q", "Valves", prose(12), [Section("q1", "Safety", text)]),
        Section("r", "Motors", prose(13)),
        Section("s", "Meters", prose(14)),
    ]
    new = [
        Section("p", "Pumps", prose(11)),
        Section("q", "Valves", prose(12)),
        Section("r", "Motors", prose(13), [Section("r1", "Safety", text)]),
        Section("s", "Meters", prose(14), [Section("s1", "Safety", text)]),
    ]

    before, after, result = compare(old, new)

    assert not {after["r1"], after["s1"]} & set(before.values())
    reported = {
        entry.node_id: {candidate.old_id for candidate in entry.candidates} for entry in result.report.ambiguous
    }
    assert reported[after["r1"]] == {before["p1"], before["q1"]}
    assert reported[after["s1"]] == {before["p1"], before["q1"]}


def test_carry_split_section_largest_piece_keeps_id_with_lineage() -> None:
    new = manual()
    parent = find(new, "b")
    text = prose(5, 120)
    old = manual()
    find(old, "b1").text = text
    parent.children[0:1] = [
        Section("large", "2.1 Before starting", text[:8]),
        Section("small", "2.2 While starting", text[8:]),
    ]

    before, after, result = compare(old, new)

    assert after["large"] == before["b1"]
    lineage = {entry.node_id: entry.derived_from for entry in result.report.split}
    assert lineage == {after["small"]: (before["b1"],)}


def test_carry_merged_sections_largest_contributor_keeps_id() -> None:
    old = manual()
    find(old, "b1").text = prose(5, 100)
    new = manual()
    parent = find(new, "b")
    parent.children = [Section("both", "2.1 Running the machine", prose(5, 100) + prose(6))]

    before, after, result = compare(old, new)

    assert after["both"] == before["b1"]
    assert [(entry.old_id, entry.fate, entry.into) for entry in result.report.removed] == [
        (before["b2"], Fate.MERGED_INTO, after["both"])
    ]


def test_carry_leaf_that_got_subsections_keeps_id_of_section() -> None:
    new = manual()
    find(new, "a1").children = [Section("deep", "1.1.1 Limits", prose(25))]

    before, after, result = compare(manual(), new)

    assert_kept(before, after)
    lineage = {entry.node_id: entry.derived_from for entry in result.report.split}
    assert lineage == {after["a1/introduction"]: (before["a1"],)}


def test_carry_introduction_follows_its_section_when_rewritten() -> None:
    new = manual()
    find(new, "a").text = prose(33)

    before, after, result = compare(manual(), new)

    assert before == after
    step = next(entry.step for entry in result.report.kept if entry.node_id == before["a/introduction"])
    assert step is MatchStep.KIND


def test_carry_without_old_texts_still_keeps_what_titles_and_hashes_show() -> None:
    new = manual()
    find(new, "b1").text[0] = "Changed."
    old, changed = render(manual()), render(new)
    before = first(old)

    after = assign_ids(changed.tree, before.tree, doc_id="m", version_id="v000002", document=changed.document)

    assert ids_by_key(old, before.tree) == ids_by_key(changed, after.tree)


def test_mint_never_reissues_an_ended_id() -> None:
    rendered = render(manual())
    ended = set(first(rendered).tree.nodes)

    again = assign_ids(
        rendered.tree, None, doc_id="m", version_id="v000001", document=rendered.document, ended_ids=ended
    )

    assert not ended & again.tree.nodes.keys()


def test_carry_pages_shifted_by_an_inserted_page_reports_no_change_of_content() -> None:
    new = manual()
    new.insert(0, Section("new", "Preface", prose(40, 200)))

    before, after, result = compare(manual(), new)

    assert_kept(before, after)
    changed = [entry for entry in result.report.kept if entry.changes]
    assert changed == []


def test_report_names_every_node_of_both_versions_once() -> None:
    new = manual()
    find(new, "b").children.pop()
    new.append(Section("new", "4 Index", prose(50)))

    before, after, result = compare(manual(), new)

    report = result.report
    kept = [entry.node_id for entry in report.kept]
    assert sorted(kept + [entry.node_id for entry in report.added]) == sorted(after.values())
    assert sorted(kept + [entry.old_id for entry in report.removed]) == sorted(before.values())


def test_carry_keeps_kind_and_spans_of_the_draft() -> None:
    rendered = render(manual())

    tree = first(rendered).tree

    for draft, node in zip(rendered.tree.walk(), tree.walk(), strict=True):
        assert (draft.title, draft.kind, draft.span, draft.heading) == (node.title, node.kind, node.span, node.heading)
    assert {node.kind for node in tree.walk()} == {NodeKind.SECTION, NodeKind.INTRODUCTION}
