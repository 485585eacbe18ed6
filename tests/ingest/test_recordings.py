"""Real recordings of GPUs, where they lie: times of ops and of copies are what TensorFlow itself wrote beside them."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import tfprof_widget as tfprof
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.lib.messages import XSpace

FOLDER = Path(__file__).parents[3] / "shared" / "recordings"
RECORDINGS = sorted(path.parent for path in FOLDER.glob("keras-*/ops.tsv"))


@pytest.mark.skipif(not RECORDINGS, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_time_of_each_op_on_the_device() -> None:
    for folder in RECORDINGS:
        ours, (theirs, _) = on_device(tfprof.load(folder / "recording.xplane.pb")), told(folder / "ops.tsv")
        assert ours.keys() == theirs.keys(), folder.name
        assert ours == pytest.approx(theirs, rel=0.001, abs=0.5), folder.name


@pytest.mark.skipif(not RECORDINGS, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_copies_are_transfers() -> None:
    """Their bytes are written in the recording itself, and so are their number and the direction."""
    for folder in RECORDINGS:
        written = (folder / "recording.xplane.pb").read_bytes()
        profile = tfprof.load(folder / "recording.xplane.pb")
        copies = profile.transfers
        (_, theirs), space = told(folder / "ops.tsv"), XSpace.FromString(written)
        assert len(copies) == len(list(copied(space))), folder.name
        assert Counter(copies.bytes.tolist()) == Counter(copied(space)), folder.name
        named = copies.duration_nanos.sum() / 1000
        assert named >= sum(theirs.values()) - 0.5 * len(copies), folder.name


@pytest.mark.skipif(not RECORDINGS, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_peaks_of_allocators() -> None:
    for folder in RECORDINGS:
        profile = tfprof.load(folder / "recording.xplane.pb")
        told = json.loads((folder / "memory_peaks.json").read_text())
        theirs = {name: int(each["peakBytesInUse"]) for name, each in told.items()}
        ours = {row.allocator: row.peak_bytes for row in profile.allocators().itertuples()}
        assert ours == pytest.approx(theirs, rel=0.02), folder.name
        on_gpu = max(peak for name, peak in theirs.items() if name.startswith("GPU"))
        assert profile.executions.bytes_in_use.max() == pytest.approx(on_gpu, rel=0.02), folder.name


PEAKS_BY_XPROF = {
    "bert-8xv100": {
        "GPU_1_bfc": 4_013_344_768,
        "GPU_4_bfc": 6_208_853_760,
        "GPU_6_bfc": 6_210_111_488,
        "gpu_host_bfc": 605_952,
    },
    "jax-4xtpu-v6e": {
        "TPU_0": 21_492_569_216,
        "TPU_1": 21_492_671_104,
        "TPU_2": 21_492_671_104,
        "TPU_3": 21_492_569_216,
    },
    "jax-attention": {"GPU_0_bfc": 663_228_416},
}
"""What the memory profile of xprof 2.24.2 tells of recordings beside which no figures of TensorFlow lie."""


@pytest.mark.skipif(not RECORDINGS, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_peaks_of_allocators_that_xprof_tells() -> None:
    for name, theirs in PEAKS_BY_XPROF.items():
        profile = tfprof.load(FOLDER / name / "recording.xplane.pb")
        assert {each.name: each.peak_bytes for each in profile.allocator_peaks} == theirs, name


OF_JAX = sorted(path.parent for path in FOLDER.glob("jax-*/framework_op_stats.tsv"))


@pytest.mark.skipif(not OF_JAX, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_time_of_each_op_of_xla() -> None:
    """As xprof's statistics have it; an op that names none of the framework's stands in its module here."""
    for folder in OF_JAX:
        ours = on_device(tfprof.load(folder / "recording.xplane.pb"))
        with (folder / "framework_op_stats.tsv").open() as lines:
            rows = [row for row in csv.DictReader(lines, delimiter="\t") if row["host_or_device"] == "Device"]
        theirs = {row["operation"]: float(row["total_self_time"]) for row in rows}
        found = {
            name if name in theirs else name.rpartition("/")[2]: micros
            for name, micros in ours.items()
            if name in theirs or name.rpartition("/")[2] in theirs
        }
        assert found == pytest.approx(theirs, rel=0.01, abs=0.5), folder.name


BY_LIBRARIES = "xprof tells nothing of products by libraries"
BY_KERNELS = "xprof counts an op once for each of its kernels"
OTHERWISE = {
    "jit(loss_fn)/transpose(jvp(bsd,de->bse))/dot_general": BY_LIBRARIES,
    "jit(dot)/dot_general": BY_LIBRARIES,
    "jit(forward_3d_conv)/conv_general_dilated": BY_KERNELS,
}
"""The ops of which we count other float operations or bytes than xprof, and why."""


@pytest.mark.skipif(not OF_JAX, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_float_operations_and_bytes_of_each_op_of_xla() -> None:
    for folder in OF_JAX:
        ours = costs_of(tfprof.load(folder / "recording.xplane.pb"))
        apart = {op for op, theirs in costs_told(folder).items() if ours[op] != pytest.approx(theirs, rel=0.01)}
        assert apart == OTHERWISE.keys() & ours.keys(), folder.name


@pytest.mark.skipif(not OF_JAX, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_time_and_bytes_of_each_row_of_xla() -> None:
    """Nanoseconds are cut off of each run, of which xprof has picoseconds."""
    for folder in OF_JAX:
        found = compared_rows(folder, tfprof.load(folder / "recording.xplane.pb"))
        assert {row for row in found if not row.is_equal_in_time} == set(), folder.name
        assert {row.op for row in found if not row.is_equal_in_bytes} <= OTHERWISE.keys(), folder.name


@pytest.mark.skipif(not OF_JAX, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_copies_beside_ops_of_tpus_start_and_end_with_their_ops() -> None:
    """By the clock of the TPU, to the nanosecond; by the host's, where they are recorded, other ops are there, too."""
    profile = tfprof.load(FOLDER / "jax-4xtpu-v6e" / "recording.xplane.pb")
    runs, copies = profile.executions, profile.transfers
    names = np.array(profile.nodes.names)[runs.node]
    ends = runs.start_nanos + runs.duration_nanos
    starting = runs.start_nanos[np.char.startswith(names, "jit_f/copy-start")]
    waiting = ends[np.char.startswith(names, "jit_f/copy-done")]
    assert np.isin(copies.start_nanos, starting).sum() == len(copies) == 600
    apart = np.abs(waiting[:, None] - (copies.start_nanos + copies.duration_nanos)[None, :]).min(axis=0)
    assert apart.max() <= 1


IDLE_BY_XPROF = {"jax-4xtpu-v6e": 0.134}
"""The share of the time between the first and the last op of all cores, by the overview page of xprof 2.24.2."""


@pytest.mark.skipif(not OF_JAX, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_idle_time_of_tpus() -> None:
    """A core runs one op at a time, and each program has as many."""
    for name, theirs in IDLE_BY_XPROF.items():
        profile = tfprof.load(FOLDER / name / "recording.xplane.pb")
        assert 1 - sum(busy for busy, _ in of_cores(profile)) / sum(span for _, span in of_cores(profile)) == (
            pytest.approx(theirs, abs=0.001)
        )
        executions = profile.executions
        for device in np.unique(executions.device).tolist():
            rows = np.flatnonzero(executions.device == device)
            rows = rows[np.argsort(executions.start_nanos[rows])]
            ends = executions.start_nanos[rows] + executions.duration_nanos[rows]
            assert (ends[:-1] <= executions.start_nanos[rows][1:]).all()
            assert set(np.bincount(executions.step[rows]).tolist()) <= {0, 1, 15}


@pytest.mark.skipif(not OF_JAX, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_lines_of_ops_of_xla() -> None:
    """xprof names the user's line of each op in its statistics."""
    told = {"jax-attention": "12_te_fused_attn.py:77:", "jax-4xtpu-v6e": "host_offload_stress_test.py:29:"}
    for folder in OF_JAX:
        if folder.name in told:
            view = tfprof.load(folder / "recording.xplane.pb").view("code", max_depth=100)
            assert any(name.startswith(told[folder.name]) for name in view.names), folder.name


def copied(space: XSpace) -> Iterator[int]:
    """The bytes of each copy."""
    for plane in space.planes:
        for line in plane.lines:
            for event in line.events if line.name.startswith("Stream") else ():
                for stat in (*plane.event_metadata[event.metadata_id].stats, *event.stats):
                    if plane.stat_metadata[stat.metadata_id].name == "memcpy_details":
                        yield int(stat.str_value.split("size:")[1].split()[0])


def on_device(profile: Profile) -> dict[str, float]:
    """Microseconds by node."""
    found: defaultdict[str, float] = defaultdict(float)
    executions, nodes = profile.executions, profile.nodes
    rows = zip(executions.node.tolist(), executions.device.tolist(), executions.duration_nanos.tolist(), strict=True)
    for node, device, nanos in rows:
        if nodes.devices[device].endswith("/stream:all"):
            found[nodes.names[node]] += nanos / 1000
    return dict(found)


def costs_told(folder: Path) -> dict[str, tuple[float, float]]:
    """Float operations and bytes of each op on the device by xprof's statistics, which tell them by the second."""
    with (folder / "framework_op_stats.tsv").open() as lines:
        rows = [row for row in csv.DictReader(lines, delimiter="\t") if row["host_or_device"] == "Device"]
    return {
        row["operation"]: (
            float(row["model_flop_rate"]) * 1000 * float(row["total_self_time"]),
            float(row["measured_memory_bw"]) * 2**30 / 1e6 * float(row["total_self_time"]),
        )
        for row in rows
    }


def costs_of(profile: Profile) -> dict[str, tuple[float, float]]:
    """The same by us; an op of XLA's own by its name in its module, too."""
    nodes, totals = profile.nodes, profile.step_totals
    found: defaultdict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for node, float_ops in zip(totals.node.tolist(), totals.float_ops_of(nodes).tolist(), strict=True):
        found[nodes.names[node]] = found[nodes.names[node]][0] + float_ops, 0.0
    for each in profile.kernel_runs:
        float_ops, accessed = found[each.node]
        found[each.node] = float_ops, accessed + each.accessed_bytes * each.runs
    return dict(found) | {name.rpartition("/")[2]: told for name, told in found.items() if name.startswith("jit_")}


class ComparedRow(NamedTuple):
    """Microseconds and bytes of rows of xprof's hlo_stats: ours, xprof's."""

    op: str
    rows: int
    runs: int
    micros: tuple[float, float]
    accessed: tuple[float, float]

    @property
    def is_equal_in_time(self) -> bool:
        ours, theirs = self.micros
        return abs(ours - theirs) <= max(0.01 * theirs, 0.001 * self.runs)

    @property
    def is_equal_in_bytes(self) -> bool:
        ours, theirs = self.accessed
        return abs(ours - theirs) <= 0.01 * theirs


Told = dict[str, Counter[str]]


def compared_rows(folder: Path, profile: Profile) -> list[ComparedRow]:
    """The rows of xprof's hlo_stats beside ours, which are kernels.

    XLA names kernels that it makes after its ops: `loop_fusion.1` runs `loop_fusion_1.kd`. Where rows of one op of the
    framework share kernels, or run those of libraries, its rows are added up.
    """
    ours: defaultdict[str, Told] = defaultdict(lambda: defaultdict(Counter))
    for each in profile.kernel_runs:
        kernel = each.kernel.removesuffix(".kd").replace(".", "_")
        ours[each.node][kernel].update(runs=each.runs, nanos=each.nanos, accessed=each.accessed_bytes * each.runs)
    theirs: defaultdict[str, Told] = defaultdict(lambda: defaultdict(Counter))
    modules = {name.rpartition("/")[2]: name for name in profile.nodes.names if name.startswith("jit_")}
    with (folder / "hlo_stats.tsv").open() as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            op = row["tf_op_name"].rstrip(":") or modules[row["hlo_op_name"]]
            nanos = float(row["total_self_time"]) * 1000
            accessed = float(row["measured_memory_bw"]) * 2**30 / 1e9 * nanos
            kernel = row["hlo_op_name"].replace(".", "_")
            theirs[op][kernel].update(rows=1, nanos=round(nanos), accessed=round(accessed))
    found = []
    for op, rows in theirs.items():
        parts = [[kernel] for kernel in rows] if rows.keys() == ours[op].keys() else [[*rows, *ours[op]]]
        for part in parts:
            kernels = dict.fromkeys(part)
            own, other = (sum((of[op].get(each, Counter()) for each in kernels), Counter()) for of in (ours, theirs))
            micros = own["nanos"] / 1000, other["nanos"] / 1000
            found.append(ComparedRow(op, other["rows"], own["runs"], micros, (own["accessed"], other["accessed"])))
    return found


def of_cores(profile: Profile) -> Iterator[tuple[int, int]]:
    """Of each accelerator the nanoseconds that it was busy, and those from its first op to the end of its last."""
    executions = profile.executions
    for code, device in enumerate(profile.nodes.devices):
        rows = np.flatnonzero(executions.device == code)
        if device.endswith("/stream:all") and len(rows):
            start, end = executions.start_nanos[rows], executions.start_nanos[rows] + executions.duration_nanos[rows]
            yield Intervals.of(start, end).length, int(end.max() - start.min())


COPYING = frozenset({"_Send", "_Recv", "_HostRecv"})


def told(path: Path) -> tuple[dict[str, float], dict[str, float]]:
    """The same by TensorFlow, and the time of copies; it takes the type into names that its layout optimizer adds."""
    ops: defaultdict[str, float] = defaultdict(float)
    copies: defaultdict[str, float] = defaultdict(float)
    with path.open() as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if row["host_or_device"] == "Device":
                found = copies if row["op_type"] in COPYING else ops
                found[row["op_name"].partition(":")[0]] += float(row["self_us"])
    return dict(ops), dict(copies)


EVERY = sorted(path.parent for path in FOLDER.glob("[bjk]*/recording.xplane.pb"))


@pytest.mark.skipif(not EVERY, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_kernels_and_parts_of_steps_add_up() -> None:
    """The kernels of a device take the time of its executions, and the parts of a step the step's."""
    for folder in EVERY:
        profile = tfprof.load(folder / "recording.xplane.pb")
        ours = on_device(profile)
        kernels = profile.device_kernels().groupby("node")["micros"].sum().to_dict()
        assert kernels == pytest.approx(ours, abs=1e-6), folder.name
        steps = profile.device_steps()
        parts = steps.loc[:, "compute_micros":].sum(axis=1)
        assert (steps["step_micros"] - parts).abs().max() < 0.01, folder.name
        assert (steps.loc[:, "compute_micros":] >= 0).all(axis=None), folder.name


@pytest.mark.skipif(not EVERY, reason=f"there are no recordings in {FOLDER}, which is kept beside the repository")
def test_launches_and_devices() -> None:
    """Every kernel that has a number of its launch finds it; the planes say what they are."""
    told = {"keras-v100-copies": 181, "jax-attention": 150}
    for folder in EVERY:
        if folder.name in told:
            profile = tfprof.load(folder / "recording.xplane.pb")
            assert sum(each.launches for each in profile.kernel_runs) == told[folder.name], folder.name
        if folder.name == "keras-v100-copies":
            (row,) = tfprof.load(folder / "recording.xplane.pb").devices().itertuples()
            assert (row.cores, row.clock_hertz, row.compute_capability) == (80, 1_530_000_000, "7.0")
