"""What a notebook keeps of a result can be chosen: the page, the picture with its rows, or nothing but text."""

from __future__ import annotations

import pytest

from tfprof_widget.demo import demo_profile

LIVE = "application/vnd.jupyter.widget-view+json"


@pytest.mark.parametrize(("save", "shown"), [("page", 2), ("picture", 2), ("none", 1)])
def test_what_is_kept(save: str, shown: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, metadata, raw: found.append(data))
    widget = demo_profile().widget()
    widget.save = save
    widget._ipython_display_()
    assert len(found) == shown
    assert LIVE in found[0]
    if save == "none":
        assert "nodes 81" in found[0]["text/plain"]
    else:
        assert set(found[1]) == {"image/png", "text/html", "text/markdown", "text/plain"}
        assert ("<script" in found[1]["text/html"]) == (save == "page")
