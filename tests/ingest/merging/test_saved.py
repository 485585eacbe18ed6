"""Profiles of several workers, saved as tfprof's ProfileProto and read again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorflow.core.profiler.tfprof_log_pb2 import ProfileProto as NativeProfileProto

from tests.ingest.merging.contents import content
from tests.oracle.random_profiles import random_profile
from tests.sketches import profile_of
from tfprof_widget import Profile, ProfileError, merge
from tfprof_widget.lib.messages import ProfileProto, StoredTransfer

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")

BOTH = merge(
    {
        f"worker {task}": profile_of(f"""
            a = MatMul() {task + 1}us;{task + 5}us @/job:worker/task:{task}/cpu:0 4x2 7flops
            b = Relu()   3us;-                     @/job:worker/task:{task}/cpu:0
        """)
        for task in range(2)
    }
)


def test_each_worker_has_its_steps_and_devices_again(tmp_path: Path) -> None:
    BOTH.save(tmp_path / "both")
    again = Profile.load(tmp_path / "both")
    before, after = content(BOTH), content(again)
    for told in ("nodes", "steps", "step_totals", "transfers"):
        assert after[told] == before[told], told


def test_native_reads_it_as_steps_of_one_process(tmp_path: Path) -> None:
    BOTH.save(tmp_path / "both")
    native = NativeProfileProto.FromString((tmp_path / "both").read_bytes())
    assert list(native.steps) == [0, 1, 2, 3]
    (node,) = (each for each in native.nodes.values() if each.name == "a")
    starts = {step: list(execs.cpu_execs) for step, execs in node.execs.items()}
    task = "/job:worker/task:{}/cpu:0".format
    assert starts == {0: [task(0)], 1: [task(1)], 2: [task(0)], 3: [task(1)]}


def test_nothing_is_put_beside_it(tmp_path: Path) -> None:
    BOTH.save(tmp_path / "both")
    profile_of("a = MatMul() 1us").save(tmp_path / "other")
    with pytest.raises(ProfileError, match=r"both: it is of several workers, and .*other cannot be put beside it"):
        Profile.load([tmp_path / "both", tmp_path / "other"])  # type: ignore[arg-type]


def test_damage_is_told(tmp_path: Path) -> None:
    (tmp_path / "both").write_bytes(ProfileProto(steps=[0, 1], step_workers=["a"]).SerializeToString())
    with pytest.raises(ProfileError, match=r"both: profile: it does not tell the worker of each step"):
        Profile.load(tmp_path / "both")


def received(step: int, *, start: int = 5000) -> StoredTransfer:
    return StoredTransfer(
        step=step,
        kind="RecvTensor",
        source="/job:ps/task:0/cpu:0",
        target="/job:worker/task:0/cpu:0",
        tensor="b",
        start_nanos=start,
        duration_nanos=700,
        bytes=64,
    )


def test_transfers_are_kept_and_those_of_each_worker_stay_its_own(tmp_path: Path) -> None:
    BOTH.save(tmp_path / "both")
    message = ProfileProto.FromString((tmp_path / "both").read_bytes())
    message.transfers.extend([received(2), received(3), received(7), received(1, start=-1)])
    (tmp_path / "told").write_bytes(message.SerializeToString())
    told = Profile.load(tmp_path / "told")
    told.save(tmp_path / "again")
    for profile in (told, Profile.load(tmp_path / "again")):
        steps = [(profile.steps[step], profile.step_workers[step]) for step in profile.transfers.step.tolist()]
        assert steps == [
            (1, "worker 0"),
            (1, "worker 1"),
        ]  # no step 7 is in it, and nothing starts before there was time
        assert [profile.nodes.names[node] for node in profile.transfers.node.tolist()] == ["b", "b"]
        assert profile.transfers.bytes.tolist() == [64, 64]


@pytest.mark.parametrize("seed", range(25))
def test_what_was_saved_by_itself_and_together_is_the_same(seed: int, tmp_path: Path) -> None:
    workers = {}
    for number, name in enumerate(("a", "b")):
        random = random_profile(seed * 2 + number, (0, 1, 4))
        workers[name] = Profile.from_protos(random.graph, dict(random.steps), random.op_log)
        workers[name].save(tmp_path / name)
    merge(workers).save(tmp_path / "both")
    alone = {name: Profile.load(tmp_path / name) for name in workers}
    for name, profile in alone.items():
        told = [(*each[:1], each[1][0], *each[2:]) for each in content(merge({name: profile}))["step_totals"]]
        assert told == [(*each[:1], each[1][0], *each[2:]) for each in content(profile)["step_totals"]]
    assert content(Profile.load(tmp_path / "both"))["step_totals"] == content(merge(alone))["step_totals"]
