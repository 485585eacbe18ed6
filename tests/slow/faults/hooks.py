"""All that a capture replaces in other packages and in Python, to compare before and after."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any

from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
from keras.src.utils import traceback_utils as of_keras
from tensorflow.python.client import session
from tensorflow.python.eager.polymorphic_function import atomic_function, polymorphic_function
from tensorflow.python.framework import ops
from tensorflow.python.profiler.internal import _pywrap_profiler
from tensorflow.python.util import traceback_utils

OWNERS: tuple[Any, ...] = (
    session.BaseSession,
    session.BaseSession._Callable,
    session.tf_session,
    polymorphic_function.Function,
    atomic_function.AtomicFunction,
    TensorFlowTrainer,
    _pywrap_profiler,
    ops,
    traceback_utils,
    of_keras,
)


def hooks(patience: float = 60) -> Any:
    """Every function of what is hooked, the list of importers, the handler of Ctrl-C, and our own threads.

    A thread has so many seconds to end; none where a capture is open, whose threads go on.
    """
    functions = [{name: value for name, value in vars(owner).items() if callable(value)} for owner in OWNERS]
    ours = [
        thread for thread in threading.enumerate() if thread.name.startswith("tfprof") and not _ended(thread, patience)
    ]
    return functions, list(sys.meta_path), signal.getsignal(signal.SIGINT), ours


def _ended(thread: threading.Thread, patience: float) -> bool:
    """Whether a thread comes to its end, which it may be about to."""
    thread.join(patience)
    return not thread.is_alive()
