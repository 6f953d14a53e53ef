"""Speed and quality of the in-process engine. Run it on a quiet machine:

    python -m tests.benchmarks.engine speed      ours against the same calls one by one, on the model as shipped
    python -m tests.benchmarks.engine formats    the bundled model as shipped and in other file types
    python -m tests.benchmarks.engine settings   batch size, flash attention, repacking, sequences, threads

Text comes from the language reference that ships with Python (pydoc_data.topics), so that anybody can repeat it. Both
wall clock and processor time are printed, in milliseconds a token: where other work shares the machine, compare the
latter.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pydoc_data.topics import topics

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from pageindex_local.llm.base import GenerationRequest, ScoreRequest
from pageindex_local.llm.budget import cut_to_tokens
from pageindex_local.llm.llamacpp import EngineOptions, LlamaCppModel
from pageindex_local.llm.models import find_model, prepare_model
from pageindex_local.settings import ModelSettings, read_settings

BUNDLED = "smollm2-135m-instruct"
SYSTEM = "You summarise one section of a technical manual."
TASK = (
    "Say in one sentence of at most thirty words what the section below is about. Use only words and facts of the "
    "section itself, name its subject, and do not begin with words such as 'this section'.\n\nSection:\n"
)
TEXT_TOKENS = 185  # with instructions and template about 250
ANSWER_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds by the clock, and of processor time over all threads."""

    wall_s: float
    processor_s: float


def measure(work: Callable[[], object]) -> Cost:
    """What a piece of work costs."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - processor)


def iter_texts(model: LlamaCppModel, tokens: int) -> Iterator[str]:
    """Texts of about so many tokens, one from each topic of the language reference that is long enough."""
    for name in sorted(topics):
        text = " ".join(topics[name].split())
        cut = cut_to_tokens(text, tokens, model.count_tokens)
        if len(cut) < len(text):
            yield cut


def summary_requests(model: LlamaCppModel, count: int) -> list[GenerationRequest]:
    """Prompts like those of a build."""
    texts = iter_texts(model, TEXT_TOKENS)
    return [GenerationRequest(TASK + next(texts), ANSWER_TOKENS, system=SYSTEM) for _ in range(count)]


def open_bundled(settings: ModelSettings, file_type: str, options: EngineOptions | None = None) -> LlamaCppModel:
    """The bundled model in a file type (`shipped`: as it is)."""
    convert_to = "" if file_type == "shipped" else file_type
    entry = find_model(BUNDLED).model_copy(update={"convert_to": convert_to})
    cache = Path(tempfile.gettempdir()) / "pageindex-local-benchmark"
    return LlamaCppModel(prepare_model(entry, cache_folder=cache), settings, options)


def compare_speed(
    settings: ModelSettings, make_requests: Callable[[LlamaCppModel], Sequence[GenerationRequest]], rounds: int
) -> dict[str, object]:
    """Ours against `Llama.create_chat_completion` on the shipped file: the same requests, alternating in one run."""
    from llama_cpp import Llama

    ours = open_bundled(settings, find_model(BUNDLED).convert_to or "shipped")
    requests = make_requests(ours)
    baseline = Llama(
        str(prepare_model(find_model(BUNDLED).model_copy(update={"convert_to": ""})).weights),
        n_ctx=settings.context_tokens,
        n_threads=ours.threads,
        n_threads_batch=ours.threads,
        verbose=False,
    )
    tokens = {"ours": [0, 0], "one by one": [0, 0]}

    def run_ours() -> None:
        for result in ours.generate(requests):
            tokens["ours"][0] += result.input_tokens
            tokens["ours"][1] += result.output_tokens

    def run_baseline() -> None:
        for request in requests:
            reply = baseline.create_chat_completion(
                [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}],
                max_tokens=request.max_tokens,
                stop=list(request.stop),
                temperature=0.0,
            )
            tokens["one by one"][0] += reply["usage"]["prompt_tokens"]
            tokens["one by one"][1] += reply["usage"]["completion_tokens"]

    ours.generate(requests[:1])
    costs: dict[str, list[Cost]] = {"ours": [], "one by one": []}
    for _ in range(rounds):
        costs["ours"].append(measure(run_ours))
        costs["one by one"].append(measure(run_baseline))
    wall = {name: sum(cost.wall_s for cost in each) for name, each in costs.items()}
    processor = {name: sum(cost.processor_s for cost in each) for name, each in costs.items()}
    all_tokens = {name: sum(each) for name, each in tokens.items()}
    return {
        "requests": len(requests) * rounds,
        "input_tokens": {name: each[0] for name, each in tokens.items()},
        "output_tokens": {name: each[1] for name, each in tokens.items()},
        "wall_s": _rounded(wall),
        "processor_s": _rounded(processor),
        "tokens_a_second": _rounded({name: all_tokens[name] / wall[name] for name in wall}),
        "times_faster_by_wall_clock": _ratio(wall, all_tokens),
        "times_faster_by_processor_time": _ratio(processor, all_tokens),
    }


def compare_formats(settings: ModelSettings, file_types: Sequence[str], count: int) -> Iterator[dict[str, object]]:
    """Speed, likelihood of real text and how well likelihood finds the text that a passage belongs to."""
    answers: dict[str, list[str]] = {}
    for file_type in file_types:
        model = open_bundled(settings, file_type)
        requests = summary_requests(model, count)
        reading = [GenerationRequest(request.user, 1, system=request.system) for request in requests]
        model.generate(reading[:1])
        read = measure(lambda model=model, reading=reading: model.generate(reading))  # type: ignore[misc]
        outputs: list[str] = []
        tokens = [0, 0]

        def write(
            model: LlamaCppModel = model,
            requests: list[GenerationRequest] = requests,
            outputs: list[str] = outputs,
            tokens: list[int] = tokens,
        ) -> None:
            for result in model.generate(requests):
                outputs.append(result.text)
                tokens[0] += result.input_tokens
                tokens[1] += result.output_tokens

        written = measure(write)
        answers[file_type] = outputs
        likelihood, accuracy = _quality(model, count)
        yield {
            "file_type": file_type,
            "megabytes": round(model_size(settings, file_type) / 1e6),
            "read_ms_a_token": _per_token(read, tokens[0]),
            "summaries_ms_a_token": _per_token(written, sum(tokens)),
            "mean_log_probability": round(likelihood, 4),
            "right_text_of_8": f"{accuracy:.1%}",
            "same_summary_as_first_row": sum(a == b for a, b in zip(outputs, answers[file_types[0]], strict=True)),
        }
        model.close()


def model_size(settings: ModelSettings, file_type: str) -> int:
    """Size in bytes of the bundled model in a file type."""
    entry = find_model(BUNDLED).model_copy(update={"convert_to": "" if file_type == "shipped" else file_type})
    return (
        prepare_model(entry, cache_folder=Path(tempfile.gettempdir()) / "pageindex-local-benchmark")
        .weights.stat()
        .st_size
    )


def compare_settings(settings: ModelSettings, file_type: str, count: int) -> Iterator[dict[str, object]]:
    """The default and one thing changed at a time."""
    cases: list[tuple[str, dict[str, int], EngineOptions]] = [
        ("default", {}, EngineOptions()),
        ("no flash attention", {}, EngineOptions(flash_attention=False)),
        ("no repacking", {}, EngineOptions(repack=False)),
        *((f"batch of {size} tokens", {}, EngineOptions(batch_tokens=size)) for size in (128, 256, 1024)),
        *((f"{n} sequences", {"parallel_sequences": n}, EngineOptions()) for n in (1, 2, 4, 8, 12)),
        ("1 thread", {"threads": 1}, EngineOptions()),
    ]
    for name, changes, options in cases:
        model = open_bundled(settings.model_copy(update=changes), file_type, options)
        requests = summary_requests(model, count)
        model.generate(requests[:1])
        tokens: list[int] = []

        def work(
            model: LlamaCppModel = model, requests: list[GenerationRequest] = requests, tokens: list[int] = tokens
        ) -> None:
            tokens.extend(result.input_tokens + result.output_tokens for result in model.generate(requests))

        cost = measure(work)
        yield {"case": name, "summaries_ms_a_token": _per_token(cost, sum(tokens))}
        model.close()


def _quality(model: LlamaCppModel, count: int) -> tuple[float, float]:
    """Mean log probability of second halves after first halves; share of halves that go best with their own."""
    halves = []
    for text in iter_texts(model, 160):
        middle = text.rfind(" ", 0, len(text) * 2 // 3)
        halves.append((text[:middle], text[middle:]))
    halves = halves[:: max(1, len(halves) // (2 * count))][: 2 * count]
    own = model.score([ScoreRequest(first, second) for first, second in halves])
    right = 0
    for index, (_, second) in enumerate(halves):
        others = [halves[(index + step * 5) % len(halves)][0] for step in range(1, 8)]
        rivals = model.score([ScoreRequest(first, second) for first in others])
        right += own[index].mean_log_probability > max(rival.mean_log_probability for rival in rivals)
    return sum(score.mean_log_probability for score in own) / len(own), right / len(halves)


def _per_token(cost: Cost, tokens: int) -> str:
    return f"{cost.wall_s / tokens * 1000:.2f} wall, {cost.processor_s / tokens * 1000:.2f} processor"


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in values.items()}


def _ratio(seconds: dict[str, float], tokens: dict[str, int]) -> float:
    ours, baseline = (seconds[name] / tokens[name] for name in ("ours", "one by one"))
    return round(baseline / ours, 2)


def main() -> None:
    """Print one JSON object or one line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "formats", "settings"])
    parser.add_argument("--requests", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--file-types", nargs="+", default=["shipped", "Q8_0", "Q4_0", "F16"])
    arguments = parser.parse_args()
    settings = read_settings().model
    if arguments.what == "speed":
        print(
            json.dumps(
                compare_speed(settings, partial(summary_requests, count=arguments.requests), arguments.rounds), indent=2
            )
        )
        return
    if arguments.what == "formats":
        rows = compare_formats(settings, arguments.file_types, arguments.requests)
    else:
        rows = compare_settings(settings, find_model(BUNDLED).convert_to, arguments.requests)
    for row in rows:
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
