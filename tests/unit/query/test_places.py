from pathlib import Path

from pageindex_local.query.places import drop_words, sample_headings, sample_sentences
from pageindex_local.store.reader import StoredVersion
from tests.sections import Section
from tests.unit.query.indexes import HARBOUR, ORCHARD, filler, publish


def versions_of(tmp_path: Path, documents: dict[str, list[Section]]) -> list[StoredVersion]:
    store, release = publish(tmp_path, documents)
    return [store.open_document(release, doc_key) for doc_key in release.documents]


def test_drop_words_leaves_out_every_third_word() -> None:
    assert drop_words("one two three four five six seven") == "one two four five seven"


def test_drop_words_of_a_text_without_spaces_leaves_out_characters() -> None:
    assert drop_words("港湾規則集成") == "港湾則集"


def test_sample_sentences_stand_in_their_own_leaf_and_repeat_with_the_seed(tmp_path: Path) -> None:
    versions = versions_of(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    places = sample_sentences(versions, 12, seed=3)
    assert len(places) == 12
    texts = {version.doc_key: version for version in versions}
    for place in places:
        version = texts[place.doc_key]
        node = version.tree().nodes[place.node_id]
        assert not node.children
        assert place.source in " ".join(version.own_text(node).split())
        assert place.question == drop_words(place.source)
    assert places == sample_sentences(versions, 12, seed=3)
    assert places != sample_sentences(versions, 12, seed=4)
    assert {place.doc_id for place in places[:2]} == {"harbour.pdf", "orchard.pdf"}


def test_sample_sentences_leaves_out_what_two_sections_say(tmp_path: Path) -> None:
    twice = "The harbour master keeps the keys of both gates."
    sections = [Section("a", "Gates", [twice, *filler("gate", 2)]), Section("b", "Keys", [twice, *filler("key", 2)])]
    sources = {place.source for place in sample_sentences(versions_of(tmp_path, {"gates.pdf": sections}), 50, seed=1)}
    assert sources
    assert twice not in sources


def test_sample_headings_leaves_out_paths_that_lead_to_two_sections(tmp_path: Path) -> None:
    sections = [
        Section("a", "Lamps", [], [Section("a1", "White", filler("white")), Section("a2", "White", filler("other"))]),
        Section("b", "Ropes", [], [Section("b1", "Northern", filler("rope"))]),
    ]
    places = sample_headings(versions_of(tmp_path, {"gear.pdf": sections}), 10, seed=1)
    assert [place.question for place in places] == ["Ropes Northern"]
