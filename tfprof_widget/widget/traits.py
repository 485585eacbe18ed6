"""Shares options and columns with the page: the widget, whose traits both sides set; the page evaluates the views."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import anywidget
import traitlets

from tfprof_widget.charts.pictures import WIDTH_INCHES, altair_chart, save_picture
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.lib.static_files import static_bytes
from tfprof_widget.output.tabular import markdown
from tfprof_widget.profiles.options import METRICS, OPTIONS, SAVES, TABS, VIEWS, Option
from tfprof_widget.widget.cut_plan import Wanted
from tfprof_widget.widget.history import RunningRace, ShownHistory
from tfprof_widget.widget.report import CARRIED, block, page_template, report
from tfprof_widget.widget.scriptless import chart_of, mime_bundle, short_text, static_html
from tfprof_widget.widget.shown import Shown

if TYPE_CHECKING:
    import altair
    import pandas

    from tfprof_widget.api.profile import Profile
    from tfprof_widget.api.view import View


class Assets(anywidget.AnyWidget):
    """What all widgets of a kernel share, sent once: the code that comes later, and the page of a report."""

    _esm = "export default {}"
    panels = traitlets.Bytes().tag(sync=True)
    carried = traitlets.Bytes().tag(sync=True)
    charts = traitlets.Bytes().tag(sync=True)
    page = traitlets.Unicode().tag(sync=True)
    # For each run of a notebook, the cell whose output has the code of charts and graph for all results.
    carriers = traitlets.Dict()

    def is_carrier(self, cell: str | None, run: str = "") -> bool:
        """Whether the output of a cell has the code that lies once: that of the first one, also when it runs again.

        Where cells have no names the outputs cannot be told apart, so each has it: else a cell that runs again would
        take it away from the others.

        >>> assets = Assets()
        >>> [assets.is_carrier(cell) for cell in ("a", "b", "a", None, "b")]
        [True, False, True, True, False]
        """
        return cell is None or self.carriers.setdefault(run, cell) == cell


def _trait(option: Option) -> traitlets.TraitType[Any, Any]:
    match option.kind:
        case "integer":
            trait: traitlets.TraitType[Any, Any] = traitlets.Int(option.default, min=option.minimum, help=option.help)
        case "flag":
            trait = traitlets.Bool(option.default, help=option.help)
        case "choice":
            trait = traitlets.Enum(option.choices, option.default, help=option.help)
        case "choices":
            trait = traitlets.List(traitlets.Enum(option.choices), list(option.default), help=option.help)
        case _:
            trait = traitlets.List(traitlets.Unicode(), list(option.default), help=option.help)
    return trait.tag(sync=True)


_TRAITS = {option.name: _trait(option) for option in OPTIONS if option.kind != "text"}
# The traits that a saved page keeps beside the options.
SHOWN = ("view", "metric", "graph", "selection", "search", "title", "_column_widths", "_about", "_history")
OptionTraits: Any = type("OptionTraits", (traitlets.HasTraits,), _TRAITS)


class TfprofWidget(anywidget.AnyWidget, OptionTraits):  # type: ignore[misc]
    """A widget that shows profiles: every option of tfprof is a trait, and so are the view and the selection.

    >>> from tfprof_widget.demo import demo_profile
    >>> widget = TfprofWidget(demo_profile())
    >>> widget.view, widget.min_micros = "op", 100
    >>> widget.to_dataframe()["name"].tolist()
    ['MatMul', 'Relu', 'ApplyGradientDescent']
    """

    _esm = traitlets.Unicode().tag(sync=True)
    view = traitlets.Enum(TABS, "overview").tag(sync=True)
    metric = traitlets.Enum(METRICS, "time").tag(sync=True)
    graph = traitlets.Int(0, min=0).tag(sync=True)
    selection = traitlets.List(traitlets.Unicode()).tag(sync=True)
    search = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    # In pixels, by view and column, where the reader changed them.
    _column_widths: Any = traitlets.Dict().tag(sync=True)
    # What a notebook keeps of this widget; empty for what it keeps of all.
    save = traitlets.Enum(("", *SAVES), "")
    _race: RunningRace | None = None
    _about = traitlets.Unicode().tag(sync=True)
    _id = traitlets.Unicode().tag(sync=True)
    _graphs: Any = traitlets.List().tag(sync=True)
    _history: Any = traitlets.Dict().tag(sync=True)
    _assets = anywidget.WidgetTrait().tag(sync=True)

    def __init__(self, shown: Shown | Profile, **options: Any) -> None:
        shown = shown if isinstance(shown, Shown) else Shown.of_profile(shown, **options)
        self._shown = shown
        super().__init__(
            _esm=widget_code(),
            _assets=shared_assets(),
            _graphs=[dict(graph.to_browser) for graph in shown.graphs],
            _about=shown.about,
            _history=dict(shown.history.to_browser) if shown.history is not None else {},
            _id=uuid.uuid4().hex,
            title=shown.title,
            view=shown.view,
            **{name: list(value) if isinstance(value, tuple) else value for name, value in shown.options.items()},
        )
        self.on_msg(_answer)

    @traitlets.observe("graph")
    def _show_its_runs(self, change: Any) -> None:
        """Choose the runs of the new graph: it has none of the old one's."""
        if change["new"] < len(self._shown.graphs):
            self.step, self.run_name_regexes = -1, list(self._shown.graphs[change["new"]].run_name_regexes)

    @traitlets.validate("graph")
    def _one_of_the_graphs(self, proposal: Any) -> int:
        count = len(self._shown.graphs)
        if proposal["value"] >= count:
            raise traitlets.TraitError(f"graph is {proposal['value']}, but there are {count}, counted from 0")
        return int(proposal["value"])

    @property
    def profile(self) -> Profile:
        """The profile of the graph that is shown."""
        return cast("Profile", self._shown.graphs[self.graph].profile)

    def current(self) -> View:
        """The shown view, evaluated in Python; on a tab that is no view, the scope view."""
        options = {option.name: getattr(self, option.name) for option in OPTIONS if option.kind != "text"}
        return self.profile.view(self.view if self.view in VIEWS else "scope", **options)

    def to_dataframe(self) -> pandas.DataFrame:
        """The rows that are shown."""
        return self.current().to_dataframe()

    @property
    def chart(self) -> altair.LayerChart | altair.Chart:
        """The chart of what each op type costs in the shown view, to go on with in altair."""
        return altair_chart(chart_of(self._shown, self._saved_traits()))

    def save_chart(
        self,
        path: str | PathLike[str],
        chart: str = "op types",
        *,
        theme: str = "light",
        width: float = WIDTH_INCHES,
        title: str | None = None,
        span: tuple[float, float] | None = None,
    ) -> None:
        """Write a chart of what is shown as SVG, PNG or PDF, by the suffix of the path.

        `chart` is one of "overview", "layers", "op types", "scopes", "steps", "memory", "timeline", "workers",
        "roofline" and "advice". The picture has a title, of the result's name and the chart's, and a caption that
        says how it was measured. It is `width` inches wide. Of the timeline the `span` is drawn, two times in seconds.
        The colours are those of the `theme` "light" or "dark".

        >>> import tempfile
        >>> from pathlib import Path
        >>> from tfprof_widget.demo import demo_profile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     demo_profile().widget(title="digits").save_chart(Path(folder, "memory.svg"), "memory")
        ...     Path(folder, "memory.svg").read_text()[:4]
        '<svg'
        """
        values = self._saved_traits()
        spec = chart_of(self._shown, values, chart, theme=theme, width=width, title=title, span=span)
        save_picture(path, spec)

    def save_report(self, path: str | PathLike[str]) -> None:
        """Write one page that works like the widget, sliders included, in any browser and without a kernel."""
        write_whole(path, report(self._shown, self._saved_traits()).encode())

    def to_markdown(self) -> str:
        """The shown rows as a Markdown document that says how they were measured."""
        view = self.current()
        facts = [f"{fact.label} **{fact.value}**" for fact in self._shown.graphs[self.graph].facts_of(view.options)]
        return markdown(view, self.title or "tfprof", [" · ".join(facts), self._about])

    def _saved_traits(self) -> dict[str, Any]:
        """The traits that a saved page starts with."""
        return {name: getattr(self, name) for name in (*_TRAITS, *SHOWN)}

    def _ipython_display_(self) -> None:
        self.show()

    def show(self, places: Sequence[str] = ()) -> None:
        """Show the widget, and after it the block that takes its place when there is no kernel any more.

        If `places` are given, they are the display ids of two outputs that the two take.
        """
        from IPython.display import display

        bundle: Any = self._repr_mimebundle_()
        # Beside the data there may be what the host needs to know, as Colab where the manager of widgets is.
        live, described = bundle if isinstance(bundle, tuple) else (bundle, {})
        if live is None:
            return
        kept = self.save or _usually_saved()
        text = {"text/plain": "" if kept != "none" else short_text(self._shown, self._saved_traits())}
        first, second = ({"display_id": place, "update": True} for place in places) if places else ({}, {})
        display(live | text, metadata=described, raw=True, **first)
        data, sizes = self._saved_result(kept) if kept != "none" else ({}, {})
        if data or second:
            display(data, metadata=sizes, raw=True, **second)

    def _saved_result(self, kept: str) -> tuple[dict[str, str], dict[str, Any]]:
        """What the notebook keeps for the time without a kernel: a page, or only what needs no scripts."""
        values = self._saved_traits()
        if kept == "picture":
            # The live widget hides it, as it hides a page.
            html = f'<div data-tfprof="{self._id}">{static_html(self._shown, values, hint="")}</div>'
        else:
            html = block(self._shown, values, self._id, is_carrier=shared_assets().is_carrier(*_cell()))
        return mime_bundle(self._shown, values, html)


def _usually_saved() -> str:
    """What the notebook keeps of results, by `%config TfprofMagics.save`."""
    from IPython.core.getipython import get_ipython

    manager: Any = getattr(get_ipython(), "magics_manager", None)
    kept: str = getattr(getattr(manager, "registry", {}).get("TfprofMagics"), "save", SAVES[0])
    return kept


def _cell() -> tuple[str | None, str]:
    """What tells the cell that runs from others, and what tells this run of the notebook from others.

    JupyterLab and Notebook 7 name the cell. nbclient, and so nbconvert, papermill and books, runs each cell of a
    notebook once in a session, so a cell is told by its code. Of other hosts nothing is known.
    """
    from IPython.core.getipython import get_ipython

    match getattr(get_ipython(), "get_parent", dict)():
        case {"metadata": {"cellId": str(cell)}} if cell:
            return cell, ""
        case {"header": {"msg_id": str(message), "session": str(session)}, "content": {"code": str(code)}}:
            return (code, session) if re.fullmatch(rf"{re.escape(session)}_\d+_\d+", message) else (None, "")
    return None, ""


def _answer(widget: TfprofWidget, message: Any, _buffers: Any) -> None:
    """Answer the front end: js/src/data/model.ts asks for the code, js/src/views/cut_graph.tsx for what was cut."""
    match message:
        case {"request": "code"}:
            # Asked by front ends that cannot look up the widget of the assets: marimo, anywidget before 0.11.
            assets = shared_assets()
            widget.send({"answer": "code", "page": assets.page}, [assets.panels, assets.carried, assets.charts])
        case {"request": "rows", "graph": int(graph), "wanted": dict(wanted)}:
            _send_rows(widget, graph, Wanted.of(wanted))
        case {"request": "comparison", "before": list(before), "after": list(after)}:
            _send_comparison(widget, before, after)
        case {"request": "race", "before": list(before), "after": list(after)}:
            _start_race(widget, before, after)
        case {"request": "stop race"} if widget._race is not None:
            widget._race.stop()


def _send_rows(widget: TfprofWidget, graph: int, wanted: Wanted) -> None:
    """Cut the graph again so that what is wanted stays, and report progress meanwhile."""
    shown = widget._shown.graphs[graph]
    try:
        rest = dict(shown.cut_again(wanted, lambda text: widget.send({"answer": "progress", "text": text})))
    except (ProfileError, ValueError) as error:
        widget.send({"answer": "failed", "reason": str(error)})
        return
    columns = rest.pop("columns")
    widget.send({"answer": "rows", "graph": graph, **rest}, [columns])


def _send_comparison(widget: TfprofWidget, before: list[Any], after: list[Any]) -> None:
    """Compare two groups of runs of the history."""
    try:
        found = _history(widget).described([int(place) for place in before], [int(place) for place in after])
    except (ProfileError, ValueError) as error:
        widget.send({"answer": "comparison failed", "reason": str(error)})
        return
    widget.send({"answer": "comparison", "comparison": found})


def _start_race(widget: TfprofWidget, before: list[Any], after: list[Any]) -> None:
    """Run the code of two runs of the history in turns, if no such race goes on."""
    if widget._race is not None and not widget._race.is_over:
        return
    try:
        places = [int(place) for place in before], [int(place) for place in after]
        widget._race = _history(widget).race(*places, widget.send)
    except Exception as error:  # as that of code which does not compile
        widget.send({"answer": "race failed", "reason": str(error)})
        return
    widget._race.start()


def _history(widget: TfprofWidget) -> ShownHistory:
    if widget._shown.history is None:
        raise ProfileError("the kernel keeps no runs of this cell")
    return widget._shown.history


def shared_assets() -> Assets:
    """The assets of this kernel's widgets, made again if they were closed."""
    shared = _shared()
    if not shared or shared[0].comm is None:
        code = {name: static_bytes(f"{name}.js.gz") for name in ("panels", *CARRIED)}
        shared[:] = [Assets(**code, page=page_template())]
    return shared[0]


@cache
def widget_code() -> str:
    """The code that draws a widget: one text in memory for all widgets."""
    return static_bytes("widget.js").decode()


@cache
def _shared() -> list[Assets]:
    return []
