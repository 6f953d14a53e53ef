from pageindex_local.cli.trace_output import tree_lines
from pageindex_local.query.trace import Trace


def filled() -> Trace:
    trace = Trace()
    with trace.step("search") as details:
        details["stopped by"] = "page budget"
        details["opened"] = [
            {"section": "Top", "node_id": "n1", "children": [{"title": "Ropes", "node_id": "n2", "score": 0.5}]}
        ]
    trace.count("model cannot score")
    trace.count("model cannot score")
    return trace


def test_outline_names_children_below_the_section_opened() -> None:
    lines = filled().outline()
    assert (2, "Top") in lines
    assert (3, "Ropes, score 0.5") in lines
    assert lines[-1] == (0, "model cannot score: 2")


def test_as_data_counts_fallbacks_and_keeps_ids() -> None:
    data = filled().as_data()
    assert data["counters"] == {"model cannot score": 2}
    assert data["steps"][0]["opened"][0]["children"][0]["node_id"] == "n2"


def test_tree_lines_draw_the_last_branch_as_last() -> None:
    outline = [(0, "a"), (1, "b"), (2, "c"), (1, "d"), (0, "e")]
    assert tree_lines(outline) == ["a", "├─ b", "│  └─ c", "└─ d", "e"]
