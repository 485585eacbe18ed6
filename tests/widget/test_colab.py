"""Colab, emulated: where its manager of widgets is, stands beside the live widget, and not beside what is saved."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tfprof_widget.demo import demo_profile

LIVE = "application/vnd.jupyter.widget-view+json"
MANAGER = "https://ssl.gstatic.com/colaboratory-static/widgets/colab-cdn-widget-manager/x/manager.min.js"


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """What a cell in Colab shows, with what is said beside it."""
    found: list[tuple[dict[str, str], dict[str, Any]]] = []
    output = SimpleNamespace(
        enable_custom_widget_manager=lambda: None, _widgets=SimpleNamespace(_installed_url=MANAGER)
    )
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    monkeypatch.setattr("IPython.display.display", lambda data, metadata, raw: found.append((data, metadata)))
    demo_profile().widget()._ipython_display_()
    return found


def test_the_manager_of_widgets_is_told(displayed: list[tuple[dict[str, str], dict[str, Any]]]) -> None:
    (live, told), (saved, sizes) = displayed
    assert LIVE in live
    assert told == {LIVE: {"colab": {"custom_widget_manager": {"url": MANAGER}}}}
    assert LIVE not in saved
    assert set(sizes) == {"image/png"}
