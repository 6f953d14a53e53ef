"""Open the configured model, let it write, and say how fast it was.

Run as a child process, because an engine built for another processor dies instead of raising.
Enters: model settings as JSON, the only argument. Leaves: one JSON object on standard output. Exit status 0 when the
model wrote something, 4 for an error that could be named.
"""

import json
import sys
import time
from typing import Any

from pageindex_local.errors import ModelError, PageindexError
from pageindex_local.llm.base import GenerationRequest, TextModel
from pageindex_local.llm.models import open_model
from pageindex_local.settings import ModelSettings

_SENTENCE = "The boiler is inspected every twelve months by an engineer, who writes the result into the log. "
_PROMPT_TOKENS = 256
_ANSWER_TOKENS = 32


def probe_model(settings: ModelSettings) -> dict[str, Any]:
    """Description and measured speed of a model. Costs about a second of work for the bundled one.

    Raises:
        PageindexError: as `open_model`.
        ModelError: it wrote nothing, or failed while writing.
    """
    started = time.perf_counter()
    model = open_model(settings)
    try:
        loaded_s = time.perf_counter() - started
        description = model.describe()
        prompt = _long_prompt(model)
        first = model.generate([GenerationRequest("Write one sentence about a dog.", 8)])[0]
        if not first.output_tokens:
            raise ModelError("wrote nothing", subject=description.name)
        read_s, _, read_tokens = _time(model, [GenerationRequest(prompt, 1)])
        many = [GenerationRequest(f"{_SENTENCE}\nWrite a long story about it.", 1)] * settings.parallel_sequences
        start_s, _, _ = _time(model, many)
        whole_s, written, _ = _time(model, [GenerationRequest(request.user, _ANSWER_TOKENS) for request in many])
        return {
            "name": description.name,
            "model_sha256": description.model_sha256,
            "engine": description.engine,
            "strength": description.strength,
            "context_tokens": description.context_tokens,
            "capabilities": sorted(description.capabilities),
            "threads": getattr(model, "threads", None),
            "load_s": round(loaded_s, 2),
            "prefill_tokens_a_second": round(read_tokens / max(read_s, 1e-6)),
            "decode_tokens_a_second": round(max(0, written - len(many)) / max(whole_s - start_s, 1e-6)),
            "parallel_sequences": settings.parallel_sequences,
        }
    finally:
        model.close()


def _long_prompt(model: TextModel) -> str:
    room = min(_PROMPT_TOKENS, model.describe().context_tokens // 2)
    return _SENTENCE * max(1, room // max(1, model.count_tokens(_SENTENCE)))


def _time(model: TextModel, requests: list[GenerationRequest]) -> tuple[float, int, int]:
    """Seconds, tokens written and tokens in the prompts."""
    started = time.perf_counter()
    results = model.generate(requests)
    seconds = time.perf_counter() - started
    return seconds, sum(r.output_tokens for r in results), sum(r.input_tokens for r in results)


def main() -> int:
    """Probe and report; the exit status."""
    try:
        report = probe_model(ModelSettings.model_validate_json(sys.argv[1]))
    except PageindexError as error:
        fields = {"kind": type(error).__name__, "problem": error.problem, "subject": error.subject}
        sys.stdout.write(json.dumps({"error": fields | {"next_step": error.next_step}}) + "\n")
        return 4
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
