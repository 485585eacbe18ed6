"""What the widget says costs most, on profiles worked out by hand."""

from __future__ import annotations

from tests.analysis.advisor.findings import on_cpu, ran
from tests.sketches import profile_of
from tfprof_widget.analysis.advisor.costliest import costliest


def test_nodes_count_by_their_own_time_wherever_they_are() -> None:
    """Native would say `net`, whose own time is none: it holds more than `a` and is a scope."""
    op_types, nodes = costliest(
        profile_of("""
            a     = MatMul() 150us
            net/b = Add() 61500ns
            net/c = Add() 188500ns
        """)
    )
    assert op_types == (
        "top 1 operation type: Add, cpu: 250us, accelerator: 0ns, total: 250us (62.50%)\n"
        "top 2 operation type: MatMul, cpu: 150us, accelerator: 0ns, total: 150us (37.50%)"
    )
    assert nodes == (
        "top 1 graph node: net/c, cpu: 188.50us, accelerator: 0ns, total: 188.50us (47.12%)\n"
        "top 2 graph node: a, cpu: 150us, accelerator: 0ns, total: 150us (37.50%)\n"
        "top 3 graph node: net/b, cpu: 61.50us, accelerator: 0ns, total: 61.50us (15.38%)"
    )


def test_nodes_that_never_ran_are_not_named() -> None:
    _, nodes = costliest(profile_of("a = MatMul() 1us\nb = Const()"))
    assert nodes == "top 1 graph node: a, cpu: 1us, accelerator: 0ns, total: 1us (100.00%)"


def test_lines_of_code_by_their_share_and_not_from_a_millisecond_on() -> None:
    """Of 1,000 us 10 are a hundredth, and 9 less."""
    *_, lines = costliest(
        profile_of("""
            a = MatMul() 981us | train.py:3:main > model.py:5:dense
            b = Add() 10us     | train.py:3:main > model.py:6:bias
            c = Relu() 9us     | train.py:3:main > model.py:7:relu
        """)
    )
    assert lines.splitlines() == [
        "model.py:5:dense, cpu: 981us, accelerator: 0ns, total: 981us",
        "model.py:6:bias, cpu: 10us, accelerator: 0ns, total: 10us",
    ]


def test_an_op_counts_for_the_innermost_line_that_is_no_library_s() -> None:
    """In a notebook all stacks begin in the kernel; the two ops of `dense` are made in different files of a library."""
    kernel = "lib/python3.11/site-packages/ipykernel/app.py:18:launch"
    *_, lines = costliest(
        profile_of(f"""
            a = MatMul() 50us | {kernel} > 123.py:4:<module> > 122.py:2:dense > site-packages/net/product.py:7:matmul
            b = Add() 30us    | {kernel} > 123.py:4:<module> > 122.py:2:dense > site-packages/net/sum.py:9:add
            c = Neg() 20us    | {kernel} > 123.py:5:<module> > site-packages/net/sum.py:9:add
            d = Relu() 10us   | {kernel} > <frozen runpy>:88:_run_code
        """)
    )
    assert lines.splitlines() == [
        "122.py:2:dense, cpu: 80us, accelerator: 0ns, total: 80us",
        "123.py:5:<module>, cpu: 20us, accelerator: 0ns, total: 20us",
    ]


def test_a_warm_up_does_not_count() -> None:
    runs = on_cpu(("init", 1000, 900)), on_cpu(("dense", 9000, 100))
    profile = ran({"init": "RandomUniform", "dense": "MatMul"}, *runs, step_names=["fit (warm-up)", "fit"])
    _, nodes = costliest(profile)
    assert nodes.splitlines()[0].startswith("top 1 graph node: dense,")
    assert "init" not in nodes


def test_without_a_run_there_is_nothing_to_say() -> None:
    assert not list(costliest(profile_of("a = MatMul() | train.py:3:main")))
