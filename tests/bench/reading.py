"""Times the reading of graph, run and op log, from bytes and from messages that are there already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.bench import children, native
from tests.bench.finding import Finding, of_medians
from tests.bench.gauges import seconds
from tests.bench.recordings import recording
from tests.bench.target import TimesLess
from tfprof_widget.api.profile import Profile

TARGET = TimesLess(2)
LEAST_ROUNDS, MOST_ROUNDS = 5, 20
NODES = 20_000


def findings(nodes: int) -> list[Finding]:
    """The findings on reading; to be called in a process of its own."""
    recorded = recording(nodes)
    parts = (recorded.graph, recorded.run_meta, recorded.op_log)
    messages = _messages(parts)
    with children.Child() as child:
        _round(child, nodes, parts, messages)
        rounds = [
            _round(child, nodes, parts, messages) for _ in range(min(max(LEAST_ROUNDS, NODES // nodes), MOST_ROUNDS))
        ]
    read_natively, serialized, of_bytes, of_messages = zip(*rounds, strict=True)
    natively = [sum(each) for each in zip(read_natively, serialized, strict=True)]
    return [
        of_medians("Profile from bytes", nodes, read_natively, of_bytes, TARGET),
        of_medians("Profile from messages, which native wants serialized", nodes, natively, of_messages, TARGET),
    ]


def _round(
    child: children.Child, nodes: int, parts: Sequence[bytes], messages: Sequence[Any]
) -> tuple[float, float, float, float]:
    """The seconds that native takes to read, those to serialize messages for it, and those of this package."""
    return (
        child.call(native.read, nodes),
        seconds(lambda: [message.SerializeToString() for message in messages]),
        seconds(Profile.from_protos, *parts),
        seconds(Profile.from_protos, *messages),
    )


def _messages(parts: Sequence[bytes]) -> list[Any]:
    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    return [kind.FromString(part) for kind, part in zip((GraphDef, RunMetadata, OpLogProto), parts, strict=True)]
