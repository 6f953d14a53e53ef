from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.query.segments import iter_segments

PAGE = "The mooring fee is\n45 crowns a night. It is paid in ad-\nvance at the office.\nQuay  North  12  15\n"


def test_iter_segments_splits_sentences_and_keeps_table_rows_whole() -> None:
    lines = list(enumerate(PAGE.rstrip("\n").split("\n"), 7))
    segments = [(s.text, s.first_line, s.last_line) for s in iter_segments(2, lines)]
    assert segments == [
        ("The mooring fee is 45 crowns a night.", 7, 8),
        ("It is paid in ad- vance at the office.", 8, 9),
        ("Quay North 12 15", 10, 10),
    ]


@given(st.lists(st.text(alphabet="abcdef ,.1ABC", max_size=40), max_size=12))
def test_iter_segments_are_printed_on_their_lines(texts: list[str]) -> None:
    lines = list(enumerate(texts, 100))
    for segment in iter_segments(1, lines):
        printed = " ".join(" ".join(texts[segment.first_line - 100 : segment.last_line - 100 + 1]).split())
        assert segment.text in printed


STANDARD = [
    "3.7.4. /etc/opt : Configuration files for /opt",
    "3.7.4.1. Purpose",
    "Host-specific configuration files for add-on software packages must be kept in the directory for them, and the",
    "name of the subtree is chosen by the package.",
    "3.7.4.2. Requirements",
    "No structure is imposed on the internal arrangement of this directory, as far as this standard is concerned here.",
    "Rationale",
    "Refer to the rationale for the other directory, which says at length why all of this was thought to be needed.",
]


def test_iter_segments_leaves_out_what_looks_like_a_heading() -> None:
    texts = [segment.text for segment in iter_segments(1, list(enumerate(STANDARD)))]
    assert texts == [f"{STANDARD[2]} {STANDARD[3]}", STANDARD[5], STANDARD[7]]


def test_iter_segments_leaves_out_known_headings_whatever_they_look_like() -> None:
    lines = list(enumerate(["of boats and other things", "Boats are painted white in spring."]))
    assert [s.text for s in iter_segments(1, lines, headings={0})] == ["Boats are painted white in spring."]


def test_iter_segments_numbers_blocks_between_headings() -> None:
    assert [segment.block for segment in iter_segments(1, list(enumerate(STANDARD)))] == [2, 3, 4]


def test_iter_segments_marks_what_the_edges_of_the_page_cut() -> None:
    lines = list(enumerate(["and paid at the office.", "The crane lifts four tonnes.", "Its cable is looked at by"]))
    segments = list(iter_segments(1, lines, continues=True))
    assert [segment.is_whole for segment in segments] == [False, True, False]


def test_iter_segments_of_text_beside_a_wider_footnote_keeps_sentences_together() -> None:
    lines = [
        "Generally, all data required to support a package must be present within /opt/",
        "<package>, including files that are copied elsewhere when it is installed, as",
        "far as the administrator of the system does not decide otherwise for all of them.",
        "The minor restrictions are needed because conflicts are possible between packages",
        "that were installed by the distribution and others, especially for fixed paths.",
        "16 " + "If the home directory of the root account is not stored on the root partition " * 2 + "it must be.",
    ]
    segments = [segment.text for segment in iter_segments(1, list(enumerate(lines)))]
    assert segments == [" ".join(lines[:3]), " ".join(lines[3:5]), lines[5]]
