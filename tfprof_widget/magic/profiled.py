"""A capture on behalf of a magic: begun, shown and stored so that no fault of ours reaches the user's code."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from IPython.core.interactiveshell import InteractiveShell

from tfprof_widget.magic.arguments import Request
from tfprof_widget.magic.delivery import deliver
from tfprof_widget.magic.progress import ProgressLine, line_display
from tfprof_widget.magic.telling import stepping_aside

if TYPE_CHECKING:
    from tfprof_widget.capturing.result import Capture


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
                    deliver(self._shell, self._request, capture)

    def _watch(self, capture: Capture) -> None:
        show = line_display(self._shell)
        if show is not None:
            self._progress = ProgressLine(capture.progress, show)
            self._progress.start()
