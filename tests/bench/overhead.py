"""Times cells under %%tfprof beside the same cells without it, and the tracing of all runs beside that by hand.

A cell is run by IPython, and its profile is made and printed, all of which counts. Turns alternate, in a process for
each program; the first ones, in which TensorFlow and this package load what they need, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from tests.bench import children
from tests.bench.finding import Finding, of_medians
from tests.bench.gauges import seconds
from tests.bench.target import TimesLess, TimesMore
from tests.magic.shells import new_shell

SAMPLED = TimesMore(1.1)
SAMPLED_OR_HALF_A_SECOND = TimesMore(1.1, extra_seconds=0.5)
ALL = TimesMore(1.05)
ALL_READ = TimesLess(2)
ROUNDS = 9

Turn = Callable[[], float]


def findings(steps: int) -> Iterator[Finding]:
    """The findings on loops of so many steps, and on a fit of twice as many."""
    yield children.call(of_sessions, steps)
    yield from children.call(of_all_sessions, steps)
    yield children.call(of_fit, 2 * steps)
    yield children.call(of_functions, steps)


def of_sessions(steps: int) -> Finding:
    """What the default sampling adds to a session loop; to be called in a process of its own."""
    from tests.bench.training import SessionLoop

    return _of_sampling(f"cell of {steps:,} session runs, %%tfprof beside untraced", SessionLoop(steps), SAMPLED)


def of_fit(steps: int) -> Finding:
    """What the default sampling adds to a fit of Keras; to be called in a process of its own."""
    from tests.bench.training import fit

    return _of_sampling(f"cell of a Keras fit of {steps:,} steps, %%tfprof beside untraced", fit(steps), SAMPLED)


def of_functions(steps: int) -> Finding:
    """What the default sampling adds to a loop of a tf.function; to be called in a process of its own."""
    from tests.bench.training import function_loop

    what = f"cell of {steps:,} tf.function calls, %%tfprof beside untraced"
    return _of_sampling(what, function_loop(steps), SAMPLED_OR_HALF_A_SECOND)


def of_all_sessions(steps: int) -> list[Finding]:
    """What tracing all runs of a session loop takes; to be called in a process of its own.

    The runs themselves are beside those that are traced by hand, and the cell that ends with a profile is beside a
    cell that reads what was traced by hand into native tfprof: of fewer runs, since that is slow.
    """
    from tests.bench.training import SessionLoop

    loop, short = SessionLoop(steps), SessionLoop(max(steps // 10, 1))
    with shell_with(loop=loop, short=short, seconds=seconds, read_natively=_read_natively) as shell:
        runs = _interleaved(
            lambda: _seconds_in(shell, "kept = []\ntaken = seconds(loop.traced_by_hand, kept)"),
            lambda: _seconds_in(shell, "%%tfprof --all --out prof\ntaken = seconds(loop)"),
        )
        cells = _interleaved(
            lambda: cell_seconds(shell, "kept = []\nshort.traced_by_hand(kept)\nread_natively(short.graph, kept)"),
            lambda: cell_seconds(shell, "%%tfprof --all --out prof\nshort()"),
        )
    return [
        of_medians(f"{steps:,} session runs, --all beside FULL_TRACE by hand", 0, *runs, ALL),
        of_medians(f"cell of {short.steps:,} session runs, --all beside by hand and tf.profiler", 0, *cells, ALL_READ),
    ]


def _of_sampling(what: str, work: Callable[[], object], target: TimesMore) -> Finding:
    with shell_with(work=work) as shell:
        taken = _interleaved(
            lambda: cell_seconds(shell, "work();"), lambda: cell_seconds(shell, "%%tfprof --out prof\nwork();")
        )
        return of_medians(what, 0, *taken, target)


def _interleaved(other: Turn, ours: Turn) -> tuple[list[float], list[float]]:
    """What the turns of both take, after one turn each that does not count."""
    rounds = [(other(), ours()) for _ in range(1 + ROUNDS)][1:]
    return [each for each, _ in rounds], [each for _, each in rounds]


@contextmanager
def shell_with(**variables: Any) -> Iterator[InteractiveShell]:
    """A shell that has the magic and these variables."""
    with TemporaryDirectory() as directory, new_shell(ipython_dir=directory) as shell:
        shell.user_ns.update(variables)
        yield shell


def cell_seconds(shell: InteractiveShell, cell: str) -> float:
    """The seconds that the cell takes; it must not fail, nor be profiled in vain."""
    shell.user_ns.pop("prof", None)
    with redirect_stdout(StringIO()):
        taken = seconds(lambda: shell.run_cell(cell).raise_error())
    if cell.startswith("%%tfprof") and not shell.user_ns["prof"].measurement.runs_traced:
        raise RuntimeError(f"nothing was traced: {shell.user_ns['prof']}")
    return taken


def _seconds_in(shell: InteractiveShell, cell: str) -> float:
    """The seconds that the cell itself measured."""
    cell_seconds(shell, cell)
    taken: float = shell.user_ns["taken"]
    return taken


def _read_natively(graph: Any, kept: list[Any]) -> None:
    """Read runs into native tfprof."""
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")  # or it says each time that its profiler is deprecated
    with redirect_stderr(StringIO()):  # where it counts the ops whose shapes are incomplete
        profiler = tf.compat.v1.profiler.Profiler(graph)
        for step, run_metadata in enumerate(kept):
            profiler.add_step(step, run_metadata)
