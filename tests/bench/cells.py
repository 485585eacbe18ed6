"""Times cells of five seconds under %%tfprof beside the same cells without it, untraced runs, sampler and account.

Cells alternate, in a process for each program. Beside the time by the clock stands the time that the process took of
the processors, which other work on the machine changes less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event, Thread
from time import process_time, sleep, thread_time

from tests.bench import children
from tests.bench.finding import Finding, of_medians
from tests.bench.gauges import seconds
from tests.bench.overhead import cell_seconds, shell_with
from tests.bench.target import AtMost, TimesMore
from tfprof_widget.api.capture import capture
from tfprof_widget.capturing.cell_log import CellLog
from tfprof_widget.capturing.python_sampler import PythonSampler, looking
from tfprof_widget.magic.live_view import EVERY_SECONDS
from tfprof_widget.profiles.live import LiveState
from tfprof_widget.widget.live import LiveWidget

WHOLE = TimesMore(1.05)
SECONDS = 5.0
ROUNDS = 5

CALLS = 20_000
OF_SESSION_RUN, OF_FUNCTION_CALL = AtMost(3e-6), AtMost(5e-6)

OF_A_SECOND, DEPTH = AtMost(0.01), 50
ACCOUNTED_STEPS = 10_000
OF_ACCOUNT = AtMost(0.05)


def findings(cell_seconds: float = SECONDS) -> Iterator[Finding]:
    """The findings on hooks, and on cells that take about so many seconds."""
    yield from children.call(of_hooks)
    yield children.call(of_sampler)
    yield children.call(of_live_view)
    yield children.call(of_account)
    for what in PROGRAMS:
        yield from children.call(of_cell, what, cell_seconds)


def of_cell(what: str, length: float) -> list[Finding]:
    """What profiling adds to a cell of a program; to be called in a process of its own."""
    from tests.bench import programs

    name, arguments = PROGRAMS[what]
    work: Callable[[int], object] = getattr(programs, name)(*arguments)
    steps = _steps_of(work, length)
    plain, profiled = [], []
    with shell_with(work=lambda: work(steps)) as shell:

        def both(cell: str) -> tuple[float, float]:
            began = process_time()
            return cell_seconds(shell, cell), process_time() - began

        for _ in range(1 + ROUNDS):
            plain.append(both("work();"))
            profiled.append(both("%%tfprof --out prof\nwork();"))
    found = []
    for place, (by, target) in enumerate((("by the clock", WHOLE), ("of the processors", None))):
        other, ours = ([each[place] for each in taken[1:]] for taken in (plain, profiled))
        found.append(of_medians(f"cell of {what}, {by}", 0, other, ours, target))
    return found


def _steps_of(work: Callable[[int], object], length: float) -> int:
    """How many steps take about so many seconds; to begin takes some time too, whatever the number of steps."""
    work(20)
    steps, taken = 50, seconds(work, 50)
    while taken < length / 4:
        steps *= 2
        taken = seconds(work, steps)
    return max(round(steps * length / taken), 2)


def of_hooks() -> list[Finding]:
    """What hooks take for an untraced run of which TensorFlow does nothing; to be called in a process of its own."""
    import tensorflow as tf
    from tensorflow.python.client import session as client
    from tensorflow.python.eager.polymorphic_function import atomic_function, polymorphic_function

    with tf.Graph().as_default():
        output = tf.constant(1.0)._as_tf_output()
        session = tf.compat.v1.Session()
    function = tf.function(lambda: tf.constant(1.0))
    atomic = function.get_concrete_function()._inference_function
    client.BaseSession._call_tf_sessionrun = lambda self, *_: None
    atomic_function.AtomicFunction.call_flat = lambda self, *_: None
    polymorphic_function.Function.__call__ = lambda self: atomic.call_flat()
    found = []
    for what, call, target in (
        ("session run", lambda: session._call_tf_sessionrun(None, {}, [output], [], None), OF_SESSION_RUN),
        ("call of a tf.function", function, OF_FUNCTION_CALL),
    ):
        plain, hooked = [], []
        for _ in range(ROUNDS):
            plain.append(_of_one(call))
            with capture(steps=(10**9, None)):
                _of_one(call)
                hooked.append(_of_one(call))
        found.append(of_medians(f"hooks of an untraced {what}", 0, plain, hooked, target))
    return found


def _of_one(call: Callable[[], object]) -> float:
    began = thread_time()
    for _ in range(CALLS):
        call()
    return (thread_time() - began) / CALLS


def of_sampler() -> Finding:
    """What looking at Python takes of the processors in a second; to be called in a process of its own."""
    plain, looked_at = [], []
    for _ in range(1 + ROUNDS):
        plain.append(_of_a_second(DEPTH))
        with looking(PythonSampler(), CellLog().thread_to_see):
            looked_at.append(_of_a_second(DEPTH))
    return of_medians("a second in which Python is looked at, of a processor", 0, plain[1:], looked_at[1:], OF_A_SECOND)


def of_live_view() -> Finding:
    """What telling a page of a cell takes of the processors in a second; to be called in a process of its own."""
    import tensorflow as tf

    with tf.Graph().as_default():
        product = tf.matmul(tf.ones([16, 16]), tf.ones([16, 16]))
        session = tf.compat.v1.Session()
    plain, told = [], []
    with capture() as prof:
        page, over = LiveWidget("cell"), Event()

        def tell() -> None:
            while not over.wait(EVERY_SECONDS):
                page.tell(prof.live() or LiveState())

        for _ in range(1 + ROUNDS):
            seconds(lambda: [session.run(product) for _ in range(ACCOUNTED_STEPS)])
            plain.append(_of_a_second(0))
        telling = Thread(target=tell)
        telling.start()
        for _ in range(1 + ROUNDS):
            seconds(lambda: [session.run(product) for _ in range(ACCOUNTED_STEPS)])
            told.append(_of_a_second(0))
        over.set()
        telling.join()
    return of_medians("a second in which a page is told of a cell, of a processor", 0, plain[1:], told[1:], OF_A_SECOND)


def _of_a_second(depth: int) -> float:
    """What the process takes of the processors while a thread waits for a second, so many calls deep."""
    if depth:
        return _of_a_second(depth - 1)
    began = process_time()
    sleep(1)
    return process_time() - began


def of_account() -> Finding:
    """What the account takes, beside the steps that it is of; to be called in a process of its own."""
    import tensorflow as tf

    with tf.Graph().as_default():
        product = tf.matmul(tf.ones([16, 16]), tf.ones([16, 16]))
        session = tf.compat.v1.Session()
    steps, account = [], []
    for _ in range(1 + ROUNDS):
        with capture() as prof:
            steps.append(seconds(lambda: [session.run(product) for _ in range(ACCOUNTED_STEPS)]))
        account.append(seconds(prof.time_budget))
    return of_medians(f"account of a cell of {ACCOUNTED_STEPS:,} steps", 0, steps[1:], account[1:], OF_ACCOUNT)


PROGRAMS: dict[str, tuple[str, tuple[float, ...]]] = {
    "session runs of 0.2 ms": ("session", (0.2e-3,)),
    "session runs of 0.6 ms": ("session", (0.6e-3,)),
    "session runs of 5 ms": ("session", (5e-3,)),
    "tf.function calls of 0.2 ms": ("function", (0.2e-3,)),
    "a Keras fit, dense": ("dense", ()),
    "a Keras fit, convolutions": ("convolution", ()),
    "a Keras fit, LSTM": ("recurrent", ()),
}
"""The cells, each with the name of its function in `programs` and what that takes."""
