"""Stage outputs come back from their files as they were."""

from pathlib import Path

import pytest

from pageindex_local.build import BuildJob, MiniTocBatch, map_chunks, reduce_chunks, split_chunks
from pageindex_local.headings import find_headings
from pageindex_local.parsing import parse_source
from pageindex_local.parsing.sources import read_source
from pageindex_local.settings import Settings
from pipelines.io_managers import dump_record, load_record
from pipelines.records import ChunkBatch, ChunkIds


def test_every_stage_output_survives_its_file(folder: Path, settings: Settings) -> None:
    source = read_source("tides.md", folder / "tides.md", settings.parse)
    document = parse_source(source, settings.parse)
    evidence = find_headings(document, settings.tree)
    chunks = split_chunks(document, evidence, None, settings)
    batch = map_chunks(chunks, None, settings)
    ids = ChunkIds(tuple(chunk.chunk_id for chunk in chunks))
    draft = reduce_chunks(document, [batch], ids.ids, settings)
    for value in (BuildJob(source, "v000001"), document, evidence, ChunkBatch(chunks), ids, batch, draft):
        assert load_record(dump_record(value)) == value


def test_unknown_kind_is_refused_on_both_ways() -> None:
    with pytest.raises(TypeError, match="dict"):
        dump_record({"a": 1})
    with pytest.raises(ValueError, match="no kind of stage output"):
        load_record(b"Popen\n{}")


def test_record_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="parts"):
        load_record(dump_record(MiniTocBatch(())).replace(b'"parts"', b'"party"'))
