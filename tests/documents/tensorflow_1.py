"""TensorFlow 1 as the documents' programs call it, with this package for its profiler; and a way to run them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tensorflow

import tfprof_widget as tfprof
from tfprof_widget.lib.messages import OpLogProto

PROGRAMS = Path(__file__).parent / "programs"

# The message had a shorter name when the guide was written.
tfprof_log_pb2 = SimpleNamespace(OpLog=OpLogProto)


class TensorFlow1:
    """What `import tensorflow as tf` gave."""

    profiler = tfprof
    contrib = SimpleNamespace(
        tfprof=SimpleNamespace(ProfileContext=tfprof.ProfileContext, model_analyzer=tfprof, tfprof_logger=tfprof)
    )

    def __getattr__(self, name: str) -> Any:
        return getattr(tensorflow.compat.v1, name)


tf: Any = TensorFlow1()


def run_program(name: str, graph: Any, directory: Path, **names: Any) -> None:
    """Run a program as it is printed but for its import lines, `graph` being the default and `directory` its `/tmp`.

    `names` are what the document leaves out.
    """
    path = PROGRAMS / f"{name}.py.txt"
    source = path.read_text(encoding="utf-8").replace("/tmp", str(directory))
    with graph.as_default():
        exec(compile(source, path, "exec"), {"__name__": "__main__", **names})
