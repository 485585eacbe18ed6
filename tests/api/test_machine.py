"""The measurement of the machine: how often, where it is kept, and that it says when it cannot be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

import tfprof_widget as tfprof
from tfprof_widget.analysis import machines
from tfprof_widget.analysis.machines import Band, Machine
from tfprof_widget.api import machine as measuring
from tfprof_widget.api.machine import TimedKernels, measured
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.processor import last_cache_bytes, processor


class Clock:
    """A clock that goes on by what the kernels take."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def taking(self, *seconds: float) -> object:
        """A kernel that takes so long, in turns."""
        turns: Iterator[float] = iter([])

        def run() -> None:
            nonlocal turns
            took = next(turns, None)
            if took is None:
                turns = iter(seconds)
                took = next(turns)
            self.now += took

        return run


def kernels(clock: Clock, addition: tuple[float, ...] = (0.01,)) -> TimedKernels:
    """Products at 10, 40 and 50 GFLOP/s, and one that would take too long; copies at half the rate of additions."""
    times = {size: 2 * size**3 / rate for size, rate in ((256, 10e9), (512, 40e9), (1024, 50e9), (4096, 50e9))}
    products = {size: clock.taking(seconds) for size, seconds in times.items()}
    return TimedKernels(products, clock.taking(*addition), clock.taking(0.02), 2**27)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def nothing_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machines, "_MEASURED", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The types that were measured, in turn."""
    found: list[str] = []

    @contextmanager
    def made(dtype: str) -> Iterator[TimedKernels]:
        found.append(dtype)
        clock = Clock()
        monkeypatch.setattr(measuring, "measured", partial(measured, clock=clock))
        yield kernels(clock)

    monkeypatch.setattr(measuring, "_kernels", made)
    return found


def test_best_median_and_worst_are_those_of_rounds() -> None:
    """An addition reads two tensors and writes one: 3 * 2**27 bytes in 10 ms are 40.3 GB/s."""
    clock = Clock()
    found = measured(kernels(clock, (0.01, 0.01, 0.02, 0.01, 0.04, 0.01)), "float32", 1.0, clock)
    assert found.compute.best == pytest.approx(50e9)
    assert found.compute.median == pytest.approx(50e9)
    assert found.memory.best == pytest.approx(3 * 2**27 / 0.01)
    assert found.memory.worst == pytest.approx(2 * 2**27 / 0.02)  # where the addition took longer than the copy
    assert found.products == {256: pytest.approx(10e9), 512: pytest.approx(40e9), 1024: pytest.approx(50e9)}
    assert 1.0 <= found.seconds <= 1.2
    assert found.repeats


def test_it_says_when_rounds_differ_by_more_than_a_tenth() -> None:
    clock = Clock()
    steady = measured(kernels(clock), "float32", 1.0, clock)
    uneven = measured(kernels(clock, (0.01, 0.012, 0.012)), "float32", 1.0, clock)
    assert steady.repeats
    assert "differ" not in steady.text()
    assert not uneven.repeats
    assert uneven.memory.spread == pytest.approx(1 / 6, abs=1e-6)
    assert "the rounds differ by 17 %" in uneven.text()
    assert "measure again with again=True when it is quiet" in uneven.text()


def test_a_machine_is_measured_once_for_each_type(asked: list[str], tmp_path: Path) -> None:
    first = tfprof.machine()
    assert tfprof.machine() is first
    tfprof.machine("float64")
    assert asked == ["float32", "float64"]
    assert tfprof.machine(again=True) is not first
    assert asked == ["float32", "float64", "float32"]
    assert list(tmp_path.rglob("*")) == []  # nothing is written unasked


def test_a_measurement_is_kept_when_asked_for_and_read_by_the_next_process(asked: list[str], tmp_path: Path) -> None:
    kept = tfprof.machine(keep=True)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert file.parent == tmp_path / "tfprof_widget"
    machines._MEASURED.clear()
    assert tfprof.machine() == kept
    assert asked == ["float32"]
    machines._MEASURED.clear()
    file.write_text(file.read_text(encoding="utf-8").replace(processor()["processor"], "another CPU"), encoding="utf-8")
    assert machines.known_machine() is None
    file.write_text("{", encoding="utf-8")
    tfprof.machine()
    assert asked == ["float32", "float32"]


def test_nothing_is_measured_while_a_capture_is_open(asked: list[str]) -> None:
    with tfprof.capture(), tfprof.capture():
        pass
    with tfprof.capture(), pytest.raises(ProfileError, match=r"a capture is open, .* before the capture or after it"):
        tfprof.machine()
    assert asked == []
    tfprof.machine()
    assert asked == ["float32"]


@pytest.mark.parametrize("given", [{"dtype": "int8"}, {"seconds": 0}, {"seconds": 3600}])
def test_what_cannot_be_measured_is_refused(given: dict[str, object], asked: list[str]) -> None:
    with pytest.raises(ValueError, match=r"dtype has no 'int8'|but must be more than 0 and at most 60"):
        tfprof.machine(**given)  # type: ignore[arg-type]
    assert asked == []


def test_the_last_cache_is_the_largest(tmp_path: Path) -> None:
    for place, size in enumerate(("32K", "1024K", "32768K", "16M")):
        (tmp_path / f"index{place}").mkdir()
        (tmp_path / f"index{place}" / "size").write_text(f"{size}\n", encoding="ascii")
    assert last_cache_bytes(str(tmp_path)) == 32 * 2**20


@pytest.mark.parametrize("is_eager", [True, False])
def test_kernels_of_tensorflow_are_measured(is_eager: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """How fast they are depends on what else runs, so only that they ran is tested here."""
    import tensorflow as tf

    monkeypatch.setattr(measuring, "LEAST_TENSOR", 2**20)
    monkeypatch.setattr(measuring, "last_cache_bytes", lambda: 2**18)
    monkeypatch.setattr(tf.config.experimental, "get_synchronous_execution", lambda: is_eager)
    found = tfprof.machine(seconds=0.01)
    assert {128, 256} <= found.products.keys()
    assert found.rounds >= 3
    assert 1e6 < found.compute.worst <= found.compute.median <= found.compute.best < 1e15
    assert 1e6 < found.memory.worst <= found.memory.median <= found.memory.best < 1e14
    assert found.fingerprint == processor()
    assert tf.executing_eagerly()


def test_the_text_tells_both_roofs() -> None:
    bands = Band(107.5e9, 101e9, 90e9), Band(47.1e9, 46e9, 40e9)
    text = Machine("float32", *bands, {1024: 107.5e9}, 2**26, 9, 1.0, 0.0, processor()).text()
    assert "compute: 107.5 GFLOP/s at best, 101 GFLOP/s in the median round" in text
    assert "memory: 47.1 GB/s at best, 46 GB/s in the median round" in text
    assert "fewer than 2.3 FLOP for each byte" in text
