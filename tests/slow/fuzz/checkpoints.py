"""The readers of checkpoints: TensorFlow's own, of which the package makes errors that can be understood."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.slow.fuzz.target import Target
from tfprof_widget.ingest.live.graph import open_checkpoint

INDEX, DATA = "model.ckpt.index", "model.ckpt.data-00000-of-00001"


def read_index(data: bytes) -> None:
    """An index, and the values that it says the data have."""
    with TemporaryDirectory() as directory:
        Path(directory, INDEX).write_bytes(data)
        Path(directory, DATA).write_bytes(_files()[DATA])
        checkpoint = open_checkpoint(Path(directory, "model.ckpt"))
        for name in checkpoint.shapes:
            checkpoint.value(name)


def read_old_format(data: bytes) -> None:
    """A checkpoint of the first format, which is one file."""
    with TemporaryDirectory() as directory:
        path = Path(directory, "model.ckpt")
        path.write_bytes(data)
        checkpoint = open_checkpoint(path)
        for name in checkpoint.shapes:
            checkpoint.value(name)


@cache
def _files() -> dict[str, bytes]:
    """The files of a checkpoint of either format."""
    import tensorflow as tf

    v1: Any = tf.compat.v1
    with TemporaryDirectory() as directory, tf.Graph().as_default(), v1.Session() as session:
        kernel = v1.get_variable("layer/kernel", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=False)
        session.run(v1.global_variables_initializer())
        for version, name in ((v1.train.SaverDef.V2, "model.ckpt"), (v1.train.SaverDef.V1, "old.ckpt")):
            v1.train.Saver([kernel], write_version=version).save(session, f"{directory}/{name}", write_meta_graph=False)
        return {path.name: path.read_bytes() for path in Path(directory).glob("*.ckpt*")}


READERS = ("ingest/live/graph.py",)

CHECKPOINTS = (
    Target("checkpoint", read_index, lambda: [_files()[INDEX]], READERS, is_message=False),
    Target("checkpoint_v1", read_old_format, lambda: [_files()["old.ckpt"]], READERS, is_message=False),
)
