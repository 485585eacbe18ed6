"""What the widget answers when the browser asks for what was cut."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.big import big_profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.widget.cut import cut
from tfprof_widget.widget.traits import TfprofWidget

NODES = 120_000  # more than the browser takes


def answers(widget: TfprofWidget, message: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """What the widget says to a message, with the buffers beside it."""
    sent: list[tuple[Any, Any]] = []
    monkeypatch.setattr(TfprofWidget, "send", lambda _, content, buffers=None: sent.append((content, buffers)))
    widget._handle_custom_msg(message, [])
    return sent


@pytest.fixture(scope="module")
def widget() -> TfprofWidget:
    return big_profile(NODES, steps=1).widget()


def test_the_graph_is_told_with_what_it_lacks(widget: TfprofWidget) -> None:
    (graph,) = widget._graphs
    told = cut(widget.profile).left_out
    assert told is not None
    assert graph["cut"] == {"nodes": NODES, "kept": told.kept, "rows": told.rows, "steps": [0]}
    assert graph["notes"] == list(told.notes)
    assert TfprofWidget(demo_profile())._graphs[0]["cut"] is None


def test_progress_comes_first_and_then_the_columns(widget: TfprofWidget, monkeypatch: pytest.MonkeyPatch) -> None:
    small = set(cut(widget.profile).profile.nodes.names)
    wanted = next(name for name in widget.profile.nodes.names if name not in small)
    asked = {"request": "rows", "graph": 0, "wanted": {"show_name_regexes": [wanted]}}
    *progress, (told, buffers) = answers(widget, asked, monkeypatch)
    assert [content["answer"] for content, _ in progress] == ["progress"] * 3
    assert (told["answer"], told["graph"], told["cut"]["nodes"]) == ("rows", 0, NODES)
    assert told["notes"][0].startswith("120,000 nodes: ")
    assert f'"{wanted}"'.encode() in buffers[0]


def test_what_cannot_be_done_has_a_reason(widget: TfprofWidget, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"request": "rows", "graph": 0, "wanted": {"show_name_regexes": ["("]}}
    told, _ = answers(widget, asked, monkeypatch)[-1]
    assert told == {"answer": "failed", "reason": "show_name_regexes: RE2 refuses '(': missing ): ("}
