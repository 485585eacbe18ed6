"""A real JupyterLab or Notebook 7, and notebooks that are run in it by a browser."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import nbformat
from playwright.sync_api import Page, expect

from tests.browser.screen import Screen
from tests.ports import free_ports

Application = Literal["lab", "notebook"]
STARTED_WITHIN_SECONDS = 90
ENDED_WITHIN_SECONDS = 60
MILLISECONDS_TO_RUN = 120_000
MILLISECONDS_TO_COME = 100
"""After so long, most that a kernel sends has come; what has not is waited for."""

KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
BEGIN_IN_KERNEL = f"code => {{ ({KERNEL}).requestExecute({{ code, store_history: false }}); }}"
RUN_IN_KERNEL = """async code => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const running = kernel.requestExecute({ code, store_history: false });
    let told = "";
    running.onIOPub = ({ header, content }) => {
        if (header.msg_type === "execute_result") told = content.data["text/plain"];
        if (header.msg_type === "error") told = content.traceback.join("\\n");
    };
    await running.done;
    return told;
}"""


@dataclass(frozen=True)
class NotebookServer:
    """A server that runs, and where its notebooks lie."""

    application: Application
    address: str
    folder: Path

    def open(self, page: Page, name: str) -> None:
        """Open a notebook of the folder, its kernel at work before the page asks for one."""
        self._start_kernel(name)
        page.goto(self._place(name))
        page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.kernelDisplayStatus === 'idle'"
            " && window.jupyterapp.commands.isEnabled('notebook:run-all-cells')",
            timeout=MILLISECONDS_TO_RUN,
        )

    def open_without_kernel(self, page: Page, name: str) -> None:
        """Open a notebook as on the next day: the server has no kernel for it."""
        for session in json.loads(self._asked("sessions")):
            self._asked(f"sessions/{session['id']}", "DELETE")
        page.goto(self._place(name))

    def _place(self, name: str) -> str:
        return f"{self.address}/{'lab/tree' if self.application == 'lab' else 'notebooks'}/{name}?reset"

    def _asked(self, what: str, method: str = "GET", body: bytes | None = None) -> bytes:
        header = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}/api/{what}", body, header, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            told: bytes = answer.read()
        return told

    def _start_kernel(self, name: str) -> None:
        body = {"path": name, "name": name, "type": "notebook", "kernel": {"name": "python3"}}
        self._asked("sessions", "POST", json.dumps(body).encode())


def run_all(page: Page) -> None:
    """Run all cells of the open notebook."""
    page.evaluate("() => { void window.jupyterapp.commands.execute('notebook:run-all-cells'); }")


def value(page: Page, code: str) -> Any:
    """Run code in the kernel of the open notebook, as a later cell would; its last line's value comes as JSON."""
    *lines, last = code.splitlines()
    told = page.evaluate(RUN_IN_KERNEL, "\n".join([*lines, f"import json; json.dumps(({last}))"]))
    assert told.startswith("'"), told
    return json.loads(ast.literal_eval(told))


def run(page: Page, code: str) -> None:
    """Run code in the kernel of the open notebook."""
    value(page, f"{code}\nNone")


def bring_back(page: Page, screen: Screen, code: str, is_back: Callable[[], bool]) -> None:
    """Run code that puts a widget back, until the page shows it so.

    What was chosen on the page just now may still be on its way to the kernel, and come after what the code sets.
    """

    def back() -> bool:
        run(page, code)
        screen.until_ready().page.wait_for_timeout(MILLISECONDS_TO_COME)
        return is_back()

    screen.until(back, True)


@contextmanager
def running(page: Page) -> Iterator[None]:
    """Keep the kernel of the open notebook busy during the block, as a long cell does."""
    page.evaluate(BEGIN_IN_KERNEL, "import time\nwhile True:\n    time.sleep(0.01)")
    page.wait_for_function(f"async () => ({KERNEL}).status === 'busy'")
    try:
        yield
    finally:
        page.evaluate(f"() => ({KERNEL}).interrupt()")
        page.wait_for_function(f"() => ({KERNEL}).status === 'idle'")


def is_busy(page: Page) -> bool:
    """Whether the kernel of the open notebook runs a cell."""
    return bool(page.evaluate(f"() => ({KERNEL}).status === 'busy'"))


def save(page: Page) -> None:
    """Write the open notebook to its file once its cells have run: what a result needs to stand alone comes last."""
    expect(page.get_by_text("[*]:", exact=True)).to_have_count(0, timeout=MILLISECONDS_TO_RUN)
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")


def write_notebook(path: Path, cells: Sequence[str]) -> None:
    """A notebook of code cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, path)


@contextmanager
def notebook_server(application: Application, folder: Path) -> Iterator[NotebookServer]:
    """Run a server on a free port, with settings and state of its own in `folder`."""
    (port,) = free_ports(1)
    notebooks = folder / "notebooks"
    notebooks.mkdir(parents=True)
    own = {f"JUPYTER_{each}_DIR": str(folder / each.lower()) for each in ("CONFIG", "DATA", "RUNTIME")}
    own["JUPYTERLAB_SETTINGS_DIR"] = str(folder / "settings")
    own["JUPYTERLAB_WORKSPACES_DIR"] = str(folder / "workspaces")
    _ask_for_no_news(folder / "settings")
    root = str(Path(__file__).parent.parent.parent)
    application_name = "LabApp" if application == "lab" else "JupyterNotebookApp"
    command = [
        *(sys.executable, "-m", "jupyter", application, "--no-browser", "--allow-root"),
        *(
            f"--port={port}",
            "--ServerApp.port_retries=0",
            "--IdentityProvider.token=",
            "--ServerApp.disable_check_xsrf=True",
        ),
        *(f"--ServerApp.root_dir={notebooks}", f"--{application_name}.expose_app_in_browser=True"),
    ]
    environment = {**os.environ, **own, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": root}
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, env=environment, stdout=log, stderr=log) as server,
    ):
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(f"{address}/api/status", server)
            yield NotebookServer(application, address, notebooks)
        finally:
            server.terminate()
            try:
                server.wait(ENDED_WITHIN_SECONDS)
            except subprocess.TimeoutExpired:  # it waits for its kernels, which end without it, too
                server.kill()


def _ask_for_no_news(settings: Path) -> None:
    plugin = settings / "@jupyterlab" / "apputils-extension"
    plugin.mkdir(parents=True)
    (plugin / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')


def _wait_for(address: str, server: subprocess.Popen[Any]) -> None:
    until = time.monotonic() + STARTED_WITHIN_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"the notebook server did not start, see its log: {address}")
