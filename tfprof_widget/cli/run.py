"""Runs `tfprof run`: becomes the Python that runs a program, which is captured there."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tfprof_widget.api.tracing_options import RISKY, TRACING, check_rivals, read_range, read_share
from tfprof_widget.api.typed_options import Grammar, help_text, placeholder, text_option, value_of
from tfprof_widget.jobs import follow
from tfprof_widget.jobs.naming import TaskName, claimed, task_name
from tfprof_widget.jobs.settings import INTERVAL, JobSettings, put_folder
from tfprof_widget.lib.errors import value_error
from tfprof_widget.profiles.options import Option

DIRECTORY = "tfprof-jobs"
"""Where profiles go that are not told where to."""

FILES = (".tfprof", ".tfprof.gz")
"""What does not exist is a file if its name ends so, and else a directory."""

RESULT = (
    text_option(
        "out", "FILE|DIR", "Write the profile to this .tfprof file, or into this directory of jobs.", DIRECTORY
    ),
    text_option("report", "FILE", "Save the result as an HTML page in this file, too."),
    Option("json", "flag", False, "Print the account as JSON at the end, behind what the program prints."),
    text_option("name", "TEXT", "Call the profile this."),
    text_option("job", "NAME", "Call the job this; tasks that are given one name are tasks of one job."),
    text_option("interval", "SECONDS", "Write a snapshot every so many seconds at most.", f"{INTERVAL:g}"),
    Option("no_source", "flag", False, "Write no lines of code, paths, host names and arguments."),
    Option("quiet", "flag", False, "Say nothing at the end."),
)
PROCESSES = (Option("follow", "flag", False, "Capture the processes that the program starts, too."),)
HELP = Option("help", "flag", False, "Show this help.")
GROUPS = (
    ("what becomes of it", RESULT),
    ("what is traced", (*TRACING, *RISKY)),
    ("which processes", PROCESSES),
)
OPTIONS = {option.name: option for _, options in GROUPS for option in options} | {HELP.name: HELP}
GRAMMAR = Grammar(OPTIONS, "`tfprof run --help` lists them", short={"h": "help", "o": "out"}, before_code=True)
USAGE = "tfprof run [OPTIONS] SCRIPT.py [ARGUMENTS]\ntfprof run [OPTIONS] -m MODULE [ARGUMENTS]"
MODULE, CODE, END = "-m", "-c", "--"


def run(words: Sequence[str]) -> int:
    """Become the program; returns only after printing the help."""
    typed, program = split(words)
    given = {option.name: _value(option, text) for option, text in typed}
    if given.get("help"):
        sys.stdout.write("\n".join([*help_lines(), ""]))
        return 0
    if not program:
        raise value_error("run: say what, as in tfprof run train.py --epochs 3, or tfprof run -m package.train")
    settings = settings_of(given, _title(program))
    environment = dict(os.environ)
    command = _command(program)
    if command is not None:
        settings = _of_launcher(settings, command)
    settings.put(environment)
    put_folder(str(Path(next(iter(follow.__path__))).absolute()), environment)
    sys.stdout.flush()
    sys.stderr.flush()
    if command is not None:
        os.execve(command, list(program), environment)
    return os.execve(sys.executable, [sys.executable, *program], environment)


def split(words: Sequence[str]) -> tuple[list[tuple[Option, str]], list[str]]:
    """The options before a program with the texts of their values, and the words of the program.

    >>> [option.name for option, _ in split(["--all", "train.py", "--all"])[0]], split(["-m", "train", "--all"])[1]
    (['all'], ['-m', 'train', '--all'])
    """
    begins = [place for place, word in enumerate(words) if word in (MODULE, CODE, END)]
    at = begins[0] if begins else len(words)
    typed, others = GRAMMAR.read(words[:at])
    rest = list(words[at + 1 :] if words[at : at + 1] == [END] and not others else words[at:])
    return typed, [*others, *rest]


def settings_of(given: Mapping[str, Any], title: str) -> JobSettings:
    """What the options ask for, of a program of this title.

    >>> settings_of({"out": "/tmp/x.tfprof", "steps": (5, None)}, "train").is_file
    True
    """
    check_rivals([name for name, value in given.items() if value is not False])
    out = Path(given.get("out") or DIRECTORY).expanduser().absolute()
    is_file = not out.is_dir() and (out.exists() or out.name.endswith(FILES))
    if is_file and given.get("follow"):
        raise value_error(f"--follow writes a file for each process: give a directory by --out, not {out.name!r}")
    report = given.get("report", "")
    for path in [Path(report).absolute()] * bool(report) + [out] * is_file:
        if not path.parent.is_dir():
            raise value_error(f"there is no directory {str(path.parent)!r} for {path.name!r}: make it first")
    sampling = {name: given[name] for name in ("overhead", "every", "steps") if name in given}
    return JobSettings(
        out=str(out),
        is_file=is_file,
        title=title if not given.get("no_source") else "job",
        job=given.get("job", ""),
        name=given.get("name", ""),
        follows=bool(given.get("follow")),
        sampling=sampling | ({"trace_all": True} if given.get("all") else {}),
        collectives=bool(given.get("collectives")),
        interval=given.get("interval", INTERVAL),
        with_source=not given.get("no_source"),
        report=str(Path(report).absolute()) if report else "",
        json=bool(given.get("json")),
        quiet=bool(given.get("quiet")),
    )


def help_lines() -> list[str]:
    """The help, a line each.

    >>> help_lines()[0]
    'tfprof run [OPTIONS] SCRIPT.py [ARGUMENTS]'
    """
    found = [*USAGE.splitlines(), "  Runs a program as Python does, and captures what TensorFlow does in it."]
    for title, options in GROUPS:
        found += ["", f"{title}:"]
        for option in options:
            written = f"  --{option.name.replace('_', '-')} {placeholder(option)}".rstrip()
            found.append(f"{written:<28}{help_text(option)}")
    return found


def _value(option: Option, text: str) -> Any:
    match option.name:
        case "overhead":
            return read_share(text)
        case "steps":
            return read_range(text)
        case "interval":
            return _seconds(text)
    return value_of(option, text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds < 1e6:
        raise value_error(f"interval is {text!r}, but must be a number of seconds of at least 0.1")
    return seconds


def _title(program: Sequence[str]) -> str:
    """What the program is called: the script's name without its suffix, or the module's."""
    if program[0] == MODULE:
        return program[1] if len(program) > 1 else "module"
    return "code" if program[0] == CODE else Path(program[0]).stem


def _command(program: Sequence[str]) -> str | None:
    """The launcher that is to be run, such as mpirun; None if Python is to run the program."""
    first = program[0]
    if first in (MODULE, CODE) or Path(first).exists():
        return None
    return shutil.which(first)


def _of_launcher(settings: JobSettings, command: str) -> JobSettings:
    """The settings of the processes that a launcher starts: they are tasks of a job that is made now."""
    if not settings.follows:
        raise value_error(
            f"{Path(command).name} is no Python program: to capture the Python that it starts, add --follow, "
            f"or put tfprof run behind it, as in {Path(command).name} … tfprof run train.py"
        )
    name = task_name({}, settings.title, job=settings.job, pid=os.getpid(), now=_now())
    place = claimed(Path(settings.out), TaskName(name.job, "launcher", is_of_one_run=False))
    place.rmdir()
    return replace(settings.of_children(str(place.parent)), quiet=True)


def _now() -> float:
    from time import time

    return time()
