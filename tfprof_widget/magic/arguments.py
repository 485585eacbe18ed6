"""Reads and completes the options behind `%%tfprof` and `%tfprof`."""

from __future__ import annotations

import re
from argparse import SUPPRESS
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from IPython.core import completer
from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument, argument_group, kwds

from tfprof_widget.api.tracing_options import RISKY, TRACING, check_rivals, read_range, read_share
from tfprof_widget.api.typed_options import Grammar, help_text, placeholder, text_option, unquoted, value_of, words_of
from tfprof_widget.lib.errors import value_error
from tfprof_widget.output.destination import check_output, parse_output, view_for
from tfprof_widget.profiles.options import OPTIONS, SAVES, TABS, Option, Options

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult

Magic = TypeVar("Magic", bound=Callable[..., Any])

_CAPTURE_DEFAULTS = {"order_by": "micros", "run_name_regexes": "the busiest kind of run"}

RESULT = (
    Option("help", "flag", False, "Show this help, also by -h, and run nothing."),
    text_option("name", "TEXT", "Call the profile this."),
    text_option("out", "VARIABLE", "Store the capture in this variable."),
    Option("text", "flag", False, "Print the result as text."),
    text_option("report", "FILE", "Save the result as an HTML page in this file."),
    text_option("keep", "DIR", "Keep the run in this directory, too: history(DIR) and compare read it there."),
    Option("quiet", "flag", False, "Show nothing."),
    Option(
        "save",
        "choice",
        "%config TfprofMagics.save, which is page",
        "What the notebook keeps beside the live widget: a page with sliders, a picture with a table, or nothing.",
        SAVES,
    ),
)
WHERE = (
    text_option(
        "engines",
        "ENGINES",
        "Run the code on the engines of an ipyparallel cluster, into one profile: on all, or on those that a client or "
        "view (rc, rc[:2]) or their numbers (0:2) tell.",
    ),
)
RACING = (
    text_option(
        "against",
        "NAME",
        "Run the code and this in turns, and tell which is faster: a callable, or an earlier run of the history.",
    ),
    Option("seconds", "integer", "", "Race for so many seconds at most.", minimum=1),
)
# A capture is shown by its costs, whereas tfprof's own defaults are those of its option table.
SHOWN = (
    Option("view", "choice", "overview, or op as text", "The view to show, or another tab of the widget.", TABS),
    *(replace(option, default=_CAPTURE_DEFAULTS.get(option.name, option.default)) for option in OPTIONS),
)
GROUPS = (
    ("result", RESULT),
    ("what is traced", (*TRACING, *RISKY)),
    ("where it runs", WHERE),
    ("what it is compared with", RACING),
    ("what is shown", SHOWN),
)
ARGUMENTS = {option.name: option for _, options in GROUPS for option in options}
# Shorter truths do not follow a flag here: `%tfprof --all t` runs the code t.
GRAMMAR = Grammar(
    ARGUMENTS,
    "%%tfprof? lists them",
    short={"h": "help"},
    truths=("true", "false"),
    optional=[option.name for option in WHERE],
    before_code=True,
)


@dataclass(frozen=True)
class MagicRequest:
    """What a magic line asks for; `shown` and `traced` hold only the options that were typed.

    `engines` names the engines to run on, all of them if it is empty; None runs the code here. With `help`, everything
    else has no effect.
    """

    shown: Mapping[str, Any] = field(default_factory=dict)
    traced: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    out: str = ""
    report: str = ""
    save: str = ""
    text: bool = False
    quiet: bool = False
    help: bool = False
    engines: str | None = None
    keep: str = ""
    against: str = ""
    seconds: int = 30


def tfprof_arguments(magic: Magic) -> Magic:
    """Declare the options to `magic_arguments`, which writes the magic's help from them."""
    for title, options in reversed(GROUPS):
        for option in reversed(options):
            magic = argument(f"--{option.name}", **_argparse_settings(option))(magic)
        magic = argument_group(title)(magic)
    return cast(Magic, kwds(argument_default=SUPPRESS)(magic))


def parse(line: str, variables: Mapping[str, Any]) -> tuple[MagicRequest, str]:
    """The request of a magic line, and the code behind it; `$name` and `{name}` stand for the user's variables.

    >>> parse("--min-micros $limit --name='my net' f('--all')", {"limit": 5})
    (MagicRequest(shown={'min_micros': 5}, traced={}, name='my net', ...), "f('--all')")
    """
    try:
        typed, code = split(line)
        given = {option.name: _value(option, text, variables) for option, text in typed}
        given = {name: value for name, value in given.items() if value is not False}
        _check(given)
    except ValueError as error:
        raise UsageError(str(error)) from None
    result, traced, where, racing, shown = (
        {option.name: given[option.name] for option in options if option.name in given} for _, options in GROUPS
    )
    if "seconds" in racing and "against" not in racing:
        raise UsageError("--seconds says how long to race: name what the code is raced with by --against")
    if "all" in traced:
        traced["trace_all"] = traced.pop("all")
    return MagicRequest(shown, traced, **result, **where, **racing), code


def split(line: str) -> tuple[list[tuple[Option, str]], str]:
    """The options at the beginning of a line with the texts of their values, and the code behind them.

    >>> split("-min-micros 5 f('--all')")[1]
    "f('--all')"
    """
    words = words_of(line)
    typed, others = GRAMMAR.read([word for word, _ in words])
    read = len(words) - len(others)
    code = line[words[read - 1][1] if read else 0 :].strip()
    if not others and code.startswith("-"):
        raise value_error(f"cannot read {code!r}: close the quote, or leave it out")
    return typed, code.removeprefix("-- ")


def who_runs(line: str) -> Literal["IPython", "the magic", "nobody"]:
    """Who runs the cell below a magic line: the magic, if on engines or to refuse a wrong line; nobody, if for help.

    >>> [who_runs(line) for line in ("--all", "--engines", "--all train()", "--alll", "--all -h")]
    ['IPython', 'the magic', 'the magic', 'the magic', 'nobody']
    """
    try:
        typed, code = split(line)
    except ValueError:
        return "the magic"
    if any(option.name == "help" and value_of(option, text) for option, text in typed):
        return "nobody"
    return "the magic" if code or any(option in (*WHERE, *RACING) for option, _ in typed) else "IPython"


def _argparse_settings(option: Option) -> dict[str, Any]:
    """What argparse, which writes the help and reads nothing, is told of an option."""
    if option.kind == "flag":
        return {"action": "store_true", "help": option.help.replace("%", "%%")}
    return {
        "metavar": placeholder(option),
        "nargs": "?" if option.name in GRAMMAR.optional else None,
        "help": help_text(option).replace("%", "%%"),
    }


def _value(option: Option, typed: str, variables: Mapping[str, Any]) -> Any:
    """The value that was typed for an option, with the variables that it names."""
    text = unquoted(typed)
    if option.kind != "regexes":  # in which { and $ have a meaning of their own
        with suppress(Exception):  # as IPython does: text that cannot be expanded stays as it was typed
            from IPython.utils.text import DollarFormatter

            text = str(DollarFormatter().vformat(text, [], variables))
    match option.name:
        case "overhead":
            return read_share(text)
        case "steps":
            return read_range(text)
        case "output":
            parse_output(text)
        case "out" if not text.isidentifier():
            raise value_error(f"out is {text!r}, but must be a variable's name")
        case "report" if not Path(text).absolute().parent.is_dir():
            raise value_error(f"report is {text!r}, but there is no directory {str(Path(text).parent)!r}")
        case "keep" if Path(text).is_file() or not Path(text).absolute().parent.is_dir():
            raise value_error(f"keep is {text!r}, but must be a directory, or a name for one in one that exists")
    return value_of(option, text)


def _check(given: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other."""
    check_rivals(given)
    destination = parse_output(given.get("output", ""))
    selected = {name: given[name] for name in ("select",) if name in given}
    check_output(destination, given.get("view") or view_for(destination, "op"), Options.of(**selected))


_MAGIC = re.compile(r".*?%%?tfprof\s(.*)", re.DOTALL)
_NAME_BEGUN = re.compile(r"(?:^|.*\s)(--?[A-Za-z_-]*)", re.DOTALL)
_VALUE_BEGUN = re.compile(r"(?:^|.*\s)--?([A-Za-z][\w-]*)(?:=|\s+)(\S*)", re.DOTALL)


def candidates(before_cursor: str) -> tuple[int, list[str]] | None:
    """How many characters of the word at the cursor are typed, and what it may become; None if it is not an option's.

    >>> candidates("%%tfprof --min_mi")
    (8, ['--min_micros'])
    >>> candidates("%tfprof --select bytes,micr")
    (4, ['micros'])
    """
    magic = _MAGIC.fullmatch(before_cursor)
    if magic is None:
        return None
    if value := _VALUE_BEGUN.fullmatch(magic[1]):
        option = GRAMMAR.known(value[1])
        if option and option.choices:
            written = value[2].rpartition(",")[2] if option.kind == "choices" else value[2]
            return len(written), [choice for choice in option.choices if choice.startswith(written)]
    if name := _NAME_BEGUN.fullmatch(magic[1]):
        written = name[1].lstrip("-").replace("-", "_")
        return len(name[1]), [f"--{each}" for each in ARGUMENTS if each.startswith(written)]
    return None


def _match(context: CompletionContext) -> SimpleMatcherResult:
    """The candidates, as IPython's completer asks for them."""
    before_cursor = context.text_until_cursor
    written, words = candidates(before_cursor) or (0, [])
    completions = [completer.SimpleCompletion(word, type="param") for word in words]
    fragment = before_cursor[len(before_cursor) - written :]
    return {"completions": completions, "matched_fragment": fragment, "suppress": bool(words)}


def matchers() -> list[Callable[..., Any]]:
    """What completes the magic's arguments behind the Tab key; nothing before IPython 8.6.

    >>> [each.__name__ for each in matchers()]
    ['_match']
    """
    if not hasattr(completer, "context_matcher"):
        return []
    completer.context_matcher(identifier="tfprof_widget.magic")(_match)  # marks the function, and gives it back
    return [_match]
