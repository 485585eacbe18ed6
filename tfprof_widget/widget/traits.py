"""Shares options and columns with the page: the widget, whose traits both sides set; the page evaluates the views."""

from __future__ import annotations

import uuid
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import anywidget
import traitlets

from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.safely import write_whole
from tfprof_widget.output.tabular import markdown
from tfprof_widget.profiles.options import METRICS, OPTIONS, TABS, VIEWS, Option
from tfprof_widget.widget.cut_plan import Wanted
from tfprof_widget.widget.report import block, page_template, report, static_bytes, static_view
from tfprof_widget.widget.shown import Shown

if TYPE_CHECKING:
    import altair
    import pandas

    from tfprof_widget.api.profile import Profile, View


class Assets(anywidget.AnyWidget):
    """What all widgets of a kernel share, sent once: the code of panels and charts, and the page of a report."""

    _esm = "export default {}"
    panels = traitlets.Bytes().tag(sync=True)
    charts = traitlets.Bytes().tag(sync=True)
    page = traitlets.Unicode().tag(sync=True)


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
SHOWN = ("view", "metric", "graph", "selection", "search", "title", "_about")
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
    view = traitlets.Enum(TABS, "scope").tag(sync=True)
    metric = traitlets.Enum(METRICS, "time").tag(sync=True)
    graph = traitlets.Int(0, min=0).tag(sync=True)
    selection = traitlets.List(traitlets.Unicode()).tag(sync=True)
    search = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    _about = traitlets.Unicode().tag(sync=True)
    _id = traitlets.Unicode().tag(sync=True)
    _graphs: Any = traitlets.List().tag(sync=True)
    _assets = anywidget.WidgetTrait().tag(sync=True)

    def __init__(self, shown: Shown | Profile, **options: Any) -> None:
        shown = shown if isinstance(shown, Shown) else Shown.of_profile(shown, **options)
        self._shown = shown
        super().__init__(
            _esm=_code(),
            _assets=shared_assets(),
            _graphs=[dict(graph.to_browser) for graph in shown.graphs],
            _about=shown.about,
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
    def chart(self) -> altair.LayerChart:
        """The chart of what each op type costs in the shown view."""
        from tfprof_widget.widget.charts import chart_of

        return chart_of(self.current(), self.metric)

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
        """Show the widget, and after it the block that takes its place when there is no kernel any more."""
        from IPython.display import display

        bundle = self._repr_mimebundle_()
        live = bundle[0] if isinstance(bundle, tuple) else bundle
        if live is None:
            return
        saved = block(self._shown, self._saved_traits(), self._id, has_charts=_CARRIER.is_chosen(_cell()))
        display({**live, "text/plain": ""}, raw=True)
        display({"text/html": saved, "text/plain": repr(static_view(self.profile, self._saved_traits())[0])}, raw=True)


class _Carrier:
    """The cell whose output has the code of the charts for all results of a notebook.

    Where cells have no names the outputs cannot be told apart, so each has it: else a cell that runs again would take
    it away from the others.

    >>> carrier = _Carrier()
    >>> [carrier.is_chosen(cell) for cell in ("a", "b", "a", None, "b")]
    [True, False, True, True, False]
    """

    def __init__(self) -> None:
        self._cell: str | None = None

    def is_chosen(self, cell: str | None) -> bool:
        """Whether the output of this cell has the code: the first one's has, also when it runs again."""
        self._cell = self._cell or cell
        return cell is None or cell == self._cell


_CARRIER = _Carrier()


def _cell() -> str | None:
    """The name of the cell that runs, as JupyterLab and Notebook 7 tell it; None elsewhere."""
    from IPython.core.getipython import get_ipython

    parent: Any = getattr(get_ipython(), "get_parent", dict)()
    cell = parent.get("metadata", {}).get("cellId") if isinstance(parent, dict) else None
    return cell if isinstance(cell, str) and cell else None


def _answer(widget: TfprofWidget, message: Any, _buffers: Any) -> None:
    """Answer the front end: js/src/data/model.ts asks for the code, js/src/views/cut_graph.tsx for what was cut."""
    match message:
        case {"ask": "code"}:
            # Asked by front ends that cannot look up the widget of the assets: marimo, anywidget before 0.11.
            assets = shared_assets()
            widget.send({"told": "code", "page": assets.page}, [assets.panels, assets.charts])
        case {"ask": "rest", "graph": int(graph), "wanted": dict(wanted)}:
            _send_rest(widget, graph, Wanted.of(wanted))


def _send_rest(widget: TfprofWidget, graph: int, wanted: Wanted) -> None:
    """Cut the graph again so that what is wanted stays, and report progress meanwhile."""
    shown = widget._shown.graphs[graph]
    try:
        rest = dict(shown.cut_again(wanted, lambda text: widget.send({"told": "progress", "text": text})))
    except (ProfileError, ValueError) as error:
        widget.send({"told": "failed", "reason": str(error)})
        return
    columns = rest.pop("columns")
    widget.send({"told": "rest", "graph": graph, **rest}, [columns])


def shared_assets() -> Assets:
    """The assets of this kernel's widgets, made again if they were closed."""
    shared = _shared()
    if not shared or shared[0].comm is None:
        panels, charts = (static_bytes(f"{name}.js.gz") for name in ("panels", "charts"))
        shared[:] = [Assets(panels=panels, charts=charts, page=page_template())]
    return shared[0]


@cache
def _code() -> str:
    """The code that draws a widget: one text in memory for all widgets."""
    return static_bytes("widget.js").decode()


@cache
def _shared() -> list[Assets]:
    return []
