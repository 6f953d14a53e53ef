"""Names and hashes: what counts for identity and what does not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageindex_local import ids


@given(st.text(min_size=1))
def test_make_doc_key_of_any_name_is_safe_as_a_folder_and_partition(doc_id: str) -> None:
    assert re.fullmatch(ids.DOC_KEY_PATTERN, ids.make_doc_key(doc_id))


def test_make_doc_key_of_names_that_slug_alike_differs() -> None:
    assert ids.make_doc_key("a/b.pdf") != ids.make_doc_key("a-b.pdf")


@given(st.lists(st.text(), max_size=4), st.integers(0, 9))
def test_mint_node_id_is_deterministic_and_well_formed(path: list[str], occurrence: int) -> None:
    minted = ids.mint_node_id("doc", "v000001", path, occurrence)
    assert re.fullmatch(ids.NODE_ID_PATTERN, minted)
    assert minted == ids.mint_node_id("doc", "v000001", path, occurrence)
    assert minted != ids.mint_node_id("doc", "v000001", path, occurrence + 1)


def test_hash_parts_frames_its_parts() -> None:
    assert ids.hash_parts(["ab", "c"]) != ids.hash_parts(["a", "bc"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3.2 Scope", "3.3 Scope"),
        ("3.2. Scope", "Scope"),
        ("Chapter 4 Scope", "Scope"),
        ("A.1 Scope", "B.2 Scope"),
        ("IV. Scope", "V. Scope"),
        ("SCOPE", "Scope"),
        ("Sco\u00adpe", "Scope"),
        ("The  scope", "The scope"),
        ("e\ufb03cient", "efficient"),
    ],
)
def test_normalise_title_ignores_numbers_case_and_typography(one: str, other: str) -> None:
    assert ids.normalise_title(one) == ids.normalise_title(other)


@pytest.mark.parametrize(
    ("one", "other"), [("2021 results", "2022 outlook"), ("A plan", "B plan"), ("Civil law", "Vivil law"), ("4", "5")]
)
def test_normalise_title_keeps_what_tells_titles_apart(one: str, other: str) -> None:
    assert ids.normalise_title(one) != ids.normalise_title(other)


def test_subtree_hash_depends_on_order_and_content_of_children() -> None:
    own = ids.own_hash("T", "text")
    assert len({ids.subtree_hash(own, kids) for kids in (["a", "b"], ["b", "a"], ["a"], [])}) == 4
