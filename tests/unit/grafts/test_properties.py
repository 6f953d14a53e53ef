"""Corrections of random sections in random documents: nothing outside moves, and a rebuild comes to the same."""

import random
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pageindex_local.records import NodeKind
from tests.properties.edits import Edits, all_sections
from tests.sections import Section
from tests.unit.grafts.conftest import Port

EXAMPLES = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def markdown(roots: list[Section]) -> str:
    lines: list[str] = []
    stack = [(section, 1) for section in reversed(roots)]
    while stack:
        section, level = stack.pop()
        lines += [f"{'#' * level} {section.title}", "", *section.text, ""]
        stack.extend((child, level + 1) for child in reversed(section.children))
    return "\n".join(lines)


@given(seed=st.integers(0, 2**32), size=st.integers(2, 15))
@EXAMPLES
def test_correction_of_any_section(seed: int, size: int) -> None:
    edits = Edits(seed)
    lot = random.Random(seed)
    roots = edits.document(size)
    source = markdown(roots)
    with tempfile.TemporaryDirectory() as folder:
        port = Port(Path(folder))
        port.build(source)
        before = port.live.tree()
        node = lot.choice(list(before.nodes.values()))
        text = port.section_text(node.node_id)
        assert port.draft(node.node_id, text) is None  # its own text changes nothing

        added = edits.text(2)
        draft = port.draft(node.node_id, "\n".join([text, *added]))
        assert draft is not None
        port.publish(draft)
        inside = {found.node_id for found in before.walk() if node.node_id in before.path(found.node_id)}
        above = set(before.path(node.node_id))
        assert draft.tree.nodes.keys() >= before.nodes.keys()
        for found in before.walk():
            if found.node_id not in inside | above:
                after = draft.tree.nodes[found.node_id]
                assert (after.subtree_hash, after.summary) == (found.subtree_hash, found.summary)

        again = port.build(source)
        assert again.tree == draft.tree
        assert again.usage.model_calls == 0

        elsewhere = [found for found in all_sections(roots) if found.text and found.title != node.title]
        if elsewhere and node.kind is NodeKind.SECTION and not node.children:
            lot.choice(elsewhere).text.extend(edits.text(2))
            edited = port.build(markdown(roots))
            assert [graft.node_id for graft in port.live.grafts()] == [node.node_id]
            assert added[0] in port.live.own_text(edited.tree.nodes[node.node_id])
