"""The protos that the benchmark reads: recorded from a real run, and kept in the directory for temporary files."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.bench import children

PARTS = ("graph", "run_meta", "op_log")


@dataclass(frozen=True)
class Recording:
    """A serialized GraphDef, RunMetadata and OpLogProto of one graph."""

    graph: bytes
    run_meta: bytes
    op_log: bytes


def recording(nodes: int) -> Recording:
    """The protos of the benchmark's graph of about so many nodes."""
    directory = _directory(nodes)
    if not directory.exists():
        children.call(record, nodes, directory)
    return Recording(*[(directory / part).read_bytes() for part in PARTS])


def record(nodes: int, directory: Path) -> None:
    """Build the graph, run it, and write what TensorFlow says of it; to be called in a process of its own."""
    from tensorflow.python.profiler import tfprof_logger

    from tests.bench import model

    model.silence_deprecations()
    built = model.build(nodes)
    run_meta = model.run(built)
    op_log = tfprof_logger.merge_default_with_oplog(built.graph, run_meta=run_meta)
    messages = (built.graph.as_graph_def(add_shapes=True), run_meta, op_log)
    directory.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=directory.parent))
    for part, message in zip(PARTS, messages, strict=True):
        (unfinished / part).write_bytes(message.SerializeToString())
    unfinished.rename(directory)


def _directory(nodes: int) -> Path:
    """Named after the model's source, so that a changed model is recorded again."""
    source = Path(__file__).with_name("model.py").read_bytes()
    version = hashlib.sha256(source).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / "tfprof_widget_bench" / version / str(nodes)
