import pytest
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


STATEMENT = [
    "Years ended December 31,",
    "(Millions) 2018 2017 2016",
    "Cash Flows from Investing Activities",
    "Purchases of property, plant and equipment (1,577) (1,373) (1,420)",
    "Proceeds from sale of businesses, net of cash sold",
    "846 1,065 142",
    "The amounts above do not hold what was paid for leases in any of the three years that are shown.",
    "Berths 12 15 17",
]


def test_iter_segments_gives_a_row_the_heads_of_its_columns() -> None:
    rows = {segment.text: segment.columns for segment in iter_segments(1, list(enumerate(STATEMENT))) if segment.is_row}
    assert rows == {
        STATEMENT[3]: f"{STATEMENT[0]} {STATEMENT[1]}",
        STATEMENT[5]: f"{STATEMENT[0]} {STATEMENT[1]}",
        STATEMENT[7]: "",  # a sentence of prose ends the table
    }


def test_iter_segments_marks_lines_that_only_label_a_table() -> None:
    labels = [segment.text for segment in iter_segments(1, list(enumerate(STATEMENT))) if segment.is_label]
    assert labels == [STATEMENT[0], STATEMENT[1], STATEMENT[2], STATEMENT[4]]


def test_iter_segments_of_markdown_keeps_rows_code_and_paragraphs_apart() -> None:
    lines = [
        "Build the index with the command below and then look at it",
        "",
        "```",
        "build ./manuals --index ./indexes",
        "tree contracts/acme.pdf --depth 2",
        "```",
        "",
        "| command | seconds |",
        "|---|---|",
        "| build, nothing changed | 1.6 |",
        "----",
        "The figures are medians.",
    ]
    segments = list(iter_segments(1, list(enumerate(lines))))
    assert [segment.text for segment in segments] == [lines[place] for place in (0, 3, 4, 7, 9, 11)]
    assert [segment.text for segment in segments if segment.is_code] == lines[3:5]
    assert [segment.columns for segment in segments if segment.is_row] == [lines[7]]


def test_iter_segments_takes_figures_within_a_sentence_for_no_row() -> None:
    lines = [
        "Receivables are shown less reserves for credit losses: 2022,",
        "$229; 2021, $64 and 2020, $51",
        "as a sum.",
    ]
    assert [segment.text for segment in iter_segments(1, list(enumerate(lines)))] == [" ".join(lines)]


def _columns(text: str) -> dict[str, str]:
    segments = iter_segments(1, list(enumerate(text.split("\n"))))
    return {segment.text: segment.columns for segment in segments if segment.is_row}


FEES = "| Name | Fee |\n|---|---|\n| Mooring | 45 |\n"


def test_iter_segments_of_markdown_gives_no_row_the_heads_of_a_table_that_ended() -> None:
    text = f"{FEES}\nSee below.\n\n| Port | Depth |\n| Kiel | 12 |\n\nTotal 20 30"
    assert _columns(text) == {"| Mooring | 45 |": "| Name | Fee |"} | dict.fromkeys(
        ["| Port | Depth |", "| Kiel | 12 |", "Total 20 30"], ""
    )


def test_iter_segments_of_markdown_takes_a_row_above_dashes_for_no_head_within_a_table() -> None:
    assert _columns(f"{FEES}| --- | --- |\n| Night | 12 |") == {
        "| Mooring | 45 |": "| Name | Fee |",
        "| Night | 12 |": "| Name | Fee |",
    }


@pytest.mark.parametrize("rule", ["|-|-:|", "|:--|:-:|", "--- | ---:", ":-|-:"])
def test_iter_segments_of_markdown_knows_every_form_of_a_table(rule: str) -> None:
    head, rows = "Name | Fee", ["Mooring | by the metre", "Night | 12"]
    if rule.startswith("|"):
        head, rows = f"| {head} |", [f"| {row} |" for row in rows]
    assert _columns("\n".join([head, rule, *rows])) == dict.fromkeys(rows, head)


def test_iter_segments_behind_a_blank_line_and_other_words_gives_rows_no_heads_of_the_table_before() -> None:
    text = "(Millions) 2018 2017\nNet sales 32,765 31,657\n\nRegion Stores Staff\nNorth 12 340"
    assert _columns(text) == {"Net sales 32,765 31,657": "(Millions) 2018 2017", "North 12 340": ""}


def test_iter_segments_behind_the_label_of_a_group_keeps_the_heads() -> None:
    text = "(Millions) 2018 2017\nNet sales 32,765 31,657\n\nOperating expenses:\nWages 12 340"
    assert _columns(text)["Wages 12 340"] == "(Millions) 2018 2017"


def test_iter_segments_behind_a_lone_sign_keeps_the_heads() -> None:
    text = "(Millions) 2018 2017\nNet sales 32,765 31,657\n$\nOperating expenses\nWages 12 340"
    assert _columns(text)["Wages 12 340"] == "(Millions) 2018 2017"


def test_iter_segments_of_markdown_behind_an_open_line_gives_rows_their_own_heads() -> None:
    text = f"{FEES}Of the depths of ports,\n| Port | Depth |\n|---|---|\n| Kiel | 12 |"
    assert _columns(text)["| Kiel | 12 |"] == "| Port | Depth |"
