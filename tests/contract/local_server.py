"""An OpenAI-compatible server on a loopback port that answers with a stand-in model."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pageindex_local.errors import ModelError
from pageindex_local.llm.base import GenerationRequest, TextModel


@contextmanager
def serve(
    model: TextModel,
    *,
    can_tokenise: bool = True,
    sends_usage: bool = True,
    bodies: list[dict[str, Any]] | None = None,
) -> Iterator[str]:
    """The address of a running server; what it is sent is appended to `bodies`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            meta = {"n_ctx_train": model.describe().context_tokens}
            self.answer(200, {"object": "list", "data": [{"id": "stand-in", "object": "model", "meta": meta}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if bodies is not None:
                bodies.append(body)
            if self.path == "/tokenize":
                count = model.count_tokens(body["content"])
                self.answer(200 if can_tokenise else 404, {"tokens": list(range(count))})
                return
            texts = {message["role"]: message["content"] for message in body["messages"]}
            request = GenerationRequest(
                texts["user"],
                body["max_tokens"],
                system=texts.get("system", ""),
                grammar=body.get("grammar"),
                stop=tuple(body.get("stop", ())),
            )
            try:
                result = model.generate([request])[0]
            except ModelError as error:
                self.answer(400, {"error": {"message": str(error)}})
                return
            # The prompt as counted from outside: this server's template is as long as the client's allowance.
            prompt_tokens = model.count_tokens(request.system) + model.count_tokens(request.user) + 64
            choice = {"message": {"role": "assistant", "content": result.text}, "finish_reason": result.finish_reason}
            usage = {"prompt_tokens": prompt_tokens, "completion_tokens": result.output_tokens}
            if body.get("stream"):
                self.send_events(result.text, result.finish_reason, usage if sends_usage else None)
                return
            self.answer(200, {"choices": [choice], "usage": usage})

        def send_events(self, text: str, finish_reason: str, usage: dict[str, int] | None) -> None:
            """The text in pieces of five characters, as server-sent events."""
            pieces = [{"delta": {"content": text[at : at + 5]}} for at in range(0, len(text), 5)]
            events: list[dict[str, Any]] = [
                {"choices": [piece]} for piece in [*pieces, {"delta": {}, "finish_reason": finish_reason}]
            ]
            if usage is not None:
                events.append({"choices": [], "usage": usage})
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in events:
                self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
            self.wfile.write(b": a comment\n\ndata: [DONE]\n\n")

        def answer(self, status: int, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
