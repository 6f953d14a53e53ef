"""Going back to an earlier release from the UI. Nothing is removed: a new release pins what the old one pinned."""

import dagster as dg
from pydantic import Field

from pageindex_local.errors import SettingsError
from pageindex_local.query.fulltext import build_search_index
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release
from pipelines.failures import final_errors
from pipelines.metadata import DATA_VERSION, release_metadata
from pipelines.publish import release
from pipelines.resources import WorkspaceSettings


class RollbackConfig(dg.Config):
    """Which release to go back to: by name (`000003` or `3`), or so many releases before the current one.

    `collection` is empty for the one of this installation.
    """

    release: str = Field(default="", description="Name of the release to go back to, such as 000003 or 3.")
    steps: int = Field(default=0, description="Or how many releases to go back from the current one.")
    collection: str = Field(default="", description="Another collection than the one of this installation.")


def find_target(store: IndexStore, live: Release, config: RollbackConfig) -> str:
    """The name of the release that a configuration means.

    Raises:
        SettingsError: it means none, or more than one.
    """
    if bool(config.release) == bool(config.steps) or config.steps < 0:
        raise SettingsError("give either `release` or `steps` (1 or more)", subject="rollback")
    if config.release:
        return config.release.zfill(6) if config.release.isdecimal() else config.release
    before = [name for name in store.releases() if name < live.name]
    if config.steps > len(before):
        raise SettingsError(
            f"{config.steps} steps back from release {live.name} lead nowhere",
            subject="rollback",
            next_step=f"Kept before it: {', '.join(before) or 'none'}.",
        )
    return before[-config.steps]


@dg.op
def roll_back(context: dg.OpExecutionContext, config: RollbackConfig, workspace_settings: WorkspaceSettings) -> None:
    """Publish a release that pins what an earlier one pinned, and report it as the release asset's new state.

    Raises:
        dg.Failure: no such release, or a version that it pins is damaged.
    """
    with final_errors():
        store = workspace_settings.open_store(config.collection)
        live = store.require_current()
        published = store.rollback(find_target(store, live, config))
        if published != live:
            build_search_index(store, published)
        metadata = release_metadata(store, live, published)
    # The asset is that of this installation's collection; another one has no place in the graph.
    if not config.collection or config.collection == workspace_settings.collection:
        context.log_event(dg.AssetMaterialization(release.key, metadata=metadata, tags={DATA_VERSION: published.name}))
    context.log.info(f"release {published.name}: {published.reason}")


@dg.job(executor_def=dg.in_process_executor, tags={"dagster/max_retries": "0"})
def roll_back_release() -> None:
    """Go back to an earlier release. Stop the sensor first, or restore the sources: else they are built again."""
    roll_back()
