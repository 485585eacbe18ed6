"""The commands of `tfprof`, one function each."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from importlib.resources import files
from pathlib import Path

from tfprof_widget.analysis.advisor.runner import CHECKERS, advise_on
from tfprof_widget.api.profile import load
from tfprof_widget.api.typed_options import meant
from tfprof_widget.api.view import View
from tfprof_widget.cli.arguments import DUMP_TO_FILE, FILES, GENERAL, GRAMMAR, JSON, SHOWN, CommandRequest
from tfprof_widget.cli.compare import print_workers
from tfprof_widget.cli.jobs import JOB_COMMANDS
from tfprof_widget.cli.session import (
    USAGE_COLUMNS,
    Command,
    LazyProfile,
    Session,
    option_lines,
    print_options,
    print_view,
    say,
)
from tfprof_widget.engine.evaluate import check_options, evaluate
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.output.destination import check_output, deliver, parse_output
from tfprof_widget.output.text import said_lacking, why_empty
from tfprof_widget.profiles.options import Options
from tfprof_widget.widget.report import report
from tfprof_widget.widget.shown import Shown


def refuse_files(session: Session, request: CommandRequest) -> None:
    """Refuse files and stray words at the prompt, which has its profile already.

    >>> from tfprof_widget.cli.session import LazyProfile
    >>> from tfprof_widget.demo import demo_profile
    >>> refuse_files(Session(LazyProfile(demo_profile), at_prompt=True), CommandRequest("scope", ("max_depth",)))
    Traceback (most recent call last):
        ...
    ValueError: scope takes no 'max_depth': options begin with a dash, as in -max_depth
    """
    if session.at_prompt and request.files:
        raise value_error(
            f"--{next(iter(request.files))} is for the start: leave with Ctrl-D, and start tfprof with it"
        )
    if session.at_prompt and request.operands:
        raise value_error(
            f"{request.command} takes no {request.operands[0]!r}: options begin with a dash, as in -max_depth"
        )


def advise(session: Session, request: CommandRequest) -> Session:
    """Print what each checker reports."""
    refuse_files(session, request)
    advise_on(session.profile, {checker: {} for checker in CHECKERS})
    return session


def account(session: Session, request: CommandRequest) -> Session:
    """Print where the time of the cell and of a step went, as text or as JSON."""
    refuse_files(session, request)
    told = session.profile.to_json() if request.general.get(JSON.name) else f"{session.profile.time_budget()}\n"
    if not told.strip():
        raise ProfileError(
            "account: nothing was measured; give a run_meta, or a profile that was saved after a capture"
        )
    sys.stdout.write(told)
    return session


ACCOUNT = Command(
    "account",
    "Tells where the time of the captured cell and of a step went.",
    account,
    "[FILES] [--json]",
    "account --profile_path=profile_100 --json",
)


def json_asked(request: CommandRequest) -> CommandRequest:
    """Take `--json` for that of the command account, which alone writes JSON.

    >>> json_asked(CommandRequest("op", general={"json": True}))
    Traceback (most recent call last):
        ...
    ValueError: op writes no JSON: --json is for the account, as in tfprof FILES --json
    """
    if not request.general.get(JSON.name):
        return request
    if request.command not in ("", ACCOUNT.name, DEMO.name):
        raise value_error(f"{request.command} writes no JSON: --json is for the account, as in tfprof FILES --json")
    return replace(request, command=request.command or ACCOUNT.name)


ADVISE = Command(
    "advise",
    "Looks for what is slow without need, and says what to do about it.",
    advise,
    "[FILES]",
    "advise --profile_path=profile_100",
)


def show_comparison(session: Session, request: CommandRequest) -> Session:
    """Print the workers side by side."""
    refuse_files(session, request)
    print_workers(session, request)
    return session


COMPARE = Command(
    "compare",
    "Sets workers side by side, or tells whether runs became slower.",
    show_comparison,
    "NAME=FILE NAME=FILE [OPTIONS]",
    "compare before=profile_1 after=profile_2 --order_by=peak_bytes",
)


def coverage(session: Session, request: CommandRequest) -> Session:
    """Print for which share of the op time float operations are known, and for which op types they are not."""
    refuse_files(session, request)
    options = asdict(session.options(request.options))
    sys.stdout.write(f"{session.profile.flops_coverage(**options).text()}\n")
    return session


FLOPS = Command(
    "flops",
    "Tells for which share of the time float operations are known.",
    coverage,
    "[FILES] [OPTIONS]",
    "flops --graph_path=graph.pbtxt --run_meta_path=run_meta",
)


def help_command(others: Mapping[str, Command]) -> Command:
    """The command that explains the others."""

    def print_help(session: Session, request: CommandRequest) -> Session:
        topic = request.operands[0] if request.operands else ""
        sys.stdout.write("\n".join((*_help_lines(others, topic, session.at_prompt), "")))
        return session

    summary = "Shows this help, or that of a command or option."
    return Command("help", summary, print_help, "[COMMAND|OPTION]", "help set", needs_files=False)


def _help_lines(commands: Mapping[str, Command], topic: str, at_prompt: bool) -> Iterator[str]:
    dashes = "-" if at_prompt else "--"
    if topic in commands:
        yield from _command(commands[topic], at_prompt)
    elif topic:
        yield from option_lines([GRAMMAR.named(topic.lstrip("-"))], dashes)
    else:
        yield from _overview(commands, at_prompt)
        yield from ("", "Options, with one dash or two, as -name value or --name=value:")
        yield from option_lines([each for each in SHOWN if each is not DUMP_TO_FILE], dashes)


def _overview(commands: Mapping[str, Command], at_prompt: bool) -> Iterator[str]:
    if not at_prompt:
        yield from (
            "tfprof: where the time, memory, parameters and float operations of a TensorFlow graph go.",
            "",
            f"  {'tfprof COMMAND FILES OPTIONS':<{USAGE_COLUMNS - 2}}does one thing",
            f"  {'tfprof FILES':<{USAGE_COLUMNS - 2}}opens a prompt to explore: Tab completes, Ctrl-D leaves",
            "",
            "Files:",
            *option_lines((*FILES, DUMP_TO_FILE, *GENERAL), "--"),
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


def keep(session: Session, request: CommandRequest) -> Session:
    """Keep the options that were typed for the next commands; without any, print what all options are."""
    refuse_files(session, request)
    if not request.options:
        print_options(session)
        return session
    parse_output(str(request.options.get("output", "")))
    check_options(session.profile, session.options(request.options))
    return replace(session, kept={**session.kept, **request.options})


SET = Command(
    "set",
    "Keeps options for the commands that follow.",
    keep,
    "OPTIONS",
    "set -account_type_regexes _trainable_variables",
    in_shell=False,
)


def leave(session: Session, request: CommandRequest) -> Session:
    """End the prompt."""
    raise EOFError


QUIT = Command("quit", "Leaves, as Ctrl-D does.", leave, in_shell=False)
EXIT = Command("exit", "Leaves, as Ctrl-D does.", leave, in_shell=False)


def merge(session: Session, request: CommandRequest) -> Session:
    """Write everything that the files hold as one ProfileProto."""
    target = str(request.options.get("output", ""))
    if not target:
        raise value_error("merge: say where to, as in -o profile_all")
    session.profile.save(target)
    say(f"wrote {target}: {session.profile!r}")
    return session


MERGE = Command(
    "merge",
    "Makes one saved profile of several files, or of workers as NAME=FILE.",
    merge,
    "FILES -o PROFILE",
    "merge profile_100 profile_200 -o profile_all",
    at_prompt=False,
)


def save_report(session: Session, request: CommandRequest) -> Session:
    """Write the page to the file that `output` names."""
    refuse_files(session, request)
    target = str(request.options.get("output", ""))
    if not target:
        raise value_error("report: say where to, as in -o page.html")
    options = {name: value for name, value in {**session.kept, **request.options}.items() if name != "output"}
    shown = Shown.of_profile(session.profile, "overview", Path(target).stem, **options)
    write_whole(target, report(shown).encode())
    say(f"wrote {target}")
    return session


REPORT = Command(
    "report",
    "Writes a page of tables, charts and timeline, which needs no network.",
    save_report,
    "[FILES] -o PAGE.html [OPTIONS]",
    "report profile_100 -o page.html",
)


def show_view(session: Session, request: CommandRequest) -> Session:
    """Print the view that is named as the command, or write it to where `output` says."""
    refuse_files(session, request)
    named = Options.of(**{**session.kept, **request.options})
    destination = parse_output(named.output)
    check_output(destination, request.command, named)  # before any file is read
    options = session.options(request.options)
    view = View.of(evaluate(session.profile, request.command, options))
    if destination.kind != "stdout":
        deliver(view, destination)
        if destination.kind == "file":  # deliver() says how to look at the others
            say(f"wrote {destination.outfile}")
        return session
    print_view(view)
    only_root_asked = view.view != "op" and options.max_depth <= 1
    if not only_root_asked and (reason := why_empty(view) or said_lacking(view)):
        say(reason)
    return session


_USAGE = "[FILES] [OPTIONS]"

SCOPE = Command(
    "scope",
    "By name scope, as a tree.",
    show_view,
    _USAGE,
    "scope --graph_path=graph.pbtxt --max_depth=3",
)
GRAPH = Command(
    "graph",
    "By what depends on what: below a node stand its inputs.",
    show_view,
    _USAGE,
    "graph --graph_path=graph.pbtxt --run_meta_path=run_meta --start_name_regexes=cost.* --max_depth=100",
)
OP = Command(
    "op",
    "By op type, as MatMul: all nodes of a type together.",
    show_view,
    _USAGE,
    "op --profile_path=profile_100 --select=micros,bytes,occurrence --order_by=micros",
)
CODE = Command(
    "code",
    "By line of Python code; needs code traces, as an op log has them.",
    show_view,
    _USAGE,
    "code --profile_path=profile_100 --show_name_regexes=.*train.py.* --order_by=micros",
)
LAYERS = Command(
    "layers",
    "By layer of the model, or by outermost name scopes, in the model's order.",
    show_view,
    _USAGE,
    "layers --profile_path=profile_100 --select=micros,params,float_ops",
)
TRIES = {command.name: command for command in (SCOPE, GRAPH, OP, CODE, LAYERS, ACCOUNT, ADVISE, FLOPS, REPORT)}
COSTLIEST = {"order_by": "micros", "select": ("micros", "bytes", "float_ops", "occurrence")}


def demonstrate(session: Session, request: CommandRequest) -> Session:
    """Run the command that is named behind `demo`; none shows the costliest op types."""
    usual = ACCOUNT.name if request.general.get(JSON.name) else OP.name
    name, *operands = request.operands or (usual,)
    if name not in TRIES or operands:
        odd = operands[0] if name in TRIES else name
        raise value_error(f"demo takes no {odd!r}:{meant(odd, TRIES)} Try one of {', '.join(TRIES)}")
    options = request.options if request.operands else {**COSTLIEST, **request.options}
    recorded = str(files("tfprof_widget") / "recorded")
    TRIES[name].run(
        Session(LazyProfile(partial(load, recorded))),
        json_asked(replace(request, command=name, operands=(), options=options)),
    )
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
_ALL = (
    SCOPE,
    GRAPH,
    OP,
    CODE,
    LAYERS,
    ACCOUNT,
    ADVISE,
    FLOPS,
    COMPARE,
    SET,
    REPORT,
    MERGE,
    DEMO,
    *JOB_COMMANDS,
    QUIT,
    EXIT,
)
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
        raise value_error(f"there is no command {name!r}:{meant(name, known)} The commands are {', '.join(known)}")
    return COMMANDS[name]
