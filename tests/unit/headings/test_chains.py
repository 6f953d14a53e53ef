from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.headings.chains import best_chain

_OPTIONS = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5).map(float)), max_size=3)


def test_best_chain_when_one_place_breaks_the_order_leaves_it_out() -> None:
    assert best_chain([[(1, 1.0)], [(9, 1.0)], [(3, 1.0)], [(5, 1.0)]]) == [0, None, 0, 0]


def test_best_chain_when_weights_differ_prefers_the_heavier() -> None:
    assert best_chain([[(2, 1.0), (7, 5.0)], [(3, 1.0)]]) == [1, None]


def test_best_chain_when_nothing_is_given_chooses_nothing() -> None:
    assert best_chain([[], []]) == [None, None]


@given(st.lists(_OPTIONS, max_size=5))
def test_best_chain_is_as_heavy_as_any_increasing_choice(places: list[list[tuple[int, float]]]) -> None:
    chosen = best_chain(places)
    taken = [places[i][c] for i, c in enumerate(chosen) if c is not None]
    positions = [position for position, _ in taken]
    assert positions == sorted(set(positions))
    best = 0.0
    for choice in product(*[[None, *options] for options in places]):
        kept = [option for option in choice if option is not None]
        if all(a[0] < b[0] for a, b in pairwise(kept)):
            best = max(best, sum(weight for _, weight in kept))
    assert sum(weight for _, weight in taken) == best
