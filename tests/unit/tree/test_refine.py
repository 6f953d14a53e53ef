import random
from itertools import pairwise

from pageindex_local.phrases import is_grounded
from pageindex_local.records import Heading, MediaType, NodeKind, Origin
from pageindex_local.tree.assemble import build_tree
from pageindex_local.tree.cuts import CutPlace, choose_cuts, estimate_tokens, paragraph_starts, text_tie
from pageindex_local.tree.text import span_text
from pageindex_local.tree.validate import validate_tree
from tests.unit.tree.printed import outline, print_pages, tree_settings

WORDS = ("river", "stone", "market", "window", "letter", "garden", "silver", "morning", "winter", "captain", "bottle")


def _prose(seed: int, lines: int) -> list[str]:
    choose = random.Random(seed)
    return [" ".join(choose.choice(WORDS) for _ in range(12)).capitalize() + "." for _ in range(lines)]


def test_split_long_leaf_keeps_every_part_within_limits() -> None:
    printed = print_pages(["# Novel"], *[_prose(page, 30) for page in range(90)])
    settings = tree_settings(max_pages_per_node=10)
    tree = build_tree(printed.document, printed.headings, settings)
    parts = [node for node in tree.walk() if node.kind is NodeKind.PART]
    assert len(parts) >= 9
    assert all(node.last_page - node.first_page < 10 for node in parts)
    assert {node.parent_id for node in parts} == {"d00001"}
    assert validate_tree(tree, printed.document.pages) == []


def test_split_short_leaf_is_left_alone() -> None:
    printed = print_pages(*[["# A", "text"] if page == 0 else ["text"] for page in range(20)])
    tree = build_tree(printed.document, printed.headings, tree_settings(max_pages_per_node=20))
    assert outline(tree) == [(1, "A", 1, 20)]


def test_split_by_tokens_keeps_parts_within_limit() -> None:
    printed = print_pages(["# Novel", *_prose(1, 400)])
    tree = build_tree(printed.document, printed.headings, tree_settings(max_tokens_per_node=1_000))
    text = [line.text for _, line in printed.document.lines()]
    for node in tree.leaves():
        assert sum(estimate_tokens(line) for line in text[slice(*node.span)]) <= 1_000
    assert len(list(tree.leaves())) >= 2


def test_split_at_candidate_heading_takes_its_title_and_evidence() -> None:
    pages = [_prose(page, 30) for page in range(12)]
    pages[6][0] = "The Second Voyage"
    printed = print_pages(["# Novel"], *pages)
    line = printed.document.pages[7].first_line
    candidate = Heading("The Second Voyage", 2, (line, line + 1), 8, Origin.LAYOUT, 0.4)
    settings = tree_settings(max_pages_per_node=8)
    tree = build_tree(printed.document, printed.headings, settings, candidates=[candidate])
    part = next(node for node in tree.walk() if node.title == "The Second Voyage")
    assert (part.kind, part.first_page, part.origin, part.confidence) == (NodeKind.PART, 8, Origin.LAYOUT, 0.4)
    assert part.heading == (line, line + 1)
    assert validate_tree(tree, printed.document.pages) == []


def test_split_introduction_keeps_it_first_and_adds_parts_behind_it() -> None:
    printed = print_pages(["# A"], *[_prose(page, 20) for page in range(9)], ["## B", "text"])
    tree = build_tree(printed.document, printed.headings, tree_settings(max_pages_per_node=5))
    kinds = [tree.nodes[child].kind for child in tree.nodes["d00001"].children]
    assert kinds[0] is NodeKind.INTRODUCTION
    assert kinds[1:-1] == [NodeKind.PART] * (len(kinds) - 2)
    assert len(kinds) >= 4
    assert kinds[-1] is NodeKind.SECTION
    assert validate_tree(tree, printed.document.pages) == []


def test_split_part_begins_with_the_running_head_of_its_page() -> None:
    printed = print_pages(*[["~ Manual", *_prose(page, 20)] for page in range(9)])
    tree = build_tree(printed.document, [], tree_settings(max_pages_per_node=3))
    starts = {page.first_line for page in printed.document.pages}
    assert all(node.span[0] in starts for node in tree.walk())


def test_split_after_an_early_edit_keeps_later_cuts() -> None:
    pages = [_prose(page, 30) for page in range(120)]
    before = print_pages(*pages)
    pages[2] = pages[2][:10] + ["A new paragraph was put in here."] * 7 + pages[2][10:]
    after = print_pages(*pages)
    settings = tree_settings(max_tokens_per_node=4_000, max_pages_per_node=1_000)
    first = [node.own_hash for node in build_tree(before.document, [], settings).walk()]
    second = [node.own_hash for node in build_tree(after.document, [], settings).walk()]
    assert len(first) >= 10
    assert len(set(first) - set(second)) <= 3


def test_split_titles_are_words_of_their_part() -> None:
    printed = print_pages(*[_prose(page, 30) for page in range(60)])
    tree = build_tree(printed.document, [], tree_settings())
    assert len(tree.nodes) > 2
    for node in tree.walk():
        assert is_grounded(node.title, span_text(printed.document, node.span))


def test_split_markdown_without_words_is_named_by_lines() -> None:
    printed = print_pages(["--"] * 4, media_type=MediaType.MARKDOWN)
    tree = build_tree(printed.document, [], tree_settings())
    assert outline(tree) == [(1, "Lines 1-4 <part>", 1, 1)]


def test_choose_cuts_prefers_rank_then_tie() -> None:
    places = [CutPlace(position, 0, position) for position in range(1, 100)]
    places[59] = CutPlace(60, 5, 0)
    assert choose_cuts([1] * 100, places, 80)[0] == 60


def test_choose_cuts_without_places_cuts_nothing() -> None:
    assert choose_cuts([50] * 10, [], 100) == []


def test_choose_cuts_oversized_item_is_cut_at_the_next_place() -> None:
    places = [CutPlace(position, 0, 0) for position in range(1, 4)]
    assert choose_cuts([500, 1, 500, 1], places, 100) == [1, 2, 3]


def test_choose_cuts_respects_pages() -> None:
    pages = [1, 1, 2, 2, 3, 3, 4, 4]
    places = [CutPlace(position, 0, text_tie(str(position))) for position in range(1, 8)]
    cuts = [0, *choose_cuts([1] * 8, places, 100, pages=pages, max_pages=2), 8]
    for start, end in pairwise(cuts):
        assert pages[end - 1] - pages[start] < 2


def test_find_paragraph_starts_skips_text_that_runs_on_over_a_page() -> None:
    printed = print_pages(["One ends.", "two runs", "~ 12"], ["~ head", "on here.", "Three."])
    starts = dict(paragraph_starts(printed.document.lines()))
    assert starts == {0: True, 1: True, 4: False, 5: True}
