"""Lets a process that `tfprof run` started be captured: Python imports this by itself before the program.

The folder of this module is the first of PYTHONPATH there. The module takes the folder away again, imports the module
of this name that the process would have had without it, and begins to watch for TensorFlow.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 pathlib would be imported for this alone


def _begin() -> None:
    try:
        from tfprof_widget.jobs.task import begin
    except ImportError:  # another Python than the one that `tfprof run` ran in, without this package
        return
    try:
        begin(_HERE)
    except Exception as error:  # the program is to run all the same
        sys.stderr.write(f"tfprof: this process is not captured ({type(error).__name__}: {error})\n")


def _import_the_users() -> None:
    """Import the sitecustomize that comes after this one, if there is one."""
    own = sys.modules.pop("sitecustomize", None)
    try:
        import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)  # which is being imported still


if __name__ == "sitecustomize":
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != _HERE]  # noqa: PTH100
    _begin()
    _import_the_users()
