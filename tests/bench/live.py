"""Times the reading of a live tf.Graph with its code traces, and takes the memory of it, beside native's Python API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.bench import children
from tests.bench.finding import Finding, of_medians
from tests.bench.gauges import Cost, cost
from tests.bench.recordings import recording
from tests.bench.target import TimesLess, Unit

TIME = TimesLess(8)
MEMORY = TimesLess(3)
ROUNDS = 3


def findings(nodes: int) -> list[Finding]:
    """The findings on a tf.Graph; to be called in a process of its own.

    The graph is built once. Each round reads it in a copy of that process, for the traces that a
    reader asks of TensorFlow stay in memory, and make it quicker for the next.
    """
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    from tests.bench import model

    model.silence_deprecations()
    graph = model.build(nodes).graph
    run_meta = RunMetadata.FromString(recording(nodes).run_meta)
    native, ours, without_tensorflow = [], [], []
    for _ in range(ROUNDS):
        native.append(children.call_in_copy(_cost, _read_natively, graph, run_meta))
        ours.append(children.call_in_copy(_cost, _read, graph, run_meta))
        without_tensorflow.append(children.call(cost, _read_recording, nodes))

    def finding(what: str, gauge: str, of_ours: list[Cost], target: TimesLess, unit: Unit) -> Finding:
        natively = [getattr(each, gauge) for each in native]
        return of_medians(what, nodes, natively, [getattr(each, gauge) for each in of_ours], target, unit)

    return [
        finding("Profile from a tf.Graph", "seconds", ours, TIME, "s"),
        finding("memory taken beyond the tf.Graph", "grown", ours, MEMORY, "B"),
        finding("memory of the process, ours without TensorFlow", "peak", without_tensorflow, MEMORY, "B"),
    ]


def _cost(read: Callable[[Any, Any], object], graph: Any, run_meta: Any) -> Cost:
    """What reading takes once all code is loaded; a copied process has to load it again, page by page."""
    read(*_smallest())
    return cost(read, graph, run_meta)


def _smallest() -> tuple[Any, Any]:
    """A graph of one node, and a run of it."""
    import tensorflow as tf

    run_meta = tf.compat.v1.RunMetadata()
    with tf.Graph().as_default() as graph:
        tf.zeros([2], name="node")
    device = run_meta.step_stats.dev_stats.add(device="/device:CPU:0")
    execution = device.node_stats.add(node_name="node", all_start_micros=1, all_start_nanos=1)
    execution.memory.add(total_bytes=8).allocation_records.add(alloc_bytes=8)
    execution.output.add().tensor_description.allocation_description.requested_bytes = 8
    return graph, run_meta


def _read_natively(graph: Any, run_meta: Any) -> object:
    import tensorflow as tf

    profiler = tf.compat.v1.profiler.Profiler(graph)
    profiler.add_step(0, run_meta)
    return profiler


def _read(graph: Any, run_meta: Any) -> object:
    from tfprof_widget.api.profile import Profile

    return Profile.from_protos(graph, run_meta)


def _read_recording(nodes: int) -> object:
    from tfprof_widget.api.profile import Profile

    recorded = recording(nodes)
    return Profile.from_protos(recorded.graph, recorded.run_meta, recorded.op_log)
