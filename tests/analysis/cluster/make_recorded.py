"""Records two workers of a MultiWorkerMirroredStrategy for the tests: `python -m tests.analysis.cluster.make_recorded`.

TensorFlow's profiler may crash a worker in collectives, which is why no test does this: here it is tried again.
"""

from __future__ import annotations

import gzip
import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tfprof_widget as tfprof
from tests.forked import process
from tests.ports import free_ports
from tfprof_widget.lib.messages import ProfileProto

RECORDED = Path(__file__).parent / "recorded" / "mirrored_workers.gz"
SLOW = 1
TRIALS = 20


def workers(folder: Path | None = None) -> list[str]:
    """What each of two workers printed; they save what they recorded in a folder, if one is given."""
    addresses = json.dumps([f"127.0.0.1:{port}" for port in free_ports(2)])
    with ExitStack() as processes:
        started = []
        for index in range(2):
            words = [addresses, str(index), str(SLOW), *([str(folder / str(index))] if folder is not None else [])]
            started.append(processes.enter_context(process("tests.analysis.cluster.mirrored_worker", *words)))
        printed = []
        for worker in started:
            printed.append(json.loads(worker.stdout.readline()))
        return printed


def without_paths(profile: Any) -> None:
    """Leave out the stacks, which name files of this machine."""
    profile.id_to_string.clear()
    profile.has_trace = False
    for node in profile.nodes.values():
        node.ClearField("trace")


def main() -> None:
    """Record until both workers live to tell."""
    for trial in range(1, TRIALS + 1):
        with TemporaryDirectory() as directory:
            try:
                workers(Path(directory))
            except ValueError:
                print(f"trial {trial}: a worker crashed")
                continue
            found = {f"worker {index}": tfprof.load(Path(directory, str(index))) for index in range(2)}
            if len({each.steps for each in found.values()}) > 1:
                print(f"trial {trial}: the workers' windows have other steps")
                continue
            tfprof.merge(found).save(Path(directory, "merged"))
            merged = ProfileProto.FromString(Path(directory, "merged").read_bytes())
        without_paths(merged)
        RECORDED.parent.mkdir(exist_ok=True)
        RECORDED.write_bytes(gzip.compress(merged.SerializeToString(deterministic=True), mtime=0))
        return
    raise SystemExit(f"a worker crashed in each of {TRIALS} trials")


if __name__ == "__main__":
    main()
