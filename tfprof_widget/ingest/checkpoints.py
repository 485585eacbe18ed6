"""Opens TensorFlow checkpoints, of both formats, through TensorFlow: it is imported here, and no sooner."""

from __future__ import annotations

import re
from os import PathLike, fspath
from typing import Any

from numpy.typing import NDArray

from tfprof_widget.errors import ProfileError
from tfprof_widget.tables import Checkpoint

CHECKPOINT_VARIABLES = "_checkpoint_variables"

_PART_OF_V2 = re.compile(r"\.(index|data-\d+-of-\d+)$")


def open_checkpoint(path: str | PathLike[str]) -> Checkpoint:
    """The checkpoint of that name: a prefix (V2), one of its files, one file (V1), or a directory, for its latest.

    >>> open_checkpoint("no/such/model.ckpt")
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: checkpoint 'no/such/model.ckpt': ...
    """
    name = fspath(path)
    train = _train(name)
    prefix = _PART_OF_V2.sub("", name)
    try:
        reader: Any = train.load_checkpoint(prefix)
        shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    except Exception as error:  # TensorFlow has errors of its own, and makes others of Python's
        raise ProfileError(
            f"checkpoint {name!r}: {_first_line(error)}; give the prefix that the saver was given, such as "
            "model.ckpt-100 of model.ckpt-100.index, or the directory that it wrote to"
        ) from None

    def value(tensor: str) -> NDArray[Any]:
        try:
            found: NDArray[Any] = reader.get_tensor(tensor)
        except Exception as error:
            raise ProfileError(
                f"checkpoint {name!r}: {tensor!r} cannot be read: {_first_line(error)}; "
                "check that all files of the checkpoint are there and whole"
            ) from None
        return found

    return Checkpoint(
        path=name,
        shapes={tensor: tuple(shape) for tensor, shape in shapes.items()},
        types={tensor: int(kind.as_datatype_enum) for tensor, kind in types.items()},
        value=value,
    )


def _train(path: str) -> Any:
    try:
        from tensorflow.python.training import checkpoint_utils
    except ImportError:
        raise ProfileError(
            f"checkpoint {path!r}: checkpoints are read by TensorFlow, which is not installed; "
            "run `pip install 'tfprof-widget[tensorflow]'`"
        ) from None
    return checkpoint_utils


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0].rstrip(".;: ") or type(error).__name__
