"""Times the reading of graph, run and op log, from bytes and from messages that are there already."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from tests.bench import native
from tests.bench.finding import Finding, of_medians
from tests.bench.recordings import recording
from tfprof_widget.profiles import Profile

LEAST_RATIO = 2
ROUNDS = 5


def findings(nodes: int) -> list[Finding]:
    """The findings on reading; to be called in a process of its own, which native is loaded into."""
    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    recorded = recording(nodes)
    parts = (recorded.graph, recorded.run_meta, recorded.op_log)
    kinds = (GraphDef, RunMetadata, OpLogProto)
    messages = [kind.FromString(part) for kind, part in zip(kinds, parts, strict=True)]
    seconds: dict[str, list[float]] = {"native": [], "bytes": [], "TensorFlow's messages": []}
    for _ in range(ROUNDS):
        seconds["native"].append(_seconds(lambda: native.read(recorded)))
        seconds["bytes"].append(_seconds(lambda: Profile.from_protos(*parts)))
        seconds["TensorFlow's messages"].append(_seconds(lambda: Profile.from_protos(*messages)))
    return [
        of_medians(f"Profile from {form}", nodes, seconds["native"], seconds[form], LEAST_RATIO)
        for form in ("bytes", "TensorFlow's messages")
    ]


def _seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start
