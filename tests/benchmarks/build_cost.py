"""What a build with default settings costs: tokens and pages a second, and against the same calls made one by one.

    python -m tests.benchmarks.build_cost DOCUMENT [--sample 48]

Builds the document without a cache, records every request, then repeats an evenly spaced sample of them in one run:
once as one batch, once one by one through `Llama.create_chat_completion` on the model as shipped. Run it on a quiet
machine; the ratio is what carries over to another one.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pageindex_local.build import BuildJob, build_document
from pageindex_local.llm.base import (
    Generation,
    GenerationRequest,
    OnGeneration,
    TextModel,
)
from pageindex_local.llm.lazy import LazyModel
from pageindex_local.llm.models import open_model
from pageindex_local.parsing.sources import read_source
from pageindex_local.settings import read_settings
from tests.benchmarks.engine import compare_speed
from tests.benchmarks.metered import MeteredModel


class RecordingModel(MeteredModel):
    """Passes everything on and keeps the requests."""

    def __init__(self, inner: TextModel) -> None:
        super().__init__(inner)
        self.requests: list[GenerationRequest] = []

    def generate(
        self, requests: Sequence[GenerationRequest], *, on_result: OnGeneration | None = None
    ) -> list[Generation]:
        """As the inner model."""
        self.requests += requests
        return super().generate(requests, on_result=on_result)


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", type=Path)
    parser.add_argument("--sample", type=int, default=48)
    options = parser.parse_args()
    settings = read_settings()
    recorder = RecordingModel(open_model(settings.model))
    source = read_source(options.document.name, options.document, settings.parse)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        model = LazyModel(lambda: recorder, identity="measured", cache_file=Path(folder) / "completions.sqlite")
        draft = build_document(BuildJob(source, "v000001"), None, model, settings)
        model.close()
    seconds = time.monotonic() - started
    pages, usage = len(draft.document.pages), draft.usage
    sources = [node.summary_source.value for node in draft.tree.walk()]
    step = max(1, len(recorder.requests) // options.sample)
    print(
        json.dumps(
            {
                "document": options.document.name,
                "pages": pages,
                "nodes": len(draft.tree.nodes),
                "summaries": {kind: sources.count(kind) for kind in sorted(set(sources))},
                "model_calls": usage.model_calls,
                "input_tokens_a_page": round(usage.input_tokens / pages, 1),
                "output_tokens_a_page": round(usage.output_tokens / pages, 1),
                "seconds": round(seconds, 1),
                "tokens_a_second": round((usage.input_tokens + usage.output_tokens) / seconds, 1),
                "pages_a_second": round(pages / seconds, 2),
                "against_one_by_one": compare_speed(settings.model, lambda _: recorder.requests[::step], rounds=1),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
