"""Times the reading of graph, run and op log, from bytes and from messages that are there already."""

from __future__ import annotations

from tests.bench import children, native
from tests.bench.finding import Finding, of_medians
from tests.bench.gauges import seconds
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
    forms = {"bytes": parts, "TensorFlow's messages": messages}
    taken: dict[str, list[float]] = {"native": [], **{form: [] for form in forms}}
    with children.Child() as child:
        for _ in range(ROUNDS):
            taken["native"].append(child.call(native.read, nodes))
            for form, given in forms.items():
                taken[form].append(seconds(Profile.from_protos, *given))
    return [of_medians(f"Profile from {form}", nodes, taken["native"], taken[form], LEAST_RATIO) for form in forms]
