import random
from dataclasses import replace
from itertools import pairwise

from pageindex_local.candidates import Role
from pageindex_local.chunking import Chunk, cut_chunks
from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.llm.fakes import count_word_pieces
from pageindex_local.phrases import is_grounded
from pageindex_local.records import Heading, Origin, Page, ParsedDocument
from pageindex_local.tree.text import span_text
from tests.unit.tree.printed import Printed, print_pages, tree_settings

WORDS = ("river", "stone", "market", "window", "letter", "garden", "silver", "morning", "winter", "captain", "bottle")


def _sentence(choose: random.Random, words: int = 12) -> str:
    return " ".join(choose.choice(WORDS) for _ in range(words)).capitalize() + "."


def _manual(pages: int, seed: int = 1) -> Printed:
    choose = random.Random(seed)
    return print_pages(
        *[[f"# {_sentence(choose, 4)}", *(_sentence(choose) for _ in range(8))] * 2 for _ in range(pages)]
    )


def _transcript(sentences: int) -> Printed:
    choose = random.Random(2)
    return print_pages(*[[_sentence(choose) for _ in range(40)] for _ in range(sentences // 40)])


def _evidence(printed: Printed, needs_model: tuple[tuple[int, int], ...] = ()) -> HeadingEvidence:
    return HeadingEvidence(printed.headings, printed.headings, (), needs_model)


def _tiles(chunks: tuple[Chunk, ...], printed: Printed) -> bool:
    spans = [chunk.span for chunk in chunks]
    joined = all(first[1] == second[0] for first, second in pairwise(spans))
    return joined and spans[0][0] == 0 and spans[-1][1] == printed.document.line_count


def test_cut_chunks_tile_the_document_and_hold_every_heading_once() -> None:
    printed = _manual(120)
    chunks = cut_chunks(printed.document, _evidence(printed), count_word_pieces, tree_settings(strategy="model"))
    assert len(chunks) > 3
    assert _tiles(chunks, printed)
    assert [heading for chunk in chunks for heading in chunk.headings] == list(printed.headings)
    asked = [c.heading for chunk in chunks for c in chunk.candidates if c.role is not Role.PLAIN_TEXT]
    assert asked == list(printed.headings)


def test_cut_chunks_keep_within_both_limits() -> None:
    printed = _manual(120)
    for tokens, count in ((300, 40), (5_000, 7)):
        settings = tree_settings(strategy="model", chunk_tokens=tokens, chunk_candidates=count)
        chunks = cut_chunks(printed.document, _evidence(printed), count_word_pieces, settings)
        for chunk in chunks:
            assert sum(candidate.role is Role.OPEN for candidate in chunk.candidates) <= count
            assert sum(count_word_pieces(candidate.entry) for candidate in chunk.candidates) <= tokens


def test_cut_chunks_after_an_early_edit_keep_later_ids() -> None:
    choose = random.Random(3)
    pages = [[f"# {_sentence(choose, 4)}", *(_sentence(choose) for _ in range(8))] * 2 for _ in range(300)]
    before = print_pages(*pages)
    pages[2] = [*pages[2], "# A new section", "New text."]
    after = print_pages(*pages)
    settings = tree_settings(strategy="model")
    first, second = (
        {chunk.chunk_id for chunk in cut_chunks(printed.document, _evidence(printed), count_word_pieces, settings)}
        for printed in (before, after)
    )
    assert len(first) > 10
    assert len(first - second) <= 3


def test_cut_chunks_of_equal_text_have_different_ids() -> None:
    page = ["# Same", "text", "# Same", "text"]
    printed = print_pages(*[page] * 40)
    settings = tree_settings(strategy="model", chunk_candidates=2)
    chunks = cut_chunks(printed.document, _evidence(printed), len, settings)
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks) > 10


def test_cut_chunks_offers_candidates_by_strategy() -> None:
    printed = print_pages(["# A", "text", "# B", "text"])
    evidence = _evidence(printed, needs_model=((2, 4),))
    offered = {
        strategy: [
            candidate.heading.title
            for chunk in cut_chunks(printed.document, evidence, len, tree_settings(strategy=strategy))
            for candidate in chunk.candidates
        ]
        for strategy in ("auto", "outline", "toc", "layout", "model")
    }
    assert offered == {"auto": ["B"], "outline": [], "toc": [], "layout": [], "model": ["A", "B"]}


def test_cut_chunks_counts_tokens_with_the_model_only_where_it_will_be_asked() -> None:
    def refuse(text: str) -> int:
        raise AssertionError("the model was opened")

    printed = _manual(10)
    evidence = _evidence(printed, needs_model=((0, 50),))
    assert cut_chunks(printed.document, evidence, refuse, tree_settings(strategy="auto"))


def test_cut_chunks_of_narrative_ask_about_passages_with_grounded_titles() -> None:
    printed = _transcript(4_000)
    evidence = HeadingEvidence((), (), (), ((0, printed.document.line_count),))
    chunks = cut_chunks(printed.document, evidence, len, tree_settings(strategy="auto"))
    candidates = [candidate for chunk in chunks for candidate in chunk.candidates]
    starts = [candidate.heading.span[0] for candidate in candidates]
    assert all(chunk.is_narrative for chunk in chunks)
    assert len(candidates) > 15
    for candidate, (start, end) in zip(candidates, pairwise([*starts, printed.document.line_count]), strict=True):
        text = span_text(printed.document, (start, end))
        own = [title for title in candidate.titles if title != candidate.decoy]
        assert candidate.heading.title in own
        assert all(is_grounded(title, text) for title in own)
    assert _tiles(chunks, printed)


def test_cut_chunks_ask_one_kind_of_question_each() -> None:
    story = [_sentence(random.Random(number), 40) for number in range(900)]
    printed = print_pages(
        ["# 1 One", "text", "# 2 Two"], *[story[at : at + 30] for at in range(0, 900, 30)], ["# 3 Three"]
    )
    evidence = HeadingEvidence(printed.headings, printed.headings, ())
    chunks = cut_chunks(printed.document, evidence, len, tree_settings(strategy="model", chunk_tokens=100_000))
    kinds = [chunk.is_narrative for chunk in chunks]
    assert kinds == [False, True, False]
    assert {candidate.heading.level for candidate in chunks[1].candidates} == {2}
    assert _tiles(chunks, printed)


def test_cut_chunks_show_settled_headings_beside_questions_only() -> None:
    printed = print_pages(*[[f"# {number} Title", "text"] for number in range(1, 30)], ["Doubtful", "text"])
    listed = [replace(heading, origin=Origin.TOC, confidence=1.0) for heading in printed.headings]
    doubtful = Heading("Doubtful", 2, (58, 59), 30, Origin.LAYOUT, 0.4)
    evidence = HeadingEvidence(tuple(listed), (*listed, doubtful), ())
    (chunk,) = cut_chunks(printed.document, evidence, len, tree_settings(strategy="model"))
    assert [candidate.heading.title for candidate in chunk.shown] == ["28 Title", "29 Title", "Doubtful"]
    assert chunk.headings == tuple(listed)


def test_cut_chunks_leave_lines_out_that_typography_speaks_against() -> None:
    printed = print_pages(["# A", "text", "of no rank", "text"])
    weak = Heading("of no rank", 3, (2, 3), 1, Origin.LAYOUT, 0.1)
    for needs_model, shown in (((), ["A"]), (((1, 4),), ["A", "of no rank"])):
        evidence = HeadingEvidence(printed.headings, (*printed.headings, weak), (), needs_model)
        (chunk,) = cut_chunks(printed.document, evidence, len, tree_settings(strategy="model"))
        assert [candidate.heading.title for candidate in chunk.candidates] == shown


def test_cut_chunks_of_short_text_without_headings_offer_nothing() -> None:
    printed = _transcript(80)
    evidence = HeadingEvidence((), (), (), ((0, printed.document.line_count),))
    (chunk,) = cut_chunks(printed.document, evidence, len, tree_settings(strategy="auto"))
    assert chunk.candidates == ()


def test_cut_chunks_of_pages_without_lines_keep_their_headings() -> None:
    source = print_pages(["x"]).document.source
    document = ParsedDocument(source, tuple(Page(number, str(number), 0, ()) for number in range(1, 4)))
    headings = tuple(Heading("Blank", 1, (0, 0), number, Origin.OUTLINE, 1.0) for number in range(1, 4))
    (chunk,) = cut_chunks(document, HeadingEvidence(headings, headings, ()), len, tree_settings())
    assert (chunk.span, chunk.headings) == ((0, 0), headings)


def test_cut_chunks_heading_behind_the_last_line_is_in_the_last_chunk() -> None:
    printed = _manual(60)
    end = Heading("Colophon", 1, (printed.document.line_count,) * 2, 60, Origin.OUTLINE, 0.9)
    evidence = HeadingEvidence((*printed.headings, end), printed.headings, ())
    chunks = cut_chunks(printed.document, evidence, len, tree_settings(strategy="auto"))
    assert chunks[-1].headings[-1] == end
