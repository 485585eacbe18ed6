"""Reads the words of a command, from the shell or the prompt: its name, what it works on, and its options."""

from __future__ import annotations

import difflib
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tfprof_widget.api.typed_options import WORD, placeholder, unquoted, value_of
from tfprof_widget.profiles.options import OPTIONS, Option

FILES = (
    Option(
        "profile_path",
        "text",
        "",
        "A saved profile, or TensorBoard's log directory or .xplane.pb files, in place of the files below.",
    ),
    Option("graph_path", "text", "", "The graph: a GraphDef, binary or as text."),
    Option("run_meta_path", "text", "", "What was measured: RunMetadata files, one a step, parted by commas."),
    Option("op_log_path", "text", "", "Types, float operations and code traces: what write_op_log() writes."),
    Option("checkpoint_path", "text", "", "A checkpoint: the values of variables, and which of them it holds."),
)
DUMP_TO_FILE = Option("dump_to_file", "text", "", "Write to this file: short for --output file:outfile=FILE.")
GENERAL = (
    Option("help", "flag", False, "Show help, of a command if one is named."),
    Option("version", "flag", False, "Show the version."),
)
# Native's command line stops at ten levels; which columns say anything depends on the profile.
_CHANGES: Mapping[str, Mapping[str, Any]] = {
    "max_depth": {"default": 10},
    "select": {"default": (), "help": "The columns to print, if not micros, or params where nothing was measured."},
}
SHOWN = (*(replace(option, **_CHANGES.get(option.name, {})) for option in OPTIONS), DUMP_TO_FILE)
ARGUMENTS = {option.name: option for option in (*FILES, *SHOWN, *GENERAL)}

_SHORT = {"h": "help", "o": "output"}
_OPTION = re.compile(r"--?([A-Za-z][\w-]*)(?:(=)(.*))?", re.DOTALL)
_WORDS = re.compile(rf"\s*({WORD})(?!\S)")
_TRUTHS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}


@dataclass(frozen=True)
class CommandRequest:
    """A command as it was given: `options` holds what was named of tfprof's, `files` and `general` of the rest.

    `operands` are the words after the command that are no options.
    """

    command: str = ""
    operands: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    general: Mapping[str, bool] = field(default_factory=dict)


def read_line(line: str) -> CommandRequest:
    r"""The request of a line typed at the prompt; quotes keep words together, a backslash is itself.

    >>> read_line(r'''scope -show_name_regexes "a\.b,c" -step -1''').options
    {'show_name_regexes': ('a\\.b', 'c'), 'step': -1}
    """
    words, at = [], 0
    while match := _WORDS.match(line, at):
        words.append(unquoted(match[1]))
        at = match.end()
    if line[at:].strip():
        raise ValueError(f"cannot read {line[at:].strip()!r}: close the quote, or leave it out")
    return read_words(words)


def read_words(words: Sequence[str]) -> CommandRequest:
    """The request of the words of a command; options begin with one dash or two, and come in any order.

    >>> request = read_words(["op", "--graph-path=g.pbtxt", "-account_displayed_op_only", "-min_micros", "10"])
    >>> request.command, request.files, request.options
    ('op', {'graph_path': 'g.pbtxt'}, {'account_displayed_op_only': True, 'min_micros': 10})
    """
    if words and words[0] == "help":
        return CommandRequest("help", tuple(words[1:]))  # an option named here wants no value
    operands: list[str] = []
    given: dict[str, Any] = {}
    rest = deque(words)
    while rest:
        word = rest.popleft()
        match = _OPTION.fullmatch(word)
        if match is None:
            operands.append(word)
            continue
        option = named_option(match[1])
        text = match[3] if match[2] else _taken(option, rest)
        given[option.name] = _truth(option, text) if option.kind == "flag" else value_of(option, text)
    if "dump_to_file" in given:
        given["output"] = f"file:outfile={dumped}" if (dumped := given.pop("dump_to_file")) else "stdout"
    return CommandRequest(
        command=operands[0] if operands else "",
        operands=tuple(operands[1:]),
        options=_only(given, OPTIONS),
        files=_only(given, FILES),
        general=_only(given, GENERAL),
    )


def named_option(written: str) -> Option:
    """The option of that name, with `_` or `-` in it.

    >>> named_option("min-micros").name
    'min_micros'
    >>> named_option("min_mikros")
    Traceback (most recent call last):
        ...
    ValueError: there is no option -min_mikros: did you mean -min_micros? `help` lists them
    """
    name = written.replace("-", "_")
    name = _SHORT.get(name, name)
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    raise ValueError(f"there is no option -{written}:{meant(name, ARGUMENTS, '-')} `help` lists them")


def meant(written: str, known: Iterable[str], dash: str = "") -> str:
    """What a misspelt name may stand for, as a question.

    >>> meant("scop", ["scope", "op"])
    ' did you mean scope?'
    """
    near = difflib.get_close_matches(written, known, 1)
    return f" did you mean {dash}{near[0]}?" if near else ""


def _taken(option: Option, rest: deque[str]) -> str:
    """The word after an option, taken from the rest: its value. A flag needs none."""
    following = rest[0] if rest else None
    if option.kind == "flag":
        return rest.popleft() if following is not None and following.lower() in _TRUTHS else "true"
    if following is None or _names_option(following):
        raise ValueError(f"-{option.name} wants a value, as in -{option.name}={placeholder(option)}")
    return rest.popleft()


def _names_option(word: str) -> bool:
    match = _OPTION.fullmatch(word)
    return match is not None and match[1].replace("-", "_") in ARGUMENTS


def _truth(option: Option, text: str) -> bool:
    if text.lower() not in _TRUTHS:
        raise ValueError(f"-{option.name} is {text!r}, but must be true or false, or stand alone")
    return _TRUTHS[text.lower()]


def _only(given: Mapping[str, Any], options: Iterable[Option]) -> dict[str, Any]:
    names = {option.name for option in options}
    return {name: value for name, value in given.items() if name in names}
