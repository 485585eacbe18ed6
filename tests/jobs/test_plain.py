"""A program under `tfprof run` finds everything as under plain Python, and ends as it would."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.jobs.programs import RUN, ended, run, started
from tfprof_widget.jobs.directory import JobDirectory

FACTS = """
import atexit, os, pickle, signal, sys, threading, time
class Mine: pass
atexit.register(lambda: print("at exit"))
print(sys.argv, __name__, __file__, sys.path[0], __spec__ and __spec__.name, __package__)
print(type(pickle.loads(pickle.dumps(Mine()))) is Mine, sys.modules["__main__"].__dict__ is globals())
print(sorted(name for name in os.environ if "TFPROF" in name), os.environ.get("PYTHONPATH"))
print([each for each in sys.path if "tfprof" in each and "follow" in each], signal.getsignal(signal.SIGINT))
print("numpy" in sys.modules, "google.protobuf" in sys.modules, sys.orig_argv[1:], sys.flags)
print("to stderr", file=sys.stderr)
threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
"""
ERROR = """
def inner():
    raise ValueError("one")
try:
    inner()
except ValueError as error:
    raise RuntimeError("two") from error
"""
# What is run, the words behind the interpreter, and the exit code where the program says it.
PROGRAMS = {
    "facts": (FACTS, ("prog.py", "a", "--out", "-m", "x y"), 0),
    "module": (FACTS, ("-m", "package.inner", "--epochs", "3"), 0),
    "directory": (FACTS, ("folder", "1"), 0),
    "code": ("", ("-c", "import sys; print(sys.argv)", "a"), 0),
    "error": (ERROR, ("prog.py",), 1),
    "syntax": ("def (", ("prog.py",), 1),
    "missing": ("", ("nowhere.py",), 2),
    "missing module": ("", ("-m", "nowhere"), 1),
    "exit code": ("import sys\nsys.exit(7)", ("prog.py",), 7),
    "exit text": ("import sys\nsys.exit('no data')", ("prog.py",), 1),
    "exit raised": ("raise SystemExit(9)", ("prog.py",), 9),
    "own hook": ("import sys\nsys.excepthook = lambda *told: print('hooked', told[1])\n1 / 0", ("prog.py",), 1),
    "at once": ("import os\nos._exit(5)", ("prog.py",), 5),
    "at once, unflushed": ("import os\nprint('lost', end='')\nos._exit(status=0)", ("prog.py",), 0),
    "exit caught": ("import sys\ntry: sys.exit(3)\nexcept SystemExit as error: print(error.code)", ("prog.py",), 0),
    "interrupted": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(9)",
        ("prog.py",),
        -2,
    ),
    "killed": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nimport time\ntime.sleep(9)",
        ("prog.py",),
        -15,
    ),
    "own handler": (
        "import os, signal, sys\nsignal.signal(15, lambda *_: sys.exit(3))\nos.kill(os.getpid(), 15)",
        ("prog.py",),
        3,
    ),
    "fork": (
        "import os, sys\npid = os.fork()\nif not pid: sys.exit(4)\nprint(os.waitpid(pid, 0)[1] >> 8)",
        ("prog.py",),
        0,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_ends_as_under_plain_python(name: str, tmp_path: Path) -> None:
    source, words, code = PROGRAMS[name]
    for file in ("prog.py", "package/__init__.py", "package/inner.py", "folder/__main__.py"):
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(source if "__init__" not in file else "", encoding="utf-8")
    both = [started([*start, *words], tmp_path) for start in ((RUN[0],), (*RUN, "--quiet"))]
    plain, captured = map(ended, both)
    assert (captured.out, captured.err, captured.code) == (plain.out, plain.err, plain.code)
    assert captured.code == code


def test_users_own_sitecustomize_runs_once_and_the_path_stays(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "sitecustomize.py").write_text("print('customized')", encoding="utf-8")
    (tmp_path / "prog.py").write_text(
        "import os, sitecustomize, sys\nprint(os.environ['PYTHONPATH'], sitecustomize.__file__)", encoding="utf-8"
    )
    environment = {"PYTHONPATH": os.pathsep.join([str(mine), os.environ.get("PYTHONPATH", "")])}
    both = [started([*start, "prog.py"], tmp_path, environment) for start in ((RUN[0],), (*RUN, "--quiet"))]
    plain, captured = map(ended, both)
    assert plain.out.startswith("customized")
    assert captured.out == f"customized\n{plain.out}"  # once more where `tfprof` itself began


ZERO = "ZeroDivisionError: division by zero (prog.py:3)"


@pytest.mark.parametrize(
    ("source", "status", "code", "words"),
    [
        ("pass", "ended", 0, ""),
        ("raise SystemExit(9)", "failed", 9, "exit code 9"),
        ("raise SystemExit('no data')", "failed", 1, "exit code 1"),
        ("raise SystemExit(-1)", "failed", 255, "exit code 255"),
        ("raise SystemExit(256)", "ended", 0, ""),
        ("quit(4)", "failed", 4, "exit code 4"),
        ("import os\nos._exit(5)", "failed", 5, "exit code 5"),
        ("import os\nos._exit(0)", "ended", 0, ""),
        ("import os, sys\nsys.excepthook = lambda *_: os._exit(6)\n1 / 0", "failed", 6, ZERO),
        ("import sys\nsys.excepthook = lambda *_: sys.exit(7)\n1 / 0", "failed", 7, "exit code 7"),
        ("import atexit, os\natexit.register(lambda: os._exit(8))", "failed", 8, "exit code 8"),
        ("import sys\ntry: sys.exit(3)\nexcept SystemExit: pass", "ended", 0, ""),
        ("import sys\ntry: sys.exit(3)\nfinally: 1 / 0", "failed", 1, ZERO),
        ("import sys\ntry: sys.exit(3)\nexcept SystemExit: raise SystemExit(1)", "failed", 1, "exit code 1"),
        ("import os\nif not os.fork(): raise SystemExit(4)\nos.wait()", "ended", 0, ""),
        ("1 / 0", "failed", 1, "ZeroDivisionError: division by zero (prog.py:1)"),
        ("import sys\nsys.exit(3)", "failed", 3, "exit code 3"),
        ("import sys\nsys.exit('no data')", "failed", 1, "no data"),
        ("raise KeyboardInterrupt", "interrupted", -2, "KeyboardInterrupt (prog.py:1)"),
        ("import os\nos.kill(os.getpid(), 15)\nwhile True: pass", "interrupted", -15, "SIGTERM"),
    ],
)
def test_how_it_ended_is_told(source: str, status: str, code: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(source, encoding="utf-8")
    outcome = run("--out", "jobs", "prog.py", folder=tmp_path)
    (seen,) = JobDirectory(tmp_path / "jobs").look()
    assert (seen.status, seen.state.exit_code, seen.last_words) == (status, code, words)
    assert "TensorFlow was not imported" in outcome.err


# Crashes in the code that TensorFlow's libraries, or the C library, run on the way out.
CRASHING = """
import ctypes
library = ctypes.CDLL(None)
library.on_exit(library.abort, None)
"""


def test_code_is_not_known_where_the_process_crashes_on_its_way_out(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(CRASHING, encoding="utf-8")
    assert run("--out", "jobs", "prog.py", folder=tmp_path).code == -signal.SIGABRT
    (seen,) = JobDirectory(tmp_path / "jobs").look()
    assert (seen.status, seen.state.exit_code) == ("ended", None)


def test_code_is_not_known_where_the_c_library_does_not_tell_it(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("import sys\nsys.modules['ctypes'] = None\nsys.exit(3)", encoding="utf-8")
    assert run("--out", "jobs", "prog.py", folder=tmp_path).code == 3
    (seen,) = JobDirectory(tmp_path / "jobs").look()
    assert (seen.state.exit_code, seen.last_words) == (None, "exit code 3")


def test_words_of_an_exit_do_not_tell_of_the_source(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("import sys\nsys.exit('no file /home/me/secret.csv')", encoding="utf-8")
    run("--no-source", "--out", "jobs", "prog.py", folder=tmp_path)
    (seen,) = JobDirectory(tmp_path / "jobs").look()
    assert (seen.status, seen.state.exit_code, seen.last_words) == ("failed", 1, "exit code 1")
    assert not [path for path in tmp_path.glob("jobs/*/*/*") if b"secret" in path.read_bytes()]


def test_signal_is_answered_while_the_main_thread_is_in_a_library(tmp_path: Path) -> None:
    """It waits for a mutex that it holds itself: no signal lets Python do anything there.

    Another thread prints once the main thread lets it run Python, which it does when it begins to wait.
    """
    (tmp_path / "prog.py").write_text(
        "import ctypes, sys, threading\nlibc, mutex = ctypes.CDLL(None), (ctypes.c_char * 64)()\n"
        "libc.pthread_mutex_lock(mutex)\nready = threading.Event()\n"
        "threading.Thread(target=lambda: (ready.wait(), print('begun', flush=True))).start()\n"
        "sys.setswitchinterval(1000)\nready.set()\nlibc.pthread_mutex_lock(mutex)",
        encoding="utf-8",
    )
    process = started([*RUN, "--out", "jobs", "prog.py"], tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGTERM)
    assert ended(process).code == 143
    (seen,) = JobDirectory(tmp_path / "jobs").look()
    assert (seen.status, seen.state.exit_code, seen.last_words) == ("interrupted", 143, "SIGTERM")


# A module of the package's name, whose function is told to end while it holds a lock that the hand-in takes.
OWN_WORK = """
import os, signal, time, types
module = types.ModuleType("tfprof_widget.at_work")
exec('''
import os, signal, threading
lock = threading.Lock()
def work():
    with lock:
        os.kill(os.getpid(), signal.SIGTERM)
        return sum(range(1000))
''', vars(module))
task = signal.getsignal(signal.SIGTERM).__self__
task.reporter.look = lambda: print("free" if module.lock.acquire(timeout=5) else "held", flush=True)
module.work()
while True:
    time.sleep(0.1)
"""


def test_signal_waits_for_the_packages_own_code(tmp_path: Path) -> None:
    """Else the process would wait for ever for a lock that its main thread holds: that of a trace which it reads."""
    (tmp_path / "prog.py").write_text(OWN_WORK, encoding="utf-8")
    outcome = run("--out", "jobs", "prog.py", folder=tmp_path)
    assert outcome.out == "free\n"
    assert outcome.code in (-signal.SIGTERM, 143)
    (seen,) = JobDirectory(tmp_path / "jobs").look()
    assert (seen.status, seen.state.exit_code) == ("interrupted", outcome.code)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "say what"),
        (("--every", "2", "--all", "prog.py"), "exclude one another"),
        (("--evry", "2", "prog.py"), "did you mean --every?"),
        (("--interval", "soon", "prog.py"), "interval is 'soon'"),
        (("--out", "a.tfprof", "--follow", "prog.py"), "give a directory"),
        (("--report", "nowhere/page.html", "prog.py"), "make it first"),
        (("true",), "add --follow"),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_runs(words: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("print('ran')", encoding="utf-8")
    outcome = run(*words, folder=tmp_path)
    assert outcome.code == 2
    assert reason in outcome.err
    assert outcome.out == ""
    assert len(outcome.err) < 450


def test_launcher_starts_programs_that_are_followed(tmp_path: Path) -> None:
    """The launcher is `env`; the program and its child tell that a capture waits for TensorFlow in them."""
    child = "import sys; print([type(each).__name__ for each in sys.meta_path][0])"
    source = f"import subprocess, sys\n{child}\nsys.stdout.flush()\nsubprocess.run([sys.executable, '-c', {child!r}])"
    (tmp_path / "prog.py").write_text(source, encoding="utf-8")
    outcome = run("--follow", "--out", "jobs", "env", RUN[0], "prog.py", folder=tmp_path)
    assert (outcome.out, outcome.err, outcome.code) == ("_Imported\n_Imported\n", "", 0)
    assert list(tmp_path.glob("jobs/*/*")) == []  # nothing ran in either


def test_directory_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "prog.py").write_text("print('ran')", encoding="utf-8")
    outcome = run("--out", "file/jobs", "prog.py", folder=tmp_path)
    assert (outcome.out, outcome.code) == ("ran\n", 0)
    assert "could not be written" in outcome.err


def test_two_runs_at_once_have_directories_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("", encoding="utf-8")
    config = json.dumps({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})
    words = [*RUN, "--quiet", "--out", "jobs", "prog.py"]
    for outcome in map(ended, [started(words, tmp_path, {"TF_CONFIG": config}) for _ in range(3)]):
        assert outcome.code == 0
    assert len(list(tmp_path.glob("jobs/*/worker-0/state.json"))) == 3
