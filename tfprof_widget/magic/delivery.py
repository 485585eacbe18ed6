"""Gives the user what a magic line asked for of a capture: stored, saved, written, shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from tfprof_widget.magic.arguments import Request
from tfprof_widget.magic.telling import stepping_aside
from tfprof_widget.output.destination import Destination, parse_output, view_for, write, write_whole

if TYPE_CHECKING:
    from tfprof_widget.capturing.result import Capture


def deliver(shell: InteractiveShell, request: Request, capture: Capture) -> None:
    """Give what was asked for; what of it fails is told, and the rest is given."""
    capture.options = {name: value for name, value in request.shown.items() if name != "output"}
    if request.out:
        shell.push({request.out: capture})
    if request.report:
        with stepping_aside("has no report"):
            capture.save_report(request.report)
    destination = parse_output(request.shown.get("output", ""))
    if destination.is_file:
        with stepping_aside("the result is not written"):
            _write(request, capture, destination)
    elif destination.kind == "stdout" and not request.quiet:
        _show(shell, request, capture)


def _write(request: Request, capture: Capture, destination: Destination) -> None:
    if destination.kind == "file":
        write_whole(destination.outfile, capture.text().encode())
        return
    view = request.shown.get("view") or view_for(destination, "op")
    said = write(capture.view(view), destination)
    if not request.quiet:
        print(said)


def _show(shell: InteractiveShell, request: Request, capture: Capture) -> None:
    if request.text or "output" in request.shown or not hasattr(shell, "kernel"):
        print(capture.text())
    else:
        display(capture)
