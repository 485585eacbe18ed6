"""`tfprof` as a process: exit codes, which stream says what, and pipes at both ends."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest

from tests.cli.files import Files
from tests.cli.pseudo_terminal import ROOT, environment_of
from tests.cli.stuck import full_pipe, large_network
from tfprof_widget import cli


def tfprof(*words: str, typed: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m tfprof_widget` away from any terminal."""
    return subprocess.run(
        [sys.executable, "-m", "tfprof_widget", *words],
        input=typed,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment_of(environment),
        timeout=120,
        check=False,
    )


def called(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Call `main` in this process with streams of its own, where it does not matter that a process is started."""
    stdin, stdout, stderr = io.StringIO(typed), io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(stdout), redirect_stderr(stderr):
        patch.setattr(sys, "stdin", stdin)
        code = cli.main(words)
    return subprocess.CompletedProcess(words, code, stdout.getvalue(), stderr.getvalue())


def test_a_view_comes_on_stdout_and_nothing_on_stderr(files: Files) -> None:
    done = tfprof("scope", *files.words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n_TFProfRoot (" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("words", "code"), [(["scop"], 2), (["scope", "--graph_path=/no/such/graph"], 1), (["help"], 0), (["demo"], 0)]
)
def test_exit_codes(words: list[str], code: int) -> None:
    done = tfprof(*words)
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == (code > 0)
    assert (done.stdout == "") == (code > 0)


def test_a_reader_that_leaves_early_is_no_error(files: Files) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tfprof_widget", "scope", *files.words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment_of({}),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
    assert complaint == b""
    assert process.returncode == 141


def redirected(redirection: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `tfprof` with its streams where a shell sends them."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {redirection}', "sh", sys.executable, "-m", "tfprof_widget", *words],
        capture_output=True,
        text=True,
        env=environment_of({}),
        timeout=120,
        check=False,
    )


NO_OUTPUT = "tfprof: cannot write the output: {}; let it go to a file or a program that takes it\n"


@pytest.mark.parametrize(
    ("redirection", "words", "code", "complaint"),
    [
        (">&-", ["scope"], 1, NO_OUTPUT.format("Bad file descriptor")),
        ("> /dev/full", ["scope"], 1, NO_OUTPUT.format("No space left on device")),
        (">&-", ["--version"], 1, NO_OUTPUT.format("Bad file descriptor")),
        ("> /dev/full", ["help"], 1, NO_OUTPUT.format("No space left on device")),
        ("> /dev/full", ["advise"], 1, NO_OUTPUT.format("No space left on device")),
        (">&-", ["scope", "--output=none"], 0, ""),
        ("> /dev/null <&-", ["scope"], 0, ""),
        ("> /dev/null <&-", [], 0, ""),
        ("2>&-", ["scop"], 2, ""),
        ("2> /dev/full", ["scop"], 2, ""),
        ("<&- >&- 2>&-", ["scope"], 1, ""),
    ],
)
def test_streams_that_are_closed_or_full(
    files: Files, redirection: str, words: list[str], code: int, complaint: str
) -> None:
    needs_files = words[:1] in ([], ["scope"], ["advise"])
    done = redirected(redirection, *words, *(files.words if needs_files else []))
    assert (done.returncode, done.stdout, done.stderr) == (code, "", complaint)


def test_what_is_written_does_not_go_into_a_file_where_the_output_is_closed(files: Files, tmp_path: Path) -> None:
    done = redirected("<&- >&- 2>&-", "scope", *files.words, f"--output=file:outfile={tmp_path / 'kept'}")
    assert done.returncode == 0
    written = (tmp_path / "kept").read_text()
    assert written.count("_TFProfRoot (") == 1
    assert tfprof("scope", *files.words).stdout.endswith(written)


def test_a_full_disk_is_told_to_be_full(files: Files) -> None:
    done = called("scope", *files.words, "--output=file:outfile=/dev/full")
    assert done.returncode == 1
    assert done.stderr == (
        "tfprof: cannot write '/dev/full': No space left on device; make room there, or choose another disk\n"
    )


def test_a_regex_that_is_no_text_is_refused_in_words(files: Files) -> None:
    done = called("scope", *files.words, "--show_name_regexes", os.fsdecode(b"\xff.*"))
    assert done.returncode == 2
    assert done.stderr == (
        "tfprof: show_name_regexes: '\\udcff.*' is no text in UTF-8, as all names are; type it anew\n"
    )


def test_an_interrupt_at_the_start_is_told_in_a_line() -> None:
    """Where numpy is imported, which takes most of the start."""
    program = """
import builtins, signal, sys
imported = builtins.__import__
def interrupted(name, *rest):
    if name == "numpy":
        builtins.__import__ = imported
        signal.raise_signal(signal.SIGINT)
    return imported(name, *rest)
builtins.__import__ = interrupted
from tfprof_widget.cli import main
sys.exit(main(["help"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment_of({}), check=False
    )
    assert (done.returncode, done.stderr) == (130, "tfprof: interrupted\n")


def test_an_interrupt_is_told_in_a_line(tmp_path: Path) -> None:
    words = ["scope", *large_network(tmp_path).words, f"--dump_to_file={tmp_path / 'pipe'}"]
    command = [sys.executable, "-m", "tfprof_widget", *words]
    with (
        full_pipe(tmp_path / "pipe") as wait_until_written_to,
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment_of({})) as process,
    ):
        wait_until_written_to()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
    assert complaint == "tfprof: interrupted\n"
    assert process.returncode == 130


def test_a_name_that_the_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    graph = tmp_path / "graph.pbtxt"
    graph.write_text('node { name: "été" op: "Op" }', encoding="utf-8")
    done = tfprof("scope", f"--graph_path={graph}", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert r"\xe9t\xe9 (" in done.stdout


def test_commands_may_come_by_a_pipe(files: Files) -> None:
    typed = "set -select occurrence -max_depth 2\nscope\n\nop -order_by occurrence\nquit\nscope\n"
    done = tfprof(*files.words, typed=typed)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_TFProfRoot (" in done.stdout
    assert "-select                     occurrence\n" in done.stdout
    assert "\nMatMul " in done.stdout
    assert done.stdout.count("_TFProfRoot") == 1
    assert "tfprof>" not in done.stdout


def test_an_output_is_kept_too(files: Files, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    typed = f"set -output file:outfile={tmp_path / 'kept'}\nop\nscope -output none\nreport -o {page}\n"
    done = called(*files.words, typed=typed)
    assert done.stdout == ""
    assert done.stderr == f"tfprof: wrote {tmp_path / 'kept'}\ntfprof: wrote {page}\n"
    assert "\nMatMul " in (tmp_path / "kept").read_text()


def test_files_alone_open_the_prompt(files: Files, tmp_path: Path) -> None:
    done = called(files.graph, *files.run_meta.split(","), typed="op -max_depth 0\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nMatMul " in done.stdout
    done = called(str(tmp_path / "profile_10"), typed="op\n")
    assert done.returncode == 1
    assert "profile_10" in done.stderr


def test_a_slip_in_a_pipe_does_not_stop_the_rest_but_shows_in_the_exit_code(files: Files) -> None:
    done = called(*files.words, typed="scop\nop -max_depth 1\n")
    assert done.returncode == 2
    assert done.stderr.startswith("tfprof: there is no command 'scop'")
    assert "\nMatMul " in done.stdout


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("scope max_depth 3", "scope takes no 'max_depth': options begin with a dash, as in -max_depth"),
        ("scope -graph_path other", "--graph_path is for the start: leave with Ctrl-D, and start tfprof with it"),
        ("merge a -o b", "there is no command 'merge'"),
        ("set -step 9", "step 9 is not in the profile; its steps are 0, 1"),
        ("set -output printer", "output 'printer': there is no 'printer'"),
    ],
)
def test_slips_at_the_prompt(files: Files, line: str, complaint: str) -> None:
    done = called(*files.words, typed=f"{line}\nset\n")
    assert done.stderr.startswith(f"tfprof: {complaint}")
    assert "-step                       -1\n" in done.stdout
    assert "-output                     stdout\n" in done.stdout


def test_the_installed_command_is_this_one() -> None:
    (script,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"].items()
    name, (module, function) = script[0], script[1].split(":")
    assert name == "tfprof"
    assert getattr(import_module(module), function) is cli.main
