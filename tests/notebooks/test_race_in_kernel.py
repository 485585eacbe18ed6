"""The button "Run both again, in turns" with a real kernel: progress gets through, and so does a stop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.notebooks.kernel import Kernel, running_kernel

SET_UP = "%load_ext tfprof_widget\nimport time\nimport tensorflow as tf\nmatrix = tf.ones([64, 64])\ncalls = []"
OLD = """%%tfprof --quiet --out old
for _ in range(20):
    tf.matmul(matrix, matrix)
print("ran")
calls.append("old")
"""
NEW = OLD.replace("old", "new").replace("20", "200")


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as kernel:
        for cell in (SET_UP, OLD, NEW):
            outputs, reply = kernel.run(cell)
            assert reply["status"] == "ok", outputs
        yield kernel


def said_after(kernel: Kernel, stop_at: int | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    """What the widget of the newer run says once the button is pressed, and what was printed."""
    outputs, _ = kernel.run("calls.clear()\nwidget = new.widget(view='history')\nprint(widget.comm.comm_id)")
    comm = "".join(each.get("text", "") for each in outputs).split()[-1]
    content = {"request": "race", "before": [0], "after": [1]}
    say(kernel, comm, content)
    told: list[dict[str, Any]] = []
    printed: list[str] = []
    while not told or told[-1]["answer"] == "race":
        message = kernel.client.get_iopub_msg(timeout=120)
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])
        data = message["content"].get("data", {})
        if message["msg_type"] == "comm_msg" and data.get("method") == "custom":
            told.append(data["content"])
            if len(told) == stop_at:
                say(kernel, comm, {"request": "stop race"})
    return told, printed


def say(kernel: Kernel, comm: str, content: dict[str, Any]) -> None:
    data = {"method": "custom", "content": content}
    kernel.client.shell_channel.send(kernel.client.session.msg("comm_msg", {"comm_id": comm, "data": data}))


def test_the_race_goes_on_between_messages_and_prints_nothing(kernel: Kernel) -> None:
    told, printed = said_after(kernel)
    assert {each["answer"] for each in told[:-1]} == {"race"}
    assert told[-1]["answer"] == "raced"
    found = told[-1]["comparison"]
    assert found["step"]["verdict"] == "slower"  # ten times the work
    assert found["rows"]["op"] >= 1  # MatMul was recorded
    assert "ran in turns" in found["raced"]
    assert printed == []
    outputs, _ = kernel.run("print(sorted(set(calls)))")
    assert "['new', 'old']" in outputs[0]["text"]


def test_a_stop_gets_through(kernel: Kernel) -> None:
    told, _ = said_after(kernel, stop_at=2)
    assert told[-1]["answer"] == "raced"
    assert told[-1]["comparison"]["step"]["verdict"] == "cannot tell"
    assert len(told) < 10
