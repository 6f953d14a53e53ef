import pytest

from pageindex_local.evaluate.answers import matches_answer, read_quantities


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("$1,577.00", [1577.0]),
        ("a loss of (45) and -3.5", [-45.0, -3.5]),
        ("8.7 billion and 12 million", [8.7e9, 12e6]),
        ("$3m, €4bn, 5k", [3e6, 4e9, 5e3]),
        ("form 10K of Q4", [10e3]),
        ("none here", []),
    ],
)
def test_read_quantities_applies_scale_and_sign(text: str, values: list[float]) -> None:
    assert [quantity.value for quantity in read_quantities(text)] == values


@pytest.mark.parametrize(
    ("expected", "given", "is_match"),
    [
        ("$1577.00", "Purchases of property, plant and equipment (1,577) (1,373)", True),
        ("$8.70", "Property, plant and equipment, net 8,738 8,866", True),  # billions against a table in millions
        ("$8.70", "It was 9.70 billion", False),
        ("8.7 billion", "8.7 million", False),
        ("5.1%", "a ratio of 0.051", True),
        ("5.1%", "a ratio of 5.1 %", True),
        ("1.08", "the ratio is 1.8", False),
        (45, "Every vessel pays 45 crowns", True),
        ("2021", "In 2021 it was 7", True),
        ("7 in 2021", "It was 7.", True),
        ("Yes", "Yes, it does.", True),
        ("No", "Nothing says no.", False),
        ("northern quay", "Ropes on the Northern Quay are renewed.", True),
        ("northern quay", "The quay is northern.", False),
        ("The pilot boat answers on channel twelve at all hours of day", "pilot boat channel twelve hours day", True),
        ("The pilot boat answers on channel twelve at all hours of the day", "The boat is blue.", False),
        ("The yearly costs of the pilot boat amounted to $411 million.", "Total pilot boat charges $ 411 $ 247", True),
        ("The yearly costs of the pilot boat amounted to $411 million.", "Total pilot boat charges $ 247", False),
        ("The yearly costs of the pilot boat amounted to $411 million.", "Page 411 says nothing.", False),
        ("In 2021 the pilot boat was painted white by its own crew.", "It rained in 2021 near the boat.", False),
        ("45", "", False),
    ],
)  # fmt: skip
def test_matches_answer_by_value_or_words(expected: str | int, given: str, is_match: bool) -> None:
    assert matches_answer(expected, given) is is_match
