"""What fails on an engine is told by its name, and the rest is shown; an interrupt reaches all engines."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ipyparallel.error import CompositeError
from IPython.core.interactiveshell import InteractiveShell

import tfprof_widget
from tests.notebooks.kernel import plain
from tests.parallel.running import running_cluster
from tfprof_widget.api.result import Capture
from tfprof_widget.parallel import engines

WITHOUT = """
import importlib.abc, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.startswith("tfprof_widget"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("tfprof_widget")}
sys.meta_path.insert(0, Missing())
"""
WITH = "sys.meta_path.pop(0); sys.modules.update(kept)"


@pytest.fixture(scope="module")
def cluster(home: Path) -> Iterator[Any]:
    """A cluster of its own, of which at the end an engine is killed."""
    with running_cluster() as client:
        yield client


@pytest.fixture(autouse=True)
def _engines_have_time_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, too."""
    monkeypatch.setattr(engines, "STOPPING_SECONDS", 120.0)


def last() -> Capture:
    found = tfprof_widget.last()
    assert found is not None
    return found


def test_where_one_engine_raises_it_is_told_and_the_rest_has_run(
    shell: InteractiveShell, cluster: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster[:].push({"number": 1}, block=True)
    cluster[1].push({"number": 0}, block=True)
    ran = shell.run_cell("%%tfprof --engines --quiet\nprint('ratio', 1 / number)")
    assert ran.success
    written = capsys.readouterr()
    assert "[stdout:0] \nratio 1.0\n" in written.out
    assert "[1:execute]\n" in written.err
    assert "print('ratio', 1 / number)" in plain([written.err])
    told = "engine 1 failed: ZeroDivisionError: division by zero; it is not in the profile"
    assert written.err.endswith(f"tfprof: {told}\n")
    assert last().measurement.warnings[0] == told


def test_where_all_raise_it_is_the_error_of_the_cell(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = shell.run_cell("%%tfprof --engines --quiet\n{}['missing']")
    written = capsys.readouterr()
    assert isinstance(ran.error_in_exec, CompositeError)
    assert plain([written.err]).count("{}['missing']") == 2
    assert written.out == (
        "the cell failed on all engines\n[0:execute]KeyError: 'missing'\n[1:execute]KeyError: 'missing'\n"
    )
    ran.error_in_exec.print_traceback()
    assert plain([capsys.readouterr().out]).count("{}['missing']") == 2


def test_a_cell_that_would_never_be_answered_is_refused(shell: InteractiveShell) -> None:
    """The kernel of ipykernel 7 breaks off where a cell awaits on an engine, with ipyparallel's own magics too."""
    ran = shell.run_cell("%%tfprof --engines --quiet\nimport asyncio\nawait asyncio.sleep(0)")
    assert isinstance(ran.error_in_exec, CompositeError)
    told = "its ipykernel cannot answer a cell that awaits; install ipykernel<7 there"
    assert last().measurement.warnings == tuple(
        f"engine {number} failed: {told}; it is not in the profile" for number in range(2)
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (WITHOUT, WITH, "tfprof_widget is not installed there: pip install tfprof-widget"),
        (
            "import tfprof_widget.parallel.errands as errands; own, errands.__version__ = errands.__version__, '0.0'",
            "errands.__version__ = own",
            f"it has tfprof_widget 0.0, but here is {tfprof_widget.__version__}",
        ),
    ],
)
def test_an_engine_without_the_package_runs_the_cell_unprofiled(
    shell: InteractiveShell, cluster: Any, capsys: pytest.CaptureFixture[str], before: str, after: str, told: str
) -> None:
    cluster[0].execute(before, block=True)
    try:
        ran = shell.run_cell("%%tfprof --engines --quiet\nprint('ran')")
    finally:
        cluster[0].execute(after, block=True)
    assert ran.success
    written = capsys.readouterr()
    assert "[stdout:0] \nran\n" in written.out
    assert "[stdout:1] \nran\n" in written.out
    assert written.err == ""
    assert last().measurement.warnings[0] == f"engine 0 has no profile: {told}"


def interrupt_once_there(files: list[Path]) -> None:
    """Press Ctrl-C when all engines have begun."""
    while not all(file.exists() for file in files):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def interrupt_once_waiting(client: Any, begun: Path) -> None:
    """Press Ctrl-C when an engine is busy and something else waits for it."""
    while not begun.exists() or len(client.outstanding) != 2:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def run_and_interrupt(shell: InteractiveShell, folder: Path, code: str) -> Any:
    files = [folder / str(number) for number in range(2)]
    pressing = threading.Thread(target=interrupt_once_there, args=(files,))
    pressing.start()
    begin = f"import pathlib; pathlib.Path({str(folder)!r}, str(get_ipython().kernel.engine_id)).touch()"
    ran = shell.run_cell(f"%%tfprof --engines --quiet\n{begin}\n{code}")
    pressing.join()
    return ran


def test_an_interrupt_reaches_all_engines(
    shell: InteractiveShell, cluster: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ran = run_and_interrupt(shell, tmp_path, "import time\nwhile True:\n    time.sleep(0.01)")
    assert isinstance(ran.error_in_exec, KeyboardInterrupt)
    assert sorted(re.findall(r"\[(\d):execute\]\n", capsys.readouterr().err)) == ["0", "1"]
    assert [warning.partition(";")[0] for warning in last().measurement.warnings] == [
        "engine 0 failed: KeyboardInterrupt",
        "engine 1 failed: KeyboardInterrupt",
    ]
    assert len(set(cluster[:].apply_sync(os.getpid))) == 2


def test_an_interrupt_before_engines_are_free_keeps_the_cell_from_running(
    shell: InteractiveShell, cluster: Any, tmp_path: Path
) -> None:
    begun, ran = tmp_path / "begun", tmp_path / "ran"
    busy = cluster[1].execute(
        f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\nwhile True:\n    time.sleep(0.01)"
    )
    pressing = threading.Thread(target=interrupt_once_waiting, args=(cluster, begun))
    pressing.start()
    result = shell.run_cell(f"%%tfprof --engines\nimport pathlib\npathlib.Path({str(ran)!r}).touch()")
    pressing.join()
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    with pytest.raises(Exception, match="KeyboardInterrupt"):
        busy.get()
    cluster[:].apply_sync(os.getpid)
    assert not ran.exists()


def test_an_engine_that_takes_no_interrupt_is_left_behind(
    shell: InteractiveShell, cluster: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The half second begins when the other engine has stopped, however long that takes."""
    monkeypatch.setattr(engines, "STOPPING_SECONDS", 0.5)
    over, wait = tmp_path / "over", cluster.wait

    def wait_for_the_first(requests: list[Any], timeout: float = -1) -> Any:
        if timeout == 0.5:
            wait(requests[:1])
        return wait(requests, timeout=timeout)

    monkeypatch.setattr(cluster, "wait", wait_for_the_first)
    stuck = f"""
import signal, time
if get_ipython().kernel.engine_id == 1:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
while not pathlib.Path({str(over)!r}).exists():
    time.sleep(0.01)
"""
    ran = run_and_interrupt(shell, tmp_path, stuck)
    over.touch()
    assert isinstance(ran.error_in_exec, KeyboardInterrupt)
    assert [warning.partition(";")[0] for warning in last().measurement.warnings] == [
        "engine 0 failed: KeyboardInterrupt",
        "engine 1 failed: it did not stop within 0.5 s of the interrupt",
    ]


def test_a_killed_engine_is_told_and_the_rest_is_there(
    shell: InteractiveShell, cluster: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last of these tests, for the engine does not come back."""
    kill = "import os, signal\nif get_ipython().kernel.engine_id == 1:\n    os.kill(os.getpid(), signal.SIGKILL)"
    both = shell.user_ns["both"] = cluster[:]
    assert shell.run_cell(f"%%tfprof --engines --quiet\n{kill}").success
    assert capsys.readouterr().err == "tfprof: engine 1 failed: its process ended; it is not in the profile\n"
    assert both.targets == [0, 1]
    assert shell.run_cell("%%tfprof --engines both --quiet\nprint('ran')").success
    written = capsys.readouterr()
    assert "[stdout:0] \nran\n" in written.out
    assert written.err.startswith("tfprof: engine 1 failed: it cannot be reached (")
    assert shell.run_cell("%%tfprof --engines rc --quiet\nprint('ran')").success
    assert capsys.readouterr().err == ""
