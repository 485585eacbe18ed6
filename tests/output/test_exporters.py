"""What the exporters of nbconvert make of notebooks with results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import mistune
import nbformat
import pytest
from nbconvert.exporters import get_exporter

from tfprof_widget.demo import demo_profile
from tfprof_widget.widget.report import block
from tfprof_widget.widget.scriptless import mime_bundle
from tfprof_widget.widget.shown import Shown

LIVE = {"application/vnd.jupyter.widget-view+json": {"model_id": "a", "version_major": 2, "version_minor": 0}}
TITLE = "digits [1] *step*"


def notebook_of(*outputs: tuple[Mapping[str, Any], Mapping[str, Any]]) -> Any:
    made = [nbformat.v4.new_output("display_data", data, metadata=sizes) for data, sizes in outputs]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("w", outputs=made)])


@pytest.fixture(scope="module")
def notebook() -> Any:
    """A notebook as it is saved: the live widget, the result below it, a chart, and what another library shows."""
    shown, values = Shown.of_profile(demo_profile(), title=TITLE), {"view": "op", "title": TITLE}
    chart: Any = demo_profile().widget("op", title=TITLE).chart
    others: dict[str, Any] = {"text/html": "<b>theirs</b>", "text/plain": "theirs"}
    return notebook_of(
        (LIVE, {}), mime_bundle(shown, values, block(shown, values)), chart._repr_mimebundle_(), (others, {})
    )


def exported(notebook: Any, name: str) -> tuple[str, dict[str, bytes]]:
    text, resources = get_exporter(name)().from_notebook_node(notebook)
    return text, resources["outputs"]


@pytest.mark.parametrize("name", ["tfprof-markdown", "tfprof-rst", "tfprof-asciidoc"])
def test_a_result_is_its_picture_and_its_rows_and_no_script(notebook: Any, name: str) -> None:
    text, pictures = exported(notebook, name)
    assert [content[:4] for content in pictures.values()] == [b"\x89PNG"] * 2
    assert all(text.count(file) == 1 for file in pictures)
    assert "MatMul" in text
    assert "theirs" in text
    assert not re.search(r"<script|base64|data-tfprof|application/vnd", text)


def test_markdown_has_captions_and_a_table(notebook: Any) -> None:
    markdown, pictures = exported(notebook, "tfprof-markdown")
    page = str(mistune.create_markdown(plugins=["table"])(markdown))
    captions = dict(zip(re.findall(r'<img src="([^"]+)"', page), re.findall(r'alt="([^"]+)"', page), strict=True))
    assert list(captions) == list(pictures)
    of_result, of_chart = captions.values()
    assert of_result.startswith(f"{TITLE} nodes 81 · steps 1")
    assert of_chart == f"{TITLE} · Time by op type"
    assert page.count("<table>") == 1


def test_a_chart_without_a_picture_stays_as_it_is() -> None:
    """As that of another library, or where vl-convert is not installed."""
    data = {"application/vnd.vegalite.v6+json": {"mark": "bar"}, "text/plain": "a chart of theirs"}
    assert "a chart of theirs" in exported(notebook_of((data, {})), "tfprof-markdown")[0]
