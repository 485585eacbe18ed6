"""What went wrong on a GPU is told with a capture, and in the widget; the profiler here is made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.spaces import Space
from tests.sketches import protos_of
from tfprof_widget.api import capture as context
from tfprof_widget.api.profile import Profile
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.capturing.sampling import EVERYTHING
from tfprof_widget.capturing.tf_profiler import TfProfiler
from tfprof_widget.widget.shown import Shown

FIX = ("NVreg_RestrictProfilingToAdminUsers=0", "--cap-add=SYS_ADMIN")


class SessionWithoutPrivileges:
    """Stands in for TensorFlow's ProfilerSession where CUPTI refuses its service."""

    def start(self, directory: str, _: Any) -> None:
        self.directory = directory

    def export_to_tb(self) -> None:
        space = Space()
        space.add("python", "EagerExecute", 1_000, 9_000, eager_op="Mul")
        space.add("python", "KernelAndDeviceOp::Run", 2_000, 7_000)
        space.message.errors.append("vm: Insufficient privilege to run libcupti (you need root permission).")
        Path(self.directory, "vm.xplane.pb").write_bytes(space.message.SerializeToString())


def test_missing_privileges_are_told_with_what_helps() -> None:
    recorder = FunctionSource(EVERYTHING)
    recorder.use(TfProfiler(SessionWithoutPrivileges), eagerly=True)
    capture = Capture.of(recorder.recorded())
    (note,) = (each for each in capture.measurement.warnings if "privilege" in each)
    assert all(each in note for each in FIX)
    assert f"note: {note}" in capture.text().splitlines()
    assert note in capture.widget()._graphs[0]["notes"]


def on_gpu() -> Profile:
    """Ops that ran on a GPU whose streams nothing is known of."""
    graph, (run,), _ = protos_of("a = Add() 3us\nb = Mul(a) 5us")
    for device in run.step_stats.dev_stats:
        device.device = "/job:localhost/replica:0/task:0/device:GPU:0"
    profile = Profile.from_protos(graph, run)
    return replace(profile, step_names=("loss",))


def test_missing_kernels_are_told_of_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    record = GraphRecording(on_gpu(), (KindOfRun("loss", 1, 1, 0.0, 1.0, 0.0, untraced=0, warm_ups=0),))
    recorded = Recording((record,), 1.0, 0.0, 0, ())
    monkeypatch.setattr(FunctionSource, "recorded", lambda _: recorded)
    with context.capture() as prof:
        pass
    (note,) = (each for each in prof.measurement.warnings if "kernels" in each)
    assert all(each in note for each in FIX)


def test_missing_kernels_are_told_of_a_profile_that_is_shown() -> None:
    (graph,) = Shown.of_profile(on_gpu()).graphs
    (note,) = graph.notes
    assert all(each in note for each in FIX)
