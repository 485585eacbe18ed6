"""Steps that wait for their input, on profiles worked out by hand."""

from __future__ import annotations

from tests.analysis.advisor.findings import on_cpu, only, ran, shown
from tfprof_widget.analysis.advisor.waiting import input_bound

OPS = {"next": "IteratorGetNext", "dense": "MatMul"}


def test_a_step_that_waits_for_a_fifth_of_its_time() -> None:
    """The next batch is there after 200 us, and 800 us of work follow."""
    profile = ran(OPS, on_cpu(("next", 1000, 200), ("dense", 1200, 800)))
    finding = only(input_bound(profile))
    assert finding.cause == ("Steps wait for their input: for 200us of 1.00ms (20%) nothing runs but what fetches it.")
    assert shown(profile, finding) == ["next"]


def test_a_step_that_waits_for_less() -> None:
    assert not list(input_bound(ran(OPS, on_cpu(("next", 1000, 199), ("dense", 1199, 801)))))


def test_fetching_while_something_else_runs_is_no_wait() -> None:
    assert not list(input_bound(ran(OPS, on_cpu(("next", 1000, 900), ("dense", 1000, 1000)))))


def test_queues_are_input_too() -> None:
    profile = ran({"deq": "QueueDequeueManyV2", "dense": "MatMul"}, on_cpu(("deq", 1000, 500), ("dense", 1500, 500)))
    assert "for 500us of 1.00ms (50%)" in only(input_bound(profile)).cause


def test_iterators_that_run_inside_of_the_fetching_op_are_part_of_the_wait() -> None:
    """As TensorFlow 2 records it: the op itself takes a moment, and what it waits for is an event within."""
    ops = {**OPS, "tf.data/Root/Prefetch": "Prefetch"}
    profile = ran(ops, on_cpu(("next", 1000, 10), ("tf.data/Root/Prefetch", 1010, 290), ("dense", 1300, 700)))
    assert "for 300us of 1.00ms (30%)" in only(input_bound(profile)).cause


def test_what_tf_data_does_before_and_after_a_step_is_none_of_it() -> None:
    ops = {**OPS, "tf.data/Root/Prefetch": "Prefetch"}
    data = "tf.data/Root/Prefetch"
    assert not list(
        input_bound(ran(ops, on_cpu((data, 100, 900), ("next", 1000, 10), ("dense", 1010, 990), (data, 2000, 5000))))
    )


def test_steps_are_looked_at_together() -> None:
    """Of 2 ms in two steps 300 us are waited: 15 %."""
    waits = on_cpu(("next", 1000, 300), ("dense", 1300, 700))
    works = on_cpu(("dense", 5000, 1000))
    assert not list(input_bound(ran(OPS, waits, works)))
    assert len(list(input_bound(ran(OPS, waits, on_cpu(("dense", 5000, 500)))))) == 1


def test_a_warm_up_does_not_count() -> None:
    """The first step waits long until the pipeline is filled."""
    first = on_cpu(("next", 1000, 9000), ("dense", 10_000, 1000))
    profile = ran(OPS, first, on_cpu(("dense", 20_000, 1000)), step_names=["fit (warm-up)", "fit"])
    assert not list(input_bound(profile))
    profile = ran(OPS, on_cpu(("dense", 1000, 9000)), on_cpu(("next", 20_000, 1000)), step_names=["a (warm-up)", "a"])
    assert only(input_bound(profile)).evidence.options == {"run_name_regexes": ["a"]}
