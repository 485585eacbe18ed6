"""The commands `scope`, `graph`, `op` and `code`: a view of the profile."""

from __future__ import annotations

from tfprof_widget.cli.arguments import Request
from tfprof_widget.cli.command import Command, refuse_files
from tfprof_widget.cli.outcome import say
from tfprof_widget.cli.subject import Session
from tfprof_widget.cli.terminal import print_view
from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.options import Options
from tfprof_widget.output.destination import check_output, deliver, parse_output
from tfprof_widget.output.reason import why_empty


def show(session: Session, request: Request) -> Session:
    """Print the view that is named as the command, or write it to where `output` says."""
    refuse_files(session, request)
    named = Options.of(**{**session.kept, **request.options})
    destination = parse_output(named.output)
    check_output(destination, request.command, named)  # before any file is read
    options = session.options(request.options)
    view = evaluate(session.profile, request.command, options)
    if destination.kind != "stdout":
        deliver(view, destination)
        if destination.kind == "file":  # of the others it is said how to look at them
            say(f"wrote {destination.outfile}")
        return session
    print_view(view)
    only_root_asked = view.view != "op" and options.max_depth <= 1
    if not only_root_asked and (reason := why_empty(view)):
        say(reason)
    return session


_USAGE = "[FILES] [OPTIONS]"

SCOPE = Command(
    "scope",
    "By name scope, as a tree.",
    show,
    _USAGE,
    "scope --graph_path=graph.pbtxt --max_depth=3",
)
GRAPH = Command(
    "graph",
    "By what depends on what: below a node stand its inputs.",
    show,
    _USAGE,
    "graph --graph_path=graph.pbtxt --run_meta_path=run_meta --start_name_regexes=cost.* --max_depth=100",
)
OP = Command(
    "op",
    "By op type, as MatMul: all nodes of a type together.",
    show,
    _USAGE,
    "op --profile_path=profile_100 --select=micros,bytes,occurrence --order_by=micros",
)
CODE = Command(
    "code",
    "By line of Python code; needs code traces, as an op log has them.",
    show,
    _USAGE,
    "code --profile_path=profile_100 --show_name_regexes=.*train.py.* --order_by=micros",
)
