"""From `%load_ext` on, callables that sessions make are remembered, so that a later cell may trace them."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from tensorflow.python.client.session import BaseSession

import tfprof_widget
from tests.magic.shells import new_shell
from tests.notebooks.stand_in import StandIn

MODEL = """
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
graph = tf.Graph()
with graph.as_default():
    loss = tf.reduce_sum(tf.random.uniform([3]), name="loss")
session = tf.compat.v1.Session(graph=graph)
call = session._make_callable_from_options(config_pb2.CallableOptions(fetch=["loss:0"]))
"""


def made() -> Any:
    return vars(BaseSession._Callable)["__init__"]


def test_callable_of_an_earlier_cell_is_traced() -> None:
    """It is made as tf_keras makes its own."""
    with new_shell() as shell:
        shell.run_cell(MODEL).raise_error()
        shell.run_cell("%%tfprof --quiet --all --out prof\nfor _ in range(3):\n    call()").raise_error()
        measurement = shell.user_ns["prof"].measurement
        assert [(runs.name, runs.seen, runs.traced) for runs in measurement.runs] == [("loss", 3, 3)]


def test_unloading_leaves_sessions_as_they_were(shell: InteractiveShell) -> None:
    tfprof_widget.unload_ipython_extension(shell)
    before, finders = made(), list(sys.meta_path)
    for _ in range(2):
        tfprof_widget.load_ipython_extension(shell)
    assert made() is not before
    tfprof_widget.unload_ipython_extension(shell)
    assert made() is before
    assert sys.meta_path == finders


def test_shells_that_end_leave_sessions_as_they_were() -> None:
    before = made()
    with new_shell():
        assert made() is not before
    assert made() is before


def test_magic_is_there_though_callables_cannot_be_remembered(
    shell: InteractiveShell,
    stand_in: StandIn,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tfprof_widget.unload_ipython_extension(shell)

    def broken() -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("tfprof_widget.capturing.session_hooks.remembered_callables", broken)
    tfprof_widget.load_ipython_extension(shell)
    told = "tfprof: cannot trace callables that a session makes outside a profiled cell: RuntimeError: broken\n"
    assert capsys.readouterr() == ("", told)
    assert shell.run_cell("%%tfprof --quiet\nx = 5").success
    assert stand_in.events == ["enter", "exit"]
    tfprof_widget.unload_ipython_extension(shell)
    assert capsys.readouterr() == ("", "")
