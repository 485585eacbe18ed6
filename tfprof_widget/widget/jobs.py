"""Shows the tasks of jobs while they run: a widget with a row for each, told by a thread that reads a directory."""

from __future__ import annotations

import contextvars
import threading
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Protocol

import anywidget
import traitlets

from tfprof_widget.analysis.advisor.overview import cell_parts
from tfprof_widget.ingest.files.jobs import TaskFiles
from tfprof_widget.lib.errors import error_text
from tfprof_widget.lib.text import written_seconds
from tfprof_widget.output.html import GLANCE_STYLE, as_html
from tfprof_widget.profiles.live import Status, TaskState
from tfprof_widget.widget.live import live_to_browser
from tfprof_widget.widget.traits import TfprofWidget, shared_assets, widget_code

EVERY_SECONDS = 1.0
MOST_STRIP = 60
MOST_SHOWN = 512
"""So many tasks are shown: a page with more rows would be slow, and nobody would read them."""
STEPS_ASKED = 5


class ShownTask(Protocol):
    """A task as it is seen now: `status` may be silent, and `last_words` say what is known of its end."""

    @property
    def files(self) -> TaskFiles:
        """Where it writes."""

    @property
    def state(self) -> TaskState:
        """What it told last."""

    @property
    def status(self) -> Status:
        """How it stands."""

    @property
    def last_words(self) -> str:
        """How it ended."""


Look = Callable[[], Sequence[ShownTask]]
Open = Callable[[Path], TfprofWidget]
Ask = Callable[[str, int], object]
"""Asks all tasks of the job of this name to trace so many steps."""


class JobsWidget(anywidget.AnyWidget):
    """The tasks in a directory of jobs; it is told of them once a second for as long as it is displayed.

    >>> JobsWidget("jobs", list, open_profile=lambda path: None, ask=lambda job, steps: None).tasks
    []
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _kind = traitlets.Unicode("jobs").tag(sync=True)
    _id = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    tasks: Any = traitlets.List().tag(sync=True)
    # The task whose profile is shown, and the widget that shows it; else what became of the last request.
    _opened: Any = traitlets.Dict().tag(sync=True)
    _said = traitlets.Unicode().tag(sync=True)
    _assets = anywidget.WidgetTrait().tag(sync=True)

    def __init__(self, title: str, look: Look, *, open_profile: Open, ask: Ask) -> None:
        self._look, self._open_profile, self._ask = look, open_profile, ask
        self._seen: Sequence[ShownTask] = ()
        self._shown_profile: TfprofWidget | None = None
        self._views = 0
        self._refreshing: _Refreshing | None = None
        super().__init__(_esm=widget_code(), _assets=shared_assets(), _id=uuid.uuid4().hex, title=title)
        self.on_msg(_answer)
        self.refresh()

    def refresh(self) -> None:
        """Look at the directory now."""
        self._seen = self._look()
        rows = [row_to_browser(each) for each in self._seen[:MOST_SHOWN]]
        if rows != self.tasks:
            self.tasks = rows
        left_out = len(self._seen) - len(rows)
        if left_out:
            self._said = f"{left_out:,} more tasks are not shown: watch the directory of one job"

    def start(self) -> None:
        """Look at the directory again and again, in a thread that ends with the last view."""
        if self._refreshing is None or self._refreshing.is_over:
            self._refreshing = _Refreshing(self)

    def stop(self) -> None:
        """Look no more."""
        if self._refreshing is not None:
            self._refreshing.stop()

    def close(self) -> None:
        """Look no more, and let the page forget the widget."""
        self.stop()
        if self._shown_profile is not None:
            self._shown_profile.close()
        super().close()

    def _ipython_display_(self) -> None:
        """Show the tasks, and after them the table that stays when there is no kernel any more."""
        from IPython.display import display

        bundle: Any = self._repr_mimebundle_()
        live, described = bundle if isinstance(bundle, tuple) else (bundle, {})
        if live is None:
            return
        self.start()
        display({**live, "text/plain": ""}, metadata=described, raw=True)
        html = f'<div data-tfprof="{escape(self._id)}">{jobs_html(self._seen)}</div>'
        display({"text/html": html, "text/plain": jobs_text(self._seen)}, raw=True)

    def _show(self, name: str) -> None:
        """Show the last profile of a task."""
        task = self._named(name)
        if task is None:  # it has been removed meanwhile
            return
        try:
            shown = self._open_profile(task.files.snapshot)
        except Exception as error:  # it may be written anew right now, or be gone
            self._said = f"{name} cannot be shown: {error_text(error)}"
            return
        if self._shown_profile is not None:
            self._shown_profile.close()
        shown.title = name
        self._shown_profile, self._said = shown, ""
        self._opened = {"task": name, "widget": f"anywidget:{shown.model_id}"}

    def _ask_for_trace(self, name: str) -> None:
        """Ask all tasks of the job of a task to trace their next steps."""
        task = self._named(name)
        if task is None:
            return
        try:
            self._ask(task.files.job, STEPS_ASKED)
        except Exception as error:
            self._said = f"{task.files.job} cannot be asked: {error_text(error)}"
        else:
            self._said = f"{task.files.job} was asked to trace {STEPS_ASKED} steps; the profile follows in a moment"

    def _named(self, name: str) -> ShownTask | None:
        return next((each for each in self._seen if _name(each) == name), None)


class _Refreshing:
    """Refreshes a widget in a thread, once a second, until it is told to stop or nobody has the widget any more."""

    def __init__(self, widget: JobsWidget, every: float = EVERY_SECONDS) -> None:
        self._widget, self._every = weakref.ref(widget), every
        self._stopped = threading.Event()
        # In the context of who displays it, without which some kernels let no thread tell the page anything.
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._run,), name="tfprof jobs view", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether it refreshes no more."""
        return self._stopped.is_set() or not self._thread.is_alive()

    def stop(self) -> None:
        """Refresh no more."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._every):
            widget = self._widget()
            if widget is None or widget.comm is None:
                return
            try:
                widget.refresh()
            except Exception as error:  # as of a directory that may not be read for a while
                widget._said = f"the directory cannot be read: {error_text(error)}"
            del widget


def _answer(widget: JobsWidget, message: Any, _buffers: Any) -> None:
    """Do what the page asks for: js/src/views/jobs.tsx."""
    match message:
        case {"request": "open", "task": str(name)}:
            widget._show(name)
        case {"request": "close"}:
            widget._opened = {}
        case {"request": "trace", "task": str(name)}:
            widget._ask_for_trace(name)
        case {"request": "shown"}:
            widget._views += 1
            widget.start()
        case {"request": "hidden"}:
            widget._views -= 1
            if widget._views <= 0:
                widget.stop()


def _name(task: ShownTask) -> str:
    return f"{task.files.job}/{task.files.task}"


def row_to_browser(task: ShownTask) -> Mapping[str, Any]:
    """What js/src/data/jobs.ts reads of a task."""
    live = live_to_browser(task.state.live)
    return {
        **live,
        "strip": live["strip"][-MOST_STRIP:],
        "name": _name(task),
        "job": task.files.job,
        "task": task.files.task,
        "status": task.status,
        "exit_code": task.state.exit_code,
        "last_words": task.last_words,
        "has_profile": task.files.snapshot.exists(),
    }


def jobs_html(tasks: Sequence[ShownTask]) -> str:
    """The tasks as a table, for readers without scripts.

    >>> jobs_html([])[-39:]
    '<p>No task has told of itself yet.</p>'
    """
    if not tasks:
        return "<p>No task has told of itself yet.</p>"
    head = "".join(f'<th scope="col">{each}</th>' for each in ("task", "status", "steps", "a step", "cell"))
    body = "".join(
        f'<tr><th scope="row">{as_html(_name(task))}</th>'
        + "".join(f"<td>{as_html(each)}</td>" for each in _figures(task))
        + "</tr>"
        for task in tasks[:MOST_SHOWN]
    )
    return (
        f'<div class="tfprof-glance" translate="no"><style>{GLANCE_STYLE}</style>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def jobs_text(tasks: Sequence[ShownTask]) -> str:
    """The tasks as text, a line each.

    >>> jobs_text([])
    'no task has told of itself yet'
    """
    lines = [" · ".join(filter(None, (_name(task), *_figures(task)))) for task in tasks[:MOST_SHOWN]]
    return "\n".join(lines) or "no task has told of itself yet"


def _figures(task: ShownTask) -> tuple[str, ...]:
    live = task.state.live
    words = f": {task.last_words}" if task.last_words else ""
    parts = ", ".join(f"{part.name} {part.share} %" for part in cell_parts(live.parts, live.steps)[:3])
    step = written_seconds(live.step_seconds) if live.step_seconds else ""
    return f"{task.status}{words}", f"{live.steps:,}", step, parts
