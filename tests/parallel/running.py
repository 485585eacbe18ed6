"""A real cluster on this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ipyparallel

START_SECONDS = 120


@contextmanager
def running_cluster() -> Iterator[Any]:
    """Two engines, until the block is over."""
    with ipyparallel.Cluster(n=2, log_level=logging.ERROR, engine_timeout=START_SECONDS) as client:
        client.wait_for_engines(2, timeout=START_SECONDS, interactive=False)
        yield client
