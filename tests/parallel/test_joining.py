"""Recordings of engines become one: matching graphs are merged, runs are added up, and notes name their engines."""

from __future__ import annotations

from tests.made import profile_of_tables
from tests.sketches import profile_of
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.parallel.engines import EngineResult, NoAnswer
from tfprof_widget.parallel.joining import joined


def runs(name: str, seen: int, seconds: float = 1.0) -> KindOfRun:
    return KindOfRun(name, seen, traced=2, untraced_seconds=seconds, traced_seconds=3.0, warm_up_seconds=0.5)


def recorded(*graphs: GraphRecording, seconds: float = 1.0, overhead: float | None = 0.1, notes: str = "") -> Recording:
    return Recording(graphs, seconds, overhead, 3, tuple(notes.split()))


def graph(sketch: str, *kinds: KindOfRun) -> GraphRecording:
    return GraphRecording(profile_of(sketch), kinds)


def ran(
    engine: int, found: Recording | None, host: str = "a", error: Exception | None = None, missing: str = ""
) -> EngineResult:
    return EngineResult(engine, host, found, missing, error)


def test_matching_graphs_are_one_with_a_worker_each() -> None:
    first = recorded(graph("a = Op() 4us;6us", runs("train", 5)), graph("z = Op() 1us", runs("test", 1)))
    second = recorded(graph("a = Op() 8us", runs("train", 7, 4.0), runs("more", 1)))
    train, test = joined([ran(0, first), ran(1, second)]).graphs
    assert (train.tables.steps, train.tables.step_workers) == ((0, 0, 1), ("engine 0", "engine 1", "engine 0"))
    assert (test.tables.steps, test.tables.step_workers) == ((0,), ("engine 0",))
    assert [(each.name, each.seen, each.traced) for each in train.kinds] == [("train", 12, 4), ("more", 1, 2)]
    assert train.kinds[0].warm_ups == 2
    assert train.kinds[0].run_seconds == (1.0 + 4.0) / (12 - 4)


def test_of_graphs_of_one_name_the_first_match_and_then_the_second() -> None:
    two = (graph("a = Op() 1us", runs("step", 1)), graph("b = Op() 1us", runs("step", 1)))
    found = joined([ran(0, recorded(*two)), ran(1, recorded(*two))]).graphs
    assert [each.tables.nodes.names for each in found] == [("a",), ("b",)]
    assert {each.tables.step_workers for each in found} == {("engine 0", "engine 1")}


def test_the_time_is_that_of_the_slowest_and_what_was_dropped_is_added_up() -> None:
    found = joined([ran(0, recorded(seconds=1.0)), ran(1, recorded(seconds=4.0, overhead=0.3))])
    assert (found.wall_seconds, found.overhead_seconds, found.dropped_events) == (4.0, 0.3, 6)


def test_hosts_are_told_where_they_differ() -> None:
    found = joined([ran(8, recorded(), "a"), ran(10, None, "b", missing="nothing was recorded")])
    assert found.warnings == ("engine 10 on b has no profile: nothing was recorded",)
    train = graph("a = Op() 1us", runs("train", 1))
    (merged,) = joined([ran(8, recorded(train), "a"), ran(10, recorded(train), "b")]).graphs
    assert merged.tables.step_workers == ("engine 08 on a", "engine 10 on b")


def test_notes_of_all_are_told_once_and_others_with_their_engines() -> None:
    found = joined(
        [ran(0, recorded(notes="all some")), ran(1, recorded(notes="all")), ran(2, recorded(notes="all some"))]
    )
    assert found.warnings == ("all", "engine 0, engine 2: some")


def test_what_failed_is_told_and_what_it_traced_is_kept() -> None:
    train = graph("a = Op() 1us", runs("train", 1))
    found = joined(
        [
            ran(0, recorded(train), error=ValueError("bad\nand more")),
            ran(1, recorded(notes="empty"), error=KeyError("k")),
            ran(2, None, "", error=NoAnswer("its process ended")),
        ]
    )
    assert found.warnings == (
        "engine 0 failed: ValueError: bad; what it ran until then is in the profile",
        "engine 1 failed: KeyError: 'k'; it is not in the profile",
        "engine 2 failed: its process ended; it is not in the profile",
    )
    assert profile_of_tables(found.graphs[0].tables).step_workers == ("engine 0",)


def test_where_nothing_is_left_the_reasons_are_told() -> None:
    found = joined([ran(0, None, error=NoAnswer("its process ended")), ran(1, None, missing="it has none")])
    assert Capture.of(found).text() == (
        "Nothing was captured: engine 0 failed: its process ended; it is not in the profile; "
        "engine 1 has no profile: it has none"
    )


def test_engines_whose_models_differ_in_size_count_their_own() -> None:
    """The ops of both are one node each."""
    large = graph("a = MatMul() 4us 270flops\nb = MatMul() 4us 540flops", runs("train", 5))
    small = graph("a = MatMul() 1us 10flops\nb = MatMul() 1us 20flops", runs("train", 5))
    found = joined([ran(0, recorded(large)), ran(1, recorded(small)), ran(2, recorded(large))])
    assert found.warnings == ()
    profile = profile_of_tables(found.graphs[0].tables)
    assert [
        profile.view("op", worker_regexes=[f"engine {each}"]).grand_total["float_ops"].tolist() for each in range(3)
    ] == [[810], [30], [810]]
