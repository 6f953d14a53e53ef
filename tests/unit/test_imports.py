"""The import arrows of docs/architecture.md, read from the sources and tried in a fresh interpreter."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Library -> the only places that may import it.
OWNERS = {
    "dagster": ("pipelines/",),
    "pymupdf": ("pageindex_local/parsing/pdf.py",),
    "llama_cpp": ("pageindex_local/llm/llamacpp/native.py",),
    "pyarrow": ("pageindex_local/store/", "pageindex_local/evaluate/citations.py"),  # a second reader, on purpose
    "boto3": ("pageindex_local/store/s3.py",),
    "botocore": ("pageindex_local/store/s3.py",),
    "obstore": ("pageindex_local/store/clouds.py",),
    "typer": ("pageindex_local/cli/",),
}


def iter_imports() -> Iterator[tuple[str, str]]:
    for package in ("pageindex_local", "pipelines"):
        for file in sorted((ROOT / package).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from ((name, alias.name) for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    yield name, node.module


@pytest.mark.parametrize("library", OWNERS)
def test_heavy_library_is_imported_only_by_its_owner(library: str) -> None:
    importers = {file for file, module in iter_imports() if module.split(".")[0] == library}
    assert importers, f"nothing imports {library}: is the rule still about something?"
    assert not [file for file in importers if not file.startswith(OWNERS[library])]


def test_library_never_imports_the_pipelines_except_in_the_command_line() -> None:
    importers = {file for file, module in iter_imports() if module.split(".")[0] == "pipelines"}
    assert not [file for file in importers if not file.startswith(("pipelines/", "pageindex_local/cli/"))]


def test_no_module_imports_pickle() -> None:
    assert not [
        file for file, module in iter_imports() if module.split(".")[0] in ("pickle", "shelve", "marshal", "dill")
    ]


@pytest.mark.parametrize(
    "module", ["pageindex_local.query", "pageindex_local.store", "pageindex_local.tree.diff", "pageindex_local.cli"]
)
def test_reading_an_index_loads_no_heavy_library(module: str) -> None:
    script = (
        f"import sys, {module}\n"
        "heavy = {'dagster', 'pymupdf', 'llama_cpp', 'boto3', 'botocore', 'obstore'} & set(sys.modules)\n"
        "sys.exit(f'loaded {sorted(heavy)}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


def test_library_of_buckets_is_loaded_for_a_bucket_alone(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pageindex_local.settings import read_settings\n"
        "from pageindex_local.store import IndexStore\n"
        "from pageindex_local.store.places import read_place\n"
        "IndexStore(Path(sys.argv[1]), 'main', read_settings().store).current()\n"
        "assert not {'boto3', 'botocore', 'obstore'} & set(sys.modules)\n"
        "IndexStore(read_place('gs://bucket/x'), 'main', read_settings().store)\n"
        "assert 'obstore' in sys.modules\n"
        "assert 'boto3' not in sys.modules\n"
        "IndexStore(read_place('s3://bucket/x'), 'main', read_settings().store)\n"
        "assert 'boto3' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
