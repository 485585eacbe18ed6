"""%%tfprof in a real kernel, as a notebook uses it: outputs, await, errors, interrupts, progress, completion."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.notebooks.kernel import Kernel, plain, running_kernel, shown

SET_UP = "from tests.notebooks.stand_in import install\nstand_in = install()\n%load_ext tfprof_widget"


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as kernel:
        outputs, reply = kernel.run(SET_UP)
        assert (outputs, reply["status"]) == ([], "ok")
        yield kernel


@pytest.mark.parametrize(
    "code",
    [
        "x = 3\nprint('one')\ndisplay('two')\nx + 1",
        "import asyncio\nprint('one')\nawait asyncio.sleep(0.01, 'slept')",
        "!echo one\n%pwd",
        "import sys\nprint('one')\nprint('two', file=sys.stderr)\nraise ValueError('three')",
        "import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    1 / 0\nawait f()",
        "def f():\n    return 1 / 0\n\n\nf()",
        "x = = 1",
        "%no_such_magic",
        "raise KeyboardInterrupt",
    ],
)
def test_a_cell_shows_and_answers_what_it_does_with_the_magic_commented_out(kernel: Kernel, code: str) -> None:
    outputs, answer = kernel.run(f"# %%tfprof --quiet\n{code}")
    with_magic, with_magic_answer = kernel.run(f"%%tfprof --quiet\n{code}")
    assert shown(with_magic) == shown(outputs)
    assert with_magic_answer["status"] == answer["status"]
    assert plain(with_magic_answer.get("traceback", "")) == plain(answer.get("traceback", ""))
    assert with_magic_answer["execution_count"] == answer["execution_count"] + 1


def test_the_capture_itself_is_displayed_below_the_value(kernel: Kernel) -> None:
    outputs, _ = kernel.run("%%tfprof --view op\nprint('printed')\n7")
    assert [kind for kind, _ in shown(outputs)] == ["stdout", "execute_result", "display_data"]
    assert outputs[-1]["data"] == {"text/plain": "PROFILE {'view': 'op'}", "text/html": "<b>PROFILE {'view': 'op'}</b>"}
    outputs, _ = kernel.run("_")
    assert shown(outputs) == [("execute_result", "7")]


def test_after_await_the_capture_is_displayed_in_its_own_cell(kernel: Kernel) -> None:
    outputs, _ = kernel.run("%%tfprof\nimport asyncio\nawait asyncio.sleep(0.01, 'slept')")
    assert shown(outputs) == [("execute_result", "'slept'"), ("display_data", "PROFILE {}")]
    assert kernel.run("1")[0][0]["data"] == {"text/plain": "1"}


def test_text_is_printed(kernel: Kernel) -> None:
    outputs, _ = kernel.run("%%tfprof --text\npass")
    assert shown(outputs) == [("stdout", "PROFILE {}\n")]


def test_when_the_cell_raises_the_capture_is_shown_and_the_answer_is_the_error(kernel: Kernel) -> None:
    outputs, answer = kernel.run("%%tfprof\nprint('printed')\n1 / 0")
    assert [kind for kind, _ in shown(outputs)] == ["stdout", "error", "display_data"]
    assert (answer["status"], answer["ename"]) == ("error", "ZeroDivisionError")


@pytest.mark.parametrize(
    "code",
    [
        "import time\nprint('sleeping', flush=True)\ntime.sleep(30)",
        # In short naps, for the kernel notices an interrupt when its loop wakes up, with the magic or without.
        "import asyncio\nprint('sleeping', flush=True)\nfor _ in range(600):\n    await asyncio.sleep(0.05)",
    ],
)
def test_an_interrupt_ends_the_cell_and_shows_what_was_captured(kernel: Kernel, code: str) -> None:
    kernel.run("stand_in.events.clear()")
    without, answer = kernel.run(f"# %%tfprof\n{code}", interrupt_at="sleeping")
    outputs, with_magic_answer = kernel.run(f"%%tfprof\n{code}", interrupt_at="sleeping")
    assert with_magic_answer["status"] == answer["status"] == "error"
    assert with_magic_answer["ename"] == answer["ename"]
    assert [kind for kind, _ in shown(outputs)] == [*[kind for kind, _ in shown(without)], "display_data"]
    assert shown(kernel.run("stand_in.events")[0]) == [("execute_result", "['enter', 'exit']")]


def test_a_long_cell_has_one_progress_line_that_is_gone_at_the_end(kernel: Kernel) -> None:
    kernel.run("import time\nbefore = time.monotonic()")
    outputs, _ = kernel.run("%%tfprof\nwhile not stand_in.has_shown_progress:\n    time.sleep(0.05)")
    displays = [output for output in outputs if "display_id" in output.get("transient", {})]
    assert [output["kind"] for output in displays] == ["display_data", "update_display_data"]
    assert len({output["transient"]["display_id"] for output in displays}) == 1
    assert [output["data"] for output in displays] == [{"text/plain": "3 runs traced"}, {}]
    assert shown(kernel.run("stand_in.made[-1].asked[0] - before >= 2")[0]) == [("execute_result", "True")]
    assert outputs[-1]["data"]["text/plain"] == "PROFILE {}"
    assert shown(kernel.run("import threading\n[t.name for t in threading.enumerate() if 'tfprof' in t.name]")[0]) == [
        ("execute_result", "[]")
    ]


def test_quiet_and_short_cells_have_no_progress_line(kernel: Kernel) -> None:
    assert kernel.run("%%tfprof --quiet\nimport time\ntime.sleep(2.5)")[0] == []
    assert [output["kind"] for output in kernel.run("%%tfprof\nx = 1")[0]] == ["display_data"]


@pytest.mark.parametrize(
    ("code", "matches"),
    [
        ("%%tfprof --min_mic", ["--min_micros"]),
        (
            "%%tfprof --view \nx = 1",
            [
                *("overview", "layers", "scope", "graph", "op", "code", "timeline", "memory", "history"),
                *("workers", "advise"),
            ],
        ),
        ("x = 1\n%tfprof --select micros,resid", ["residual_bytes"]),
    ],
)
def test_the_kernel_completes_arguments(kernel: Kernel, code: str, matches: list[str]) -> None:
    cursor = len(code.removesuffix("\nx = 1"))
    answer = kernel.client.complete(code, cursor, reply=True, timeout=30)["content"]
    assert sorted(answer["matches"]) == sorted(matches)
    assert answer["cursor_end"] == cursor


def test_help_is_one_page(kernel: Kernel) -> None:
    _, answer = kernel.run("%%tfprof?")
    assert "--min_micros NUMBER" in answer["payload"][0]["data"]["text/plain"]


def test_no_hook_is_left(kernel: Kernel) -> None:
    code = "sorted(f.__qualname__ for each in get_ipython().events.callbacks.values() for f in each)"
    kernel.run("%%tfprof --quiet\n1 / 0")
    left = kernel.run(code)[0][0]["data"]["text/plain"]
    assert "EndOfCell" not in left
