"""Measures how fast this machine computes and how fast its memory is, through TensorFlow's own kernels and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from tfprof_widget.analysis.account.roofline import DTYPES
from tfprof_widget.analysis.machines import Band, Machine, keep_machine, known_machine, remember_machine
from tfprof_widget.api.capture import is_capturing
from tfprof_widget.capturing.surroundings import LoadClock
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.processor import last_cache_bytes, processor
from tfprof_widget.profiles.options import one_of

SIZES = (128, 256, 512, 1024, 2048)
"""The products grow: small ones fit into a cache, large ones keep all cores busy."""

LONGEST_PRODUCT = 0.1
"""A product that would take longer, in seconds, is left out: there is a second for all of it."""

SHORTEST = 0.002
"""Short products are repeated for so many seconds, so that starting them does not count."""

FEWEST_ROUNDS = 3
MOST_SECONDS = 60.0
LEAST_TENSOR = 64 * 2**20
CACHES = 4
"""The tensors that an addition reads and writes are together so many times as large as the last cache."""


@dataclass(frozen=True)
class TimedKernels:
    """Runs of TensorFlow's kernels: a product of matrices of each size, an addition and a copy, of so many bytes."""

    products: Mapping[int, Callable[[], Any]]
    addition: Callable[[], Any]
    copy: Callable[[], Any]
    tensor_bytes: int


def machine(dtype: str = "float32", *, seconds: float = 1.0, keep: bool = False, again: bool = False) -> Machine:
    """Measure how many float operations and bytes a second TensorFlow reaches at most on the CPU of this machine.

    It takes about a second, or as many `seconds` as you give, in which products of growing matrices take turns with
    additions and copies of tensors far larger than the cache, all by TensorFlow's own kernels and threads. From then on
    `Profile.roofline`, the chart "roofline" and the columns "GFLOP/s" and "of peak" of this process use the result, and
    another call gives it again; with `again` it is measured anew. With `keep` it is also written into your cache
    directory, by processor, cores and system, where later processes find it. While a capture is open, nothing is
    measured.

    >>> machine("int8")
    Traceback (most recent call last):
        ...
    ValueError: dtype has no 'int8'; choose from float32, float64, bfloat16, float16
    """
    one_of("dtype", dtype, tuple(DTYPES.values()))
    if not 0 < seconds <= MOST_SECONDS:
        raise value_error(f"seconds is {seconds!r}, but must be more than 0 and at most {MOST_SECONDS:g}")
    if is_capturing():
        raise ProfileError(
            "machine: a capture is open, and what is measured would be in it; "
            "call tfprof_widget.machine() before the capture or after it"
        )
    found = None if again else known_machine(dtype)
    if found is None:
        with _kernels(dtype) as kernels:
            found = measured(kernels, dtype, seconds)
    remember_machine(found)
    if keep:
        keep_machine(found)
    return found


def measured(kernels: TimedKernels, dtype: str, seconds: float, clock: Callable[[], float] = perf_counter) -> Machine:
    """Run the kernels in turns for so many seconds.

    A round's rate is the best of its products, or of its addition and its copy.

    >>> ticks = iter(range(10**6))  # each look at the clock takes a thousandth of a second, and the kernels take none
    >>> kernels = TimedKernels({128: int, 256: int}, addition=int, copy=int, tensor_bytes=2**26)
    >>> found = measured(kernels, "float32", 0.1, lambda: next(ticks) / 1024)
    >>> found.compute.best == 2 * 1024 * 2 * 256**3, found.memory.best == 1024 * 3 * 2**26, found.repeats
    (True, True, True)
    """
    began, load = clock(), LoadClock()
    repeats = dict(_repeats(kernels.products, clock))
    compute: list[dict[int, float]] = []
    memory: list[float] = []
    kernels.addition(), kernels.copy()
    while len(memory) < FEWEST_ROUNDS or clock() - began < seconds:
        rates = {size: _rate(kernels.products[size], count, clock) * 2 * size**3 for size, count in repeats.items()}
        compute.append(rates)
        added, copied = _rate(kernels.addition, 1, clock), _rate(kernels.copy, 1, clock)
        memory.append(max(_ADDED * added, _COPIED * copied) * kernels.tensor_bytes)
    return Machine(
        dtype,
        _band([max(rates.values()) for rates in compute]),
        _band(memory),
        {size: max(rates[size] for rates in compute) for size in repeats},
        kernels.tensor_bytes,
        len(memory),
        clock() - began,
        load.others_cores(),
        processor(),
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    )


# How many tensors an addition and a copy read and write.
_ADDED, _COPIED = 3, 2


def _repeats(products: Mapping[int, Callable[[], Any]], clock: Callable[[], float]) -> Iterator[tuple[int, int]]:
    """How often to run each product in a round, up to the largest that is not too long."""
    expected = 0.0
    for size, product in products.items():
        if expected > LONGEST_PRODUCT:
            return
        product()
        took = 1 / _rate(product, 1, clock)
        yield size, max(round(SHORTEST / took), 1)
        expected = 8 * took


def _rate(run: Callable[[], Any], count: int, clock: Callable[[], float]) -> float:
    """How often a second it runs."""
    began = clock()
    for _ in range(count):
        run()
    return count / max(clock() - began, 1e-9)


def _band(rates: list[float]) -> Band:
    return Band(max(rates), float(np.median(rates)), min(rates))


@contextmanager
def _kernels(dtype: str) -> Iterator[TimedKernels]:
    """The kernels, run as this process runs its ops: one by one, or in a session where eager execution is off."""
    try:
        import tensorflow as tf
    except ImportError:
        raise ProfileError(
            "machine: TensorFlow is not installed here, and its kernels are what is measured; "
            "install it, or give roofline(machine=…) what another process measured"
        ) from None
    kind = tf.as_dtype(dtype)
    length = max(LEAST_TENSOR, -(-CACHES * last_cache_bytes() // _ADDED)) // kind.size
    with tf.init_scope(), tf.device("/CPU:0"):
        if tf.executing_eagerly() and tf.config.experimental.get_synchronous_execution():
            pairs = {size: _pair(tf.fill, kind, size, size) for size in SIZES}
            one, other = _pair(tf.fill, kind, length)
            yield TimedKernels(
                {size: partial(tf.raw_ops.MatMul, a=a, b=b) for size, (a, b) in pairs.items()},
                partial(tf.raw_ops.AddV2, x=one, y=other),
                partial(tf.raw_ops.DeepCopy, x=one),
                length * kind.size,
            )
            return
    with _session_kernels(tf, kind, length) as kernels:
        yield kernels


def _pair(fill: Callable[..., Any], kind: Any, *shape: int) -> tuple[Any, Any]:
    return fill(shape, np.array(0.5, kind.as_numpy_dtype)), fill(shape, np.array(0.25, kind.as_numpy_dtype))


@contextmanager
def _session_kernels(tf: Any, kind: Any, length: int) -> Iterator[TimedKernels]:
    def variable(shape: tuple[int, ...], value: Any) -> Any:
        handle = tf.raw_ops.VarHandleOp(dtype=kind, shape=shape, shared_name=f"tensor{len(made)}")
        made.append(tf.raw_ops.AssignVariableOp(resource=handle, value=tf.fill(shape, value)))
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=kind)

    made: list[Any] = []
    graph = tf.Graph()
    with graph.as_default(), tf.device("/CPU:0"):
        pairs = {size: _pair(variable, kind, size, size) for size in SIZES}
        products = {size: tf.raw_ops.MatMul(a=one, b=other) for size, (one, other) in pairs.items()}
        one, other = _pair(variable, kind, length)
        addition, copy = tf.raw_ops.AddV2(x=one, y=other), tf.raw_ops.DeepCopy(x=one)
    threads = tf.config.threading
    config = tf.compat.v1.ConfigProto(
        device_count={"GPU": 0},
        intra_op_parallelism_threads=threads.get_intra_op_parallelism_threads(),
        inter_op_parallelism_threads=threads.get_inter_op_parallelism_threads(),
    )
    with closing(tf.compat.v1.Session(graph=graph, config=config)) as session:  # without making it the default
        session.run(made)
        runs = {size: session.make_callable(product.op) for size, product in products.items()}
        add, duplicate = (session.make_callable(each.op) for each in (addition, copy))
        yield TimedKernels(runs, add, duplicate, length * kind.size)
