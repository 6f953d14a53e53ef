"""Ids over edits as people and tools make them, beyond one change at a time; the truth of each case is written down."""

import copy
import re

import pytest

from pageindex_local.tree.match_report import MatchStep
from tests.properties.edits import Edits
from tests.sections import Section
from tests.unit.tree.test_identity import assert_kept, compare, find, manual


def text(seed: int, lines: int = 5) -> list[str]:
    return Edits(seed).text(lines)


def reworded(lines: list[str], seed: int) -> list[str]:
    """The same text with one line in five written anew."""
    return [text(seed + place, 1)[0] if place % 5 == 2 else line for place, line in enumerate(lines)]


def handbook(chapters: int = 6, sections: int = 4) -> list[Section]:
    return [
        Section(
            f"c{chapter}",
            f"{chapter} {Edits(chapter).title()}",
            text(100 * chapter),
            [
                Section(
                    f"c{chapter}s{place}",
                    f"{chapter}.{place} {Edits(1000 * chapter + place).title()}",
                    text(100 * chapter + place),
                )
                for place in range(1, sections + 1)
            ],
        )
        for chapter in range(1, chapters + 1)
    ]


def test_carry_all_sections_renumbered_by_two_new_chapters_in_front() -> None:
    changed = handbook()
    for section in (section for root in changed for section in root.walk()):
        number, _, rest = section.title.partition(" ")
        first, dot, second = number.partition(".")
        section.title = f"{int(first) + 2}{dot}{second} {rest}"
    changed[:0] = [Section("new1", "1 Foreword", text(901)), Section("new2", "2 Changes", text(902))]

    before, after, result = compare(handbook(), changed)

    assert_kept(before, after)
    assert not {after["new1"], after["new2"]} & set(before.values())
    assert {change for entry in result.report.kept for change in entry.changes} == {"renumbered"}


def test_carry_section_renamed_and_edited_in_place_keeps_its_id() -> None:
    changed = handbook()
    section = find(changed, "c3s2")
    section.title, section.text = "3.2 A wholly other name", reworded(section.text, 700)

    before, after, result = compare(handbook(), changed)

    assert_kept(before, after)
    assert set(result.report.with_change("retitled")) == {before["c3s2"]}


def test_carry_section_renamed_moved_and_lightly_edited_keeps_its_id() -> None:
    old = handbook()
    find(old, "c3s2").text = text(302, 10)
    changed = copy.deepcopy(old)
    section = find(changed, "c3s2")
    changed[2].children.remove(section)
    section.title, section.text[4] = "5.5 A wholly other name", text(710, 1)[0]
    changed[4].children.append(section)

    before, after, result = compare(old, changed)

    assert_kept(before, after)
    assert next(entry for entry in result.report.kept if entry.node_id == before["c3s2"]).step is MatchStep.SIMILARITY


def test_carry_two_nearly_identical_sections_swapped_gives_neither_the_id_of_the_other() -> None:
    # Like two forms of one procedure: they differ in a tenth of their words, and change places with their titles.
    def forms(*keys: str) -> list[Section]:
        body = text(40, 10)
        left = Section("left", "Steps for the left engine", [*body[:9], "It is done from the left side only."])
        right = Section("right", "Steps for the right engine", [*body[:9], "It is done from the right side only."])
        rows = {"left": left, "right": right}
        return [Section("p", "Procedures", text(41), [rows[key] for key in keys]), *handbook(2)]

    before, after, _ = compare(forms("left", "right"), forms("right", "left"))

    assert_kept(before, after)


def test_carry_two_nearly_identical_sections_swapped_and_edited_never_exchanges_ids() -> None:
    body = text(50, 10)

    def forms(order: tuple[str, str], change: str) -> list[Section]:
        rows = {
            side: Section(side, f"Steps for the {side} engine", [*body[:8], f"Only from the {side}.", change])
            for side in ("left", "right")
        }
        return [Section("p", "Procedures", text(51), [rows[side] for side in order]), *handbook(2)]

    before, after, _ = compare(forms(("left", "right"), body[8]), forms(("right", "left"), "A sentence for both."))

    assert after["left"] != before["right"]
    assert after["right"] != before["left"]


def test_carry_section_promoted_to_a_chapter_keeps_its_id_and_those_below() -> None:
    changed = handbook()
    chapter = changed[1]
    promoted = chapter.children[1]
    promoted.children = [Section("sub1", "2.2.1 Deep one", text(61)), Section("sub2", "2.2.2 Deep two", text(62))]
    old = copy.deepcopy(changed)
    chapter.children.remove(promoted)
    promoted.title = re.sub(r"^\S+", "3", promoted.title)
    changed.insert(2, promoted)

    before, after, result = compare(old, changed)

    assert_kept(before, after)
    assert result.report.with_change("moved") == (before["c2s2"],)


def test_carry_chapter_demoted_into_the_one_before_keeps_its_id_and_those_below() -> None:
    changed = handbook()
    demoted = changed.pop(3)
    changed[2].children.append(demoted)

    before, after, _ = compare(handbook(), changed)

    assert_kept(before, after)


@pytest.mark.parametrize("count", [40, 41, 39])
def test_carry_boilerplate_repeated_forty_times_follows_its_chapters(count: int) -> None:
    note = ["This section is left open on purpose, see the general rules for what applies in its place."]

    def chapters(count: int, *, first: int = 0) -> list[Section]:
        return [
            Section(
                f"c{number}",
                f"{number + 1} {Edits(number).title()}",
                [],
                [
                    Section(f"c{number}n", "Reserved", list(note)),
                    Section(f"c{number}t", "Duties", text(3000 + number)),
                ],
            )
            for number in range(first, count)
        ]

    old = chapters(40)
    new = chapters(40)
    if count == 41:
        new.insert(11, Section("x", "New chapter", [], [Section("xn", "Reserved", list(note))]))
    if count == 39:
        del new[17]

    before, after, _ = compare(old, new)

    assert_kept(before, after)
    if count == 41:
        assert not {after["x"], after["xn"]} & set(before.values())


def test_carry_boilerplate_of_dissolved_chapters_is_never_guessed() -> None:
    note = ["This section is left open on purpose, see the general rules for what applies in its place."]

    def rows(names: str, seed: int) -> list[Section]:
        return [
            Section(
                name, Edits(seed + place).title(), text(seed + place), [Section(f"{name}n", "Reserved", list(note))]
            )
            for place, name in enumerate(names)
        ]

    before, after, result = compare(rows("abcdefgh", 4000), rows("ijklm", 5000))

    assert set(before.values()).isdisjoint(after.values())
    assert len(result.report.ambiguous) == 5


def test_carry_other_line_breaks_change_nothing() -> None:
    changed = handbook()
    for section in (section for root in changed for section in root.walk()):
        words = " ".join(section.text).split()
        section.text = [" ".join(words[start : start + 5]) for start in range(0, len(words), 5)]

    before, after, result = compare(handbook(), changed)

    assert_kept(before, after)
    assert all(entry.changes == () for entry in result.report.kept)


def test_carry_text_hyphenated_by_another_tool_keeps_every_id() -> None:
    # Every line ends inside a word, which is cut by a hyphen: a fifth of all words differ.
    changed = handbook()
    for section in (section for root in changed for section in root.walk()):
        lines = []
        carried = ""
        for line in section.text:
            words = (carried + line).split()
            head, carried = words[-1][:3] + "-", words[-1][3:] + " "
            lines.append(" ".join([*words[:-1], head]))
        section.text = [*lines, carried.strip()]

    before, after, _ = compare(handbook(), changed)

    assert_kept(before, after)


def test_carry_soft_hyphens_and_ligatures_change_nothing() -> None:
    changed = manual()
    old = manual()
    for section in (section for root in changed for section in root.walk()):
        section.text = [line.replace("fi", "\ufb01").replace("pump", "pu\u00admp") for line in section.text]

    before, after, result = compare(old, changed)

    assert_kept(before, after)
    assert all(entry.changes == () for entry in result.report.kept)


def test_carry_titles_in_capitals_keep_every_id() -> None:
    changed = handbook()
    for section in (section for root in changed for section in root.walk()):
        section.title = section.title.upper()

    before, after, result = compare(handbook(), changed)

    assert_kept(before, after)
    assert result.report.with_change("edited") == ()


def test_carry_sections_sorted_by_title_keep_every_id() -> None:
    changed = handbook()
    for chapter in changed:
        chapter.children.sort(key=lambda section: section.title.partition(" ")[2])
    changed.sort(key=lambda section: section.title.partition(" ")[2])

    before, after, _ = compare(handbook(), changed)

    assert_kept(before, after)


def test_carry_two_chapters_joined_under_a_new_one_keep_their_ids() -> None:
    changed = handbook()
    changed[1:3] = [Section("group", "Part one", [], changed[1:3])]

    before, after, _ = compare(handbook(), changed)

    assert_kept(before, after)
    assert after["group"] not in before.values()


def test_carry_chapter_dissolved_into_its_sections_keeps_theirs_and_ends_its_own() -> None:
    changed = handbook()
    changed[1:2] = changed[1].children

    before, after, result = compare(handbook(), changed)

    assert_kept(before, after)
    assert before["c2"] in {entry.old_id for entry in result.report.removed}
    assert before["c2"] not in after.values()


def test_carry_section_replaced_by_another_under_its_title_and_moved_elsewhere_follows_the_text() -> None:
    # "Scope" now says something else; what it said stands in another chapter under a new title.
    changed = handbook()
    scope = find(changed, "c2s1")
    moved = Section("c2s1", "4.5 What this is about", list(scope.text))
    scope.key, scope.text = "new", text(801)
    find(changed, "c4").children.append(moved)

    before, after, _ = compare(handbook(), changed)

    assert_kept(before, after)
    assert after["new"] not in before.values()


@pytest.mark.parametrize("own_text", [True, False])
def test_carry_chapter_that_takes_in_its_first_section_keeps_its_id(own_text: bool) -> None:
    # The heading of the first section is taken out, so that its text stands in front of the others.
    old = handbook()
    if not own_text:
        old[2].text = []
    changed = copy.deepcopy(old)
    first = changed[2].children.pop(0)
    changed[2].text = [*changed[2].text, *first.text]

    before, after, result = compare(old, changed)

    assert_kept(before, after)
    ended = {entry.old_id: entry.into for entry in result.report.removed}
    assert ended == {before["c3s1"]: after["c3/introduction"]}


def test_carry_chapter_whose_opening_is_replaced_by_its_first_section_keeps_its_id() -> None:
    changed = handbook()
    first = changed[2].children.pop(0)
    changed[2].text = list(first.text)

    before, after, _ = compare(handbook(), changed)

    assert before["c3"] == after["c3"]
    assert before["c3s1"] not in after.values()


@pytest.mark.parametrize("key", ["c3", "c3s1", "c3s3", "c3s4"])
def test_carry_section_copied_right_behind_itself_keeps_its_id(key: str) -> None:
    changed = handbook()
    row = next(row for row in [changed, *(root.children for root in changed)] if any(s.key == key for s in row))
    place = next(place for place, section in enumerate(row) if section.key == key)
    twin = copy.deepcopy(row[place])
    for section in twin.walk():
        section.key = f"copy/{section.key}"
    row.insert(place + 1, twin)

    before, after, _ = compare(handbook(), changed)

    assert_kept(before, after)
    assert not {after[name] for name in after if name.startswith("copy/")} & set(before.values())
