"""Captures on behalf of a magic, shows progress, and delivers the result."""

from __future__ import annotations

import contextvars
import shutil
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
from IPython.utils.capture import capture_output

from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.lib.text import visible
from tfprof_widget.magic.arguments import MagicRequest
from tfprof_widget.magic.cell import CellSource, cell_source, compiled_code
from tfprof_widget.magic.live_view import LiveView, can_show_live
from tfprof_widget.output.destination import Destination, parse_output, view_for, write

if TYPE_CHECKING:
    from tfprof_widget.api.race import Racing
    from tfprof_widget.api.result import Capture
    from tfprof_widget.parallel.engines import CellRun
    from tfprof_widget.profiles.kept_run import KeptRun

AFTER_SECONDS = 2.0
EVERY_SECONDS = 1.0
STOP_SECONDS = 1.0

Show = Callable[[str], None]


class ProgressLine:
    """Asks `progress` for a line from time to time, in its own thread, and shows the line when it has changed.

    >>> shown = []
    >>> line = ProgressLine(lambda: "3 runs", shown.append, after=0.0)
    >>> line.start()
    >>> while not shown:
    ...     pass
    >>> line.stop()
    >>> shown
    ['3 runs', '']
    """

    def __init__(self, progress: Callable[[], str | None], show: Show, after: float = AFTER_SECONDS) -> None:
        self._progress = progress
        self._show = show
        self._after = after
        self._shown = ""
        self._ended = threading.Event()
        # In the cell's own context, by which a kernel knows to which cell an output belongs.
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._watch,), name="tfprof progress", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Take the line away; nothing is shown after this."""
        self._ended.set()
        self._thread.join(STOP_SECONDS)
        if self._shown and not self._thread.is_alive():
            self._show("")

    def _watch(self) -> None:
        wait = self._after
        with suppress(Exception):  # without the line the cell goes on all the same
            while not self._ended.wait(wait):
                line = visible(self._progress() or "")
                if line and line != self._shown and not self._ended.is_set():
                    self._show(line)
                    self._shown = line
                wait = EVERY_SECONDS


def line_display(shell: InteractiveShell) -> Show | None:
    """A function that shows a line which changes, in a notebook or at a terminal; None where neither is."""
    if hasattr(shell, "kernel"):
        return _notebook_display(shell)
    return _show_in_terminal if sys.stderr.isatty() else None


def _notebook_display(shell: InteractiveShell) -> Show:
    publisher, display_id, shown = shell.display_pub, uuid.uuid4().hex, threading.Event()

    def show(line: str) -> None:
        data = {"text/plain": line} if line else {}
        publisher.publish(data=data, metadata={}, transient={"display_id": display_id}, update=shown.is_set())
        shown.set()

    return show


def _show_in_terminal(line: str) -> None:
    width = shutil.get_terminal_size().columns - 1  # a line that wraps could not be taken back
    sys.stderr.write(f"\r{line[:width]}\x1b[K")
    sys.stderr.flush()


def print_note(message: str) -> None:
    """Tell the user something that is neither output of the cell nor an error of it."""
    print(f"tfprof: {message}", file=sys.stderr)


@contextmanager
def report_and_go_on(trouble: str) -> Iterator[None]:
    """Report an error of the profiler in one line, and go on without what failed."""
    try:
        yield
    except Exception as error:
        print_note(f"{trouble}: {type(error).__name__}: {error}")


def keep(shell: InteractiveShell, request: MagicRequest, capture: Capture, cell: CellSource) -> None:
    """Let the run be part of the kernel's history, and write it into the directory that was asked for.

    Where nothing was recorded there is nothing to keep, as the result says.
    """
    from tfprof_widget.api.history import file_of, keep_run

    with report_and_go_on("this run is not kept in the history"):
        if capture.is_empty:
            return
        capture.kept_run = keep_run(capture.kept_run.told(fingerprint={}, **cell._asdict()))
        capture.reruns_by(partial(racing_runs, shell))
    if request.keep:
        with report_and_go_on("this run is not kept on disk"):
            capture.save(file_of(request.keep, capture.kept_run))


def racing_runs(shell: InteractiveShell, before: KeptRun, after: KeptRun) -> Racing:
    """A race of the code of two runs of cells, which prints and shows nothing meanwhile."""
    from tfprof_widget.api.race import Racing

    def silent(run: KeptRun) -> Callable[[], None]:
        compiled = compiled_code(shell, run.source)

        def call() -> None:
            with capture_output():
                compiled(None)

        return call

    names = before.title, after.title if after.title != before.title else f"{after.title} (after)"
    return Racing(dict(zip(names, map(silent, (before, after)), strict=True)))


def race_with(
    shell: InteractiveShell, request: MagicRequest, variables: Mapping[str, Any], run: Callable[[], Any]
) -> None:
    """Race code with what `--against` names, and show the result."""
    from tfprof_widget.api.history import history
    from tfprof_widget.api.race import race

    rival: Any = variables.get(request.against)
    if not callable(rival):
        earlier = history(request.against)
        if not len(earlier):
            raise UsageError(
                f"--against {request.against}: that is neither a callable nor an earlier run; name a function without "
                "arguments, or a run such as In[4] of a cell under %%tfprof in this kernel"
            )
        named = [each for each in earlier if request.against in (each.label, each.name)] or list(earlier)
        compiled = compiled_code(shell, named[-1].source)
        rival = lambda: compiled(None)  # noqa: E731 a def would hide what it is for
    found = race({request.against: rival, request.name or "this cell": run}, float(request.seconds))
    if request.out:
        shell.push({request.out: found})
    if not request.quiet:
        if request.text or not hasattr(shell, "kernel"):
            print(found.text())
        else:
            display(found)


def deliver(
    shell: InteractiveShell,
    request: MagicRequest,
    capture: Capture,
    places: Callable[[], Sequence[str]] = tuple[str],
) -> None:
    """Show, store and save the result as the request says; a part that fails is reported, the others go on.

    `places` gives the display ids of the outputs to show it in; without any it is shown below all other output.
    """
    capture.options = {name: value for name, value in request.shown.items() if name != "output"}
    if request.out:
        shell.push({request.out: capture})
    if request.report:
        with report_and_go_on("has no report"):
            capture.save_report(request.report)
    destination = parse_output(request.shown.get("output", ""))
    if destination.is_file:
        with report_and_go_on("the result is not written"):
            _write(request, capture, destination)
    elif destination.kind == "stdout" and not request.quiet:
        _show(shell, request, capture, places)


def _write(request: MagicRequest, capture: Capture, destination: Destination) -> None:
    if destination.kind == "file":
        write_whole(destination.outfile, capture.text().encode())
        return
    view = request.shown.get("view") or view_for(destination, "op")
    said = write(capture.view(view), destination)
    if not request.quiet:
        print(said)


def _show(
    shell: InteractiveShell, request: MagicRequest, capture: Capture, places: Callable[[], Sequence[str]]
) -> None:
    if _shows_text(shell, request):
        print(capture.text())
        return
    with _saving(shell, request.save):
        if taken := places():
            capture.show(taken)
        else:
            display(capture)


def _shows_text(shell: InteractiveShell, request: MagicRequest) -> bool:
    return bool(request.text) or "output" in request.shown or not hasattr(shell, "kernel")


@contextmanager
def _saving(shell: InteractiveShell, what: str) -> Iterator[None]:
    """Let the notebook keep this of the results that are shown in the block; empty for what it keeps of all."""
    magics: Any = shell.magics_manager.registry.get("TfprofMagics")
    if magics is None or not what:
        yield
        return
    usual, magics.save = magics.save, what
    try:
        yield
    finally:
        magics.save = usual


class ProfiledCell:
    """One cell or expression that is being profiled."""

    def __init__(self, shell: InteractiveShell, request: MagicRequest, code: str = "") -> None:
        self._shell = shell
        self._request = request
        self._code = code
        self._cell = CellSource("", "", "")
        self._started: tuple[AbstractContextManager[Capture], Capture] | None = None
        self._progress: ProgressLine | None = None
        self._live: LiveView | None = None

    def begin(self) -> None:
        """Start the capture; when that fails, say so and let the code run without."""
        with report_and_go_on("cannot profile this"):
            from tfprof_widget.api.capture import capture

            with report_and_go_on("cannot tell which cell this is"):
                self._cell = cell_source(self._shell, self._code)
            capturing = capture(name=self._request.name, **self._request.traced)
            self._started = capturing, capturing.__enter__()
        if self._started is not None and not self._request.quiet:
            with report_and_go_on("cannot show how far it is"):
                self._watch(self._started[1])

    def end(self) -> None:
        """Stop the capture, whatever else goes wrong, then give the user what was asked for."""
        try:
            if self._progress is not None:
                with report_and_go_on("cannot take the progress line away"):
                    self._progress.stop()
        finally:
            if self._started is not None:
                capturing, capture = self._started
                with report_and_go_on("has no profile of this"), self._places() as places:
                    capturing.__exit__(None, None, None)
                    capture.title = self._title
                    keep(self._shell, self._request, capture, self._cell)
                    deliver(self._shell, self._request, capture, places)

    @property
    def _title(self) -> str:
        return self._request.name or self._cell.title(self._request.out)

    def _watch(self, capture: Capture) -> None:
        if can_show_live(self._shell) and not _shows_text(self._shell, self._request):
            self._live = LiveView(self._shell, capture.live, self._title)
            self._live.start()
            return
        show = line_display(self._shell)
        if show is not None:
            self._progress = ProgressLine(capture.progress, show)
            self._progress.start()

    @contextmanager
    def _places(self) -> Iterator[Callable[[], Sequence[str]]]:
        """Gives a function that ends the live view and tells where the result may stand; takes it away at the end.

        The live view goes on while what was recorded is read.
        """
        live = self._live
        if live is None:
            yield lambda: ()
            return
        taken: list[str] = []

        def take() -> Sequence[str]:
            taken[:] = live.stop()
            return taken

        try:
            yield take
        except BaseException:
            taken.clear()
            raise
        finally:
            live.stop()
            if not taken:
                live.take_away()
            live.finish()


def profile_on_engines(shell: InteractiveShell, request: MagicRequest, code: str, variables: Mapping[str, Any]) -> None:
    """Run code on the engines asked for. If some fail, say so; if all fail, raise their error."""
    from tfprof_widget.parallel.engines import named_engines
    from tfprof_widget.parallel.joining import cell_run, error_of, failures, joined_capture

    with ExitStack() as opened:
        try:
            engines = opened.enter_context(named_engines(request.engines or "", variables))
        except ProfileError as fault:
            raise UsageError(str(fault)) from None
        run = cell_run(engines, code, **request.traced)
        with _watched(shell, request, run):
            outcomes = run.run()
    error = error_of(run, outcomes)
    with report_and_go_on("has no profile of this"):
        capture = joined_capture(outcomes, request.name)
        if error is None:
            for note in failures(outcomes):
                print_note(note)
        deliver(shell, request, capture)
    if error is not None:
        raise error


@contextmanager
def _watched(shell: InteractiveShell, request: MagicRequest, run: CellRun) -> Iterator[None]:
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
