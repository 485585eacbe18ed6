"""Two hundred slider moves a second: the page keeps up, and ends on the right view."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Opening
from tests.browser.expected import names_of, status_of
from tests.browser.moves import MOVES, moved
from tests.browser.screen import Screen
from tests.slow.share import share
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile


@pytest.mark.parametrize("last", share([0.0, 0.4, 1.0], [0.4]))
def test_a_slider_moved_400_times_ends_on_the_last_value(demo: Screen, last: float) -> None:
    demo.look_at("op")
    micros = moved(demo, "min_micros", last)
    assert (micros > 0) == (last > 0)
    wanted = names_of(demo_profile(), "op", min_micros=micros)
    demo.until(lambda: demo.names()[:8], wanted[:8])
    demo.until(lambda: demo.marks("Time by op type")[:8], wanted[:8])
    expect(demo.status).to_have_text(status_of(demo_profile(), "op", min_micros=micros))


def test_two_sliders_of_2000_nodes_are_moved_one_after_the_other(
    open_file: Opening, model_file: Path, model: Profile
) -> None:
    screen = open_file(model_file)
    changes = {option: moved(screen, option, last) for option, last in (("min_micros", 0.5), ("max_depth", 0.3))}
    expect(screen.status).to_have_text(status_of(model, "scope", **changes))
    screen.look_at("op")
    expect(screen.status).to_have_text(status_of(model, "op", **changes))
    screen.until(lambda: screen.names()[:8], names_of(model, "op", **changes)[:8])
    assert MOVES == 400
