"""Times the reading of a live tf.Graph with its code traces, and takes the memory of it, beside native's Python API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.bench import children
from tests.bench.finding import Finding, of_medians
from tests.bench.gauges import Cost, cost
from tests.bench.recordings import recording

LEAST_RATIO_OF_TIME = 8
LEAST_RATIO_OF_MEMORY = 3
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
    native, ours, from_files = [], [], []
    for _ in range(ROUNDS):
        native.append(children.call_in_copy(_cost, _read_natively, graph, run_meta))
        ours.append(children.call_in_copy(_cost, _read, graph, run_meta))
        from_files.append(children.call(cost, _read_recording, nodes))
    return [
        of_medians(
            "Profile from a tf.Graph", nodes, _all("seconds", native), _all("seconds", ours), LEAST_RATIO_OF_TIME
        ),
        of_medians(
            "memory taken beyond the tf.Graph",
            nodes,
            _all("grown", native),
            _all("grown", ours),
            LEAST_RATIO_OF_MEMORY,
            "B",
        ),
        of_medians(
            "memory of the process, ours without TensorFlow",
            nodes,
            _all("peak", native),
            _all("peak", from_files),
            LEAST_RATIO_OF_MEMORY,
            "B",
        ),
    ]


def _all(what: str, costs: list[Cost]) -> list[float]:
    return [getattr(each, what) for each in costs]


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
    from tfprof_widget.profiles import Profile

    return Profile.from_protos(graph, run_meta)


def _read_recording(nodes: int) -> object:
    from tfprof_widget.profiles import Profile

    recorded = recording(nodes)
    return Profile.from_protos(recorded.graph, recorded.run_meta, recorded.op_log)
