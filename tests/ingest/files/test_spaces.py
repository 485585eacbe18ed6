"""XSpaces are loaded by step: a real one of Keras's `fit`, and ones made by hand, as TensorBoard lays them out."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.ingest.spaces import Space
from tfprof_widget.cli import main
from tfprof_widget.ingest.files.recognise import recognise
from tfprof_widget.ingest.xspace.steps import BEFORE, read_steps
from tfprof_widget.lib.errors import ProfileError, ProfileWarning
from tfprof_widget.lib.messages import GraphDef


def marked(*steps: int, micros: int = 10) -> Space:
    """Steps of 100 us that are marked by these numbers, each with a MatMul of so many microseconds."""
    space = Space()
    for place, step in enumerate(steps):
        start = 1_000_000 + place * 100_000
        space.add("python", "train", start, 90_000, step_num=step, _r=1)
        space.add("worker", "layer/MatMul:MatMul", start + 5_000, micros * 1000)
    return space


def written(path: Path, space: Space) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = space.message.SerializeToString()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def micros(profile: tfprof.Profile, worker: str | None = None) -> dict[int, int]:
    """By step, the microseconds of all ops, of one worker if there are several."""
    chosen = {} if worker is None else {"worker_regexes": [worker]}
    views = {step: profile.view("op", step=step, **chosen) for step in profile.steps}
    return {step: int(view.grand_total["micros"][0]) // view.time_scale for step, view in views.items()}


def test_fit(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(4)])
    model.compile("sgd", "mse", jit_compile=False)
    x, y = np.ones((96, 32), np.float32), np.ones((96, 4), np.float32)
    model.fit(x, y, batch_size=32, verbose=0)  # so that nothing is built meanwhile
    tf.profiler.experimental.start(str(tmp_path))
    model.fit(x, y, batch_size=32, verbose=0)
    tf.profiler.experimental.stop()

    profile = tfprof.load(tmp_path)
    steps = [step for step, name in zip(profile.steps, profile.step_names, strict=True) if name != BEFORE]
    assert len(steps) == 3  # 96 samples in batches of 32
    nodes, executions = profile.nodes, profile.executions
    is_product = np.array(["MatMul" in nodes.ops[op] for op in nodes.op], np.bool_)[executions.node]
    # a product for each of two layers forward, of each layer's weights backward, and of the second's input
    assert np.bincount(executions.step[is_product]).tolist()[:3] == [5, 5, 5]
    (file,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    assert tfprof.load(file).steps == tfprof.load(file.parent).steps == profile.steps
    assert main(["op", str(tmp_path), "--output=none"]) == 0


def test_steps_that_the_program_marked(tmp_path: Path) -> None:
    square = tf.function(lambda x: tf.square(x))
    square(tf.ones([5]))
    tf.profiler.experimental.start(str(tmp_path))
    square(tf.ones([5]))
    for step in (10, 11, 12):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            square(tf.ones([5]))
            square(tf.ones([5]))
    tf.profiler.experimental.stop()
    profile = tfprof.load(tmp_path)
    ran = profile.executions.node == profile.nodes.names.index("Square")
    counts = np.bincount(profile.executions.step[ran]).tolist()
    assert dict(zip(profile.steps, counts, strict=True)) == {10: 2, 11: 2, 12: 2, 13: 1}
    assert profile.step_names == ("train", "train", "train", BEFORE)


def test_marked_steps(tmp_path: Path) -> None:
    space = marked(10, 11, 12)
    space.add("worker", "early/Mul:Mul", 500, 7_000)
    profile = tfprof.load(written(tmp_path / "host.xplane.pb", space))
    assert profile.nodes.names == ("early/Mul", "layer/MatMul")
    assert (profile.steps, profile.step_names) == ((10, 11, 12, 13), ("train", "train", "train", BEFORE))
    assert micros(profile) == {10: 10, 11: 10, 12: 10, 13: 7}


def test_marks_within_marks_and_of_one_number() -> None:
    space = Space()
    for start, step in ((1_000, 0), (3_000, 1), (5_000, 0)):  # the last is of the next epoch
        space.add("python", "Profiled batch", start, 1_500, step_num=step)
        space.add("python", "train", start + 100, 1_000, step_num=step, _r=1)
    assert [(step.number, step.name) for step in read_steps(space.message)] == [
        (3, BEFORE),
        (0, "Profiled batch"),
        (1, "Profiled batch"),
        (2, "Profiled batch"),
    ]


def test_calls_of_functions_are_steps_where_none_are_marked() -> None:
    space = Space()
    space.add("python", "EagerExecute", 500, 100, eager_op="Mul")
    for start, function in ((1_000, "__inference_train_7"), (2_000, "__inference_train_7"), (3_000, "__inference_f_9")):
        space.add("python", "EagerExecute", start, 900, eager_op=function, is_func=1)
        space.add("python", "EagerExecute", start + 10, 100, eager_op="__inference_inner_8", is_func=1)
    found = read_steps(space.message)
    assert [(step.number, step.name) for step in found[1:]] == [(0, "train"), (1, "train"), (2, "f")]


def test_no_steps(tmp_path: Path) -> None:
    space = Space()
    space.add("worker", "a/Mul:Mul", 1_000, 7_000)
    profile = tfprof.load(written(tmp_path / "any name.gz", space))
    assert micros(profile) == {0: 7}


def test_hosts_of_one_run_are_workers(tmp_path: Path) -> None:
    """Each has a GPU:0 of its own: added up, it would be busy for longer than a step takes."""
    run = tmp_path / "plugins" / "profile" / "2024_05_17_10_30_00"
    written(run / "host_0.xplane.pb", marked(4, 5))
    written(run / "host_1.xplane.pb", marked(4, 5, micros=30))
    (run / "host_0.trace.json.gz").write_bytes(gzip.compress(b'{"traceEvents": []}'))
    (run / "host_0.overview_page.pb").write_bytes(GraphDef(node=[{"name": "a", "op": "b"}]).SerializeToString())
    for source in (tmp_path, run, run.parent, str(run / "*.xplane.pb")):
        profile = tfprof.load(source)
        assert sorted(set(profile.step_workers)) == ["host_0", "host_1"]
        assert {worker: micros(profile, worker) for worker in ("host_0", "host_1")} == {
            "host_0": {4: 10, 5: 10},
            "host_1": {4: 30, 5: 30},
        }


def test_accelerators_of_several_hosts_are_several(tmp_path: Path) -> None:
    """All hosts call their first one GPU:0, and its allocator GPU_0_bfc."""
    run = tmp_path / "plugins" / "profile" / "run"
    for number, in_use in enumerate((4096, 8192)):
        space = marked(4)
        memory = {"allocator_name": "GPU_0_bfc", "bytes_allocated": in_use, "requested_bytes": 64, "addr": 1}
        space.add("worker", "MemoryAllocation", 1_005_500, 0, **memory)
        space.add("Stream #7(Compute)", "gemm", 1_006_000, 500, "/device:GPU:0", tf_op="layer/MatMul:MatMul")
        written(run / f"host_{number}.xplane.pb", space)
    profile = tfprof.load(tmp_path)
    profile.save(tmp_path / "saved.tfprof")
    for each in (profile, tfprof.load(tmp_path / "saved.tfprof")):
        told = each.allocators()[["allocator", "peak_bytes"]].to_dict("split")["data"]
        assert told == [["host_0/GPU_0_bfc", 4096], ["host_1/GPU_0_bfc", 8192]]
        assert each.device_kernels()["runs"].tolist() == [2]
        assert each.device_steps()["worker"].tolist() == ["host_0", "host_1"]


@pytest.mark.parametrize("above", ["", "train/", "20200922-101530/train/"])
def test_newest_run_of_a_log_directory(tmp_path: Path, above: str) -> None:
    profiles = tmp_path / f"{above}plugins" / "profile"
    written(profiles / "run_9" / "host.xplane.pb", marked(0, micros=90))
    written(profiles / "run_10" / "host.xplane.pb.gz", marked(0, micros=20))
    (tmp_path / "events.out.tfevents.1.host").write_bytes(b"no profile")
    with pytest.warns(ProfileWarning, match=r"of 2 runs this is the newest, .*run_10; .* give its directory: .*run_9$"):
        assert micros(tfprof.load(tmp_path)) == {0: 20}
    assert micros(tfprof.load(profiles / "run_9")) == {0: 90}


def test_log_directory_at_a_url() -> None:
    system = fsspec.filesystem("memory")
    for run, taken in (("run_1", 10), ("run_2", 20)):
        data = marked(0, micros=taken).message.SerializeToString()
        system.pipe(f"/logs/plugins/profile/{run}/host.xplane.pb", data)
    with pytest.warns(ProfileWarning, match=r"memory://logs: of 2 runs this is the newest, .*run_2; "):
        assert micros(tfprof.load("memory://logs")) == {0: 20}
    assert micros(tfprof.load("memory://logs/plugins/profile/run_1")) == {0: 10}


def test_several_runs_come_one_after_the_other(tmp_path: Path) -> None:
    before = written(tmp_path / "before" / "host.xplane.pb", marked(3, 4))
    after = written(tmp_path / "after" / "host.xplane.pb", marked(4, 9, micros=30))
    profile = tfprof.load([before, after])
    assert micros(profile) == {3: 10, 4: 10, 5: 30, 6: 30}
    assert profile.step_names == ("train (before)", "train (before)", "train (after)", "train (after)")


def test_text_form() -> None:
    assert recognise(str(marked(1).message).encode(), "a file").kind == "XSpace"


@pytest.mark.parametrize("lines", [0, 1, 5, 30])
def test_told_from_other_messages(lines: int) -> None:
    space = marked(1, 2)
    for number in range(lines):
        space.add(f"worker {number}", "a:Add", 1_000, 10)
    space.message.planes.add(name="/host:metadata")
    assert recognise(space.message.SerializeToString(), "a file").kind == "XSpace"


def test_failed_recording(tmp_path: Path) -> None:
    space = Space()
    space.message.errors.append("host: Insufficient privilege to run libcupti (you need root permission).")
    with pytest.raises(
        ProfileError,
        match=r"host.xplane.pb: nothing that ran is in it; TensorFlow's profiler says: host: Insuff"
        r".*; if the driver keeps .*NVreg_RestrictProfilingToAdminUsers=0 .*--cap-add=SYS_ADMIN",
    ):
        tfprof.load(written(tmp_path / "host.xplane.pb", space))


def test_what_went_wrong_is_told(tmp_path: Path) -> None:
    space = marked(1)
    space.message.warnings.extend(["the clock went back", "12 events were dropped"])
    path = written(tmp_path / "host.xplane.pb", space)
    with pytest.warns(ProfileWarning) as caught:
        tfprof.load(path)
    assert [str(each.message).partition("host.xplane.pb: ")[2] for each in caught] == [
        "TensorFlow's profiler says: the clock went back",
        "TensorFlow's profiler dropped 12 events, by which the totals are too low",
    ]


def test_compiled_function_is_told_of(tmp_path: Path) -> None:
    space = Space()
    for start in (1_000, 20_000):
        space.add("python", "__inference_train_7:__inference_train_7", start, 9_000)
    with pytest.warns(
        ProfileWarning, match=r"host.xplane.pb: XLA compiled 'train' to one op, so the ops inside show no time"
    ):
        profile = tfprof.load(written(tmp_path / "host.xplane.pb", space))
    assert profile.nodes.names == ("train",)
    assert micros(profile) == {0: 18}


def test_beside_other_parts(tmp_path: Path) -> None:
    space = written(tmp_path / "host.xplane.pb", marked(1))
    graph = tmp_path / "graph"
    graph.write_bytes(GraphDef(node=[{"name": "a", "op": "Add"}]).SerializeToString())
    for given in ({"source": tmp_path}, {"source": space, "checkpoint": str(graph)}):
        asked: dict[str, Any] = given
        with pytest.raises(ProfileError, match=r"host.xplane.pb: it is an XSpace, and .*graph cannot be put beside it"):
            tfprof.load(**asked)


def test_in_place_of_a_part_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "host.xplane.pb", marked(1))
    assert main(["scope", f"--run_meta_path={path}"]) == 1
    assert "XSpace, where a RunMetadata is asked for" in capsys.readouterr().err
    assert main(["scope", f"--profile_path={path}", "--output=none"]) == 0
