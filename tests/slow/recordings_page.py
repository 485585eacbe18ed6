"""Writes docs/recordings.md: how the figures of real recordings compare with those that TensorFlow and xprof tell."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path

import tfprof_widget as tfprof
from tests.ingest.test_recordings import (
    COPYING,
    FOLDER,
    IDLE_BY_XPROF,
    OTHERWISE,
    PEAKS_BY_XPROF,
    compared_rows,
    costs_of,
    costs_told,
    of_cores,
    on_device,
)
from tfprof_widget.api.profile import Profile

PAGE = Path(__file__).parents[2] / "docs" / "recordings.md"
MADE_WITH = {
    "keras-v100": "TensorFlow 2.3 and 2.4",
    "keras-turing": "TensorFlow 2.5",
    "keras-inceptionresnet": "TensorFlow 2.3",
    "bert-8xv100": "TensorFlow 2.2, eight V100 on one host",
    "jax-mi300x": "JAX, MI300X",
    "jax-attention": "JAX, gfx950",
    "jax-4xtpu-v6e": "JAX, four TPU v6e",
}
HEAD = """# Real recordings of accelerators

No accelerator is at hand where this package is made. So recordings that others made on real ones are read, and each
figure is held against what TensorFlow's own profiler plugin or xprof tells of the same recording. `make recordings`
writes this page; the recordings lie beside the repository, not in it.

*Ops* are the ops of the framework, by their time on the device; *apart* is the largest difference of one of them.
*Copies* are transfers between host and device, *memory* the peak of each allocator beside TensorFlow's or xprof's.
*Kernels* are those of which the launch by the host is recorded. *A step* is what its accelerators did in the mean:
compute, collectives, copies, nothing.

| recording | made with | ops | apart | copies | bytes copied | memory | kernels | a step |
|---|---|---|---|---|---|---|---|---|
"""
COSTS = """
Of XLA's ops, xprof tells float operations and bytes of memory that they read and write; those within 1 % are equal.
*Rows* are those of xprof's `hlo_stats`, by their time and by their bytes; rows that share a kernel, or run those of
libraries, are compared together. *Idle* is the share of the time between the first and the last op of all cores in
which nothing ran.

| recording | float operations | bytes | rows, time | rows, bytes | idle | xprof's |
|---|---|---|---|---|---|---|
"""
FOOT = """
Not at hand, and so read from traces of the same form only: TensorFlow 2.6 and later on a real GPU, TensorFlow on a TPU,
pluggable devices.
"""


def told(folder: Path) -> dict[str, float]:
    """The microseconds of each op on the device, by the tables that lie beside the recording."""
    found: dict[str, float] = {}
    name = "ops.tsv" if (folder / "ops.tsv").exists() else "framework_op_stats.tsv"
    with (folder / name).open() as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if row["host_or_device"] == "Device" and row.get("op_type", row.get("type")) not in COPYING:
                op = (row.get("op_name") or row["operation"]).partition(":")[0]
                found[op] = found.get(op, 0.0) + float(row.get("self_us") or row["total_self_time"])
    return found


def row(folder: Path, profile: Profile) -> str:
    ours, theirs = on_device(profile), told(folder)
    by_last = {name.rpartition("/")[2]: micros for name, micros in ours.items()}
    apart = [abs(ours.get(name, by_last.get(name, 0.0)) - micros) for name, micros in theirs.items()]
    same = sum(each <= 0.5 + 0.001 * micros for each, micros in zip(apart, theirs.values(), strict=True))
    hardware = next(words for name, words in MADE_WITH.items() if folder.name.startswith(name))
    capability = next((each.compute_capability for each in profile.accelerators), "")
    if folder.name.startswith("keras"):  # the names of these say less than their planes
        hardware += f", a GPU of compute capability {capability}"
    cells = [
        *(folder.name, hardware, f"{same:,} of {len(theirs):,} equal" if theirs else "not told"),
        f"{max(apart):.2f} µs" if apart else "not told",
        *(f"{len(profile.transfers):,}", f"{int(profile.transfers.bytes.sum()):,}", memory(folder, profile)),
        *(launched(profile), step(profile)),
    ]
    return f"| {' | '.join(cells)} |\n"


def costs(folder: Path, profile: Profile) -> str:
    ours, theirs = costs_of(profile), costs_told(folder)
    cells = [folder.name]
    for place in range(2):
        told = {op: each[place] for op, each in theirs.items() if each[place]}
        same = sum(abs(ours[op][place] - amount) <= 0.01 * amount for op, amount in told.items())
        cells.append(f"{same} of {len(told)} equal")
    rows = compared_rows(folder, profile)
    count = sum(each.rows for each in rows)
    in_time = sum(each.rows for each in rows if each.is_equal_in_time)
    in_bytes = sum(each.rows for each in rows if each.is_equal_in_bytes)
    cells += [f"{same} of {count} equal" for same in (in_time, in_bytes)]
    busy, spans = map(sum, zip(*of_cores(profile), strict=True))
    idle = IDLE_BY_XPROF.get(folder.name)
    cells += [f"{1 - busy / spans:.1%}", "not told" if idle is None else f"{idle:.1%}"]
    return f"| {' | '.join(cells)} |\n"


def memory(folder: Path, profile: Profile) -> str:
    peaks = folder / "memory_peaks.json"
    theirs = PEAKS_BY_XPROF.get(folder.name, {})
    if peaks.exists():
        theirs = {name: int(each["peakBytesInUse"]) for name, each in json.loads(peaks.read_text()).items()}
    if not theirs:
        return "not told"
    ours = {each.name: each.peak_bytes for each in profile.allocator_peaks}
    return f"{sum(ours.get(name) == peak for name, peak in theirs.items())} of {len(theirs)} equal"


def launched(profile: Profile) -> str:
    runs, launches = (sum(getattr(each, name) for each in profile.kernel_runs) for name in ("runs", "launches"))
    return f"{launches:,} of {runs:,}"


def step(profile: Profile) -> str:
    parts = profile.device_steps().loc[:, "compute_micros":].sum()
    return ", ".join(f"{share:.0%}" for share in parts / parts.sum())


def main() -> None:
    """Write the page, if the recordings are there."""
    folders = sorted(
        path.parent for path in FOLDER.glob("*/recording.xplane.pb") if not path.parent.name.startswith("made")
    )
    if not folders:
        raise SystemExit(f"there are no recordings in {FOLDER}")
    warnings.simplefilter("ignore")
    profiles = {folder: tfprof.load(folder / "recording.xplane.pb") for folder in folders}
    rows = [row(*each) for each in profiles.items()]
    of_xla = [costs(*each) for each in profiles.items() if each[0].name.startswith("jax")]
    others = [f"- `{op}`: {why}.\n" for op, why in OTHERWISE.items()]
    text = f"{HEAD}{''.join(rows)}{COSTS}{''.join(of_xla)}\nOther than xprof we count:\n\n{''.join(others)}{FOOT}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
