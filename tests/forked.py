"""Processes forked from one that has imported TensorFlow, which takes a process of its own seconds."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from typing import Any
from unittest import mock

SERVER = get_context("forkserver")
IMPORTED = ["tensorflow", "keras", "pandas", "ipykernel.kernelapp", "ipykernel.ipkernel"]
"""Nothing of this package: a process imports that itself, as a user's does."""


def forked(work: Callable[..., object], *arguments: Any) -> ForkServerProcess:
    """A process that does some work; the first starts the one that all are forked from, which logs nothing."""
    SERVER.set_forkserver_preload(IMPORTED)
    process = SERVER.Process(target=work, args=arguments)
    with mock.patch.dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3"):
        process.start()
    return process
