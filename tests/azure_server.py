"""Azure Blob Storage on this machine for tests: Microsoft's emulator Azurite, where it is found.

It is started from the PATH (`npm install -g azurite`), or is the one whose address AZURITE_BLOB_STORAGE_URL names.
"""

import base64
import hashlib
import hmac
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from email.utils import formatdate

# The account that every installation of Azurite has, as its documentation says.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_VERSION = "2021-08-06"
_START_S = 30


class AzuriteServer:
    """Azurite with its objects in memory; `url` is the address without the account."""

    def __init__(self, url: str = "") -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.url = url or self._start()

    @classmethod
    def find(cls) -> "AzuriteServer | None":
        """The one that the environment names, or a new one, or None where there is none."""
        if url := os.environ.get("AZURITE_BLOB_STORAGE_URL"):
            return cls(url)
        return cls() if shutil.which("azurite-blob") else None

    def create_container(self, name: str) -> None:
        """Source: learn.microsoft.com, Create Container, and Authorize with Shared Key."""
        date = formatdate(usegmt=True)
        headers = f"x-ms-date:{date}\nx-ms-version:{_VERSION}"
        blank = "\n" * 12
        text = f"PUT{blank}{headers}\n/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
        signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)).decode()
        request = urllib.request.Request(
            f"{self.url}/{ACCOUNT}/{name}?restype=container",
            method="PUT",
            headers={
                "x-ms-date": date,
                "x-ms-version": _VERSION,
                "Authorization": f"SharedKey {ACCOUNT}:{signature}",
                "Content-Length": "0",
            },
        )
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 201

    def close(self) -> None:
        if self._process:
            self._process.terminate()
            self._process.wait(timeout=_START_S)

    def _start(self) -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
        self._process = subprocess.Popen(
            ["azurite-blob", "--blobHost", "127.0.0.1", "--blobPort", str(port), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        give_up = time.monotonic() + _START_S
        while time.monotonic() < give_up:
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", port)) == 0:
                    return f"http://127.0.0.1:{port}"
            time.sleep(0.1)
        self.close()
        raise RuntimeError("azurite-blob was found and did not start")
