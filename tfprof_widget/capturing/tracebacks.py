"""Takes the frames of hooks out of tracebacks: an exception of the user's code tells of that code and TensorFlow alone.

A hook says `__tracebackhide__ = True`, which IPython and pytest heed; Python does not, and TensorFlow and Keras, which
shorten tracebacks themselves, keep what is of no package of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, TracebackType

from tfprof_widget.capturing.patches import Hook

# The modules that shorten tracebacks: TensorFlow's, Keras 3's and Keras 2's.
SHORTENERS = (
    "tensorflow.python.util.traceback_utils",
    "keras.src.utils.traceback_utils",
    "keras.utils.traceback_utils",
    "tf_keras.src.utils.traceback_utils",
)
HOOKS = __name__.rpartition(".")[0] + "."
FOLDER = str(Path(__file__).parent)


def shortener_hooks(module: ModuleType) -> Iterator[Hook]:
    """Hooks are left out as TensorFlow's own frames are."""

    def replace(original: Callable[[str], bool]) -> Callable[[str], bool]:
        return lambda file: not file.startswith(FOLDER) and original(file)

    if hasattr(module, "include_frame"):
        yield module, "include_frame", replace


def without_hooks(error: BaseException | None) -> None:
    """Take the hooks out of an exception and out of those that led to it; the innermost frame stays.

    Nothing else of it changes: it is the same exception, to be raised on.

    >>> without_hooks(ValueError("raised by nobody"))
    """
    known: set[int] = set()
    waiting = [error]
    while waiting:
        error = waiting.pop()
        if error is None or id(error) in known:
            continue
        known.add(id(error))
        _unlink_hooks(error.__traceback__)
        waiting += [error.__cause__, error.__context__]


def _unlink_hooks(entry: TracebackType | None) -> None:
    while entry is not None:
        while (below := entry.tb_next) is not None and below.tb_next is not None and _is_of_hook(below):
            entry.tb_next = below.tb_next
        entry = entry.tb_next


def _is_of_hook(entry: TracebackType) -> bool:
    frame = entry.tb_frame
    is_ours = str(frame.f_globals.get("__name__", "")).startswith(HOOKS)
    return is_ours and "__tracebackhide__" in frame.f_code.co_varnames
