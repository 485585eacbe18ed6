"""Fits a printed view to its reader: rows are cut to the width of a terminal and coloured there, else left alone."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from dataclasses import dataclass
from itertools import chain
from typing import TextIO

from tfprof_widget.api.view import View
from tfprof_widget.lib.text import visible
from tfprof_widget.output.rows import legend, lines
from tfprof_widget.output.text import preamble

DIM, BOLD, ACCENT = "2", "1", "36"
LEAST_NAME = 12


@dataclass(frozen=True)
class Terminal:
    """What the output is read on: its width, None where no line is to be cut, and whether it shows colours."""

    columns: int | None = None
    coloured: bool = False

    @classmethod
    def of(cls, stream: TextIO) -> Terminal:
        """What a stream is read on; no colours where the user wants none, see https://no-color.org.

        >>> import io
        >>> Terminal.of(io.StringIO())
        Terminal(columns=None, coloured=False)
        """
        if not stream.isatty():
            return cls()
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return cls(shutil.get_terminal_size().columns, not plain)

    def painted(self, text: str, style: str) -> str:
        """The text in a style, where there are any.

        >>> Terminal(80, True).painted("a", BOLD)
        '\\x1b[1ma\\x1b[0m'
        """
        return f"\x1b[{style}m{text}\x1b[0m" if self.coloured and text else text


def print_view(view: View) -> None:
    """Print a view as native tfprof's command line does; on a terminal, a row takes a line."""
    sys.stdout.write(fitted(view, Terminal.of(sys.stdout)))


def fitted(view: View, terminal: Terminal) -> str:
    """The text of a view as it fits a terminal.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("scope", max_depth=3, show_name_regexes=["layer1/Relu"], timing="tfprof")
    >>> print(fitted(view, Terminal(46)).splitlines()[-1])
      layer1/Relu (91us/91us, 0us/0us, 91us/91us)
    """
    if terminal.columns is None:
        return preamble(view) + legend(view) + "".join(lines(view))
    depth = [0] * len(view) if view.view == "op" else view.depth.tolist()
    named = chain(zip(view.names, depth, strict=True), [("", 0)])  # the root, where there are no nodes
    rows = [(line, name, level) for line, (name, level) in zip(lines(view), named, strict=False)]
    styled = [(line, DIM) for line in preamble(view).splitlines()]
    styled += [(line, BOLD) for line in legend(view).splitlines()]
    head = [terminal.painted(shortened(line, terminal.columns), style) for line, style in styled]
    body = [line for row in rows for line in _row(*row, terminal)]
    return "".join(f"{line}\n" for line in (*head, *body))


def shortened(text: str, columns: int) -> str:
    """The beginning of a line, as much of it as is `columns` wide.

    >>> shortened("scope", 5), shortened("scopes", 5), shortened("日本語", 5)
    ('scope', 'scop…', '日本…')
    """
    if width(text) <= columns:
        return text
    kept, used = [], 1
    for character in text:
        used += _width_of(character)
        if used > columns:
            break
        kept.append(character)
    return "".join(kept) + "…"


def ending(text: str, columns: int) -> str:
    """The end of a name, where siblings differ.

    >>> ending("layer1/MatMul", 7), ending("MatMul", 7)
    ('…MatMul', 'MatMul')
    """
    return shortened(text[::-1], columns)[::-1]


def width(text: str) -> int:
    """How many columns of a terminal a text takes.

    >>> width("a日")
    3
    """
    return len(text) if text.isascii() else sum(map(_width_of, text))


def _row(row: str, name: str, depth: int, terminal: Terminal) -> list[str]:
    """The lines of a row. In the first the name is shortened, so that no figure is lost."""
    first, *others = row.rstrip("\n").split("\n")
    columns = terminal.columns or 0
    indentation = _indentation(depth, columns)
    name = visible(name)
    figures = first[2 * depth + len(name) :]
    room = max(columns - width(indentation) - width(figures), LEAST_NAME)
    name = ending(name, room)
    figures = shortened(figures, columns - width(indentation) - width(name))
    line = indentation + terminal.painted(name, ACCENT) + figures
    return [line, *(shortened(each, columns) for each in others)]


def _indentation(depth: int, columns: int) -> str:
    """Two columns a level; the level as a number where that would take more than a third of the width."""
    if 2 * depth <= columns // 3:
        return "  " * depth
    return f"{f'{depth}: ':>{columns // 3}}"


def _width_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
