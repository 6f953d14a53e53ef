"""The completion cache: content-addressed, shared by processes, never in the way."""

import multiprocessing
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pageindex_local.errors import ModelError, StoreError
from pageindex_local.llm.base import Generation, GenerationRequest, Score, ScoreRequest
from pageindex_local.llm.cache import CachedModel, CompletionCache, generation_key
from pageindex_local.llm.fakes import FunctionModel, ScriptedModel
from pageindex_local.records import Usage

REQUEST = GenerationRequest("user text", 20, system="system text", grammar='root ::= "a"', stop=("x",), attempt=1)
DESCRIPTION = FunctionModel(lambda _: "").describe()


@pytest.mark.parametrize(
    "changed",
    [
        replace(REQUEST, user="user text."),
        replace(REQUEST, system=""),
        replace(REQUEST, user="system text", system="user text"),
        replace(REQUEST, max_tokens=21),
        replace(REQUEST, grammar=None),
        replace(REQUEST, grammar='root ::= "b"'),
        replace(REQUEST, stop=()),
        replace(REQUEST, stop=("x", "")),
        replace(REQUEST, attempt=2),
    ],
)
def test_key_changes_with_everything_that_decides_the_answer(changed: GenerationRequest) -> None:
    assert generation_key(changed, DESCRIPTION) != generation_key(REQUEST, DESCRIPTION)


def test_key_changes_with_model_and_sampling_but_not_with_the_label() -> None:
    key = generation_key(REQUEST, DESCRIPTION)
    assert generation_key(REQUEST, replace(DESCRIPTION, fingerprint="other")) != key
    assert generation_key(REQUEST, replace(DESCRIPTION, sampling="other")) != key
    assert generation_key(replace(REQUEST, purpose="label"), replace(DESCRIPTION, name="other")) == key


def test_generate_again_after_reopening_asks_nothing(tmp_path: Path) -> None:
    file = tmp_path / "work" / "completions.sqlite"
    requests = [GenerationRequest(word, 5) for word in ("one", "two")]
    first = CachedModel(ScriptedModel(["uno", "dos"]), CompletionCache(file))
    fresh = first.generate(requests)
    first.close()
    second = CachedModel(ScriptedModel([]), CompletionCache(file))
    again = second.generate(requests)
    assert again == [replace(result, cached=True) for result in fresh]
    assert second.usage == Usage(cached_calls=2)


def test_generate_equal_requests_in_one_call_computes_once(tmp_path: Path) -> None:
    model = CachedModel(ScriptedModel(["uno", "dos"]), CompletionCache(tmp_path / "c.sqlite"))
    one, two = GenerationRequest("one", 5), GenerationRequest("two", 5)
    seen: list[int] = []
    results = model.generate([one, two, one, one], on_result=lambda index, _: seen.append(index))
    assert [result.text for result in results] == ["uno", "dos", "uno", "uno"]
    assert [result.cached for result in results] == [False, False, True, True]
    assert sorted(seen) == [0, 1, 2, 3]
    assert (model.usage.model_calls, model.usage.cached_calls) == (2, 2)
    assert model.usage.output_tokens == results[0].output_tokens + results[1].output_tokens
    assert model.usage.input_tokens == results[0].input_tokens + results[1].input_tokens


def test_generate_engine_fails_half_way_keeps_what_was_finished(tmp_path: Path) -> None:
    file = tmp_path / "c.sqlite"
    requests = [GenerationRequest(str(number), 5) for number in range(4)]
    model = CachedModel(ScriptedModel(["a", "b", ModelError("died")]), CompletionCache(file))
    with pytest.raises(ModelError, match="died"):
        model.generate(requests)
    assert model.usage.model_calls == 2
    after = CachedModel(ScriptedModel(["c", "d"]), CompletionCache(file))
    assert [result.text for result in after.generate(requests)] == ["a", "b", "c", "d"]
    assert (after.usage.model_calls, after.usage.cached_calls) == (2, 2)


def test_generate_process_killed_keeps_what_was_finished(tmp_path: Path) -> None:
    file = tmp_path / "c.sqlite"
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from pageindex_local.llm.base import GenerationRequest\n"
        "from pageindex_local.llm.cache import CachedModel, CompletionCache\n"
        "from pageindex_local.llm.fakes import FunctionModel\n"
        "def answer(request):\n"
        "    if request.user == '7':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return 'answer ' + request.user\n"
        "model = CachedModel(FunctionModel(answer), CompletionCache(Path(sys.argv[1])))\n"
        "model.generate([GenerationRequest(str(n), 5) for n in range(10)])\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(file)], check=False)
    assert done.returncode == -9
    model = CachedModel(FunctionModel(lambda request: "new"), CompletionCache(file))
    results = model.generate([GenerationRequest(str(number), 5) for number in range(10)])
    # Fingerprints are by class name, so the second process reads the first one's answers.
    assert [result.text for result in results] == [f"answer {number}" for number in range(7)] + ["new"] * 3


def test_score_is_cached_and_counts_as_a_call_without_output(tmp_path: Path) -> None:
    model = CachedModel(FunctionModel(lambda _: ""), CompletionCache(tmp_path / "c.sqlite"))
    request = ScoreRequest("iron rusts", " iron")
    first, again = model.score([request])[0], model.score([request])[0]
    assert again == replace(first, cached=True)
    assert model.usage.model_calls == 1
    assert model.usage.cached_calls == 1
    assert model.usage.output_tokens == 0


def test_put_second_writer_gets_the_first_answer(tmp_path: Path) -> None:
    one, other = CompletionCache(tmp_path / "c.sqlite"), CompletionCache(tmp_path / "c.sqlite")
    mine, theirs = Generation("mine", "stop", 3, 1), Generation("theirs", "stop", 3, 1)
    assert one.put_generation("key", mine) == mine
    assert other.put_generation("key", theirs) == replace(mine, cached=True)
    assert one.put_score("key", Score(-1.0, 3)) == Score(-1.0, 3)
    assert other.put_score("key", Score(-2.0, 3)) == Score(-1.0, 3, cached=True)


def _write_many(file: Path, offset: int) -> None:
    cache = CompletionCache(file)
    for number in range(200):
        cache.put_generation(f"key {(number * 7 + offset) % 200}", Generation(f"text {offset}", "stop", 1, 1))


def test_two_processes_writing_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "c.sqlite"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(file, offset)) for offset in (0, 100)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    cache = CompletionCache(file)
    assert all(cache.get_generation(f"key {number}") for number in range(200))


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4_000])
def test_open_damaged_file_sets_it_aside_and_starts_empty(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "c.sqlite"
    file.write_bytes(content)
    cache = CompletionCache(file)
    cache.put_generation("key", Generation("text", "stop", 1, 1))
    assert cache.get_generation("key")
    assert (tmp_path / "c.sqlite.set-aside-1").read_bytes() == content


def test_open_other_format_sets_it_aside(tmp_path: Path) -> None:
    file = tmp_path / "c.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    CompletionCache(file).put_score("key", Score(-1.0, 1))
    assert (tmp_path / "c.sqlite.set-aside-1").exists()


def test_open_damaged_in_the_middle_starts_empty_or_serves_what_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "c.sqlite"
    cache = CompletionCache(file)
    for number in range(300):
        cache.put_generation(f"key {number}", Generation("text " * 40, "stop", 1, 1))
    cache.close()
    data = bytearray(file.read_bytes())
    data[8_192:20_480] = b"\xaa" * 12_288
    file.write_bytes(data)
    again = CompletionCache(file)
    assert again.get_generation("key 7") in (None, Generation("text " * 40, "stop", 1, 1, cached=True))
    again.put_generation("new", Generation("text", "stop", 1, 1))
    assert again.get_generation("new")


def test_open_where_no_folder_can_be_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="file"):
        CompletionCache(tmp_path / "file" / "c.sqlite")


def test_open_where_the_lock_cannot_be_made_says_so_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "c.sqlite.lock").mkdir()
    with pytest.raises(StoreError, match="completion cache") as caught:
        CompletionCache(tmp_path / "c.sqlite")
    assert caught.value.next_step
