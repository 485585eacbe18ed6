"""Ports of this machine for servers that tests start."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

BELOW_EPHEMERAL = range(12_000, 32_000)
"""Linux gives ports from 32,768 on to whoever asks for any; one of those may be taken before a server has begun."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nothing listens on, all held until they are known, so that none comes twice."""
    with ExitStack() as sockets:
        found: list[int] = []
        while len(found) < count:
            each, port = sockets.enter_context(socket.socket()), random.choice(BELOW_EPHEMERAL)
            try:
                each.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
        return found
