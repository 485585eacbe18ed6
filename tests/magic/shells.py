"""Shells with the magic in them, and all that a cell did there."""

from __future__ import annotations

import atexit
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import tfprof_widget


@dataclass(frozen=True)
class Outcome:
    """All that a cell did, as far as a user can tell."""

    out: str
    err: str
    result: str
    error: str
    error_before: str
    variables: dict[str, str]
    values: dict[int, str]
    count: int
    raw_history: list[str]


@contextmanager
def new_shell(**settings: Any) -> Iterator[InteractiveShell]:
    main, hook = sys.modules["__main__"], sys.excepthook
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}), colors="nocolor", **settings)
    tfprof_widget.load_ipython_extension(shell)
    try:
        yield shell
    finally:
        tfprof_widget.unload_ipython_extension(shell)
        shell.restore_sys_module_state()
        atexit.unregister(shell.atexit_operations)
        shell.atexit_operations()
        sys.modules["__main__"], sys.excepthook = main, hook


def outcome(capfd: pytest.CaptureFixture[str], cell: str, **settings: Any) -> Outcome:
    """Run a cell as the second one in a new shell."""
    with new_shell(**settings) as shell:
        shell.run_cell("'first'", store_history=True)
        before = hooks(shell)
        capfd.readouterr()
        ran = shell.run_cell(cell, store_history=True)
        assert hooks(shell) == before
        assert shell.history_manager is not None
        written = capfd.readouterr()
        hidden = set(shell.user_ns_hidden)
        return Outcome(
            plain(written.out),
            plain(written.err),
            plain(repr(ran.result)) if "Bad" not in cell else "",
            plain(repr(ran.error_in_exec)),
            plain(repr(ran.error_before_exec)),
            {k: plain(repr(v)) for k, v in shell.user_ns.items() if k not in hidden and not k.startswith("_i")},
            {k: plain(repr(v)) for k, v in shell.user_ns["_oh"].items()} if "Bad" not in cell else {},
            shell.execution_count,
            shell.history_manager.input_hist_raw[1:],
        )


def plain(text: str) -> str:
    """Without what is different in each run: addresses and the names under which cells are compiled."""
    return re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"<ipython-input-\d+-\w+>", "<cell>", text))


def hooks(shell: InteractiveShell) -> Any:
    """All that a magic could leave behind."""
    callbacks = {event: list(functions) for event, functions in shell.events.callbacks.items()}
    lists = [shell.input_transformers_cleanup, shell.input_transformers_post, shell.ast_transformers]
    return callbacks, [list(each) for each in lists], sys.excepthook, sys.displayhook, threading.active_count()
