from typing import Any

from pageindex_local.parsing.page_labels import page_labels


def test_page_labels_with_roman_then_arabic_rules_count_within_each() -> None:
    rules = [
        {"startpage": 0, "prefix": "", "style": "r", "firstpagenum": 1},
        {"startpage": 4, "prefix": "", "style": "D", "firstpagenum": 1},
        {"startpage": 6, "prefix": "A-", "style": "D", "firstpagenum": 9},
        {"startpage": 7, "prefix": "", "style": "A", "firstpagenum": 26},
    ]
    assert page_labels(rules, 9) == ["i", "ii", "iii", "iv", "1", "2", "A-9", "Z", "AA"]


def test_page_labels_without_style_show_the_prefix_or_the_physical_number() -> None:
    rules = [{"startpage": 0, "prefix": "Cover", "style": ""}, {"startpage": 1, "prefix": "", "style": ""}]
    assert page_labels(rules, 3) == ["Cover", "2", "3"]


def test_page_labels_with_broken_rules_give_physical_numbers() -> None:
    rules: list[dict[str, Any]] = [{"startpage": "x"}, {"startpage": -3, "style": "D"}, {"startpage": 99, "style": "r"}]
    assert page_labels(rules, 2) == ["1", "2"]


def test_page_labels_with_hexadecimal_prefix_decode_it() -> None:
    assert page_labels([{"startpage": 0, "prefix": "<FEFF0058>", "style": "D", "firstpagenum": 3}], 1) == ["X3"]


def test_page_labels_of_a_hostile_length_stay_short() -> None:
    rules = [{"startpage": 0, "prefix": "x" * 5_000, "style": "a", "firstpagenum": 10**9}]
    assert len(page_labels(rules, 1)[0]) <= 40
