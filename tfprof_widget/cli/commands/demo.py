"""The command `demo`: the other commands on a small network that was recorded once and comes with the package."""

from __future__ import annotations

from dataclasses import replace

from tfprof_widget.cli.arguments import Request, meant
from tfprof_widget.cli.command import Command
from tfprof_widget.cli.commands.advise import ADVISE
from tfprof_widget.cli.commands.flops import FLOPS
from tfprof_widget.cli.commands.report import REPORT
from tfprof_widget.cli.commands.view import CODE, GRAPH, OP, SCOPE
from tfprof_widget.cli.subject import Session, Subject
from tfprof_widget.demo import demo_profile

TRIES = {command.name: command for command in (SCOPE, GRAPH, OP, CODE, ADVISE, FLOPS, REPORT)}
COSTLIEST = {"order_by": "micros", "select": ("micros", "bytes", "float_ops", "occurrence")}


def demonstrate(session: Session, request: Request) -> Session:
    """Run the command that is named behind `demo`; none shows the costliest op types."""
    name, *operands = request.operands or (OP.name,)
    if name not in TRIES or operands:
        odd = operands[0] if name in TRIES else name
        raise ValueError(f"demo takes no {odd!r}:{meant(odd, TRIES)} Try one of {', '.join(TRIES)}")
    options = request.options if request.operands else {**COSTLIEST, **request.options}
    TRIES[name].run(Session(Subject(demo_profile)), replace(request, command=name, operands=(), options=options))
    return session


DEMO = Command(
    "demo",
    "Shows a small recorded network: try commands on it without any files.",
    demonstrate,
    f"[{'|'.join(TRIES)}] [OPTIONS]",
    "demo scope --max_depth=3",
    at_prompt=False,
    needs_files=False,
)
