"""The command `help`: what there is, one command, or one option."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from tfprof_widget.cli.arguments import DUMP_TO_FILE, FILES, GENERAL, SHOWN, Request, named_option
from tfprof_widget.cli.command import Command
from tfprof_widget.cli.option_list import USAGE_COLUMNS, described
from tfprof_widget.cli.subject import Session


def help_command(others: Mapping[str, Command]) -> Command:
    """The command that tells of the others."""

    def tell(session: Session, request: Request) -> Session:
        topic = request.operands[0] if request.operands else ""
        sys.stdout.write("\n".join((*_told(others, topic, session.at_prompt), "")))
        return session

    summary = "Shows this help, or that of a command or option."
    return Command("help", summary, tell, "[COMMAND|OPTION]", "help set", needs_files=False)


def _told(commands: Mapping[str, Command], topic: str, at_prompt: bool) -> Iterator[str]:
    dashes = "-" if at_prompt else "--"
    if topic in commands:
        yield from _command(commands[topic], at_prompt)
    elif topic:
        yield from described([named_option(topic.lstrip("-"))], dashes)
    else:
        yield from _overview(commands, at_prompt)
        yield from ("", "Options, with one dash or two, as -name value or --name=value:")
        yield from described([each for each in SHOWN if each is not DUMP_TO_FILE], dashes)


def _overview(commands: Mapping[str, Command], at_prompt: bool) -> Iterator[str]:
    if not at_prompt:
        yield from (
            "tfprof: where the time, memory, parameters and float operations of a TensorFlow graph go.",
            "",
            f"  {'tfprof COMMAND FILES OPTIONS':<{USAGE_COLUMNS - 2}}does one thing",
            f"  {'tfprof FILES':<{USAGE_COLUMNS - 2}}opens a prompt to explore: Tab completes, Ctrl-D leaves",
            "",
            "Files:",
            *described((*FILES, DUMP_TO_FILE, *GENERAL), "--"),
            "",
        )
    yield "Commands:"
    for command in commands.values():
        if command.at_prompt if at_prompt else command.in_shell:
            yield f"  {command.name:<{USAGE_COLUMNS - 2}}{command.summary}"


def _command(command: Command, at_prompt: bool) -> Iterator[str]:
    yield f"{'' if at_prompt else 'tfprof '}{command.name} {command.usage}".rstrip()
    yield f"  {command.summary}"
    if command.example:
        yield f"  Example: {command.example}"
