"""P13: a rebuild from the version before equals a full build, given the completion cache, and asks no more than it.

Whole documents through every stage, from Markdown on disk; random edits of `tests.properties.edits`. White space and
the case of titles are not edited: a section that differs in these alone keeps its summary, though a full build might
read it otherwise.
"""

import copy
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pageindex_local.build import BuildJob, build_document
from pageindex_local.llm.fakes import ExtractiveModel
from pageindex_local.llm.lazy import LazyModel
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import SectionTree, Source
from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore
from tests.properties.edits import Edits
from tests.properties.test_identity import ONE_EDIT, SEEDS
from tests.sections import Section

EXAMPLES = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def write_markdown(sections: list[Section], folder: Path) -> Source:
    """Sections as a Markdown file, each with a heading of its level."""
    lines: list[str] = []
    stack = [(section, 1) for section in reversed(sections)]
    while stack:
        section, level = stack.pop()
        lines += [f"{'#' * level} {section.title}", "", *section.text, ""]
        stack.extend((child, level + 1) for child in reversed(section.children))
    folder.mkdir()
    path = folder / "manual.md"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_source("manual.md", path, read_settings().parse)


def contents(tree: SectionTree) -> list[tuple[object, ...]]:
    """A tree without its ids."""
    described = [(node.title, node.level, node.kind, node.span, node.summary, node.own_hash) for node in tree.walk()]
    return [*described, (tree.description,)]


@given(
    seed=SEEDS,
    size=st.integers(min_value=2, max_value=20),
    names=st.lists(st.sampled_from(ONE_EDIT), min_size=1, max_size=4),
    strength=st.sampled_from(["small", "capable"]),
)
@EXAMPLES
def test_rebuild_equals_a_full_build_given_the_cache(seed: int, size: int, names: list[str], strength: str) -> None:
    edits = Edits(seed)
    sections = edits.document(size)
    changed = copy.deepcopy(sections)
    for name in names:
        getattr(edits, name)(changed)
    options = read_settings()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        store = IndexStore(root / "index", "main", options.store)
        model = LazyModel(
            lambda: ExtractiveModel(strength=strength), identity=strength, cache_file=root / "completions.sqlite"
        )
        try:
            old = build_document(BuildJob(write_markdown(sections, root / "1"), "v000001"), None, model, options)
            previous = store.open_version(store.write_version(old).doc_key, "v000001")
            source = write_markdown(changed, root / "2")

            rebuilt = build_document(BuildJob(source, "v000002", "v000001"), previous, model, options)
            full = build_document(
                BuildJob(source, "v000002", "v000001"), previous, model, options, reuse_summaries=False
            )
            alone = build_document(BuildJob(source, "v000002"), None, model, options)
        finally:
            model.close()

    assert rebuilt.tree == full.tree
    assert rebuilt.report == full.report
    assert contents(rebuilt.tree) == contents(alone.tree)
    # Everything that the full builds asked had been asked before: by the first build or by the rebuild.
    assert full.usage.model_calls == alone.usage.model_calls == 0
    assert rebuilt.usage.model_calls + rebuilt.usage.cached_calls <= full.usage.cached_calls
