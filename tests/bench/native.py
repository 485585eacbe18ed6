"""Native tfprof's core, as `tf.compat.v1.profiler` calls it, without the Python around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.bench.recordings import Recording


def read(recording: Recording) -> None:
    """Read graph, op log and step; the process has one profiler, so the one before goes."""
    from tensorflow.python.util import _pywrap_tfprof

    _pywrap_tfprof.DeleteProfiler()
    _pywrap_tfprof.NewProfiler(recording.graph, recording.op_log)
    _pywrap_tfprof.AddStep(0, b"", recording.run_meta, b"")


def view(name: str, options: bytes) -> bytes:
    """What native makes of a view; it goes by serialized options."""
    from tensorflow.python.util import _pywrap_tfprof

    proto: bytes = _pywrap_tfprof.Profile(name, options)
    return proto


def serialized(options: Mapping[str, Any]) -> bytes:
    """Options as native takes them, set to give no output; what is not given takes its default."""
    from tensorflow.core.profiler.tfprof_options_pb2 import OptionsProto

    from tfprof_widget.options import OPTIONS

    values = {option.name: option.default for option in OPTIONS} | dict(options) | {"output": "none"}
    known = OptionsProto.DESCRIPTOR.fields_by_name
    return OptionsProto(**{name: value for name, value in values.items() if name in known}).SerializeToString()
