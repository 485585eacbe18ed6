"""The programs that show, run and convert notebooks, in an environment of their own: `make hosts` makes it."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ports import free_ports
from tests.slow.share import share

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / ".hosts" / "bin"
STARTED_WITHIN_SECONDS = 120

only_in_full = pytest.mark.skipif(share(False, True), reason="it needs the programs of others: make hosts")


def ran(program: str, *words: str | Path, cwd: Path) -> str:
    """What a program prints, one of the environment if that has it; fails with what it complains."""
    command = [str(PROGRAMS / program) if (PROGRAMS / program).exists() else program, *map(str, words)]
    done = subprocess.run(command, cwd=cwd, env=_environment(), capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


@contextmanager
def serving(program: str, *words: str, cwd: Path) -> Iterator[str]:
    """The address of a server that runs during the block; `{port}` in the words is its port."""
    (port,) = free_ports(1)
    command = [str(PROGRAMS / program), *(word.format(port=port) for word in words)]
    address = f"http://127.0.0.1:{port}"
    with (
        (cwd / "log").open("w") as log,
        subprocess.Popen(command, cwd=cwd, env=_environment(), stdout=log, stderr=log) as server,
    ):
        try:
            _wait_for(address, server)
            yield address
        finally:
            server.terminate()


def _environment() -> dict[str, str]:
    """That of the tests, with the environment's kernel first and without what they import."""
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {**own, "PATH": f"{PROGRAMS}{os.pathsep}{own['PATH']}", "JUPYTER_PREFER_ENV_PATH": "1"}


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + STARTED_WITHIN_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=60).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise RuntimeError(f"{server.args!r} did not start at {address}: see its log")
