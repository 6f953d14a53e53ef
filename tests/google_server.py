"""Google Cloud Storage on this machine for tests: moto's objects and lists, with Google's condition on a put.

Google's XML interface is S3's but for the condition: it compares generations, numbers that each write gets anew.
Source: cloud.google.com/storage/docs/xml-api, request headers (x-goog-if-generation-match) and PUT object.
"""

import urllib.request
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from tests.s3_server import S3Server

# moto tells services apart by this header; Google's is a bearer token.
_AMAZON = "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
_REFUSED = b"<Error><Code>PreconditionFailed</Code><Message>A condition did not hold.</Message></Error>"


class GoogleServer(S3Server):
    """`hides_generations` makes it one of the emulators that do not say what they hold."""

    def __init__(self) -> None:
        self._generations: dict[str, int] = {}
        self._last = 1_700_000_000_000_000
        self.hides_generations = False
        super().__init__()

    def create_bucket(self, name: str) -> None:
        """Make a bucket, which obstore cannot."""
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/{name}", method="PUT")) as answer:
            assert answer.status == 200

    def _serve(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        expected = environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None)
        environ["HTTP_AUTHORIZATION"] = _AMAZON
        # Google's client writes even a hyphen as %2D, which means the same and which moto does not decode.
        address = "?".join(filter(None, (quote(path.encode("latin-1")), environ["QUERY_STRING"])))
        environ["RAW_URI"] = environ["REQUEST_URI"] = address
        there = self._generations.get(path, 0)
        if expected is not None and not self.ignores_conditions and expected != str(there):
            start("412 Precondition Failed", [("Content-Type", "application/xml")])
            return [_REFUSED]
        if method == "DELETE" and not there:
            start("404 Not Found", [("Content-Type", "application/xml")])
            return [b"<Error><Code>NoSuchKey</Code><Message>There is none.</Message></Error>"]

        def answer(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            if status.startswith("2") and method == "PUT":
                self._last += 1
                self._generations[path] = self._last
            if status.startswith("2") and method == "DELETE":
                del self._generations[path]
            if path in self._generations and not self.hides_generations:
                headers.append(("x-goog-generation", str(self._generations[path])))
            return start(status, headers, *rest)

        return self._ask_moto(environ, answer)
