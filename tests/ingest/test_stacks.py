"""The source lines of frames: read from the user's own files, and from nowhere else."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.ingest.live.stacks import Frame, from_their_callers
from tfprof_widget.ingest.parts.stacks import MOST_BYTES, with_source_lines
from tfprof_widget.lib.arrays import Indices

START = [("/lib/threading.py", 1, "_bootstrap", ""), ("/lib/threading.py", 2, "run", "")]
REPLICA = ("/tf/distribute/mirrored_run.py", 3, "run", "")
CALL = ("/tf/distribute/mirrored_run.py", 4, "call_for_each_replica", "")
USER = [("/train.py", 5, "<module>", ""), ("/train.py", 6, "outer", "")]
MODEL = ("/train.py", 7, "replica", "")


def joined(*stacks: list[Frame]) -> list[list[Frame]]:
    return [list(each) for each in from_their_callers(stacks)]


def test_frames_of_a_replica_follow_the_call_of_its_strategy() -> None:
    """Which a stack has that was made within that call, as where gradients are reduced."""
    reduced = [*USER, CALL, ("/tf/reduce.py", 8, "reduce", "")]
    assert joined([USER[0]], [*START, REPLICA, MODEL], reduced) == [[USER[0]], [*USER, CALL, REPLICA, MODEL], reduced]


def test_frames_of_a_replica_follow_what_all_other_stacks_have_in_common() -> None:
    """If none tells of the call itself: the call of the function is before all that is made in it."""
    others = [[*USER, ("/train.py", 8, "one", "")], [USER[0], ("/tf/placeholder.py", 9, "made", "")]]
    assert joined([*START, REPLICA, MODEL], *others) == [[USER[0], REPLICA, MODEL], *others]


def test_frames_of_other_threads_and_of_a_graph_without_other_stacks_stay() -> None:
    own_thread = [*START, ("/train.py", 9, "worker", "")]
    assert joined(own_thread, USER) == [own_thread, USER]
    assert joined([*START, REPLICA, MODEL]) == [[*START, REPLICA, MODEL]]


def source_of(file: str, line: int, source: int = 0, *, is_live: bool = True) -> str:
    traces = demo_profile().traces
    strings = (*traces.strings, "twice", "twice", file)

    def one(value: int) -> Indices:
        return np.array([value], np.int32)

    given = replace(
        traces,
        strings=strings,
        string_numbers=np.arange(len(strings)),
        file=one(len(strings) - 1),
        line=one(line),
        function=one(0),
        source=one(source),
        function_line=one(-1),
        live=frozenset([0]) if is_live else frozenset(),
    )
    found = with_source_lines(given)
    assert len(found.string_numbers) == len(found.strings)
    return str(found.strings[found.source[0]])


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "train.py"
    path.write_text("import keras\n    model.fit(x)  # ☃\n", encoding="utf-8")
    return str(path)


def test_line_of_a_file_at_hand_is_shown(program: str) -> None:
    assert source_of(program, 2) == "model.fit(x)  # ☃"


def test_line_that_was_recorded_is_kept(program: str) -> None:
    assert source_of(program, 2, source=1) == demo_profile().traces.strings[1]


@pytest.mark.parametrize("line", [-1, 0, 3])
def test_line_that_is_not_there_stays_unknown(program: str, line: int) -> None:
    assert source_of(program, line) == "none"


def test_file_that_is_gone_stays_unknown() -> None:
    assert source_of("/no/such/train.py", 1) == "none"


def test_libraries_are_not_read() -> None:
    assert source_of(np.__file__, 1) == "none"


def test_nothing_is_read_for_a_profile_from_elsewhere(program: str) -> None:
    assert source_of(program, 2, is_live=False) == "none"
    assert source_of(program, 2, source=1, is_live=False) == demo_profile().traces.strings[1]


def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "train.py"
    os.mkfifo(pipe)
    assert source_of(str(pipe), 1) == "none"


def test_file_too_large_for_a_program_is_not_read(tmp_path: Path) -> None:
    large = tmp_path / "train.py"
    with large.open("wb") as file:
        file.write(b"secret\n")
        file.truncate(MOST_BYTES + 1)
    assert source_of(str(large), 1) == "none"


def test_live_graph_tells_its_lines_and_a_saved_profile_does_not(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="made_here")
    live = Profile.from_protos(graph)
    assert 'tf.constant(1.0, name="made_here")' in with_source_lines(live.traces).strings
    live.save(tmp_path / "profile")
    loaded = Profile.load(tmp_path / "profile").traces
    assert __file__ in loaded.strings
    assert with_source_lines(loaded).strings == loaded.strings
