"""Notes and stops every attempt to reach anything but this machine. Works as a fixture and as a `sitecustomize`.

An audit hook sees what Python code asks of sockets, in every thread and however deep a library hides it; a library that
swallows the error is still on record.
"""

import ipaddress
import os
import sys
from pathlib import Path

LOG_VARIABLE = "NETWORK_GUARD_LOG"
_EVENTS = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.bind": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
}


class NetworkGuard:
    """While `is_on`, attempts are kept in `attempts` and refused."""

    def __init__(self) -> None:
        self.is_on = False
        self.attempts: list[str] = []

    def hook(self, event: str, arguments: tuple[object, ...]) -> None:
        """The audit hook.

        Raises:
            PermissionError: something else than this machine is addressed.
        """
        if not self.is_on or event not in _EVENTS:
            return
        address = arguments[_EVENTS[event]]
        if is_this_machine(address):
            return
        self.attempts.append(f"{event} {address!r}")
        if path := os.environ.get(LOG_VARIABLE):
            with Path(path).open("a", encoding="utf-8") as stream:
                stream.write(f"{event} {address!r}\n")
        raise PermissionError(f"the network guard refuses {event} to {address!r}")


def is_this_machine(address: object) -> bool:
    """Whether an address is a loopback address, a local name or a Unix socket."""
    host = address[0] if isinstance(address, tuple) and address else address
    if host is None or isinstance(host, bytes) or host in ("", "localhost"):
        return host != ""  # the empty host means all interfaces
    if isinstance(address, str) and "/" in address:
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


GUARD = NetworkGuard()
sys.addaudithook(GUARD.hook)
if LOG_VARIABLE in os.environ:
    GUARD.is_on = True
