"""Real recordings of GPUs, where they lie: each op's time on the device is what TensorFlow itself wrote beside them."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

import tfprof_widget as tfprof
from tfprof_widget.api.profile import Profile

FOLDER = Path(__file__).parents[3] / "shared" / "recordings"
RECORDINGS = sorted(path.parent for path in FOLDER.glob("keras-*/ops.tsv"))


@pytest.mark.skipif(not RECORDINGS, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_time_of_each_op_on_the_device() -> None:
    for folder in RECORDINGS:
        ours, theirs = on_device(tfprof.load(folder / "recording.xplane.pb")), told(folder / "ops.tsv")
        assert ours.keys() == theirs.keys(), folder.name
        assert ours == pytest.approx(theirs, rel=0.001, abs=0.5), folder.name


def on_device(profile: Profile) -> dict[str, float]:
    """Microseconds by node."""
    found: defaultdict[str, float] = defaultdict(float)
    executions, nodes = profile.executions, profile.nodes
    rows = zip(executions.node.tolist(), executions.device.tolist(), executions.duration_nanos.tolist(), strict=True)
    for node, device, nanos in rows:
        if nodes.devices[device].endswith("/stream:all"):
            found[nodes.names[node]] += nanos / 1000
    return dict(found)


def told(path: Path) -> dict[str, float]:
    """The same by TensorFlow, which takes the type into the names of nodes that its layout optimizer adds."""
    found: defaultdict[str, float] = defaultdict(float)
    with path.open() as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if row["host_or_device"] == "Device":
                found[row["op_name"].partition(":")[0]] += float(row["self_us"])
    return dict(found)
