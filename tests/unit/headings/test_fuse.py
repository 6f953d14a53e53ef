from pageindex_local.headings import find_headings
from pageindex_local.headings.evidence import SourceResult, keys_alike, split_number, title_key, titles_alike
from pageindex_local.headings.fuse import Sources, fuse_sources
from pageindex_local.records import Heading, Origin, OutlineEntry
from pageindex_local.settings import TreeSettings, read_settings
from tests.unit.headings.page_builder import Text, body, contents_row, heading, make_document

NOTHING = SourceResult((), 0.0, "nothing")


def _settings(strategy: str = "auto") -> TreeSettings:
    return read_settings(overrides={"tree": {"strategy": strategy}}).tree


def _result(origin: Origin, confidence: float, *items: tuple[str, int, int]) -> SourceResult:
    """Headings as (title, level, page) on the first line of their page (ten lines a page)."""
    headings = tuple(
        Heading(title, level, (10 * (page - 1), 10 * (page - 1) + 1), page, origin, 0.9) for title, level, page in items
    )
    return SourceResult(headings, confidence, "test")


def _fuse(sources: Sources, pages: int = 10, strategy: str = "auto") -> list[tuple[str, int, Origin]]:
    document = make_document([body(10) for _ in range(pages)])
    fused = fuse_sources(document, sources, _settings(strategy))
    return [(h.title, h.level, h.origin) for h in fused.headings]


OUTLINE = _result(Origin.OUTLINE, 0.97, ("One", 1, 1), ("Two", 1, 5))
TOC = _result(Origin.TOC, 0.95, ("One", 1, 1), ("Two", 1, 5), ("Three", 1, 8))
LAYOUT = _result(Origin.LAYOUT, 0.7, ("One", 1, 1), ("One a", 2, 2), ("Two", 1, 5), ("Two a", 2, 6), ("Three", 1, 8))


def test_fuse_when_the_outline_holds_uses_it_alone() -> None:
    assert _fuse(Sources(OUTLINE, TOC, LAYOUT)) == [("One", 1, Origin.OUTLINE), ("Two", 1, Origin.OUTLINE)]


def test_fuse_when_the_outline_is_weak_prefers_good_contents() -> None:
    weak = SourceResult(OUTLINE.headings, 0.6, "test")
    assert [origin for _, _, origin in _fuse(Sources(weak, TOC, NOTHING))] == [Origin.TOC] * 3


def test_fuse_when_the_outline_agrees_nowhere_falls_back_to_layout() -> None:
    bad = SourceResult(OUTLINE.headings[:1], 0.1, "test")
    assert {origin for _, _, origin in _fuse(Sources(bad, NOTHING, LAYOUT))} == {Origin.LAYOUT}


def test_fuse_when_contents_are_misread_falls_back_to_layout() -> None:
    misread = SourceResult(TOC.headings, 0.3, "test")
    assert len(_fuse(Sources(NOTHING, misread, LAYOUT))) == len(LAYOUT.headings)


def test_fuse_when_contents_list_only_long_chapters_adds_sections_below_them() -> None:
    chapters = _result(Origin.TOC, 1.0, ("One", 1, 1), ("Two", 1, 21))
    layout = _result(
        Origin.LAYOUT, 0.8, ("One", 1, 1), ("Apples", 1, 4), ("Red", 2, 6), ("Two", 1, 21), ("Pears", 1, 30)
    )
    assert _fuse(Sources(NOTHING, chapters, layout), pages=40) == [
        ("One", 1, Origin.TOC),
        ("Apples", 2, Origin.LAYOUT),
        ("Red", 3, Origin.LAYOUT),
        ("Two", 1, Origin.TOC),
        ("Pears", 2, Origin.LAYOUT),
    ]


def test_fuse_when_contents_are_fine_adds_nothing_unnumbered() -> None:
    assert _fuse(Sources(NOTHING, TOC, LAYOUT)) == [(t, 1, Origin.TOC) for t in ("One", "Two", "Three")]


def test_fuse_when_restarting_numbers_go_on_below_a_long_section_adds_them() -> None:
    toc = _result(Origin.TOC, 1.0, ("I. One", 1, 1), ("II. Two", 1, 6), ("III. Three", 1, 9))
    layout = _result(Origin.LAYOUT, 0.8, ("A. Apples", 2, 2), ("Loose words", 2, 3), ("B. Pears", 2, 4))
    assert [title for title, _, _ in _fuse(Sources(NOTHING, toc, layout))] == [
        "I. One",
        "A. Apples",
        "B. Pears",
        "II. Two",
        "III. Three",
    ]


def test_fuse_when_dotted_numbers_are_deeper_than_the_contents_leaves_them_out() -> None:
    toc = _result(Origin.TOC, 1.0, ("1 One", 1, 1), ("1.1 In", 2, 2), ("2 Two", 1, 7), ("2.1 In", 2, 8))
    layout = _result(Origin.LAYOUT, 0.8, ("1.1.1 Apples", 3, 3), ("1.1.2 Pears", 3, 4))
    assert len(_fuse(Sources(NOTHING, toc, layout))) == 4


def test_fuse_when_contents_skip_numbers_of_a_depth_they_list_elsewhere_takes_them_from_layout() -> None:
    toc = _result(
        *(Origin.TOC, 1.0),
        *(("1 One", 1, 1), ("1.1 In", 2, 2), ("2 Two", 1, 4), ("3 Three", 1, 8), ("3.1 In", 2, 9)),
    )
    layout = _result(
        Origin.LAYOUT, 0.8, ("2.1 Apples", 2, 5), ("2.2 Pears", 2, 6), ("2.2.1 Red", 3, 6), ("Loose", 2, 7)
    )
    found = _fuse(Sources(NOTHING, toc, layout))
    assert [(title, level) for title, level, _ in found][3:5] == [("2.1 Apples", 2), ("2.2 Pears", 2)]
    assert len(found) == 7


def test_fuse_when_contents_are_those_of_one_part_takes_layout() -> None:
    toc = _result(Origin.TOC, 1.0, ("Ash", 1, 7), ("Bay", 1, 7), ("Cob", 1, 8))
    layout = _result(Origin.LAYOUT, 0.8, *((f"Section {n}", 1, n) for n in range(1, 11)))
    assert {origin for _, _, origin in _fuse(Sources(NOTHING, toc, layout))} == {Origin.LAYOUT}
    # The same list before all sections is the document's own.
    first = _result(Origin.TOC, 1.0, ("Ash", 1, 1), ("Bay", 1, 1), ("Cob", 1, 2))
    assert {origin for _, _, origin in _fuse(Sources(NOTHING, first, layout))} == {Origin.TOC}


def test_fuse_when_one_source_is_asked_for_uses_only_that() -> None:
    assert {o for _, _, o in _fuse(Sources(OUTLINE, TOC, LAYOUT), strategy="layout")} == {Origin.LAYOUT}
    assert {o for _, _, o in _fuse(Sources(OUTLINE, TOC, LAYOUT), strategy="toc")} == {Origin.TOC}
    assert _fuse(Sources(NOTHING, TOC, LAYOUT), strategy="outline") == []


def test_fuse_reports_every_source_with_a_reason() -> None:
    document = make_document([body(10) for _ in range(10)])
    fused = fuse_sources(document, Sources(OUTLINE, TOC, LAYOUT), _settings())
    assert [(report.name, report.count, report.used) for report in fused.sources] == [
        ("outline", 2, 2),
        ("toc", 3, 0),
        ("layout", 5, 0),
    ]
    assert all(report.reason for report in fused.sources)


def test_fuse_candidates_hold_every_heading_in_document_order() -> None:
    document = make_document([body(10) for _ in range(10)])
    fused = fuse_sources(document, Sources(OUTLINE, NOTHING, LAYOUT), _settings())
    lines = [candidate.span[0] for candidate in fused.candidates]
    assert lines == sorted({h.span[0] for h in (*OUTLINE.headings, *LAYOUT.headings)})


def test_fuse_when_nothing_is_found_asks_for_the_model() -> None:
    document = make_document([body(10) for _ in range(3)])
    fused = fuse_sources(document, Sources(NOTHING, NOTHING, NOTHING), _settings())
    assert fused.headings == ()
    assert fused.needs_model == ((0, 30),)


def test_find_headings_prefers_outline_then_contents_of_one_document() -> None:
    chapters = ["Scope", "Terms", "Duties", "Payments"]
    pages: list[list[Text]] = [
        [heading("Contents"), *(contents_row(f"{n} {t}", str(n)) for n, t in enumerate(chapters, 1))],
        *([heading(f"{n} {t}"), *body(20)] for n, t in enumerate(chapters, 1)),
    ]
    outline = [OutlineEntry(1, t, n + 1) for n, t in enumerate(chapters, 1)]
    with_outline = find_headings(make_document(pages, outline), _settings())
    assert [(h.page_number, h.origin) for h in with_outline.headings] == [(n, Origin.OUTLINE) for n in range(2, 6)]
    without = find_headings(make_document(pages), _settings())
    assert [(h.page_number, h.origin) for h in without.headings] == [(n, Origin.TOC) for n in range(2, 6)]


def test_find_headings_when_pages_show_no_headings_takes_the_outline_unchecked() -> None:
    outline = [OutlineEntry(1, "Overview", n) for n in range(1, 5)] + [OutlineEntry(1, "Gone", 0)]
    found = find_headings(make_document([body() for _ in range(4)], outline), _settings()).headings
    assert [(h.title, h.page_number, h.confidence) for h in found] == [("Overview", n, 0.3) for n in range(1, 5)]


def test_title_keys_ignore_numbers_case_ligatures_and_soft_hyphens() -> None:
    assert title_key("2.1 Deﬁni\u00adtions") == title_key("DEFINITIONS")
    assert split_number("Chapter 3. Uses") == ("Chapter 3.", "Uses")


def test_titles_alike_forgives_few_characters_only() -> None:
    assert titles_alike("3 Equity Secutities", "Equity Securities")
    assert not titles_alike("Revenue", "Expenses")
    assert not keys_alike("", "")
