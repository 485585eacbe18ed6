"""The options with their values, as Enter prints them at the prompt, and with their help."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator

from tfprof_widget.cli.subject import Session
from tfprof_widget.option_texts import default_text, placeholder
from tfprof_widget.options import OPTIONS, Option
from tfprof_widget.output.text import spelled

NAME_COLUMNS, USAGE_COLUMNS, HELP_COLUMNS = 28, 36, 112


def print_options(session: Session) -> None:
    """Print what each option is now."""
    options = session.options({})
    sys.stdout.write(
        "".join(f"{f'-{option.name}':<{NAME_COLUMNS}}{spelled(option.name, options)}\n" for option in OPTIONS)
    )


def described(options: Iterable[Option], dashes: str) -> Iterator[str]:
    """Lines that tell what each option is for.

    >>> from tfprof_widget.cli.arguments import GENERAL
    >>> list(described(GENERAL, "--"))
    ['  --help                            Show help, of a command if one is named.', ...]
    """
    for option in options:
        told = option.help
        if option.choices:
            told += f" Of {', '.join(option.choices)}."
        if option.kind != "flag" and option.default not in ((), ""):
            told += f" (default: {default_text(option)})"
        written = f"  {dashes}{option.name} {placeholder(option)}".rstrip()
        if len(written) >= USAGE_COLUMNS:
            yield written
            written = ""
        for line in textwrap.wrap(told, HELP_COLUMNS - USAGE_COLUMNS):
            yield f"{written:<{USAGE_COLUMNS}}{line}"
            written = ""
