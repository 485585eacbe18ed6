"""From the files that a command names to the profile of them."""

from __future__ import annotations

from pathlib import Path

from tfprof_widget.cli.arguments import Request
from tfprof_widget.cli.subject import Subject
from tfprof_widget.loading.load import load, load_graph, load_op_log, load_run_metas
from tfprof_widget.profiles import Profile

PARTS = ("graph_path", "run_meta_path", "op_log_path")


def subject_of(request: Request) -> Subject:
    """The profile in the files that a request names, checked now and read later.

    >>> subject_of(Request("scope"))
    Traceback (most recent call last):
        ...
    ValueError: scope: name the files, as in --profile_path=FILE or --graph_path=FILE --run_meta_path=FILE,FILE
    """
    files = request.files
    parts = [f"--{part}" for part in PARTS if files.get(part)]
    if parts and files.get("profile_path"):
        raise ValueError(f"--profile_path holds all there is: leave out {' and '.join(parts)}")
    if request.operands and (parts or files.get("profile_path")):
        raise ValueError(f"what kind of file is {request.operands[0]!r}? Name all files by options, or all without")
    if not (parts or request.operands or files.get("profile_path")):
        about = f"{request.command}: " if request.command else ""
        raise ValueError(
            f"{about}name the files, as in --profile_path=FILE or --graph_path=FILE --run_meta_path=FILE,FILE"
        )
    return Subject(lambda: _loaded(request))


def _loaded(request: Request) -> Profile:
    files = request.files
    checkpoint, whole = files.get("checkpoint_path") or None, files.get("profile_path")
    if whole or request.operands:
        return load(whole or list(request.operands), checkpoint=checkpoint)
    graph, op_log = files.get("graph_path"), files.get("op_log_path")
    return Profile.from_protos(
        load_graph(graph) if graph else None,
        load_run_metas(_paths(files.get("run_meta_path", ""))),
        load_op_log(op_log) if op_log else None,
        checkpoint=checkpoint,
    )


def _paths(written: str) -> list[str]:
    """The files of a list; a name that has a comma in it, and is there, is one file."""
    return [written] if Path(written).is_file() else [path for path in written.split(",") if path]
