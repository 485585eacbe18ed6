"""Turns typed words into options."""

from __future__ import annotations

import re
from typing import Any

from tfprof_widget.engine.matching import compiled
from tfprof_widget.profiles.options import Option, Options

# What holds together: quoted text, an escaped character, a class with its classes, a repetition. What is not closed
# goes on to the end, so that no text is read more than once.
_WHOLE = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^]\\])*+(?:\]|\\?\Z)|\{[^{},\s]*,[^{},\s]*\}|.", re.DOTALL
)
_DIGITS = 19  # of 2**63 - 1
_PLACEHOLDERS = {"integer": "NUMBER", "regexes": "REGEX,REGEX", "choices": "NAME,NAME", "choice": "NAME", "flag": ""}
_QUOTED = re.compile(r""""([^"]*)"|'([^']*)'""")

WORD = r"""(?:"[^"]*"|'[^']*'|[^\s"'])+"""
"""A word, of which quoted parts may hold spaces; a backslash is one, as regexes need it."""


def value_of(option: Option, text: str) -> Any:
    r"""The value that a text stands for; commas part a list, but not within the brackets of a regex.

    >>> from tfprof_widget.profiles.options import OPTIONS
    >>> regexes = next(option for option in OPTIONS if option.kind == "regexes")
    >>> value_of(regexes, r"a{1,2},[,b],(c,d)")
    ('a{1,2}', '[,b]', '(c,d)')
    """
    match option.kind:
        case "integer":
            return _integer(option, text)
        case "regexes":
            regexes = tuple(filter(None, _listed(text)))
            for regex in regexes:
                compiled(option.name, regex)
            return regexes
        case "choices":
            names = tuple(filter(None, (each.strip() for each in text.split(","))))
            return getattr(Options.of(**{option.name: names}), option.name)
        case "choice" if text not in option.choices:
            raise ValueError(f"{option.name} has no {text!r}; choose from {', '.join(option.choices)}")
    return text


def unquoted(word: str) -> str:
    """A word without the quotes in it.

    >>> unquoted("--name='my net'")
    '--name=my net'
    """
    return _QUOTED.sub(lambda quoted: quoted[1] if quoted[1] is not None else quoted[2], word)


def placeholder(option: Option) -> str:
    """What stands for the value in a help text.

    >>> placeholder(Option("max_depth", "integer", 100, "Show rows down to this depth."))
    'NUMBER'
    """
    return _PLACEHOLDERS.get(option.kind, "FILE" if option.name.endswith(("_path", "_file")) else "TEXT")


def default_text(option: Option) -> str:
    """The default as it would be typed; nothing if there is none.

    >>> default_text(Option("select", "choices", ("micros", "bytes"), "The columns to print."))
    'micros,bytes'
    """
    return ",".join(option.default) if isinstance(option.default, tuple) else str(option.default)


def _listed(text: str) -> list[str]:
    """The text, cut at the commas that stand alone."""
    items: list[list[str]] = [[]]
    depth = 0
    for whole in _WHOLE.findall(text):
        depth = max(depth + (whole == "(") - (whole == ")"), 0)
        if whole == "," and not depth:
            items.append([])
        else:
            items[-1].append(whole)
    return ["".join(item) for item in items]


def _integer(option: Option, text: str) -> int:
    if not re.fullmatch(r"[+-]?\d+(_\d+)*", text, re.ASCII):
        raise ValueError(f"{option.name} is {text!r}, but must be a whole number")
    if sum(map(str.isdecimal, text)) > _DIGITS:
        raise ValueError(f"{option.name} is {text}, but must be below 2**63")
    if int(text) < option.minimum:
        raise ValueError(f"{option.name} is {int(text)}, but must be at least {option.minimum}")
    return int(text)
