"""What IPython can do since 8.6 and Colab's 7.34 cannot: complete arguments, and silence a cell by a semicolon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from IPython.core import completer, magic
from IPython.core.interactiveshell import InteractiveShell

Magic = TypeVar("Magic", bound=Callable[..., Any])


def silenced_by_semicolon(function: Magic) -> Magic:
    """Let a semicolon at the end of the code silence a magic's output, as it does `%time`'s.

    >>> def tfprof(line: str) -> None: ...
    >>> silenced_by_semicolon(tfprof) is tfprof
    True
    """
    mark: Callable[[Magic], Magic] | None = getattr(magic, "output_can_be_silenced", None)
    return function if mark is None else mark(function)


def complete_arguments(shell: InteractiveShell) -> None:
    """Complete the magic's arguments behind the Tab key."""
    if hasattr(completer, "context_matcher"):
        from tfprof_widget.magic.completion import matcher

        shell.Completer.custom_matchers.append(matcher)


def complete_no_more(shell: InteractiveShell) -> None:
    """Leave the completer as it was."""
    if hasattr(completer, "context_matcher"):
        from tfprof_widget.magic.completion import matcher

        shell.Completer.custom_matchers.remove(matcher)
