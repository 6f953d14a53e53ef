"""Builds under strategy `model`: what a model may do to a tree, and what it cannot."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pageindex_local.build import BuildJob, build_document
from pageindex_local.errors import ModelError
from pageindex_local.llm.base import GenerationRequest, TextModel
from pageindex_local.llm.fakes import Fault, FaultyModel, FunctionModel
from pageindex_local.llm.gbnf import parse_grammar
from pageindex_local.llm.lazy import LazyModel
from pageindex_local.parsing.sources import read_source
from pageindex_local.phrases import is_grounded
from pageindex_local.records import NodeKind, Origin
from pageindex_local.settings import Settings, read_settings
from pageindex_local.store.records import VersionDraft
from pageindex_local.tree.text import span_text
from pageindex_local.tree.validate import validate_tree

SUBJECTS = {
    "harbour crane": ("rope", "driver", "quay", "load", "wind", "hook", "ton", "spring"),
    "salt tax": ("barrel", "king", "scale", "crown", "merchant", "ledger", "seal", "guard"),
    "night watch": ("lantern", "bell", "gate", "hour", "street", "captain", "dog", "key"),
    "tide table": ("moon", "depth", "pilot", "chart", "ebb", "sand", "mark", "mouth"),
}
LINKS = ("was seen by", "stood beside", "came before", "belongs to", "weighed more than", "went under", "kept")


def story_text(paragraphs: int, seed: int = 1) -> list[str]:
    """Paragraphs without any heading, a quarter of them in turn about each subject."""
    choose = random.Random(seed)
    found = []
    for number in range(paragraphs):
        subject, words = list(SUBJECTS.items())[number * len(SUBJECTS) // paragraphs]
        sentences = [
            f"The {choose.choice(words)} {choose.choice(LINKS)} the {choose.choice((subject, choose.choice(words)))}."
            for _ in range(12)
        ]
        found.append(" ".join(sentences))
    return found


def numbered_text(sections: int) -> str:
    """A text with numbered headings that stand alone; layout evidence, so that a model is asked about each."""
    choose = random.Random(3)
    parts = []
    for number in range(1, sections + 1):
        sentences = [f"the {choose.choice(SUBJECTS['salt tax'])} was taxed twice in that year," for _ in range(5)]
        parts.append(f"{number}. Of Barrel {number}\n\nIn the beginning\n" + "\n".join(sentences) + "\n")
    return "\n".join(parts)


@pytest.fixture
def settings() -> Settings:
    return read_settings(None, {"tree": {"strategy": "model"}, "summary": {"mode": "extractive"}})


def _build(tmp_path: Path, text: str, settings: Settings, model: TextModel) -> VersionDraft:
    path = tmp_path / "story.txt"
    path.write_text(text, encoding="utf-8")
    source = read_source("story.txt", path, settings.parse)
    lazy = LazyModel(lambda: model, identity="stand-in", cache_file=tmp_path / f"{id(model)}.sqlite")
    try:
        draft = build_document(BuildJob(source, "v000001"), None, lazy, settings)
    finally:
        lazy.close()
    assert validate_tree(draft.tree, draft.document.pages) == []
    return draft


def _shortest(request: GenerationRequest) -> str:
    return parse_grammar(request.grammar or "").shortest()


def _first_titles(request: GenerationRequest) -> str:
    """Names every passage under the title shown first, whatever it is."""
    count = sum(line[:1].isdigit() for line in request.user.splitlines())
    return "\n".join(f"{number}:1" for number in range(1, count + 1))


@pytest.mark.parametrize("fault", [Fault.BAD_JSON, Fault.CUT, Fault.LOOP, Fault.EMPTY])
def test_build_with_a_model_that_always_fails_has_the_evidence_and_warns(
    tmp_path: Path, settings: Settings, fault: Fault
) -> None:
    text = numbered_text(60)
    by_evidence = _build(tmp_path, text, _with_strategy("layout"), FunctionModel(_shortest))
    faulty = FaultyModel(FunctionModel(_shortest), dict.fromkeys(range(1_000), fault))
    draft = _build(tmp_path, text, settings, faulty)
    titles = [node.title for node in draft.tree.walk()]
    assert titles == [node.title for node in by_evidence.tree.walk()]
    assert sum(title.endswith(tuple("0123456789")) for title in titles) == 60
    assert 0 < faulty.requests_seen <= settings.tree.attempts * 60
    (warning,) = [text for text in draft.warnings if "headings come from the evidence alone" in text]
    assert "could not be used" in warning


def test_build_with_one_bad_answer_asks_again_and_warns_of_nothing(tmp_path: Path, settings: Settings) -> None:
    def careful(request: GenerationRequest) -> str:
        lines = [line for line in request.user.splitlines() if line[:1].isdigit()]
        return "\n".join(f"{n}:1" for n, line in enumerate(lines, 1) if "Of Barrel" in line)

    faulty = FaultyModel(FunctionModel(careful), {0: Fault.BAD_JSON})
    draft = _build(tmp_path, numbered_text(60), settings, faulty)
    assert draft.warnings == ()
    assert sum(node.title.split(".")[0].isdigit() for node in draft.tree.walk()) == 60


def test_build_with_a_dead_engine_fails(tmp_path: Path, settings: Settings) -> None:
    faulty = FaultyModel(FunctionModel(_shortest), {0: Fault.RAISE})
    with pytest.raises(ModelError):
        _build(tmp_path, numbered_text(20), settings, faulty)


def test_build_of_narrative_has_passages_under_titles_the_model_chose(tmp_path: Path, settings: Settings) -> None:
    """A model that knows which subject a passage is about, and says where a new one begins."""

    def reader(request: GenerationRequest) -> str:
        assert request.purpose == "passages"
        picks, last, number = [], "", 0
        for block in request.user.split("\n"):
            if block[:1].isdigit():
                number += 1
                titles: list[str] = []
                beginning = block
            else:
                titles.append(block.strip().partition(" ")[2])
                place = len(titles)
                subject = _subject(beginning)
                if _subject(titles[-1]) == subject != last:
                    picks.append((number, place))
                    last = subject
        return "\n".join(f"{number}:{place}" for number, place in picks) or "none"

    model = FunctionModel(reader, strength="capable")
    draft = _build(tmp_path, "\n\n".join(story_text(240)), settings, model)
    chosen = [node for node in draft.tree.walk() if node.origin is Origin.MODEL]
    assert [_subject(node.title) for node in chosen] == list(SUBJECTS)
    assert draft.warnings == ()


def _subject(text: str) -> str:
    """The subject whose words a text has most of."""
    words = text.casefold().replace(".", " ").replace(",", " ").split()
    return max(SUBJECTS, key=lambda subject: sum(words.count(word) for word in (*SUBJECTS[subject], *subject.split())))


@pytest.mark.parametrize("answer", [_shortest, _first_titles])
def test_build_of_narrative_has_grounded_titles_whatever_the_model_says(
    tmp_path: Path, settings: Settings, answer: Callable[[GenerationRequest], str]
) -> None:
    draft = _build(tmp_path, "\n\n".join(story_text(240)), settings, FunctionModel(answer))
    nodes = list(draft.tree.walk())
    assert len(nodes) >= 3
    for node in nodes:
        assert is_grounded(node.title, span_text(draft.document, node.span))
        assert node.heading[0] == node.heading[1]  # no line of the text is taken for a heading and lost


def test_build_of_narrative_by_a_guesser_keeps_passages_and_says_why(tmp_path: Path, settings: Settings) -> None:
    draft = _build(tmp_path, "\n\n".join(story_text(240)), settings, FunctionModel(_first_titles))
    assert {node.kind for node in draft.tree.walk()} == {NodeKind.PART}
    assert len(draft.tree.nodes) >= 8
    assert any("titles of other passages" in warning for warning in draft.warnings)


def test_build_of_narrative_after_an_edit_keeps_other_titles_and_ids(tmp_path: Path, settings: Settings) -> None:
    story = story_text(400)
    before = _build(tmp_path, "\n\n".join(story), settings, FunctionModel(_first_titles))
    story[3] += " Nobody had oiled the crane for years, and its driver said so every day of that spring."
    after = _build(tmp_path, "\n\n".join(story), settings, FunctionModel(_first_titles))
    first = {(node.title, node.own_hash) for node in before.tree.walk()}
    second = {(node.title, node.own_hash) for node in after.tree.walk()}
    assert len(first) > 12
    assert len(first - second) <= 3


def test_build_auto_asks_a_capable_model_about_narrative_and_a_small_one_never(tmp_path: Path) -> None:
    text = "\n\n".join(story_text(240))
    capable = FunctionModel(_shortest, strength="capable")
    small = FunctionModel(_shortest, strength="small")
    _build(tmp_path, text, _with_strategy("auto"), capable)
    flat = _build(tmp_path, text, _with_strategy("auto"), small)
    assert {request.purpose for request in capable.history} == {"passages"}
    assert small.history == []
    assert len(flat.tree.roots) == len(flat.tree.nodes) > 1
    assert all(is_grounded(node.title, span_text(flat.document, node.span)) for node in flat.tree.walk())
    assert [_subject(node.title) for node in flat.tree.walk()][:: len(flat.tree.nodes) - 1] == [
        "harbour crane",
        "tide table",
    ]


def test_build_of_one_endless_line_has_parts_within_limits(tmp_path: Path, settings: Settings) -> None:
    text = " ".join(story_text(1_400))
    assert "\n" not in text
    assert len(text) > 500_000
    draft = _build(tmp_path, text, settings, FunctionModel(_first_titles))
    longest = max(end - start for start, end in (node.span for node in draft.tree.leaves()))
    assert longest < draft.document.line_count / 20
    assert json.dumps([node.title for node in draft.tree.walk()])


def _with_strategy(strategy: str) -> Settings:
    return read_settings(None, {"tree": {"strategy": strategy}, "summary": {"mode": "extractive"}})
