"""Native tfprof's core, as `tf.compat.v1.profiler` calls it, without the Python around it; for a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.bench.gauges import seconds
from tests.bench.recordings import recording


def read(nodes: int) -> float:
    """The seconds to read graph, op log and step of a recording; what was read before goes first."""
    from tensorflow.python.util import _pywrap_tfprof

    recorded = recording(nodes)

    def work() -> None:
        _pywrap_tfprof.NewProfiler(recorded.graph, recorded.op_log)
        _pywrap_tfprof.AddStep(0, b"", recorded.run_meta, b"")

    _pywrap_tfprof.DeleteProfiler()
    return seconds(work)


def view(name: str, options: Sequence[Mapping[str, Any]]) -> list[float]:
    """The seconds to make a view of what was read, for each of the options."""
    from tensorflow.python.util import _pywrap_tfprof

    given = [_serialized(each) for each in options]
    return [seconds(_pywrap_tfprof.Profile, name, each) for each in given]


def _serialized(options: Mapping[str, Any]) -> bytes:
    """Options as native takes them, set to give no output; what is not given takes its default."""
    from tensorflow.core.profiler.tfprof_options_pb2 import OptionsProto

    from tfprof_widget.profiles.options import OPTIONS

    values = {option.name: option.default for option in OPTIONS} | dict(options) | {"output": "none"}
    known = OptionsProto.DESCRIPTOR.fields_by_name
    proto = OptionsProto(**{name: value for name, value in values.items() if name in known})
    serialized: bytes = proto.SerializeToString()
    return serialized
