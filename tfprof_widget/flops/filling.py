"""Counts float operations where a profile has none, and gives those of fused ops to the kernels that ran them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tfprof_widget.flops.counting import Counter, rows_of_types
from tfprof_widget.flops.fused import main_op
from tfprof_widget.flops.kernels import AbsorbedNodes
from tfprof_widget.flops.registry import registered
from tfprof_widget.ingest.collector import collector_paused
from tfprof_widget.ingest.parts import Parts
from tfprof_widget.integers import LARGEST_INTEGER
from tfprof_widget.memory import Memory
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Integers


def with_flops(profile: Profile, *, multiply_accumulates: bool = False) -> Profile:
    """The profile with the float operations of all nodes that have a formula and known shapes.

    What it knows already stays, unless a formula was registered for it. With `multiply_accumulates` all nodes are
    counted anew, in these: one is a product that is added up, and nothing else counts.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> counted = with_flops(profile, multiply_accumulates=True)
    >>> row = profile.nodes.names.index("gradients/layer1/MatMul_grad/MatMul_1")
    >>> int(counted.nodes.float_ops[row]) == 64 * 784 * 128
    True
    """
    counter = Counter(profile, multiply_accumulates=multiply_accumulates)
    known = np.zeros_like(profile.nodes.float_ops) if multiply_accumulates else profile.nodes.float_ops.copy()
    known[rows_of_types(profile, counter.formulas)] = 0
    with collector_paused():
        for row in counter.uncertain():
            if not known[row]:
                known[row] = counter.count(row).float_ops
        _give_to_kernels(profile, counter, known)
        _give_to_compiled(profile, counter, known)
    counter.warn()
    return _replaced(profile, known)


def assembled(parts: Parts) -> Profile:
    """The profile of all parts that came so far.

    An op log that comes without a live graph says all there is to say: only registered formulas add to it.

    >>> assembled(Parts())
    Profile(0 nodes, 0 executions, 0 steps)
    """
    profile = parts.assemble()
    return with_registered_flops(profile) if parts.op_logs and not parts.is_live else with_flops(profile)


def with_registered_flops(profile: Profile) -> Profile:
    """The profile with what formulas that the user registered count for nodes of which nothing is known.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> with_registered_flops(profile) is profile
    True
    """
    rows = [row for row in rows_of_types(profile, registered()) if not profile.nodes.float_ops[row]]
    if not rows:
        return profile
    counter = Counter(profile)
    known = profile.nodes.float_ops.copy()
    known[rows] = [counter.count(row).float_ops for row in rows]
    counter.warn()
    return _replaced(profile, known)


def _give_to_kernels(profile: Profile, counter: Counter, known: Integers) -> None:
    absorbed = AbsorbedNodes(profile, counter.reader)
    by_kernel = absorbed.by_kernel()
    given: dict[int, int] = {}
    for kernel, rows in by_kernel.items():
        if not rows:
            given[kernel] = counter.count_alone(kernel).float_ops
            continue
        put_out = counter.reader.output_shapes(kernel)
        for row in rows:
            if main_op(counter.reader.op(row)) == main_op(counter.reader.op(kernel)):
                counter.reader.take_input_shapes(row, counter.reader.taken_in(kernel))
            if put_out and put_out[0] is not None:
                counter.reader.take_shape(row, put_out[0])
        own = counter.count(kernel, counter.reader.graph_op(kernel)).float_ops
        given[kernel] = own + sum(counter.count(row).float_ops for row in rows)
    for kernel, rows in by_kernel.items():
        known[kernel] = given[kernel]
        for row in rows:
            if not absorbed.ever_ran(row):
                known[row] = 0


def _give_to_compiled(profile: Profile, counter: Counter, known: Integers) -> None:
    """Let a function that XLA compiled count what the ops in it do, which it runs in their place."""
    if not profile.compiled:
        return
    row_of = {name: row for row, name in enumerate(profile.nodes.names)}
    rows = {
        row_of[node]: [row_of[each] for each in within if each in row_of] for node, within in profile.compiled.items()
    }
    sums = {row: sum(known[within].tolist()) for row, within in rows.items()}
    ran = AbsorbedNodes(profile, counter.reader).ever_ran
    for row, within in rows.items():
        known[row] = min(sums[row], LARGEST_INTEGER)
        known[[each for each in within if not ran(each)]] = 0


def _replaced(profile: Profile, float_ops: Integers) -> Profile:
    return replace(profile, nodes=replace(profile.nodes, float_ops=float_ops), memory=Memory())
