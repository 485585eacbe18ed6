"""A profile as large as wanted, written as columns: towers of blocks whose costs spread over four powers of ten."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.tables import Allocations, CodeStacks, Executions, Lists, Nodes, Outputs, StepTotals

# What a block of a network is made of, as scopes and op types.
BLOCK = (
    *(("enter/weights", "VariableV2"), ("enter/bias", "VariableV2"), ("enter/weights/read", "Identity")),
    *(("enter/MatMul", "MatMul"), ("enter/BiasAdd", "BiasAdd"), ("left/Relu", "Relu"), ("left/mix/Mean", "Mean")),
    *(("left/mix/sub", "Sub"), ("left/mix/Square", "Square"), ("left/mix/Rsqrt", "Rsqrt"), ("left/mix/mul", "Mul")),
    *(
        ("gate/shape", "Const"),
        ("gate/Reshape", "Reshape"),
        ("gate/Sigmoid", "Sigmoid"),
        ("gate/Transpose", "Transpose"),
    ),
    ("gate/mul", "Mul"),
)
NEVER_RUN = frozenset({"Const", "VariableV2"})
BLOCKS_A_TOWER = 25
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def big_profile(nodes: int, steps: int) -> Profile:
    """A profile of so many nodes, of which four fifths ran once in each step."""
    names, ops = _named(nodes)
    types = tuple(sorted({op for _, op in BLOCK}))
    index = {op: number for number, op in enumerate(types)}
    op = np.array([index[each] for each in ops], np.int32)
    ran = np.flatnonzero(~np.isin(op, [index[each] for each in NEVER_RUN]))
    random = np.random.default_rng(8)
    typical = np.exp(random.uniform(np.log(200), np.log(2_000_000), len(ran)))
    row, step = np.repeat(np.arange(len(ran)), steps), np.tile(np.arange(steps), len(ran))
    nanos = (typical[row] * random.uniform(0.8, 1.2, len(row))).astype(np.int64)
    return Profile(
        nodes=_nodes(names, types, op),
        steps=tuple(range(steps)),
        step_names=("",) * steps,
        executions=_executions(ran[row], step, nanos),
        outputs=_no_outputs(),
        allocations=_no_allocations(),
        step_totals=_totals(ran[row], step, nanos),
        traces=_traces(nodes),
        graphs=(),
    )


def _named(count: int) -> tuple[list[str], list[str]]:
    found = []
    for block in range(-(-count // len(BLOCK))):
        scope = f"tower_{block // BLOCKS_A_TOWER:05}/block_{block % BLOCKS_A_TOWER:02}"
        found += [(f"{scope}/{name}", op) for name, op in BLOCK]
    found = sorted(found[:count])
    return [name for name, _ in found], [op for _, op in found]


def _nodes(names: list[str], types: tuple[str, ...], op: NDArray[np.int32]) -> Nodes:
    count = len(names)
    every = np.arange(count + 1)
    has_parameters = op == types.index("VariableV2")
    return Nodes(
        names=tuple(names),
        ops=types,
        op=op,
        type_names=tuple(sorted((*types, CPU))),
        types=Lists(2 * every, np.stack([op + 1, np.zeros_like(op)], 1).ravel()),
        devices=(CPU,),
        device=np.zeros(count, np.int32),
        shapes=((64, 64),),
        shape=np.zeros(count, np.int32),
        output_shapes=Lists(every, np.zeros(count, np.int32)),
        inputs=Lists(np.maximum(every - 1, 0), np.arange(count - 1, dtype=np.int32)),
        input_ports=np.zeros(count - 1, np.int32),
        parameters=np.where(has_parameters, 4096, 0),
        float_ops=np.where(op == types.index("MatMul"), 524_288, 0),
        identity=np.arange(count, dtype=np.int32),
    )


def _executions(node: NDArray[np.int64], step: NDArray[np.int64], nanos: NDArray[np.int64]) -> Executions:
    count = len(node)
    zeros = np.zeros(count, np.int64)
    start = 1_600_000_000_000_000_000 + 10**9 * step + 4_000 * node
    return Executions(
        node=node.astype(np.int32),
        step=step.astype(np.int32),
        device=np.zeros(count, np.int32),
        start_micros=start // 1000,
        duration_micros=nanos // 1000,
        start_nanos=start,
        duration_nanos=nanos,
        thread=node % 4,
        counts_memory=np.ones(count, np.bool_),
        requested_bytes=np.full(count, 16_384),
        **dict.fromkeys(
            (
                *("peak_bytes", "residual_bytes", "output_bytes"),
                *("temporary_bytes", "persistent_bytes", "bytes_in_use", "input_shapes"),
            ),
            zeros,
        ),
    )


def _totals(node: NDArray[np.int64], step: NDArray[np.int64], nanos: NDArray[np.int64]) -> StepTotals:
    zeros = np.zeros(len(node), np.int64)
    micros = np.maximum(nanos // 1000, 1)
    return StepTotals(
        node=node.astype(np.int32),
        step=step.astype(np.int32),
        start_micros=zeros,
        end_micros=zeros,
        accelerator_nanos=zeros,
        cpu_nanos=nanos,
        accelerator_micros=zeros,
        cpu_micros=micros,
        run_count=np.ones(len(node), np.int64),
        requested_bytes=np.full(len(node), 16_384),
        peak_bytes=zeros,
        residual_bytes=zeros,
        output_bytes=zeros,
    )


def _no_outputs() -> Outputs:
    index, number = np.zeros(0, np.int32), np.zeros(0, np.int64)
    return Outputs(index, index, number, np.zeros(0, np.uint64), index)


def _no_allocations() -> Allocations:
    number = np.zeros(0, np.int64)
    return Allocations(np.zeros(0, np.int32), number, number, np.zeros(0, np.bool_))


def _traces(nodes: int) -> CodeStacks:
    line = np.arange(1, len(BLOCK) + 1, dtype=np.int32)
    zeros = np.zeros(len(BLOCK), np.int32)
    stacks = Lists(np.arange(len(BLOCK) + 1), np.arange(len(BLOCK), dtype=np.int32))
    stack = (np.arange(nodes) % len(BLOCK)).astype(np.int32)
    return CodeStacks(("model.py", "layer"), np.arange(2), zeros, line, zeros + 1, zeros - 1, zeros, stacks, stack)
