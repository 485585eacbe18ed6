"""A bar on the terminal or in the notebook while something is read, if that takes longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from tfprof_widget.visible import visible

DELAY_SECONDS = 1.0
REFRESH_SECONDS = 0.5

Advance = Callable[[str, int], None]


@contextmanager
def progress(title: str, total: int) -> Iterator[Advance]:
    """Gives a function that takes what is being done now, and how many of `total` bytes that makes.

    >>> with progress("loading", 10) as advance:
    ...     advance("reading profile_0", 5)
    """
    if not _is_watched():
        yield lambda doing, done: None
        return
    from tqdm import tqdm

    with tqdm(desc=title, total=total, unit="B", unit_scale=True, leave=False, delay=DELAY_SECONDS) as bar:
        over = Event()
        ticker = Thread(target=_refresh, args=(bar, over), name="tfprof-progress", daemon=True)
        ticker.start()

        def advance(doing: str, done: int) -> None:
            bar.set_postfix_str(visible(doing), refresh=False)
            bar.update(done)

        try:
            yield advance
        finally:
            over.set()
            ticker.join()


def _refresh(bar: Any, over: Event) -> None:
    """Show the bar when its time has come, and then that time passes: reading one large file reports nothing."""
    wait = DELAY_SECONDS
    while not over.wait(wait):
        bar.refresh()
        wait = REFRESH_SECONDS


def _is_watched() -> bool:
    """Whether someone sees what is written now: on a terminal, or in a notebook."""
    shell = sys.modules.get("IPython")
    if shell is not None and hasattr(shell.get_ipython(), "kernel"):
        return True
    return sys.stderr is not None and sys.stderr.isatty()
