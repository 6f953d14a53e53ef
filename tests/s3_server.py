"""A real S3 server on this machine for tests: moto behind HTTP, one request at a time, each request on record."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

# Method and path of a request in; a status and an error code where it must fail, else None.
Fault = Callable[[str, str], tuple[int, str] | None]


class _QuietHandler(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - werkzeug's name
        pass


class S3Server:
    """moto's S3. One request at a time, for moto checks a condition and then writes, which a real service does in one.

    `requests` are methods and paths in order. `fault` may refuse a request before moto sees it. `ignores_conditions`
    makes it one of those services that know no conditional writes.
    """

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()
        self._server: BaseWSGIServer = make_server(
            "127.0.0.1", 0, self._answer, threaded=True, request_handler=_QuietHandler
        )
        self.requests: list[tuple[str, str]] = []
        self.fault: Fault | None = None
        self.ignores_conditions = False
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        with self._lock:
            method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
            self.requests.append((method, path))
            refused = self.fault(method, path) if self.fault else None
            if refused is not None:
                status, code = refused
                start(f"{status} {code}", [("Content-Type", "application/xml"), ("Connection", "close")])
                return [f"<Error><Code>{code}</Code><Message>injected</Message></Error>".encode()]
            return self._serve(environ, start)

    def _serve(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        if self.ignores_conditions:
            environ.pop("HTTP_IF_NONE_MATCH", None)
            environ.pop("HTTP_IF_MATCH", None)
        return self._ask_moto(environ, start)

    def _ask_moto(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        answer = self._app(environ, start)
        try:
            return list(answer)
        finally:
            if hasattr(answer, "close"):
                answer.close()
