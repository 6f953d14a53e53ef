"""What `dagster dev` loads: assets, dependencies, checks, jobs, and a configuration that keeps to this machine."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml  # type: ignore[import-untyped]

from pipelines.definitions import definitions
from pipelines.partitions import DOCUMENTS

ROOT = Path(__file__).resolve().parents[2]
DEPENDENCIES = {
    "source_file": set(),  # what is observed and never made: the file on disk
    "source_document": {"source_file"},
    "pages": {"source_document"},
    "headings": {"pages"},
    "section_tree": {"pages", "headings"},
    "summaries": {"source_document", "pages", "section_tree"},
    "index_version": {"source_document", "pages", "summaries"},
    "release": {"index_version"},
}


@pytest.fixture(scope="module")
def repository() -> Any:
    return definitions().get_repository_def()


def test_assets_depend_on_each_other_as_the_flow_says(repository: Any) -> None:
    graph = repository.asset_graph
    found = {
        key.to_user_string(): {parent.to_user_string() for parent in graph.get(key).parent_keys}
        for key in graph.get_all_asset_keys()
    }
    assert found == DEPENDENCIES


def test_only_the_release_has_no_partition(repository: Any) -> None:
    graph = repository.asset_graph
    plain = [key.to_user_string() for key in graph.get_all_asset_keys() if not graph.get(key).is_partitioned]
    assert plain == ["release"]
    partitions = graph.get(dg.AssetKey("pages")).partitions_def
    assert partitions.name == DOCUMENTS


def test_every_check_before_the_release_blocks_what_follows(repository: Any) -> None:
    graph = repository.asset_graph
    checks = {(key.asset_key.to_user_string(), key.name): graph.get_check_spec(key) for key in graph.asset_check_keys}
    assert {asset for asset, _ in checks} == {"pages", "section_tree", "summaries", "index_version", "release"}
    assert all(spec.blocking is (asset != "release") for (asset, _), spec in checks.items())


def test_jobs_repeat_all_steps_and_run_in_one_process(repository: Any) -> None:
    assert {job.name for job in repository.get_all_jobs()} >= {"observe_sources", "roll_back_release"}
    for name in ("index_document", "publish_release"):
        job = repository.get_job(name)
        assert job.tags["dagster/retry_strategy"] == "ALL_STEPS"
        assert job.executor_def.name == "in_process"


def test_sensor_and_schedule_are_stopped_by_default(repository: Any) -> None:
    (sensor,) = repository.sensor_defs
    (schedule,) = repository.schedule_defs
    assert sensor.default_status is dg.DefaultSensorStatus.STOPPED
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED


def test_steps_that_ask_the_model_share_one_pool(repository: Any) -> None:
    job = repository.get_job("index_document")
    pools = {node.name: node.definition.pools for node in job.graph.nodes}
    assert pools["summaries"] == {"llm"}
    assert pools["section_tree"] == {"llm"}
    assert pools["pages"] == set()


def test_instance_configuration_sends_nothing_and_runs_one_model() -> None:
    config = yaml.safe_load((ROOT / "configs/dagster/dagster.yaml").read_text(encoding="utf-8"))
    assert config["telemetry"] == {"enabled": False}
    assert config["concurrency"]["runs"]["max_concurrent_runs"] == 1
    assert config["concurrency"]["pools"]["default_limit"] == 1


def test_instance_configuration_is_one_that_dagster_accepts(tmp_path: Path) -> None:
    text = (ROOT / "configs/dagster/dagster.yaml").read_text(encoding="utf-8")
    (tmp_path / "dagster.yaml").write_text(text, encoding="utf-8")
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert instance.telemetry_enabled is False
