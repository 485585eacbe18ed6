"""Threads are named by what they do, and alike in all windows of a capture; the names of lines are TensorFlow's."""

from __future__ import annotations

from pathlib import Path

from tests.ingest.spaces import Space
from tests.made import profile_of_tables, tables_of_traces
from tests.output.test_timeline import labels, trace_of
from tfprof_widget import Profile, merge
from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.ingest.xspace.steps import Step
from tfprof_widget.profiles.devices import named_threads

PYTHON, COMPUTE, OTHER, DATA = -3483721013945605626, -4916195680116394026, -5357481527094383194, 551278291700120744


def window(step: int, *ran: tuple[str, int, str]) -> tuple[Space, Step]:
    """What these lines ran one after another, each the number of its thread and the op that it ran."""
    space, start = Space(), 1000 * (step + 1)
    for name, thread, op in ran:
        space.add(name, f"{op}:{op}", start := start + 50, 40)
        space.lines["/host:CPU", name].id = thread
    return space, Step(step, "train", 0)


def profile_of_windows(*windows: tuple[Space, Step]) -> Profile:
    return profile_of_tables(tables_of_traces(*(read_xspace(space.message, [step]) for space, step in windows)))


def threads_of(profile: Profile) -> list[tuple[int, str, str]]:
    """The step, the node and the thread of each execution."""
    thread, names = named_threads(profile)
    executions = profile.executions
    rows = zip(executions.step.tolist(), executions.node.tolist(), thread.tolist(), strict=True)
    return sorted((step, profile.nodes.names[node], names[at]) for step, node, at in rows)


def two_windows() -> Profile:
    """In the second window the lines have another order, and the thread of tf.data another name."""
    return profile_of_windows(
        window(
            0,
            ("python", PYTHON, "A"),
            (f"tf_Compute/{COMPUTE}", COMPUTE, "B"),
            (f"tf_Compute/{OTHER}", OTHER, "C"),
            (f"tf_data_iterator_resource/{DATA}", DATA, "D"),
        ),
        window(
            1,
            (f"tf_data_private_threadpool/{DATA}", DATA, "D"),
            (f"tf_Compute/{OTHER}", OTHER, "C"),
            (f"tf_Compute/{COMPUTE}", COMPUTE, "B"),
            ("python", PYTHON, "A"),
        ),
    )


def test_a_thread_has_one_name_in_all_windows() -> None:
    of_step = [("A", "Python"), ("B", "inter-op 1"), ("C", "inter-op 2"), ("tf.data/D", "tf.data")]
    assert threads_of(two_windows()) == [(step, *each) for step in (0, 1) for each in of_step]


def test_they_come_with_python_first_and_by_their_numbers() -> None:
    pool = [(f"tf_Compute/{number}", number, f"Op{number}") for number in range(1, 12)]
    profile = profile_of_windows(window(0, *pool, ("python", PYTHON, "A")))
    assert named_threads(profile)[1] == ("Python", *(f"inter-op {number}" for number in range(1, 12)))


def test_a_trace_file_names_them(tmp_path: Path) -> None:
    names = labels(trace_of(two_windows(), "graph", tmp_path), "thread_name")
    assert names == ["Python", "inter-op 1", "inter-op 2", "tf.data"]


def test_native_timing_keeps_natives_lanes(tmp_path: Path) -> None:
    names = labels(trace_of(two_windows(), "graph", tmp_path, timing="tfprof"), "thread_name")
    assert [name.rstrip("0123456789") for name in names] == ["lane "] * len(names)


def test_merged_workers_keep_the_names_of_their_threads() -> None:
    one = profile_of_windows(window(0, (f"tf_Compute/{COMPUTE}", COMPUTE, "A")))
    other = profile_of_windows(
        window(0, ("python", PYTHON, "A"), ("pjrt/7", 7, "C")), window(1, ("python", PYTHON, "B"))
    )
    assert {(node, thread) for _, node, thread in threads_of(merge({"a": one, "b": other}))} == {
        ("A", "inter-op"),
        ("A", "Python"),
        ("B", "Python"),
        ("C", "pjrt"),
    }
