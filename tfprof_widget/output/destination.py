"""Prints or writes a view where the option `output` says."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike

from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.errors import ProfileWarning, value_error
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.output.pprof import pprof_profile, selected_measures
from tfprof_widget.output.text import banner, report
from tfprof_widget.output.timeline import graph_events, tree_events
from tfprof_widget.output.timeline_events import whole_trace
from tfprof_widget.profiles.options import Options

STEP = "{step}"
TIMELINES = ("graph", "scope", "code")


def timeline_files(view: ViewData, path: str, *, epoch: bool = False) -> Iterator[tuple[str, bytearray]]:
    """The files of a view's timeline: `path` itself, or one for each chosen step if `{step}` stands in it.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("graph")
    >>> [name for path in ("run.json", "{step}.json") for name, _ in timeline_files(view, path)]
    ['run.json', '0.json']
    """
    profile = view.profile
    steps = chosen_steps(profile, view.options)
    if STEP not in path or not steps:
        yield path.replace(STEP, str(view.options.step)), _timeline(view, epoch=epoch)
        return
    for step in dict.fromkeys(profile.steps[index] for index in steps):
        of_step = evaluate(profile, view.view, replace(view.options, step=step))
        yield path.replace(STEP, str(step)), _timeline(of_step, epoch=epoch)


def _timeline(view: ViewData, *, epoch: bool) -> bytearray:
    about = {"view": f"{view.view} view"}
    if epoch:
        about["times"] = "Times are microseconds since 1970 by the clock of the machine that ran the ops."
    elif view.view == "graph" and len(chosen_steps(view.profile, view.options)) > 1:
        about["steps"] = "The steps follow one another with a gap between them; how far apart they ran is not recorded."
    events = graph_events(view, epoch=epoch) if view.view == "graph" else tree_events(view)
    content = whole_trace(events, about)
    if b'"ph":"X"' not in content:
        warnings.warn(f"timeline: there is nothing in it: {_reason(view)}", ProfileWarning, stacklevel=2)
    return content


def _reason(view: ViewData) -> str:
    if not (view.profile.executions.start_micros > 0).any():
        return "no run was recorded; give a run_meta of a run with RunOptions.FULL_TRACE"
    return "none of the shown nodes ran in the chosen step; loosen the filters or choose another step"


EPOCH = "epoch"
FILES = ("file", "timeline", "pprof")
KINDS = ("stdout", "none", *FILES)
# The views that have such an output, as in native tfprof; the first is taken if the user names none.
_VIEWS = {"timeline": TIMELINES, "pprof": ("code",)}

_CHOICES = "choose from " + ", ".join(kind if kind not in FILES else f"{kind}:outfile=NAME" for kind in KINDS)
_STARS = "*" * 54


@dataclass(frozen=True)
class Destination:
    """A kind of output and, for a file, its name."""

    kind: str
    outfile: str = ""
    epoch: bool = False

    @property
    def is_file(self) -> bool:
        """Whether the view is written to a file, and only a note about the file is printed."""
        return self.kind in FILES


def parse_output(output: str) -> Destination:
    """Read the option `output`; an empty text means the terminal.

    >>> parse_output("file:outfile=/tmp/a=b.txt")
    Destination(kind='file', outfile='/tmp/a=b.txt', epoch=False)
    >>> parse_output("fil:outfile=a")
    Traceback (most recent call last):
        ...
    ValueError: output 'fil:outfile=a': there is no 'fil'; choose from stdout, none, file:outfile=NAME, ...
    """
    kind, _, settings = output.partition(":")
    destination = Destination(kind or "stdout")
    if destination.kind not in KINDS:
        raise value_error(f"output {output!r}: there is no {kind!r}; {_CHOICES}")
    outfile, epoch = "", False
    for setting in filter(None, settings.split(",")):
        if setting == EPOCH and destination.kind == "timeline":
            epoch = True
            continue
        key, equals, value = setting.partition("=")
        if key != "outfile" or not equals or not destination.is_file:
            raise value_error(f"output {output!r}: {kind} takes no {setting!r}; {_CHOICES}")
        outfile = value
    if destination.is_file and not outfile:
        raise value_error(f"output {output!r}: name the file, as in {kind}:outfile=NAME")
    return Destination(destination.kind, outfile, epoch)


def view_for(destination: Destination, otherwise: str) -> str:
    """The view to make if the user names none: one that has such an output, or `otherwise` if all have.

    >>> view_for(Destination("timeline"), "op"), view_for(Destination("stdout"), "op")
    ('graph', 'op')
    """
    return _VIEWS.get(destination.kind, (otherwise,))[0]


def check_output(destination: Destination, view: str, options: Options) -> None:
    """Refuse an output that a view does not have, before the view is made.

    >>> check_output(Destination("timeline", "run.json"), "op", Options.of())
    Traceback (most recent call last):
        ...
    ValueError: output timeline: the op view has no timeline output; choose the view graph, scope or code
    """
    views = _VIEWS.get(destination.kind, (view,))
    if view not in views:
        choices = " or ".join(filter(None, [", ".join(views[:-1]), views[-1]]))
        kind = destination.kind
        raise value_error(f"output {kind}: the {view} view has no {kind} output; choose the view {choices}")
    if destination.kind == "pprof":
        selected_measures(options)


def deliver(view: ViewData, destination: Destination) -> None:
    """Print the view, or write it to a file, as the option `output` says."""
    if destination.kind == "stdout":
        _print(banner(view.options, report(view)))
    elif destination.is_file:
        _print(write(view, destination))


def write(view: ViewData, destination: Destination) -> str:
    """Write the view to a file; returns the note to print, which says how to open a timeline or pprof profile."""
    path = destination.outfile
    match destination.kind:
        case "timeline":
            return _on_timelines(write_timeline(view, path, epoch=destination.epoch), view.view)
        case "pprof":
            write_pprof(view, path)
            return f"\nRun pprof -png --nodecount=100 --sample_index=1 <{path}>\n"
    write_whole(path, report(view).encode())
    return ""


def _on_timelines(names: list[str], view: str) -> str:
    """What native prints on timelines; of trees of names it does not say that it makes them."""
    first, *others = names
    making = "generating trace file.\n" if view == "graph" else ""
    files = f"Timeline file is written to {first}."
    if others:
        files = f"{len(names)} timeline files are written, from {first} to {others[-1]}."
    how = "Open a Chrome browser, enter URL chrome://tracing and load the timeline file."
    return f"{making}\n{_STARS}\n{files}\n{how}\n{_STARS}\n"


def write_timeline(view: ViewData, path: str | PathLike[str], *, epoch: bool = False) -> list[str]:
    """Write the timeline of a view; returns the files' names: `path`, or one for each step if `{step}` stands in it."""
    if epoch and view.view != "graph":
        raise value_error(f"timeline: the {view.view} view has lengths of time but no clock; choose the graph view")
    check_output(Destination("timeline"), view.view, view.options)
    written = []
    for name, content in timeline_files(view, os.fspath(path), epoch=epoch):
        write_whole(name, content)
        written.append(name)
    return written


def write_pprof(view: ViewData, path: str | PathLike[str]) -> None:
    """Write a code view as a profile for pprof."""
    check_output(Destination("pprof"), view.view, view.options)
    write_whole(path, pprof_profile(view))


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
