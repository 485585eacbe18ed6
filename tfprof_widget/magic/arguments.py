"""Reads and completes what stands behind `%%tfprof` and `%tfprof`."""

from __future__ import annotations

import difflib
import re
from argparse import SUPPRESS
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from IPython.core import completer
from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument, argument_group, kwds

from tfprof_widget.api.typed_options import WORD, default_text, placeholder, unquoted, value_of
from tfprof_widget.output.destination import check_output, parse_output, view_for
from tfprof_widget.profiles.options import OPTIONS, VIEWS, Option, Options

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.magic_arguments import MagicArgumentParser

Magic = TypeVar("Magic", bound=Callable[..., Any])

_CAPTURE_DEFAULTS = {"order_by": "micros", "run_name_regexes": "the busiest kind of run"}

RESULT = (
    Option("help", "flag", False, "Show this help, also by -h, and run nothing."),
    Option("name", "text", "", "Call the profile this."),
    Option("out", "text", "", "Store the capture in this variable."),
    Option("text", "flag", False, "Print the result as text."),
    Option("report", "text", "", "Save the result as an HTML page in this file."),
    Option("quiet", "flag", False, "Show nothing."),
)
TRACING = (
    Option("overhead", "text", "0.1", "Trace as many runs as cost at most this share of the cell's untraced time."),
    Option("every", "integer", "", "Trace every so many runs.", minimum=1),
    Option("steps", "text", "", "Trace the runs FIRST:END, END not included; either may be left out."),
    Option("all", "flag", False, "Trace every run."),
)
DARING = (
    Option(
        "collectives",
        "flag",
        False,
        "Record ops also where workers reduce together, in which TensorFlow's profiler may crash the process.",
    ),
)
WHERE = (
    Option(
        "engines",
        "text",
        "",
        "Run the code on the engines of an ipyparallel cluster, into one profile: on all, or on those that a client or "
        "view (rc, rc[:2]) or their numbers (0:2) tell.",
    ),
)
# A capture is shown by its costs, whereas tfprof's own defaults are those of its option table.
SHOWN = (
    Option("view", "choice", "scope, or op as text", "The view to show.", VIEWS),
    *(replace(option, default=_CAPTURE_DEFAULTS.get(option.name, option.default)) for option in OPTIONS),
)
GROUPS = (
    ("result", RESULT),
    ("what is traced", (*TRACING, *DARING)),
    ("where it runs", WHERE),
    ("what is shown", SHOWN),
)
ARGUMENTS = {option.name: option for _, options in GROUPS for option in options}

_NAME = re.compile(r"\s*--?([A-Za-z][\w-]*)(=|(?!\S))")
_VALUE = re.compile(rf"\s*({WORD})(?!\S)")
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True)
class MagicRequest:
    """What a magic line asks for: `shown` and `traced` hold only what was named.

    `engines` names the engines to run on, all of them if it is empty; None runs the code here. Where `help` is asked
    for, all else is without effect.
    """

    shown: Mapping[str, Any] = field(default_factory=dict)
    traced: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    out: str = ""
    report: str = ""
    text: bool = False
    quiet: bool = False
    help: bool = False
    engines: str | None = None


def tfprof_arguments(magic: Magic) -> Magic:
    """Give a magic the arguments of the option table, for `magic_arguments` to make parser and help of."""
    for title, options in reversed(GROUPS):
        for option in reversed(options):
            magic = argument(f"--{option.name}", **_argparse_settings(option))(magic)
        magic = argument_group(title)(magic)
    return cast(Magic, kwds(argument_default=SUPPRESS)(magic))


def parse(parser: MagicArgumentParser, line: str, variables: Mapping[str, Any]) -> tuple[MagicRequest, str]:
    """The request of a magic line, and the code behind it; `$name` and `{name}` stand for the user's variables."""
    words, code = split(line, variables)
    given = vars(parser.parse_args(words))
    _check(given)
    result, traced, where, shown = (
        {option.name: given[option.name] for option in options if option.name in given} for _, options in GROUPS
    )
    if "all" in traced:
        traced["trace_all"] = traced.pop("all")
    return MagicRequest(shown, traced, **result, **where), code


def split(line: str, variables: Mapping[str, Any]) -> tuple[list[str], str]:
    """The arguments of a line, each as `--name` or `--name=value`, and the code behind them.

    >>> split("-min-micros 5 --name='my net' f('--all')", {})
    (['--min_micros=5', '--name=my net'], "f('--all')")
    """
    words = []
    while match := _NAME.match(line):
        option = _known(match[1])
        line = line[match.end() :]
        if option.kind == "flag":
            truth, line = _truth(option, line, match[2] == "=")
            words.extend([f"--{option.name}"] * truth)
            continue
        value = _VALUE.match(line)
        if option.name == "engines" and (value is None or _NAME.match(line)):
            words.append("--engines=")
            continue
        if value is None:
            raise UsageError(f"--{option.name} wants a value, as in --{option.name} {_example(option)}")
        words.append(f"--{option.name}={_expanded(option, unquoted(value[1]), variables)}")
        line = line[value.end() :]
    return words, line.strip().removeprefix("-- ")


def keeps_cell(line: str) -> bool:
    """Whether the code below a line of arguments is for the magic to run: for engines, or as the line is wrong.

    >>> keeps_cell("--all"), keeps_cell("--engines"), keeps_cell("--all train()"), keeps_cell("--alll")
    (False, True, True, True)
    """
    try:
        words, code = split(line, {})
    except UsageError:
        return True
    return bool(code) or any(word.startswith("--engines=") for word in words)


def asks_for_help(line: str) -> bool:
    """Whether a line of arguments wants to be told of them, and the code below it not to run.

    >>> asks_for_help("--all -h"), asks_for_help("--all"), asks_for_help("--alll")
    (True, False, False)
    """
    try:
        return "--help" in split(line, {})[0]
    except UsageError:
        return False


def _known(written: str) -> Option:
    name = "help" if written == "h" else written.replace("-", "_")
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    near = difflib.get_close_matches(name, ARGUMENTS, 3)
    hint = f"did you mean {' or '.join(f'--{each}' for each in near)}? " if near else ""
    raise UsageError(f"there is no argument --{written}: {hint}%%tfprof? lists what there is")


def _truth(option: Option, line: str, wants_value: bool) -> tuple[bool, str]:
    """Flags stand alone or, as in tfprof's own command line, before `true` or `false`."""
    word = re.match(r"\s*(\w+)(?!\S)", line)
    if word and word[1].lower() in _TRUTHS:
        return _TRUTHS[word[1].lower()], line[word.end() :]
    if wants_value:
        raise UsageError(f"--{option.name} is a flag: write it alone, or with true or false")
    return True, line


def _expanded(option: Option, value: str, variables: Mapping[str, Any]) -> str:
    if option.kind == "regexes":
        return value  # where { and $ have a meaning of their own
    try:
        from IPython.utils.text import DollarFormatter

        return str(DollarFormatter().vformat(value, [], variables))
    except Exception:  # as IPython does: what cannot be expanded stays as it is written
        return value


def _argparse_settings(option: Option) -> dict[str, Any]:
    told = option.help.replace("%", "%%")
    if option.kind == "flag":
        return {"action": "store_true", "help": told}
    if option in WHERE:
        return {"metavar": "ENGINES", "nargs": "?", "help": told}
    if option.choices:
        told += f" One of {', '.join(option.choices)}."
    if option.default not in ((), ""):
        told += f" (default: {default_text(option)})"
    return {"type": lambda value: _converted(option, value), "metavar": _metavar(option), "help": told}


def _metavar(option: Option) -> str:
    by_name = {"report": "FILE", "out": "VARIABLE", "steps": "FIRST:END", "overhead": "SHARE"}
    return by_name.get(option.name) or placeholder(option)


def _example(option: Option) -> str:
    by_kind = {"integer": "10", "regexes": ".*", "text": "first"}
    by_name = {"overhead": "0.05", "steps": "10:20", "out": "profile", "report": "page.html", "output": "none"}
    return by_name.get(option.name) or by_kind.get(option.kind) or option.choices[0]


def _converted(option: Option, text: str) -> Any:
    """The value that a text stands for; what is wrong with it ends in one line to the user."""
    try:
        match option.name:
            case "overhead":
                return _share(text)
            case "steps":
                return _range(text)
            case "output":
                parse_output(text)
            case "out" if not text.isidentifier():
                raise ValueError(f"out is {text!r}, but must be a variable's name")
            case "report" if not Path(text).absolute().parent.is_dir():
                raise ValueError(f"report is {text!r}, but there is no directory {str(Path(text).parent)!r}")
        return value_of(option, text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < float("inf"):
        raise ValueError(f"overhead is {text!r}, but must be a share above 0, as in 0.05")
    return share


def _range(text: str) -> tuple[int, int | None]:
    match = re.fullmatch(r"(\d*):(\d*)", text, re.ASCII)
    if not match or not (match[1] or match[2]):
        raise ValueError(f"steps is {text!r}, but must be FIRST:END, as in 10:20")
    first, end = int(match[1] or 0), int(match[2]) if match[2] else None
    if end is not None and end <= first:
        raise ValueError(f"steps is {text!r}, which holds no step: END must be above FIRST")
    return first, end


def _check(given: Mapping[str, Any]) -> None:
    """Refuse what contradicts itself."""
    rivals = [f"--{option.name}" for option in TRACING if option.name in given]
    if len(rivals) > 1:
        raise UsageError(f"{' and '.join(rivals)} exclude one another: each says what to trace")
    destination = parse_output(given.get("output", ""))
    selected = {name: given[name] for name in ("select",) if name in given}
    try:
        check_output(destination, given.get("view") or view_for(destination, "op"), Options.of(**selected))
    except ValueError as error:
        raise UsageError(str(error)) from None


_MAGIC = re.compile(r".*?%%?tfprof\s(.*)", re.DOTALL)
_NAME_BEGUN = re.compile(r"(?:^|.*\s)(--?[A-Za-z_-]*)", re.DOTALL)
_VALUE_BEGUN = re.compile(r"(?:^|.*\s)--?([A-Za-z][\w-]*)(?:=|\s+)(\S*)", re.DOTALL)


def candidates(before_cursor: str) -> tuple[int, list[str]] | None:
    """What may stand at the cursor, and how many characters of it do; None where that is not for the magic to say.

    >>> candidates("%%tfprof --min_mi")
    (8, ['--min_micros'])
    >>> candidates("%tfprof --select bytes,micr")
    (4, ['micros'])
    """
    magic = _MAGIC.fullmatch(before_cursor)
    if magic is None:
        return None
    if value := _VALUE_BEGUN.fullmatch(magic[1]):
        option = ARGUMENTS.get(value[1].replace("-", "_"))
        if option and option.choices:
            written = value[2].rpartition(",")[2] if option.kind == "choices" else value[2]
            return len(written), [choice for choice in option.choices if choice.startswith(written)]
    if name := _NAME_BEGUN.fullmatch(magic[1]):
        written = name[1].lstrip("-").replace("-", "_")
        return len(name[1]), [f"--{each}" for each in ARGUMENTS if each.startswith(written)]
    return None


def _match(context: CompletionContext) -> SimpleMatcherResult:
    """The candidates, as IPython's completer asks for them."""
    found = candidates(context.text_until_cursor)
    if found is None:
        return {"completions": []}
    written, words = found
    fragment = context.text_until_cursor[len(context.text_until_cursor) - written :]
    return {
        "completions": [completer.SimpleCompletion(word, type="param") for word in words],
        "matched_fragment": fragment,
        "suppress": bool(words),
    }


def matchers() -> list[Callable[..., Any]]:
    """What completes the magic's arguments behind the Tab key; nothing before IPython 8.6.

    >>> [each.__name__ for each in matchers()]
    ['_match']
    """
    if not hasattr(completer, "context_matcher"):
        return []
    completer.context_matcher(identifier="tfprof_widget.magic")(_match)  # marks the function, and gives it back
    return [_match]
