from itertools import pairwise
from pathlib import Path

import pytest

from pageindex_local.query import retrieve
from pageindex_local.query.confidence import ENOUGH, needed_share, weigh_share
from pageindex_local.settings import read_settings
from tests.sections import Section
from tests.unit.query.indexes import filler, publish

SETTINGS = read_settings().query


def test_needed_share_falls_with_the_length_and_stays_in_bounds() -> None:
    shares = [needed_share(words) for words in range(1, 60)]
    assert all(later <= earlier for earlier, later in pairwise(shares))
    assert 3 / 5 >= shares[0] > shares[11] > 0.4 >= shares[-1]


@pytest.mark.parametrize("words", [1, 3, 8, 30])
def test_weigh_share_is_enough_at_the_needed_share_and_grows_to_one(words: int) -> None:
    needed = needed_share(words)
    assert weigh_share(needed, words) == pytest.approx(ENOUGH)
    assert weigh_share(0.0, words) == 0.0
    assert weigh_share(1.0, words) == 1.0
    assert weigh_share(needed - 0.01, words) < ENOUGH < weigh_share(needed + 0.01, words)


@pytest.mark.parametrize(
    ("question", "abstains"),
    [
        ("lantern oil", False),
        ("lantern oil price", False),  # two of three
        ("lantern whale price", True),  # one of three
        ("lantern oil whale price merchant", True),  # two of five
        ("lantern oil burns whale merchant", False),  # three of five
        ("which lantern oil burns long and bright at sea in storms", False),
    ],
)
def test_retrieve_abstains_by_share_and_length(tmp_path: Path, question: str, abstains: bool) -> None:
    page = ["The lantern oil burns long and bright at sea.", *filler("keeper")]
    store, _ = publish(tmp_path, {"lights.pdf": [Section("a", "Lights", page)]})
    assert retrieve(question, store, settings=SETTINGS).abstained is abstains


def test_retrieve_with_a_quoted_word_counts_it_once(tmp_path: Path) -> None:
    page = ["The lantern oil burns long and bright at sea.", *filler("keeper")]
    store, _ = publish(tmp_path, {"lights.pdf": [Section("a", "Lights", page)]})
    plain = retrieve("lantern whale price", store, settings=SETTINGS).evidence
    assert retrieve('"lantern" whale price', store, settings=SETTINGS).evidence == plain < ENOUGH


@pytest.mark.parametrize(
    ("question", "abstains"),
    [
        ("How Long Does The Lantern Oil Burn At Sea?", False),
        ("HOW LONG DOES THE LANTERN OIL BURN AT SEA?", False),
        ("How long does the lantern oil of Gringotts burn at sea?", True),
    ],
)
def test_retrieve_takes_no_name_from_a_question_written_like_a_title(
    tmp_path: Path, question: str, abstains: bool
) -> None:
    page = ["The lantern oil burns long and bright at sea.", *filler("keeper")]
    store, _ = publish(tmp_path, {"lights.pdf": [Section("a", "Lights", page)]})
    assert retrieve(question, store, settings=SETTINGS).abstained is abstains
