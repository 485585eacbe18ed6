"""What the package could do besides reading profiles, module by module: each place has a reason, or there is none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent / "tfprof_widget"
MODULES = {path.relative_to(ROOT).as_posix(): path for path in ROOT.rglob("*.py") if "_protos" not in path.parts}

# What runs code, reads objects, starts programs, opens connections, or calls into memory.
CALLS = {"eval", "exec", "compile", "__import__", "execfile", "breakpoint"}
MODULES_OF_POWER = {
    *("pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "code", "codeop", "runpy"),
    *("subprocess", "multiprocessing", "pty", "socket", "socketserver", "asyncio", "http", "urllib", "requests"),
    *("ftplib", "smtplib", "xmlrpc", "webbrowser", "ctypes", "cffi", "importlib.util"),
}
METHODS = {"system", "popen", "fork", "execv", "execve", "spawnv", "posix_spawn", "run_cell", "run_code", "read_pickle"}
# Where one of these is, and why it runs nothing that a profile holds.
REASONS = {
    (
        "capturing/tf_profiler.py",
        "ctypes",
    ): "sets a level of TensorFlow's profiler, whose library is in the process already",
    ("capturing/collectives.py", "ctypes"): "looks a function up in TensorFlow's library, and does not call it",
    ("lib/processor.py", "system"): "asks Python's `platform` for the operating system's name",
    ("ingest/live/captures.py", "ctypes"): "compares TensorFlow's own captures in memory; takes nothing from files",
    ("cli/run.py", "execve"): "becomes the program that the user has typed after `tfprof run`",
    (
        "jobs/task.py",
        "ctypes",
    ): "asks the C library to write a file at the process's end; its name is the package's own",
    ("jobs/task.py", "multiprocessing"): "asks to be told when a process that the user's program forked ends",
    ("lib/private_names.py", "ctypes"): "looks symbols up in TensorFlow's library, and does not call them",
    ("lib/private_names.py", "importlib"): "imports the modules that its own table names, and no others",
    ("magic/cell.py", "compile"): "the cell that the user has typed",
    ("magic/cell.py", "eval"): "the cell that the user has typed",
    ("magic/cell.py", "exec"): "the cell that the user has typed",
    ("widget/history.py", "asyncio"): "lets the kernel's loop handle messages between the blocks of a race",
    ("parallel/errands.py", "pickle"): "what the user's own engines send, which ipyparallel unpickles by itself, too",
}


def test_modules_have_the_powers_that_have_a_reason_and_no_others() -> None:
    found = {(name, what) for name, path in MODULES.items() for what in powers(path.read_text(encoding="utf-8"))}
    assert found == set(REASONS)


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import pickle", "pickle"),
        ("from subprocess import run", "subprocess"),
        ("import http.server", "http"),
        ("def f():\n    import socket as s", "socket"),
        ("eval(name)", "eval"),
        ("builtins.exec(name)", "exec"),
        ("os.system(name)", "system"),
        ("numpy.load(path, allow_pickle=True)", "allow_pickle"),
        ("pandas.read_pickle(path)", "read_pickle"),
        ("importlib.import_module(name)", "import_module"),
        ("__import__(name)", "__import__"),
    ],
)
def test_a_power_is_found(source: str, what: str) -> None:
    assert list(powers(source)) == [what]


@pytest.mark.parametrize(
    "source", ["re.compile(a)", "self.evaluate()", "json.loads(text)", "import json", "ast.literal_eval(a)"]
)
def test_what_is_harmless_is_no_power(source: str) -> None:
    assert list(powers(source)) == []


def powers(source: str) -> Iterator[str]:
    """What a module could do by its source, whoever calls it."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names):
                yield from (name.name.split(".")[0] for name in names if _is_of_power(name.name))
            case ast.ImportFrom(module=str(module)) if _is_of_power(module):
                yield module.split(".")[0]
            case ast.Call(func=ast.Name(name)) if name in CALLS:
                yield name
            case ast.Call(func=ast.Attribute(ast.Name("builtins"), name)) if name in CALLS:
                yield name
            case ast.Call(func=ast.Attribute(attr=name)) if name in METHODS | {"import_module"}:
                yield name
            case ast.keyword("allow_pickle"):
                yield "allow_pickle"


def _is_of_power(module: str) -> bool:
    return module in MODULES_OF_POWER or module.split(".")[0] in MODULES_OF_POWER
