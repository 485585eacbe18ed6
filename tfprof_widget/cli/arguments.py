"""Reads the words of a command, from the shell or the prompt: its name, what it works on, and its options."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tfprof_widget.api.typed_options import Grammar, text_option, unquoted, value_of, words_of
from tfprof_widget.lib.errors import ProfileWarning, value_error
from tfprof_widget.profiles.options import OPTIONS, Option

FILES = (
    text_option(
        "profile_path",
        "FILE",
        "A saved profile, or TensorBoard's log directory or .xplane.pb files, in place of the files below.",
    ),
    text_option("graph_path", "FILE", "The graph: a GraphDef, binary or as text."),
    text_option("run_meta_path", "FILE", "What was measured: RunMetadata files, one a step, parted by commas."),
    text_option("op_log_path", "FILE", "Types, float operations and code traces: what write_op_log() writes."),
    text_option("checkpoint_path", "FILE", "A checkpoint: the values of variables, and which of them it holds."),
    Option("errors", "choice", "raise", "Refuse damaged files (raise), or load the others (skip).", ("raise", "skip")),
)
DUMP_TO_FILE = text_option("dump_to_file", "FILE", "Write to this file: short for --output file:outfile=FILE.")
VIZ = Option("viz", "flag", False, "An option of TensorFlow 1.0, which had no effect there either.")
JSON = Option("json", "flag", False, "Print the account as JSON, for scripts and assistants.")
GENERAL = (
    JSON,
    Option("help", "flag", False, "Show help, of a command if one is named."),
    Option("version", "flag", False, "Show the version."),
)
# Native's command line shows ten levels. Which columns are useful depends on the profile, so none is the default.
_CHANGES: Mapping[str, Mapping[str, Any]] = {
    "max_depth": {"default": 10},
    "select": {"default": (), "help": "The columns to print, if not micros, or params where nothing was measured."},
}
SHOWN = (*(replace(option, **_CHANGES.get(option.name, {})) for option in OPTIONS), DUMP_TO_FILE)
ARGUMENTS = {option.name: option for option in (*FILES, *SHOWN, VIZ, *GENERAL)}
GRAMMAR = Grammar(ARGUMENTS, "`help` lists them", short={"h": "help", "o": "output"})


@dataclass(frozen=True)
class CommandRequest:
    """A command as it was typed.

    `options`, `files` and `general` hold the values of the options that were typed, of tfprof's own, of `FILES` and of
    `GENERAL`; `operands` are the other words after the command.
    """

    command: str = ""
    operands: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    general: Mapping[str, bool] = field(default_factory=dict)


def read_line(line: str) -> CommandRequest:
    r"""The request of a line typed at the prompt; quotes keep words together, a backslash is an ordinary character.

    >>> read_line(r'''scope -show_name_regexes "a\.b,c" -step -1''').options
    {'show_name_regexes': ('a\\.b', 'c'), 'step': -1}
    """
    words = words_of(line)
    end = words[-1][1] if words else 0
    if unread := line[end:].strip():
        raise value_error(f"cannot read {unread!r}: close the quote, or leave it out")
    return read_words([unquoted(word) for word, _ in words])


def read_words(words: Sequence[str]) -> CommandRequest:
    """The request of the words of a command; its options come in any order.

    >>> request = read_words(["op", "--graph-path=g.pbtxt", "-account_displayed_op_only", "-min_micros", "10"])
    >>> request.command, request.files, request.options
    ('op', {'graph_path': 'g.pbtxt'}, {'account_displayed_op_only': True, 'min_micros': 10})
    """
    if words and words[0] == "help":
        return CommandRequest("help", tuple(words[1:]))  # which may name an option, without a value
    typed, operands = GRAMMAR.read(words)
    given = {option.name: value_of(option, text) for option, text in typed}
    if given.pop("viz", False):
        told = "viz: visualizing is disabled, as natively; for a timeline give --output=timeline:outfile=FILE"
        warnings.warn(told, ProfileWarning, stacklevel=2)
    if "dump_to_file" in given:
        given["output"] = f"file:outfile={dumped}" if (dumped := given.pop("dump_to_file")) else "stdout"
    return CommandRequest(
        command=operands[0] if operands else "",
        operands=tuple(operands[1:]),
        options=_only(given, OPTIONS),
        files=_only(given, FILES),
        general=_only(given, GENERAL),
    )


def _only(given: Mapping[str, Any], options: Iterable[Option]) -> dict[str, Any]:
    names = {option.name for option in options}
    return {name: value for name, value in given.items() if name in names}
