"""Runs the code of a magic on engines, and gives the profile as if it had run here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from tfprof_widget.errors import ProfileError
from tfprof_widget.magic.arguments import Request
from tfprof_widget.magic.delivery import deliver
from tfprof_widget.magic.progress import ProgressLine, line_display
from tfprof_widget.magic.telling import stepping_aside, tell

if TYPE_CHECKING:
    from tfprof_widget.parallel.cell_run import CellRun


def profile_on_engines(shell: InteractiveShell, request: Request, code: str, variables: Mapping[str, Any]) -> None:
    """Run code on the engines that are asked for: where some fail that is told, where all fail it is raised."""
    from tfprof_widget.parallel.capture import cell_run, error_of, joined_capture
    from tfprof_widget.parallel.clusters import named_engines
    from tfprof_widget.parallel.joining import failures

    with ExitStack() as opened:
        try:
            engines = opened.enter_context(named_engines(request.engines or "", variables))
        except ProfileError as fault:
            raise UsageError(str(fault)) from None
        run = cell_run(engines, code, **request.traced)
        with _watched(shell, request, run):
            outcomes = run.run()
    error = error_of(run, outcomes)
    with stepping_aside("has no profile of this"):
        capture = joined_capture(outcomes, request.name)
        if error is None:
            for note in failures(outcomes):
                tell(note)
        deliver(shell, request, capture)
    if error is not None:
        raise error


@contextmanager
def _watched(shell: InteractiveShell, request: Request, run: CellRun) -> Iterator[None]:
    """Show how far the engines are while they run."""
    show = None if request.quiet else line_display(shell)
    if show is None:
        yield
        return
    line = ProgressLine(run.progress, show)
    line.start()
    try:
        yield
    finally:
        line.stop()
