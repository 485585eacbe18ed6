"""Runs `tfprof watch`, `tfprof trace` and `tfprof jobs`, which are about a directory of jobs."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfprof_widget.api.typed_options import Grammar, help_text, placeholder, text_option, value_of
from tfprof_widget.cli.arguments import CommandRequest
from tfprof_widget.cli.run import DIRECTORY
from tfprof_widget.cli.session import Command, Session
from tfprof_widget.jobs.directory import JobDirectory, JobSummary, jobs_in, of_job, prune, read_age
from tfprof_widget.jobs.requests import answers, ask
from tfprof_widget.jobs.table import job_line, line, shown, table
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.profiles.options import Option

REFRESH_SECONDS = 2.0
WAIT_SECONDS = 60
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H\x1b[2J", "\x1b[K", "\x1b[J"

HELP = Option("help", "flag", False, "Show this help.")
JOB = text_option("job", "NAME", "Only the job of this name.")


@dataclass(frozen=True)
class JobCommand:
    """A command about a directory of jobs; `run` is given the directory and the options that were typed."""

    name: str
    summary: str
    run: Callable[[Path, Mapping[str, Any]], None]
    options: tuple[Option, ...]

    def help_lines(self) -> list[str]:
        """The help, a line each."""
        lines = [f"tfprof {self.name} [DIR] [OPTIONS]", f"  {self.summary}"]
        for option in (*self.options, HELP):
            written = f"  --{option.name} {placeholder(option)}".rstrip()
            lines.append(f"{written:<20}{help_text(option)}")
        return lines


def watch(directory: Path, given: Mapping[str, Any]) -> None:
    """Show how the tasks stand, once or until Ctrl-C."""
    looked = JobDirectory(directory)
    name = given.get("job", "")
    if given.get("once"):
        tasks, left_out = shown(of_job(looked.look(), name))
        lines = table(tasks, 10**4) if tasks else [_nothing(directory)]
        sys.stdout.write("\n".join([*lines, *_left_out(left_out), ""]))
        return
    try:
        _watch_on(looked, name, sys.stdout.isatty())
    except KeyboardInterrupt:
        sys.stdout.write("\n" * sys.stdout.isatty())


def _watch_on(looked: JobDirectory, name: str, is_terminal: bool) -> None:
    """Show a table again and again; where there is no terminal, a line for each task of which there is news."""
    told: dict[str, str] = {}
    is_first = True
    while True:
        tasks, left_out = shown([task for task in looked.look() if not name or task.files.job == name])
        if is_terminal:
            size = shutil.get_terminal_size()
            lines = table(tasks, size.columns) if tasks else [_nothing(looked.path)]
            lines = [*lines, *_left_out(left_out)][: size.lines - 2]
            begin = _HOME if is_first else "\x1b[H"
            body = "".join(f"{each}{_CLEAR_LINE}\n" for each in [*lines, "Ctrl-C ends watching; the jobs go on."])
            sys.stdout.write(f"{begin}{body}{_CLEAR_BELOW}")
        else:
            news = [(task.name, line(task)) for task in tasks]
            sys.stdout.write("".join(f"{each}\n" for task, each in news if told.get(task) != each))
            if is_first and not tasks:
                sys.stdout.write(f"{_nothing(looked.path)}\n")
            told.update(news)
        sys.stdout.flush()
        is_first = False
        time.sleep(REFRESH_SECONDS)


def _nothing(directory: Path) -> str:
    return f"no jobs in {str(directory)!r} yet: tfprof run --out {directory} train.py starts one"


def _left_out(number: int) -> list[str]:
    return [f"… and {number:,} more that are over: tfprof jobs lists them"] if number else []


def trace(directory: Path, given: Mapping[str, Any]) -> None:
    """Ask running tasks to trace their next steps, and wait until they have handed these in."""
    looked = JobDirectory(directory)
    steps = given.get("steps", 5)
    request, asked = ask(looked, given.get("job", ""), steps)
    sys.stdout.write(f"asked {len(asked):,} {'task' if len(asked) == 1 else 'tasks'} for the next {steps:,} steps\n")
    sys.stdout.flush()
    for task, has_answered in answers(looked, request, asked, float(given.get("wait", WAIT_SECONDS))):
        told = str(task.files.snapshot) if has_answered else f"no answer yet, {task.status}"
        sys.stdout.write(f"{task.name}: {told}\n")
        sys.stdout.flush()


def jobs(directory: Path, given: Mapping[str, Any]) -> None:
    """List the jobs, or remove those that are long over."""
    if not directory.is_dir():
        raise ProfileError(f"there is no directory {str(directory)!r}: name the one that tfprof run wrote to")
    found: list[JobSummary]
    if "prune" in given:
        found = prune(directory, read_age(given["prune"]), time.time())
        sys.stdout.write("".join(f"removed {job_line(each)}\n" for each in found) or "nothing was old enough\n")
        return
    found = jobs_in(directory)
    sys.stdout.write("".join(f"{job_line(each)}\n" for each in found) or f"{_nothing(directory)}\n")


COMMANDS = {
    command.name: command
    for command in (
        JobCommand(
            "watch",
            "Shows how the tasks of jobs stand, until Ctrl-C.",
            watch,
            (JOB, Option("once", "flag", False, "Show it once, and end.")),
        ),
        JobCommand(
            "trace",
            "Asks running tasks to trace their next steps, and hand them in.",
            trace,
            (
                JOB,
                Option("steps", "integer", 5, "So many steps.", minimum=1),
                Option("wait", "integer", WAIT_SECONDS, "Wait so many seconds for them.", minimum=0),
            ),
        ),
        JobCommand(
            "jobs",
            "Lists the jobs in a directory.",
            jobs,
            (text_option("prune", "AGE", "Remove jobs that are over and so old, as 7d or 12h."),),
        ),
    )
}


def run_command(words: Sequence[str]) -> int:
    """Do what the words of one of the commands ask for."""
    command = COMMANDS[words[0]]
    options = {option.name: option for option in (*command.options, HELP)}
    grammar = Grammar(options, f"`tfprof {command.name} --help` lists them", short={"h": "help"})
    typed, operands = grammar.read(words[1:])
    given = {option.name: value_of(option, text) for option, text in typed}
    if given.get("help"):
        sys.stdout.write("\n".join([*command.help_lines(), ""]))
        return 0
    if len(operands) > 1:
        raise value_error(f"{command.name} takes one directory, not {operands[1]!r} too")
    command.run(Path(operands[0] if operands else DIRECTORY).expanduser(), given)
    return 0


def stand_first(session: Session, request: CommandRequest) -> Session:
    """Say that a command that has options of its own is the first word."""
    raise value_error(f"{request.command} stands before its options, as in tfprof {request.command} --help")


JOB_COMMANDS = tuple(
    Command(name, summary, stand_first, usage, example, at_prompt=False, needs_files=False)
    for name, summary, usage, example in (
        (
            "run",
            "Runs a program as Python does, and captures what TensorFlow does in it.",
            "[OPTIONS] SCRIPT.py|-m MODULE [ARGUMENTS]",
            "run --report page.html train.py --epochs 3",
        ),
        ("watch", "Shows how running jobs stand.", "[DIR] [--once] [--job NAME]", "watch tfprof-jobs"),
        (
            "trace",
            "Asks running jobs to trace their next steps.",
            "[DIR] [--job NAME] [--steps 5]",
            "trace tfprof-jobs",
        ),
        ("jobs", "Lists jobs, and removes old ones.", "[DIR] [--prune AGE]", "jobs tfprof-jobs --prune 7d"),
    )
)
