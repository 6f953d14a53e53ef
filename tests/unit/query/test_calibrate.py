import json
from pathlib import Path

import pytest

from pageindex_local.errors import CorruptIndexError
from pageindex_local.ids import sha256_hex
from pageindex_local.llm.base import ScoreRequest
from pageindex_local.llm.fakes import FunctionModel
from pageindex_local.query.calibrate import Case, choose_share, cross_validate, measure_model, try_shares
from pageindex_local.query.calibration import (
    calibration_name,
    choose_plan,
    find_measurement,
    list_measurements,
    read_calibration,
    write_calibration,
)
from pageindex_local.query.navigability import measure_navigability
from pageindex_local.query.strategies import Strategy
from pageindex_local.settings import read_settings
from pageindex_local.store.disk import LocalFiles
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import SEAL_SUFFIX, canonical_json, seal_bytes
from pageindex_local.store.verify import verify_index
from tests.sections import Section
from tests.unit.query.indexes import HARBOUR, ORCHARD, filler, publish

SETTINGS = read_settings().query


def helpful(request: ScoreRequest) -> float:
    """Finds a question likelier the more of its words the text before it holds."""
    words = request.continuation.split()
    return -3.0 + 2.5 * sum(word in request.prefix for word in words) / len(words)


def test_reciprocal_rank_of_a_case_follows_the_share_of_the_model() -> None:
    case = Case(right=1, fulltext=(1.0, 0.5, 0.2), model=(0.0, 1.0, 0.9))
    assert case.reciprocal_rank(0.0) == 1 / 2
    assert case.reciprocal_rank(1.0) == 1.0
    assert case.reciprocal_rank(0.1) == 1 / 2  # 0.9 for the wrong one, 0.55 for the right one


def test_choose_share_of_a_model_that_does_not_clearly_help_is_none() -> None:
    cases = [Case(right=0, fulltext=(1.0, 0.0), model=(1.0, 0.9))] * 20
    assert choose_share(try_shares(Strategy.FUSED, cases)).share == 0.0


def test_choose_share_of_a_model_that_is_right_where_full_text_is_not_is_the_least_that_does() -> None:
    cases = [Case(right=0, fulltext=(0.5, 0.6), model=(1.0, 0.0))] * 20
    assert choose_share(try_shares(Strategy.FUSED, cases)).share == 0.1  # 0.45 + 0.1 against 0.54
    assert cross_validate(cases) == 1.0


def test_measure_model_is_kept_with_the_release_and_followed(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    model = FunctionModel(lambda request: "", score_with=helpful)
    before = choose_plan(store, release, model, SETTINGS)
    measured = measure_model(store, release, model, SETTINGS, samples=10, seed=1)
    assert measured.samples == 10
    assert measured == measure_model(store, release, model, SETTINGS, samples=10, seed=1)
    write_calibration(store, release, measured)
    after = choose_plan(store, release, model, SETTINGS)
    assert "not measured" in before.reason
    assert "measured on release" in after.reason
    assert (after.section_share, after.page_share) == (measured.section_share, measured.page_share)
    assert verify_index(store).is_clean


def test_find_measurement_of_another_model_is_none(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    model = FunctionModel(lambda request: "", score_with=helpful)
    write_calibration(store, release, measure_model(store, release, model, SETTINGS, samples=5, seed=1))
    assert find_measurement(store, release, model.describe().fingerprint) is not None
    assert find_measurement(store, release, "another") is None


def test_choose_plan_says_that_what_was_measured_is_of_another_model(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    model = FunctionModel(lambda request: "", score_with=helpful)
    measured = measure_model(store, release, model, SETTINGS, samples=5, seed=1)
    other = measured.model_copy(update={"model_name": "elder", "model_fingerprint": "another"})
    write_calibration(store, release, other)
    assert f"release {release.name} is of another model, elder" in choose_plan(store, release, model, SETTINGS).reason
    write_calibration(store, release, measured)
    assert "another" not in choose_plan(store, release, model, SETTINGS).reason
    assert {(found.model_name, counts) for found, _, counts in list_measurements(store, release)} == {
        ("elder", True),
        (measured.model_name, True),
    }


def test_write_calibration_again_that_dies_halfway_leaves_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    model = FunctionModel(lambda request: "", score_with=helpful)
    measured = measure_model(store, release, model, SETTINGS, samples=5, seed=1)
    write_calibration(store, release, measured)
    replace = LocalFiles.replace_file

    def die_before_the_seal(files: LocalFiles, path: Path, data: bytes, expected: bytes | None) -> None:
        if path.name.endswith(SEAL_SUFFIX):
            raise KeyboardInterrupt
        replace(files, path, data, expected)

    other = measured.model_copy(update={"samples": 4})
    with monkeypatch.context() as dying:
        dying.setattr(LocalFiles, "replace_file", die_before_the_seal)
        with pytest.raises(KeyboardInterrupt):
            write_calibration(store, release, other)
    assert verify_index(store).is_clean
    assert read_calibration(store, release.name) is None
    write_calibration(store, release, measured)
    assert find_measurement(store, release, model.describe().fingerprint) == (measured, release.name)


def test_read_calibration_of_a_file_without_documents_counts_them_as_none(tmp_path: Path) -> None:
    """Files written before descriptions were measured go on counting."""
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    model = FunctionModel(lambda request: "", score_with=helpful)
    write_calibration(store, release, measure_model(store, release, model, SETTINGS, samples=5, seed=1))
    path = store.layout.search / calibration_name(release.name)
    values = json.loads(path.read_bytes())
    for name in ("document_share", "documents_tried"):
        del values["models"][0][name]
    data = canonical_json(values)
    path.write_bytes(data)
    path.with_name(path.name + SEAL_SUFFIX).write_bytes(seal_bytes(sha256_hex(data)))
    found = find_measurement(store, release, model.describe().fingerprint)
    assert found is not None
    assert found[0].document_share == 0


def test_find_measurement_of_an_ancestor_counts_while_most_documents_are_the_same(tmp_path: Path) -> None:
    many = {f"orchard-{number}.pdf": ORCHARD for number in range(5)}
    store, first = publish(tmp_path, many)
    model = FunctionModel(lambda request: "", score_with=helpful)
    write_calibration(store, first, measure_model(store, first, model, SETTINGS, samples=5, seed=1))
    fingerprint = model.describe().fingerprint
    changed = [Section("new", "New", ["A new sentence about plums and pears."])]
    store, second = publish(tmp_path, {"orchard-0.pdf": changed})
    found = find_measurement(store, second, fingerprint)
    assert found is not None
    assert found[1] == first.name
    store, third = publish(tmp_path, {"orchard-1.pdf": changed})
    assert find_measurement(store, third, fingerprint) is None


def test_find_measurement_reads_no_release(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    model = FunctionModel(lambda request: "", score_with=helpful)
    write_calibration(store, release, measure_model(store, release, model, SETTINGS, samples=5, seed=1))
    (store.layout.folder / "CURRENT").unlink()  # nothing that leads to other releases is needed
    again = IndexStore(tmp_path, "test", read_settings().store)
    assert find_measurement(again, release, model.describe().fingerprint) is not None


def test_read_calibration_of_a_damaged_file_is_an_error_and_never_followed(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    model = FunctionModel(lambda request: "", score_with=helpful)
    write_calibration(store, release, measure_model(store, release, model, SETTINGS, samples=5, seed=1))
    path = store.layout.search / calibration_name(release.name)
    path.write_bytes(path.read_bytes().replace(b'"seed": 1', b'"seed": 2'))
    with pytest.raises(CorruptIndexError):
        read_calibration(store, release.name)
    assert "not measured" in choose_plan(store, release, model, SETTINGS).reason
    assert not verify_index(store).is_clean


def test_measure_navigability_finds_sections_and_says_why_others_are_lost(tmp_path: Path) -> None:
    empty = [*ORCHARD, Section("void", "Cellar", []), Section("cider", "Cider", filler("cider"))]
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": empty})
    found = measure_navigability(store, release, SETTINGS, samples=6, seed=1)
    assert found.asked == {"sentence": 6, "heading": 3}
    assert found.found["sentence"] >= 5 / 6
    assert found.without_text == 1
    assert [section.reason for section in found.lost if section.title == "Cellar"] == ["no text of its own"]


def test_measure_navigability_of_a_repeated_text_names_its_twin(tmp_path: Path) -> None:
    """Equal chapters in four documents: each can be found in one of them at most."""
    text = [Section("bees", "Bees", ["Four hives stand at the southern hedge of the orchard."])]
    store, release = publish(tmp_path, {f"copy-{number}.pdf": text for number in range(4)})
    found = measure_navigability(store, release, SETTINGS, samples=4, seed=1)
    assert found.found["sentence"] < 1
    assert any("the same text stands in" in section.reason for section in found.lost)
