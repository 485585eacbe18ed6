"""Executions are added up by node and step, in whatever order the steps were recorded."""

from __future__ import annotations

from tests.made import profile_of_tables
from tests.sketches import protos_of
from tfprof_widget.ingest.gathered import Gathered

PROTOS = protos_of("""
    a = Op() 1us;2us+3us;4us 8B
    b = Op() -;5us;- 16B
""")


def test_runs_of_steps_may_come_in_any_order_and_in_pieces() -> None:
    gathered = Gathered()
    gathered.add_graph(PROTOS.graph)
    first, second, third = PROTOS.run_metas
    for step, run in ((7, second), (3, first), (7, third), (5, first)):
        gathered.add_step(step, run)
    profile = profile_of_tables(gathered.tables())
    totals = profile.step_totals
    assert profile.steps == (3, 5, 7)
    # Step 3 and 5 are the first run each, step 7 is the second and the third together.
    assert totals.node.tolist() == [0, 0, 0, 1]
    assert totals.step.tolist() == [0, 1, 2, 2]
    assert totals.cpu_nanos.tolist() == [1_000, 1_000, 9_000, 5_000]
    assert totals.run_count.tolist() == [1, 1, 3, 1]
    assert totals.requested_bytes.tolist() == [8, 8, 24, 16]
    assert profile.executions.step.tolist() == [2, 2, 2, 0, 2, 1]


def test_first_start_and_last_end_are_those_of_all_executions_of_the_step() -> None:
    gathered = Gathered()
    gathered.add_graph(PROTOS.graph)
    (stats,) = PROTOS.run_metas[1].step_stats.dev_stats
    starts = [stat.all_start_micros for stat in stats.node_stats if stat.node_name == "a"]
    gathered.add_step(0, PROTOS.run_metas[1])
    totals = profile_of_tables(gathered.tables()).step_totals
    assert totals.start_micros[0] == min(starts)
    assert totals.end_micros[0] == max(starts[0] + 2, starts[1] + 3)


def test_a_digest_does_not_depend_on_what_was_read_before() -> None:
    digests = []
    for before in ((), (PROTOS.run_metas[1],)):
        gathered = Gathered()
        gathered.add_graph(PROTOS.graph)
        for step, run in enumerate((*before, PROTOS.run_metas[0])):
            gathered.add_step(step, run)
        digests.append(gathered.runs[-1][1].digest)
    assert digests[0] == digests[1]
    assert gathered.runs[0][1].digest != digests[0]
