"""The commands: one a file, and here by name."""

from __future__ import annotations

from collections.abc import Mapping

from tfprof_widget.cli.arguments import meant
from tfprof_widget.cli.command import Command
from tfprof_widget.cli.commands.advise import ADVISE
from tfprof_widget.cli.commands.compare import COMPARE
from tfprof_widget.cli.commands.demo import DEMO
from tfprof_widget.cli.commands.flops import FLOPS
from tfprof_widget.cli.commands.help import help_command
from tfprof_widget.cli.commands.keep import SET
from tfprof_widget.cli.commands.leave import EXIT, QUIT
from tfprof_widget.cli.commands.merge import MERGE
from tfprof_widget.cli.commands.report import REPORT
from tfprof_widget.cli.commands.view import CODE, GRAPH, OP, SCOPE

_ALL = (SCOPE, GRAPH, OP, CODE, ADVISE, FLOPS, COMPARE, SET, REPORT, MERGE, DEMO, QUIT, EXIT)
_OTHERS = {command.name: command for command in _ALL}
COMMANDS: Mapping[str, Command] = {**_OTHERS, "help": help_command(_OTHERS)}


def named(name: str, *, at_prompt: bool) -> Command:
    """The command of that name.

    >>> named("scop", at_prompt=True)
    Traceback (most recent call last):
        ...
    ValueError: there is no command 'scop': did you mean scope? The commands are scope, graph, op, ...
    """
    known = [each.name for each in COMMANDS.values() if (each.at_prompt if at_prompt else each.in_shell)]
    if name not in known:
        raise ValueError(f"there is no command {name!r}:{meant(name, known)} The commands are {', '.join(known)}")
    return COMMANDS[name]
