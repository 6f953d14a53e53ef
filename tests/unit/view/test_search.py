"""A search drawn over the tree: scores stand at the sections judged, ranks at those found, and links lead to them."""

import re
from pathlib import Path

from pageindex_local.query import Trace, answer, retrieve
from pageindex_local.settings import read_settings
from pageindex_local.view import render_html
from pageindex_local.view.search import read_search
from tests.unit.query.indexes import HARBOUR, ORCHARD, publish

QUESTION = "How high is the <b>mooring</b> fee for a night?"


def searched(tmp_path: Path) -> tuple[str, dict[str, str], str]:
    """The page, the node ids by title, and the id of the best section found."""
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    trace = Trace()
    found = retrieve(QUESTION, store, settings=read_settings().query, trace=trace)
    version = store.open_document(release, next(key for key in release.documents if key.startswith("harbour")))
    page = render_html(version.manifest, version.tree(), read_search(trace.as_data(), "harbour.pdf"))
    return page, {node.title: node.node_id for node in version.tree().walk()}, found.pages[0].node_id


def item_of(page: str, node_id: str) -> str:
    """The opening tag and the row of a node."""
    match = re.search(rf'<li id="{node_id}".*?</span></(?:summary|div)>', page, re.DOTALL)
    assert match is not None
    return match[0]


def test_html_of_a_search_marks_the_best_section_with_its_rank(tmp_path: Path) -> None:
    page, _, best = searched(tmp_path)
    assert 'class="rank" title="place in the result">1<' in item_of(page, best)
    assert f'<a href="#{best}">' in page


def test_html_of_a_search_shows_scores_of_judged_sections(tmp_path: Path) -> None:
    page, ids, _ = searched(tmp_path)
    score = re.search(r'title="score of this section">(\d\.\d\d)<', item_of(page, ids["Mooring"]))
    assert score is not None
    assert 0 < float(score[1]) <= 1


def test_html_of_a_search_keeps_markup_of_the_question_as_text(tmp_path: Path) -> None:
    page, _, _ = searched(tmp_path)
    assert "&lt;b&gt;mooring&lt;/b&gt;" in page
    assert "<b>mooring" not in page


def test_read_search_of_a_document_not_searched_says_so() -> None:
    view = read_search({"steps": [], "counters": {"search file rebuilt": 2}}, "harbour.pdf")
    assert view.scores == {}
    assert "was not searched" in view.facts
    assert "search file rebuilt: 2" in view.facts


def test_html_of_an_answer_shows_its_quotes_and_an_abstention_says_so(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    version = store.open_document(release, next(iter(release.documents)))

    def page_of(question: str) -> str:
        trace = Trace()
        answer(question, store, settings=read_settings().query, trace=trace)
        return render_html(version.manifest, version.tree(), read_search(trace.as_data(), "harbour.pdf"))

    assert "<blockquote" in (shown := page_of("How high is the mooring fee for each night?"))
    assert "“Every vessel pays a mooring fee of 45 crowns for each night.”" in shown
    assert "Not in these documents." in page_of("What does Gringotts lend to goblins?")
