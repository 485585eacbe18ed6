"""Exporters of nbconvert that put pictures and tables in the place of results: `--to tfprof-markdown` and the like.

A result is HTML first, for that is what notebooks show; nbconvert's own exporters to Markdown, reStructuredText and
AsciiDoc take it as it is, with its scripts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbconvert.exporters import ASCIIDocExporter, MarkdownExporter, RSTExporter
from nbconvert.preprocessors import Preprocessor
from traitlets import Unicode

from tfprof_widget.output.tabular import escaped

_LIVE = "application/vnd.jupyter.widget-view+json"
_CHART = "application/vnd.vegalite.v6+json"


class PlainResults(Preprocessor):
    """Leaves of each result its picture, and its table in the format of the document.

    >>> from nbformat import from_dict
    >>> data = {"text/html": '<div data-tfprof="x">', "image/png": "", "text/markdown": "|", "text/plain": "a"}
    >>> cell = from_dict({"outputs": [{"output_type": "display_data", "data": data, "metadata": {}}]})
    >>> [sorted(output.data) for output in PlainResults().preprocess_cell(cell, {}, 0)[0].outputs]
    [['image/png'], ['text/markdown']]
    """

    enabled = True
    table = Unicode("text/markdown", help="The type of the table.").tag(config=True)

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        """Take the page, and the widget before it, out of a cell's outputs."""
        if "outputs" in cell:
            cell.outputs = [plain for output in cell.outputs for plain in self._plain(output)]
        return cell, resources

    def _plain(self, output: Any) -> Iterator[Any]:
        data = output.get("data", {})
        if _LIVE in data and not data.get("text/plain"):
            return
        is_result = "data-tfprof=" in data.get("text/html", "")
        if not is_result and not {_CHART, "image/png"} <= data.keys():
            yield output
            return
        text = data.get(self.table, "") if is_result else escaped(data.get("text/plain", ""))
        file = output.get("metadata", {}).get("filenames", {}).get("image/png")
        if file and self.table == "text/markdown":
            # The head line is the caption; else it would be nbconvert's word for any picture.
            caption, _, table = text.partition("\n\n")
            yield _part(output, {self.table: f"![{caption.replace('**', '')}]({file})\n\n{table}"})
            return
        if "image/png" in data:
            yield _part(output, {"image/png": data["image/png"]})
        if is_result:
            yield _part(output, {self.table: text})


def _part(output: Any, data: dict[str, str]) -> Any:
    """An output with these data alone."""
    part = output.copy()
    part["data"] = data
    return part


class _Plain:
    """What these exporters have in common; `table` is the type of the tables."""

    table = "text/plain"

    def __init__(self, *given: Any, **how: Any) -> None:
        super().__init__(*given, **how)
        exporter: Any = self
        plain: Any = PlainResults
        exporter.register_preprocessor(plain(table=self.table), enabled=True)


class TfprofMarkdownExporter(_Plain, MarkdownExporter):
    """Markdown with pictures and tables of results.

    >>> TfprofMarkdownExporter().file_extension
    '.md'
    """

    table = "text/markdown"
    export_from_notebook = "Markdown with tfprof's pictures"


class TfprofRSTExporter(_Plain, RSTExporter):
    """The same as reStructuredText.

    >>> TfprofRSTExporter().file_extension
    '.rst'
    """

    export_from_notebook = "reStructuredText with tfprof's pictures"


class TfprofASCIIDocExporter(_Plain, ASCIIDocExporter):
    """The same as AsciiDoc.

    >>> TfprofASCIIDocExporter().file_extension
    '.asciidoc'
    """

    export_from_notebook = "AsciiDoc with tfprof's pictures"
