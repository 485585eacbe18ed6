"""From the files that a command names to the profile of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tfprof_widget.cli.arguments import Request
from tfprof_widget.cli.subject import Subject
from tfprof_widget.loading.load import load, load_message, load_run_metas
from tfprof_widget.merging.merge import merge
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
    if workers := _of_workers(request.operands):
        return merge({name: load(paths, checkpoint=checkpoint) for name, paths in workers.items()})
    if whole or request.operands:
        return load(whole or list(request.operands), checkpoint=checkpoint)
    graph, op_log = files.get("graph_path"), files.get("op_log_path")
    return Profile.from_protos(
        load_message(graph, "GraphDef") if graph else None,
        load_run_metas(_paths(files.get("run_meta_path", ""))),
        load_message(op_log, "OpLogProto") if op_log else None,
        checkpoint=checkpoint,
    )


def _of_workers(operands: Sequence[str]) -> dict[str, list[str]]:
    """The files by worker, where each is given as NAME=FILE; else none."""
    parted = [operand.partition("=") for operand in operands]
    if not all(path and name and "/" not in name for name, _, path in parted) or any(map(_is_there, operands)):
        return {}
    files: dict[str, list[str]] = {}
    for name, _, path in parted:
        files.setdefault(name, []).append(path)
    return files


def _is_there(operand: str) -> bool:
    return Path(operand).exists()


def _paths(written: str) -> list[str]:
    """The files of a list; a name that has a comma in it, and is there, is one file."""
    return [written] if Path(written).is_file() else [path for path in written.split(",") if path]
