"""The view below a running cell: it ends with the capture, and whatever goes wrong in it, the cell runs on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.jobs_told import TRAINING
from tfprof_widget.magic.live_view import MOST_FAULTS, LiveView, can_show_live
from tfprof_widget.profiles.live import LiveState

VIEW = "application/vnd.jupyter.widget-view+json"


class Page:
    """What a front end would show: the data of each output by its display id, as ipykernel's publisher is told."""

    def __init__(self) -> None:
        self.outputs: dict[str, Any] = {}
        self.hooks: list[Callable[[Any], Any]] = []
        self.told = threading.Condition()

    def publish(self, *, data: Any, metadata: Any, transient: Any, update: bool) -> None:
        with self.told:
            if not update or transient["display_id"] in self.outputs:
                self.outputs[transient["display_id"]] = data
            self.told.notify_all()

    def register_hook(self, hook: Callable[[Any], Any]) -> None:
        self.hooks.append(hook)

    def unregister_hook(self, hook: Callable[[Any], Any]) -> None:
        self.hooks.remove(hook)

    def clear_output(self) -> None:
        with self.told:
            message = {"header": {"msg_type": "clear_output"}}
            assert all(hook(message) is message for hook in self.hooks)
            self.outputs.clear()

    def shown(self) -> list[Any]:
        return [data for data in self.outputs.values() if data]

    def until(self, holds: Callable[[], bool]) -> None:
        with self.told:
            assert self.told.wait_for(holds, 60)


class Looks:
    """The states that a capture tells one after the other; the last one stays."""

    def __init__(self, *states: LiveState | None) -> None:
        self._states = list(states)
        self.number = 0
        self.told = threading.Condition()

    def __call__(self) -> LiveState | None:
        with self.told:
            self.number += 1
            self.told.notify_all()
        return self._states.pop(0) if len(self._states) > 1 else self._states[0]

    def until(self, number: int) -> None:
        with self.told:
            assert self.told.wait_for(lambda: self.number >= number, 60)


def view_on(page: Page, look: Callable[[], LiveState | None], calm: float = 0.0) -> LiveView:
    shell: Any = SimpleNamespace(display_pub=page)
    view = LiveView(shell, look, "In[7]", after=0.001, every=0.001, kept=0.0, calm=calm)
    view.start()
    return view


def later(number: int) -> LiveState:
    return LiveState("cell", "running", float(number), runs=number, steps=number, kind="loss")


def test_the_view_stands_above_what_the_notebook_keeps_and_the_result_gets_both_places() -> None:
    page = Page()
    view = view_on(page, Looks(None, LiveState(), TRAINING, *map(later, range(101, 140))))
    page.until(lambda: len(page.shown()) == 2)
    page.until(lambda: "139 steps of loss" in page.shown()[1]["text/html"])
    live, kept = page.shown()
    assert VIEW in live
    assert "data-tfprof=" in kept["text/html"]
    assert kept["text/plain"] == "tfprof: 0 of 139 runs traced"
    places = view.stop()
    assert list(places) == list(page.outputs)
    assert page.hooks == []
    assert len(page.shown()) == 2
    view.take_away()
    assert page.shown() == []


def test_nothing_is_shown_of_a_cell_in_which_nothing_ran() -> None:
    page, looks = Page(), Looks(None, LiveState())
    view = view_on(page, looks)
    looks.until(5)
    assert view.stop() == ()
    assert page.outputs == {}


def test_a_cell_that_clears_its_outputs_gets_the_view_again() -> None:
    page = Page()
    view = view_on(page, Looks(TRAINING))
    page.until(lambda: len(page.shown()) == 2)
    before = set(page.outputs)
    page.clear_output()
    page.until(lambda: len(page.shown()) == 2)
    assert not before & set(page.outputs)
    assert list(view.stop()) == list(page.outputs)


def test_a_cell_that_clears_its_outputs_all_the_time_is_left_alone() -> None:
    page, looks = Page(), Looks(TRAINING)
    view = view_on(page, looks, calm=3600.0)
    page.until(lambda: len(page.shown()) == 2)
    page.clear_output()
    looks.until(looks.number + 5)
    assert page.shown() == []
    assert view.stop() == ()


def test_outputs_that_were_cleared_at_last_are_no_place_for_the_result() -> None:
    """Nobody looks again after the clearing: the look that would is held up until the end."""
    page, hanging, release = Page(), threading.Event(), threading.Event()
    first = iter([True])

    def look() -> LiveState:
        if next(first, False):
            return TRAINING
        hanging.set()
        release.wait(60)
        raise RuntimeError("too late")

    view = view_on(page, look)
    assert hanging.wait(60)
    page.clear_output()
    release.set()
    assert view.stop() == ()
    assert page.shown() == []


def test_looks_that_fail_are_passed_over_but_not_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    page, calls = Page(), iter(range(10**6))

    def sometimes() -> LiveState:
        if next(calls) % 2:
            raise RuntimeError("busy")
        return TRAINING

    view = view_on(page, sometimes)
    page.until(lambda: len(page.shown()) == 2)
    assert view.stop()

    looks = iter(range(10**6))

    def never() -> LiveState:
        next(looks)
        raise RuntimeError("broken")

    view = view_on(page, never)
    view._thread.join(60)
    assert not view._thread.is_alive()
    assert next(looks) == MOST_FAULTS
    assert view.stop() == ()
    assert capsys.readouterr() == ("", "")


def test_a_page_that_cannot_be_told_does_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(Page):
        def publish(self, **_: Any) -> None:
            raise RuntimeError("no page")

    view = view_on(Broken(), Looks(TRAINING))
    view._thread.join(60)
    assert not view._thread.is_alive()
    assert capsys.readouterr() == ("", "")


def test_a_look_that_hangs_does_not_hold_up_the_cell() -> None:
    hanging, release = threading.Event(), threading.Event()

    def hang() -> None:
        hanging.set()
        release.wait(120)

    view = view_on(Page(), hang)
    assert hanging.wait(60)
    assert view.stop() == ()
    release.set()
    view._thread.join(60)
    assert not view._thread.is_alive()


def test_a_page_with_widgets_says_which_cell_runs() -> None:
    kernel: Any = SimpleNamespace(kernel=1, get_parent=lambda: {"metadata": {"cellId": "a"}})
    without: Any = SimpleNamespace(kernel=1, get_parent=lambda: {"metadata": {}})
    terminal: Any = SimpleNamespace(get_parent=lambda: {"metadata": {"cellId": "a"}})
    assert [can_show_live(each) for each in (kernel, without, terminal)] == [True, False, False]
