"""Shows below a running cell how it stands, from a thread, and then leaves its place to the result."""

from __future__ import annotations

import contextvars
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from tfprof_widget.magic.cell import cell_id
from tfprof_widget.profiles.live import LiveState

if TYPE_CHECKING:
    from tfprof_widget.widget.live import LiveWidget

AFTER_SECONDS = 1.0
"""Cells that take less show their result only."""
EVERY_SECONDS = 0.5
KEPT_SECONDS = 10.0
"""So often what the notebook keeps is told anew: an interrupt, a dead kernel and saving midway keep the last state."""
CALM_SECONDS = 3.0
"""A cell that clears its outputs gets the view again when it has cleared none for so long: else it would flicker."""
STOP_SECONDS = 1.0
MOST_FAULTS = 3
"""After so many looks in a row that failed there are no more."""


class LiveView:
    """Tells the page how a capture stands, until `stop`; where it stands, the result is to be shown after that.

    The thread that tells asks the page for nothing, as the kernel is busy. Without the view the cell runs all the same.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        look: Callable[[], LiveState | None],
        title: str,
        *,
        after: float = AFTER_SECONDS,
        every: float = EVERY_SECONDS,
        kept: float = KEPT_SECONDS,
        calm: float = CALM_SECONDS,
    ) -> None:
        self._publisher: Any = shell.display_pub
        self._look, self._title = look, title
        self._after, self._every, self._kept, self._calm = after, every, kept, calm
        self._widget: LiveWidget | None = None
        self._places: tuple[str, ...] = ()
        self._cleared: float | None = None
        self._ended = threading.Event()
        # In the cell's own context, by which a kernel knows to which cell an output belongs.
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._watch,), name="tfprof live view", daemon=True)

    def start(self) -> None:
        """Begin to look; called in the thread in which the cell runs."""
        with suppress(Exception):  # a publisher of another kind: then nobody knows of outputs that were cleared
            self._publisher.register_hook(self._notice)
        self._thread.start()

    def stop(self) -> tuple[str, ...]:
        """Tell no more; gives the display ids of the two outputs that the result is to take, if they are there."""
        self._ended.set()
        with suppress(Exception):
            self._publisher.unregister_hook(self._notice)
        self._thread.join(STOP_SECONDS)
        if self._cleared is not None:
            self.take_away()
        return self._places

    def finish(self) -> None:
        """Let the page forget the view some time after the result is shown in its place."""
        if self._widget is not None:
            self._widget.finish()

    def take_away(self) -> None:
        """Leave no output of the view."""
        places, self._places = self._places, ()
        for place in places:  # also where outputs were cleared: those of the view may have been somewhere else
            self._publish({}, place, update=True)

    def _notice(self, message: Any) -> Any:
        """Notice that the cell clears its outputs, as a loop does that draws plots; gives the message as it came."""
        with suppress(Exception):
            if message["header"]["msg_type"] == "clear_output":
                self._cleared = monotonic()
        return message

    def _watch(self) -> None:
        wait, faults, kept = self._after, 0, 0.0
        while not self._ended.wait(wait):
            wait = self._every
            try:
                state = self._look()
                if state is not None and state.phase != "starting" and not self._ended.is_set():
                    is_kept = state.seconds - kept < self._kept
                    self._tell(state, is_kept=is_kept)
                    kept = kept if is_kept else state.seconds
                faults = 0
            except Exception:
                faults += 1
                if faults >= MOST_FAULTS:
                    return

    def _tell(self, state: LiveState, *, is_kept: bool) -> None:
        if self._cleared is not None:
            if monotonic() - self._cleared < self._calm:
                return
            self._cleared = None
            self.take_away()
        if self._widget is None:
            from tfprof_widget.widget.live import LiveWidget

            self._widget = LiveWidget(self._title)
        self._widget.tell(state)
        is_new = not self._places
        if is_new:
            self._places = (uuid.uuid4().hex, uuid.uuid4().hex)
            bundle: Any = self._widget._repr_mimebundle_()
            live, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
            self._publish({**live, "text/plain": ""}, self._places[0], metadata)
        if is_new or not is_kept:
            kept = {"text/html": self._widget.kept_html(state), "text/plain": state.line()}
            self._publish(kept, self._places[1], update=not is_new)

    def _publish(self, data: Any, place: str, metadata: Any = None, *, update: bool = False) -> None:
        self._publisher.publish(data=data, metadata=metadata or {}, transient={"display_id": place}, update=update)


def can_show_live(shell: InteractiveShell) -> bool:
    """Whether a page with widgets shows this cell: JupyterLab and hosts like it say which cell runs, nbclient does not.

    >>> can_show_live(InteractiveShell.instance())
    False
    """
    return hasattr(shell, "kernel") and cell_id(shell) is not None
