"""Tells the errors that were raised on purpose, and are documented, from those that slipped out."""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import tfprof_widget
from tfprof_widget.lib.errors import LONGEST_MESSAGE, ProfileError, ProfileWarning

DOCUMENTED = (ProfileError, ValueError, "UsageError")  # the last is IPython's, for what a magic cannot read
_PACKAGE = str(Path(tfprof_widget.__file__).parent)


def complaint(read: Callable[[bytes], object], data: bytes) -> str:
    """What a reader says against its input, nothing where it takes it; any error that is not documented is raised."""
    try:
        with quiet():
            read(data)
    except Exception as error:
        if not is_documented(error):
            raise
        return str(error)
    return ""


def is_documented(error: BaseException) -> bool:
    """Whether it is one of the documented kinds, raised by a `raise` of the package, and short enough to be read."""
    kind = type(error)
    is_kind = kind in DOCUMENTED or kind.__name__ in DOCUMENTED
    return is_kind and len(str(error)) <= LONGEST_MESSAGE and _line(_innermost(error)).startswith("raise ")


def signature(error: BaseException) -> str:
    """What tells one fault from another: the kind of error and the line of the package that it came from."""
    found = type(error).__name__
    for step in _steps(error.__traceback__):
        if step.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            found = f"{type(error).__name__} at {Path(step.tb_frame.f_code.co_filename).name}:{step.tb_lineno}"
    return found


@contextmanager
def quiet() -> Iterator[None]:
    """Documented warnings are of no interest, nor those that Python hides; all others are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", ProfileWarning)
        yield


def _innermost(error: BaseException) -> TracebackType | None:
    last = None
    for step in _steps(error.__traceback__):
        last = step
    return last


def _steps(step: TracebackType | None) -> Iterator[TracebackType]:
    while step is not None:
        yield step
        step = step.tb_next


def _line(step: TracebackType | None) -> str:
    if step is None or not step.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        return ""
    return linecache.getline(step.tb_frame.f_code.co_filename, step.tb_lineno).strip()
