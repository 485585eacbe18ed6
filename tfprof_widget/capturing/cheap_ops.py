"""Has TensorFlow's profiler record cheap ops too, which it leaves out once it has timed them a hundred times or so."""

from __future__ import annotations

import ctypes
from types import ModuleType

# A profiler's session should take the level as an option, but TensorFlow 2.21 refuses every value that Python can give.
LEVEL = "_ZN3tsl8profiler8internal13g_trace_levelE"
DEFAULT, VERBOSE = 2, 3


def record_cheap_ops(bindings: ModuleType) -> bool:
    """Raise the level of the session that has just begun, until it ends; False where TensorFlow lets nobody do that.

    `bindings` are those of the profiler, whose file is linked with TensorFlow's library.

    >>> record_cheap_ops(ModuleType("no bindings of TensorFlow's"))
    False
    """
    try:
        level = ctypes.c_int.in_dll(ctypes.CDLL(bindings.__file__ or "missing"), LEVEL)
    except (AttributeError, OSError, ValueError):
        return False
    if level.value == DEFAULT:
        level.value = VERBOSE
    return level.value == VERBOSE
