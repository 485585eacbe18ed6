"""Runs `tfprof compare`: sets workers side by side, or compares saved runs and tells CI by its exit code what to do."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from tfprof_widget.analysis.comparing.aligned import BY
from tfprof_widget.analysis.comparison import compare as compare_workers
from tfprof_widget.analysis.comparison import comparison_text
from tfprof_widget.api.comparison import Comparison, checked, compare, is_regression, written_share
from tfprof_widget.api.typed_options import Grammar, help_text, text_option, value_of
from tfprof_widget.cli.arguments import CommandRequest
from tfprof_widget.cli.session import Session
from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.output.destination import parse_output
from tfprof_widget.profiles.options import Option

VIEW = "op"


def print_workers(session: Session, request: CommandRequest) -> None:
    """Print the workers side by side, by the measure that the rows are ordered by, else by time."""
    if parse_output(str(request.options.get("output", ""))).kind not in ("stdout", "none"):
        raise value_error("compare: it prints only; write the table with `tfprof compare … > FILE`")
    options = session.options(request.options)
    measure = options.order_by if options.order_by in MEASURES else "micros"
    table = compare_workers(session.profile, VIEW, measure, options)
    sys.stdout.write(f"{measure} by op type, the largest difference first\n{comparison_text(table, measure)}\n")


SAME, REGRESSION, UNTOLD = 0, 1, 3
"""The exit codes beside 2, which says that the command was not understood or that its files cannot be compared."""

AGAINST = "--against"
OPTIONS = (
    text_option("fail_over", "SHARE", "Exit with 1 if a step became slower by more than this.", "5%"),
    Option("by", "choice", "op", "What the table has a row for.", BY),
    Option("json", "flag", False, "Print the comparison as JSON."),
    Option("markdown", "flag", False, "Print it as Markdown, as for a pull request."),
    Option("other_machine", "flag", False, "Compare also with runs of another machine."),
    Option("help", "flag", False, "Show this help."),
)
_OF_GUARD = frozenset({AGAINST, "--fail-over", "--markdown", "--other-machine"})
USAGE = "tfprof compare BEFORE… --against AFTER… [OPTIONS]"


@dataclass(frozen=True)
class GuardRequest:
    """What was typed: the files on either side, and the options."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    fail_over: float = 0.05
    by: str = "op"
    json: bool = False
    markdown: bool = False
    other_machine: bool = False
    help: bool = False


def is_guard(words: Sequence[str]) -> bool:
    """Whether words of the command compare saved runs with each other.

    >>> is_guard(["compare", "a", "--against", "b"]), is_guard(["compare", "before=a", "after=b"])
    (True, False)

    An option that only such a comparison has tells it, too: then the other side was forgotten.
    """
    return words[:1] == ["compare"] and any(word.partition("=")[0].replace("_", "-") in _OF_GUARD for word in words)


def read_guard(words: Sequence[str]) -> GuardRequest:
    """The request of the words behind `compare`.

    >>> read_guard(["a", "b", "--against", "c", "--fail-over=10%"])
    GuardRequest(before=('a', 'b'), after=('c',), fail_over=0.1, by='op', ...)
    """
    grammar = Grammar({option.name: option for option in OPTIONS}, "`tfprof compare --against --help` lists them")
    parted = [part for word in words for part in _parted(word)]
    if parted.count(AGAINST) > 1:
        raise value_error(f"{AGAINST} stands once: the files before it are compared with those behind it")
    at = parted.index(AGAINST) if AGAINST in parted else len(parted)
    typed, before = grammar.read(parted[:at])
    more, after = grammar.read(parted[at + 1 :])
    given = {option.name: value_of(option, text) for option, text in [*typed, *more]}
    if "fail_over" in given:
        given["fail_over"] = _share(given["fail_over"])
    if not given.get("help") and not (before and after):
        raise value_error(
            f"compare: name files on both sides of {AGAINST}, as in tfprof compare old.tfprof {AGAINST} new.tfprof"
        )
    return GuardRequest(tuple(before), tuple(after), **given)


def guard(words: Sequence[str]) -> int:
    """Print the comparison, and give the exit code."""
    request = read_guard(words)
    if request.help:
        lines = [USAGE, *(f"  --{option.name.replace('_', '-')}: {help_text(option)}" for option in OPTIONS)]
        sys.stdout.write("\n".join([*lines, ""]))
        return SAME
    try:
        comparison = compare(list(request.before), list(request.after))
        checked(comparison, request.fail_over, other_machine=request.other_machine)
    except ProfileError as error:  # whose usual exit code is that of a regression
        raise value_error(str(error)) from None
    code = _code(comparison, request.fail_over)
    if request.json:
        told = {**comparison.to_json(), "fail_over": request.fail_over, "exit_code": code}
        sys.stdout.write(f"{json.dumps(told, indent=1)}\n")
    else:
        text = comparison.to_markdown(request.by) if request.markdown else f"{comparison.text(request.by)}\n"
        sys.stdout.write(f"{text}{'' if not request.markdown else chr(10)}{_outcome(code, request.fail_over)}\n")
    return code


def _parted(word: str) -> tuple[str, ...]:
    return (AGAINST, word.removeprefix(f"{AGAINST}=")) if word.startswith(f"{AGAINST}=") else (word,)


def _share(text: str) -> float:
    """The share that a text as 5%, 5 % or 0.05 stands for."""
    number, percent, rest = text.partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if rest.strip() or not 0 <= share < 100:
        raise value_error(f"--fail-over is {text!r}, but must be a share such as 5% or 0.05")
    return share


def _code(comparison: Comparison, fail_over: float) -> int:
    if is_regression(comparison, fail_over):
        return REGRESSION
    return UNTOLD if comparison.step.verdict == "cannot tell" else SAME


def _outcome(code: int, fail_over: float) -> str:
    over = f"slower by more than {written_share(fail_over)}"
    return {
        SAME: f"Passed: a step is not seen to be {over}.",
        REGRESSION: f"Failed: a step is {over}.",
        UNTOLD: "Undecided: record more runs on each side, one after the other in turns.",
    }[code]
