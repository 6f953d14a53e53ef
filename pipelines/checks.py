"""Blocking checks before anything is published, and one after it that warns.

They call the library's own rules; no rule is written twice.
"""

import dagster as dg

from pageindex_local.build import BuiltTree, DraftTree
from pageindex_local.errors import PageindexError
from pageindex_local.query.navigability import measure_navigability
from pageindex_local.records import ParsedDocument, SummarySource
from pageindex_local.store.records import VersionRef
from pageindex_local.tree.validate import validate_tree
from pipelines.document import pages
from pipelines.publish import index_version, release, summaries
from pipelines.resources import Workspace
from pipelines.tree import section_tree

FOUND_SAMPLES = 30
FOUND_SHARE = 0.7  # of them that must be found; manuals reach 0.95, filings that repeat themselves 0.85
_SHOWN = 20


def _verdict(violations: list[str]) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=not violations,
        metadata={"violations": len(violations), "first": "\n".join(violations[:_SHOWN]) or "none"},
    )


@dg.asset_check(asset=pages, blocking=True)
def pages_hold_text(pages: ParsedDocument) -> dg.AssetCheckResult:
    """Pages are numbered from 1 without gaps, their lines follow on each other, and some text is there."""
    violations = []
    expected_line = 0
    for number, page in enumerate(pages.pages, 1):
        if page.page_number != number:
            violations.append(f"page {number} is numbered {page.page_number}")
        if page.first_line != expected_line:
            violations.append(f"page {number} starts at line {page.first_line} and not {expected_line}")
        expected_line = page.span[1]
    if not any(line.text.strip() for _, line in pages.lines()):
        violations.append("no line holds any text")
    return _verdict(violations)


@dg.asset_check(asset=section_tree, blocking=True, additional_ins={"pages": dg.AssetIn("pages")})
def every_line_is_in_one_section(section_tree: DraftTree, pages: ParsedDocument) -> dg.AssetCheckResult:
    """The draft tree keeps all invariants."""
    return _verdict(validate_tree(section_tree.tree, pages.pages))


@dg.asset_check(asset=summaries, blocking=True, additional_ins={"pages": dg.AssetIn("pages")})
def every_node_is_described(
    summaries: BuiltTree, pages: ParsedDocument, workspace: dg.ResourceParam[Workspace]
) -> dg.AssetCheckResult:
    """The finished tree keeps all invariants, and every node has a summary where summaries are wanted."""
    violations = validate_tree(summaries.tree, pages.pages)
    if workspace.settings.summary.mode != "none":
        violations += [
            f"{node.node_id} has no summary"
            for node in summaries.tree.walk()
            if node.summary_source is not SummarySource.NONE and not node.summary
        ]
    return _verdict(violations)


@dg.asset_check(asset=index_version, blocking=True)
def version_reads_back(index_version: VersionRef, workspace: dg.ResourceParam[Workspace]) -> dg.AssetCheckResult:
    """The version opened from disk has the bytes of its manifest and keeps all invariants."""
    try:
        stored = workspace.store.open_version(
            index_version.doc_key, index_version.version_id, index_version.entry.manifest_sha256
        )
        violations = validate_tree(stored.tree(), stored.pages())
        for file in stored.manifest.files:
            stored.read_file(file.name)
    except PageindexError as error:
        violations = [str(error)]
    return _verdict(violations)


@dg.asset_check(asset=release)
def sections_can_be_found(workspace: dg.ResourceParam[Workspace]) -> dg.AssetCheckResult:
    """Of sections asked for by a sentence of theirs, nearly all stand among the first three. Warns; blocks nothing."""
    live = workspace.store.current()
    if live is None or not live.documents:
        return dg.AssetCheckResult(passed=True, metadata={"asked": 0})
    found = measure_navigability(
        workspace.store, live, workspace.settings.query, samples=FOUND_SAMPLES, seed=workspace.settings.model.seed
    )
    lost = [f"{section.doc_id}: {section.title}: {section.reason}" for section in found.lost]
    return dg.AssetCheckResult(
        passed=found.share >= FOUND_SHARE,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "release": live.name,
            "asked": sum(found.asked.values()),
            "found": found.share,
            "without_text": found.without_text,
            "first": "\n".join(lost[:_SHOWN]) or "none",
        },
    )


ALL_CHECKS = (pages_hold_text, every_line_is_in_one_section, every_node_is_described, version_reads_back)
RELEASE_CHECKS = (sections_can_be_found,)
