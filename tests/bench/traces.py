"""Times the reading of accelerators' traces beside xprof's converter, or beside parsing alone where xprof is missing.

xprof is looked for in the environment `.venv-xprof`, which `make bench` makes, or else by the interpreter that the
variable XPROF_PYTHON names: it has many dependencies that this package does without.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench import children
from tests.bench.finding import Finding, of_medians
from tests.bench.gauges import Cost, cost, processor_seconds
from tests.bench.target import TimesMore
from tests.ingest.spaces import Space
from tests.ingest.test_recordings import FOLDER
from tfprof_widget.api.profile import Profile

ROOT = Path(__file__).parents[2]
XPROF_PYTHON = ROOT / ".venv-xprof" / "bin" / "python"
ROUNDS = 5
RUNS = 60
"""So often each op runs in the made trace: with a thousand ops that is a file of 29 MB."""

LARGE = 20_000_000
"""From so many bytes on, memory is judged: a small file takes little beside what any profile takes."""

MOST_TIMES_XPROF, MOST_TIMES_THE_FILE = 2, 5
RECORDINGS = {"bert-8xv100": 20, "keras-inceptionresnet": 25, "jax-4xtpu-v6e": 30}
"""Real recordings, if they lie beside the repository, and how often their events are repeated."""

KERNELS = "Stream #14(Compute)"
OPS = ("MatMul", "BiasAdd", "Relu", "Mul", "AddV2", "Cast", "GreaterEqual", "RandomUniform")

OF_KERNELS: dict[str, Any] = {"context_id": "$$1", "group_id": 2**40, "is_eager": 2**40, "from": "a", "to": "b"}
OF_ALLOCATIONS: dict[str, Any] = {
    "allocator_name": "GPU_0_bfc",
    "bytes_reserved": 2**40,
    "bytes_available": 2**40,
    "id": 2**62,
    "data_type": 1,
    "peak_bytes_in_use": 2**40,
    "allocation_bytes": 2**40,
    "fragmentation": 2**62,
    "group_id": 2**40,
}
"""Stats that TensorFlow writes with each of these events."""

Seconds = Callable[[str], float]
"""The seconds of a core that reading a file takes."""


def findings(nodes: int) -> list[Finding]:
    """The findings on a trace of so many ops, and on real recordings; to be called in a process of its own."""
    found = []
    with tempfile.TemporaryDirectory() as directory, _other() as (other, seconds):
        for name, write in _traces(nodes):
            path = Path(directory, "recording.xplane.pb")
            path.write_bytes(write())
            rounds = [_round(seconds, path) for _ in range(ROUNDS + 1)][1:]
            theirs, ours = zip(*rounds, strict=True)
            size, taken = path.stat().st_size, children.call(_taken, str(path))
            times = TimesMore(MOST_TIMES_XPROF) if other == "xprof's converter" and size > LARGE else None
            most = TimesMore(MOST_TIMES_THE_FILE) if size > LARGE else None
            found += [
                of_medians(f"{name}, beside {other}", nodes, theirs, ours, times),
                Finding(f"{name}: peak memory while reading it, beside the file", nodes, "B", size, taken.grown, most),
            ]
    return found


def _traces(nodes: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The traces by name, each with what makes its bytes; a small benchmark repeats nothing."""
    yield "trace of a GPU", partial(made, nodes)
    for name, times in RECORDINGS.items():
        path = FOLDER / name / "recording.xplane.pb"
        if path.exists() and nodes >= 1000:
            yield f"{name} {times} times", partial(repeated, path.read_bytes(), times)


def made(nodes: int) -> bytes:
    """A trace as TensorFlow records it: for each op its launch and allocation on the host, and its kernel."""
    space = Space()
    for number in range(nodes):
        start, op = 1000 + 3000 * number, OPS[number % len(OPS)]
        name, launched = f"replica/encoder/layer_{number // 16}/{op}_{number}", {"correlation_id": number + 1}
        space.add("tf_Compute/1", f"{name}:{op}", start, 1500, id=1, iter_num=0, is_eager=0, group_id=0)
        memory = {"addr": 2**46 + number, "requested_bytes": 4096, "bytes_allocated": 4096 * number + 4096}
        for kind, at in (("MemoryAllocation", 100), ("MemoryDeallocation", 1400)):
            more = {"tf_op": name, "region_type": "output", "shape": "[128,256]"}
            space.add("tf_Compute/1", kind, start + at, 0, **memory, **(more if at == 100 else {}), **OF_ALLOCATIONS)
        space.add("tf_Compute/1", "cuLaunchKernel", start + 200, 5, **launched, **OF_KERNELS)
        details = f"regs:{16 + number % 200} shm:0 grid:{1 + number % 160},1,1 block:1024,1,1"
        stats = {"tf_op": f"{name}:{op}", "level 0": name, "kernel_details": details, **launched, **OF_KERNELS}
        space.add(KERNELS, f"void {op}Kernel<float>(int, float*)", start + 900, 1000, "/device:GPU:0", **stats)
    return repeated(space.message.SerializeToString(), RUNS)


def repeated(xspace: bytes, times: int) -> bytes:
    """An XSpace with its events so many times, one after the other."""
    from tfprof_widget.lib.messages import XSpace

    space = XSpace.FromString(xspace)
    lines = [line for plane in space.planes for line in plane.lines]
    length = max(event.offset_ps + event.duration_ps for line in lines for event in line.events)
    for line in lines:
        events = list(line.events)
        for number in range(1, times):
            for event in events:
                line.events.add().CopyFrom(event)
                line.events[-1].offset_ps += number * length
    return space.SerializeToString()


@contextmanager
def _other() -> Iterator[tuple[str, Seconds]]:
    """What is measured beside this package, by its name: xprof if there is an interpreter that has it."""
    python = os.environ.get("XPROF_PYTHON", str(XPROF_PYTHON))
    if not shutil.which(python):
        print(f"traces: no xprof, for there is no {python}; `make .venv-xprof/installed` installs it", file=sys.stderr)
        with children.Child() as child:
            yield "parsing alone", lambda path: child.call(processor_seconds, _parsed, path)
        return
    program = [python, str(Path(__file__).with_name("xprof_seconds.py"))]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(program, text=True, **pipes) as xprof:

        def told() -> str:
            assert xprof.stdout is not None
            return str(xprof.stdout.readline()).strip()

        def seconds(path: str) -> float:
            print(path, file=xprof.stdin, flush=True)
            return float(told())

        print(f"traces: xprof {told()}, by {python}", file=sys.stderr)
        yield "xprof's converter", seconds


def _round(other: Seconds, path: Path) -> tuple[float, float]:
    """The seconds of a core that the other takes, in a directory of its own as it keeps what it found, and ours."""
    with tempfile.TemporaryDirectory() as directory:
        copied = shutil.copy(path, directory)
        return other(copied), processor_seconds(_loaded, copied)


def _loaded(path: str) -> None:
    Profile.load(path)


def _taken(path: str) -> Cost:
    return cost(_loaded, path)


def _parsed(path: str) -> None:
    from tfprof_widget.lib.messages import XSpace

    XSpace.FromString(Path(path).read_bytes())
