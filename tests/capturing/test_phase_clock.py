"""The phases of Keras' loops add up to the loop, on a clock that tests set."""

from __future__ import annotations

from threading import Thread

from tests.capturing.test_cell_log import SECOND, Clock
from tfprof_widget.capturing.cell_log import MOST_STRETCHES, PhaseClock
from tfprof_widget.profiles.cell import BETWEEN, NEXT_BATCH, SAVING, STEP, VALIDATION


def phases_of(clock: Clock, *events: tuple[float, str]) -> dict[str, tuple[float, int]]:
    """The seconds and times of phases that begin and, where none is named, end then."""
    phases, depths = PhaseClock(clock), list[int | None]()
    for at, phase in events:
        clock.now = at
        if phase:
            depths.append(phases.enter(phase))
        else:
            phases.leave(depths.pop())
    return {phase.name: (phase.nanos / SECOND, phase.times) for phase in phases.found()}


def test_phases_of_a_fit_add_up_to_it() -> None:
    found = phases_of(
        Clock(),
        (0.0, BETWEEN),
        (1.0, NEXT_BATCH),
        (1.5, ""),
        (2.0, STEP),
        (4.0, NEXT_BATCH),  # as a model that runs eagerly does
        (4.5, ""),
        (5.0, ""),
        (5.0, "Saver.on_epoch_end"),
        (5.5, "Saver.on_epoch_end"),  # the method of a class that it is derived from
        (6.0, SAVING),
        (8.0, ""),
        (8.5, ""),
        (9.0, ""),
        (10.0, ""),
    )
    assert found == {
        NEXT_BATCH: (1.0, 2),
        STEP: (2.5, 1),
        "Saver.on_epoch_end": (2.0, 1),
        SAVING: (2.0, 1),
        BETWEEN: (2.5, 1),
    }


def test_stretches_of_phases_are_one_after_the_other() -> None:
    clock = Clock()
    phases = PhaseClock(clock)
    clock.now = 10.0
    loop = phases.enter(BETWEEN)
    clock.now = 11.0
    step = phases.enter(STEP)
    clock.now = 14.0
    phases.leave(step)
    clock.now = 15.0
    phases.leave(loop)
    found = list(phases.found())
    stretches = phases.stretches(found, 9.0)
    assert [found[each].name for each in stretches.phase.tolist()] == [BETWEEN, STEP, BETWEEN]
    assert (stretches.start / SECOND).tolist() == [1.0, 2.0, 5.0]
    assert (stretches.nanos / SECOND).tolist() == [1.0, 3.0, 1.0]


def test_of_many_stretches_the_longest_are_kept() -> None:
    clock = Clock()
    phases = PhaseClock(clock)
    loop = phases.enter(BETWEEN)
    for step in range(MOST_STRETCHES):
        depth = phases.enter(STEP)
        clock.now += 5.0 if step % 100 == 0 else 1.0 + 1e-6 * step
        phases.leave(depth)
    phases.leave(loop)
    found = phases.stretches(list(phases.found()), 0.0)
    assert len(found) < MOST_STRETCHES
    assert (found.nanos == 5 * SECOND).sum() == 41
    assert int(found.nanos.min()) > SECOND


def test_all_that_a_validation_does_belongs_to_it() -> None:
    events = [(0.0, BETWEEN), (1.0, BETWEEN), (2.0, STEP), (3.0, ""), (4.0, "Log.on_test_end"), (5.0, ""), (6.0, "")]
    assert phases_of(Clock(), *events, (9.0, "")) == {VALIDATION: (5.0, 1), BETWEEN: (4.0, 1)}


def test_outside_of_loops_only_saving_counts() -> None:
    assert phases_of(Clock(), (0.0, NEXT_BATCH), (1.0, ""), (2.0, SAVING), (5.0, "")) == {SAVING: (3.0, 1)}


def test_what_other_threads_do_is_no_phase_of_the_fit() -> None:
    clock = Clock()
    phases = PhaseClock(clock)
    loop, beside = phases.enter(BETWEEN), list[int | None]()
    thread = Thread(target=lambda: beside.append(phases.enter(STEP)))
    thread.start()
    thread.join()
    clock.now = 2.0
    phases.leave(loop)
    assert beside == [None]
    assert [(phase.name, phase.nanos) for phase in phases.found()] == [(BETWEEN, 2 * SECOND)]
