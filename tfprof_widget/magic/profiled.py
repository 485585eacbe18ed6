"""A capture on behalf of a magic: begun, shown and stored so that no fault of ours reaches the user's code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from tfprof_widget.magic.arguments import Request
from tfprof_widget.magic.progress import ProgressLine, line_display
from tfprof_widget.output.destination import Destination, parse_output, view_for, write, write_whole

if TYPE_CHECKING:
    from tfprof_widget.capturing.result import Capture


def tell(message: str) -> None:
    """Say something to the user that is neither the cell's output nor a reason to stop it."""
    print(f"tfprof: {message}", file=sys.stderr)


@contextmanager
def stepping_aside(trouble: str) -> Iterator[None]:
    """Tell of a fault of ours in a line, and go on without what it was for."""
    try:
        yield
    except Exception as error:
        tell(f"{trouble}: {type(error).__name__}: {error}")


class Profiled:
    """One cell or expression that is being profiled."""

    def __init__(self, shell: InteractiveShell, request: Request) -> None:
        self._shell = shell
        self._request = request
        self._started: tuple[AbstractContextManager[Capture], Capture] | None = None
        self._progress: ProgressLine | None = None

    def begin(self) -> None:
        """Start the capture; when that fails, say so and let the code run without."""
        with stepping_aside("cannot profile this"):
            from tfprof_widget.capturing.context import capture

            capturing = capture(name=self._request.name, **self._request.traced)
            self._started = capturing, capturing.__enter__()
        if self._started is not None and not self._request.quiet:
            with stepping_aside("cannot show how far it is"):
                self._watch(self._started[1])

    def end(self) -> None:
        """Stop the capture, whatever else goes wrong, then give the user what was asked for."""
        try:
            if self._progress is not None:
                with stepping_aside("cannot take the progress line away"):
                    self._progress.stop()
        finally:
            if self._started is not None:
                capturing, capture = self._started
                with stepping_aside("has no profile of this"):
                    capturing.__exit__(None, None, None)
                    self._deliver(capture)

    def _watch(self, capture: Capture) -> None:
        show = line_display(self._shell)
        if show is not None:
            self._progress = ProgressLine(capture.progress, show)
            self._progress.start()

    def _deliver(self, capture: Capture) -> None:
        request = self._request
        capture.options = {name: value for name, value in request.shown.items() if name != "output"}
        if request.out:
            self._shell.push({request.out: capture})
        if request.report:
            with stepping_aside("has no report"):
                capture.save_report(request.report)
        destination = parse_output(request.shown.get("output", ""))
        if destination.is_file:
            with stepping_aside("the result is not written"):
                self._write(capture, destination)
        elif destination.kind == "stdout" and not request.quiet:
            self._show(capture)

    def _write(self, capture: Capture, destination: Destination) -> None:
        if destination.kind == "file":
            write_whole(destination.outfile, capture.text().encode())
            return
        view = self._request.shown.get("view") or view_for(destination, "op")
        said = write(capture.view(view), destination)
        if not self._request.quiet:
            print(said)

    def _show(self, capture: Capture) -> None:
        if self._request.text or "output" in self._request.shown or not hasattr(self._shell, "kernel"):
            print(capture.text())
        else:
            display(capture)
