"""The table that notebooks show, read back cell by cell."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

import pytest

from tests.sketches import profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.api.view import View
from tfprof_widget.lib.messages import GraphDef, RunMetadata
from tfprof_widget.output.html import MOST_ROWS, as_html, brief_table, table
from tfprof_widget.output.tabular import markdown
from tfprof_widget.profiles.options import COLUMNS, VIEWS

PROFILE = profile_of("""
    layer/mul  = MatMul(layer/w) 150us 64B 8flops | train.py:3:main > ops.py:1:mul
    layer/w    = VariableV2() 50us 2x3            | train.py:3:main
    loss       = Mean(layer/mul) 200us            | train.py:4:main
""")
DASH = "\u2013"
VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}
TAGS = {"div", "style", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "b", "span"}


@dataclass
class Cell:
    """A cell of the table."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """What a browser makes of the HTML: it must close every tag that it opens."""

    html: str
    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    rows: dict[str, list[list[Cell]]] = field(default_factory=dict)
    caption: str = ""
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.tags.append((tag, attributes))
        if tag not in VOID:
            self._open.append(tag)
        if tag in ("thead", "tbody", "tfoot"):
            self.rows[tag] = []
        elif tag == "tr":
            self.rows[self._open[-2]].append([])
        elif tag in ("td", "th"):
            self.rows[self._open[-3]][-1].append(Cell(tag, attributes))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "caption" in self._open:
            self.caption += data
        elif "td" in self._open or "th" in self._open:
            self.rows[self._open[2]][-1][-1].text += data

    def texts(self, part: str) -> list[list[str]]:
        return [[cell.text for cell in row] for row in self.rows[part]]


def page(view: View) -> Page:
    return Page(table(view))


def test_names_and_own_and_total_of_the_selected_columns() -> None:
    found = page(PROFILE.view("scope", select=["micros", "bytes", "params"], order_by="micros"))
    assert found.caption == "scope view 5 rows · one step, nanosecond clock"
    assert found.texts("thead") == [["name", "time", "parameters", "requested"], ["own", "total"] * 3]
    assert found.texts("tbody") == [
        ["_TFProfRoot", DASH, "400 µs", DASH, "6", DASH, "64 B"],
        ["layer", DASH, "200 µs", DASH, "6", DASH, "64 B"],
        ["layer/mul", "150 µs", "150 µs", DASH, DASH, "64 B", "64 B"],
        ["layer/w", "50 µs", "50 µs", "6", "6", DASH, DASH],
        ["loss", "200 µs", "200 µs", DASH, DASH, DASH, DASH],
    ]
    assert "tfoot" not in found.rows


def test_the_totals_of_an_op_view_are_cumulative() -> None:
    found = page(PROFILE.view("op", select=["micros", "occurrence"], order_by="micros"))
    assert found.texts("thead") == [["name", "time", "runs", "defined"], ["own", "cumulative"] * 2]
    assert found.texts("tbody") == [
        ["Mean", "200 µs", "400 µs", "1", "3", "1"],
        ["MatMul", "150 µs", "200 µs", "1", "2", "1"],
        ["VariableV2", "50 µs", "50 µs", "1", "1", "1"],
    ]


def test_time_is_told_apart_where_there_is_an_accelerator() -> None:
    run_meta = RunMetadata()
    for device, micros in (("/job:w/device:GPU:0", 5), ("/device:GPU:0/stream:all", 70)):
        stats = run_meta.step_stats.dev_stats.add(device=device)
        stats.node_stats.add(node_name="a", all_start_micros=1, op_end_rel_micros=micros)
    profile = Profile.from_protos(GraphDef(node=[{"name": "a", "op": "Op"}]), run_meta)
    found = page(profile.view("op", select=["micros"]))
    assert found.texts("thead")[0] == ["name", "time", "accelerator", "cpu"]
    assert found.texts("tbody") == [["Op", "75 µs", "75 µs", "70 µs", "70 µs", "5 µs", "5 µs"]]


def bars(view: View) -> dict[str, str]:
    return {
        row[0].text: cell.attributes["style"]
        for row in page(view).rows["tbody"]
        for cell in row
        if cell.attributes.get("class") == "bar"
    }


def test_a_bar_behind_the_total_that_the_rows_are_ordered_by_with_the_own_part_marked() -> None:
    assert bars(PROFILE.view("scope", select=["bytes", "micros"], order_by="micros")) == {
        "_TFProfRoot": "--own:0.0%;--total:100.0%",
        "layer": "--own:0.0%;--total:50.0%",
        "layer/mul": "--own:37.5%;--total:37.5%",
        "layer/w": "--own:12.5%;--total:12.5%",
        "loss": "--own:50.0%;--total:50.0%",
    }


def test_the_bars_are_of_the_first_column_where_the_order_is_of_none() -> None:
    assert bars(PROFILE.view("scope", select=["bytes", "micros"]))["layer"] == "--own:0.0%;--total:100.0%"


def test_there_are_no_bars_where_there_is_nothing_to_compare() -> None:
    assert bars(profile_of("a = Op()").view("scope"))["a"] == "--own:0.0%;--total:0.0%"
    assert bars(PROFILE.view("scope", select=["device"])) == {}


def test_names_are_indented_by_depth_and_bounded() -> None:
    deep = "/".join("abcdefghijklmnopqrstuvwxyzabcdefgh")
    rows = page(profile_of(f"{deep} = Op()").view("scope")).rows["tbody"]
    widths = [int(re.findall(r"padding-left:(\d+)px", row[0].attributes["style"])[0]) for row in rows]
    assert widths[:3] == [8, 22, 36]
    assert widths == sorted(widths)
    assert max(widths) < 400


def test_a_name_shows_its_last_part_and_holds_all_of_it() -> None:
    html = table(PROFILE.view("scope", show_name_regexes=["layer.*"]))
    assert '<span class="above">layer/</span>mul</th>' in html
    assert 'title="layer/mul"' in html
    assert '"above"' not in table(PROFILE.view("scope", show_name_regexes=["layer/.*"]))
    assert '"above"' not in table(PROFILE.view("graph"))


@pytest.mark.parametrize("view", VIEWS)
def test_it_is_a_table_for_those_who_do_not_see_it(view: str) -> None:
    found = page(PROFILE.view(view, select=COLUMNS))
    assert found.caption
    assert all(row[0].tag == "th" and row[0].attributes["scope"] == "row" for row in found.rows["tbody"])
    assert all(cell.tag == "th" and "scope" in cell.attributes for row in found.rows["thead"] for cell in row)
    width = sum(int(cell.attributes.get("colspan", 1)) for cell in found.rows["thead"][0])
    assert {len(row) for row in found.rows["tbody"]} == {width}


@pytest.mark.parametrize("view", VIEWS)
def test_it_has_no_scripts_no_ids_and_no_way_out(view: str) -> None:
    found = page(PROFILE.view(view, select=COLUMNS))
    assert {tag for tag, _ in found.tags} <= {
        *["div", "style", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "b", "span"]
    }
    assert not [name for _, attributes in found.tags for name in attributes if name == "id" or name.startswith("on")]
    assert not re.search(r"url\(|@import|https?:|javascript:", found.html)


def test_every_rule_of_its_style_is_bound_to_its_class() -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", table(PROFILE.view("op")), re.DOTALL)
    selectors = [each.strip() for rule in re.findall(r"([^{}]+)\{", style) for each in rule.split(",")]
    assert selectors
    assert all(selector.startswith(".tfprof-view") for selector in selectors)


def test_its_colours_are_the_hosts_or_let_it_through() -> None:
    html = table(PROFILE.view("op"))
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgb\(|:\s*(white|black)", html)
    assert all(float(alpha) < 0.7 for alpha in re.findall(r"rgba\(\d+, \d+, \d+, ([\d.]+)\)", html))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ('"><img src=x onerror=alert(1)>', '"><img src=x onerror=alert(1)>'),
        ("a&amp;b", "a&amp;b"),
        ("'", "'"),
        ("a\nb", r"a\nb"),
        ("a\tb", r"a\tb"),
        ("a\0b", r"a\x00b"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("a\u200bb", r"a\u200bb"),
        ("a\u00a0b", r"a\xa0b"),
        ("\ufeff", r"\ufeff"),
        ("été 日本", "été 日本"),
    ],
)
@pytest.mark.parametrize("view", ["scope", "graph", "op"])
def test_names_show_what_they_hold_and_do_nothing(view: str, name: str, shown: str) -> None:
    graph = GraphDef(node=[{"name": name.replace("/", "|"), "op": name.replace("/", "|")}])
    found = page(Profile.from_protos(graph).view(view, select=["op_types", "micros"]))
    assert shown.replace("/", "|") in {row[0].text for row in found.rows["tbody"]}
    assert {tag for tag, _ in found.tags} <= {
        *["div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td", "b", "span"]
    }


def test_frames_of_the_code_view_and_devices_are_escaped_too() -> None:
    html = table(profile_of("a = <b>() 1us @/<i>/cpu:0 | <u>.py:1:<s>").view("code", select=["device", "op_types"]))
    assert not re.search("<(i|u|s)>", html)
    assert "&lt;u&gt;.py:1:&lt;s&gt;" in html
    assert "/&lt;i&gt;/cpu:0" in html


def test_line_ends_stay_where_lines_are_meant() -> None:
    assert as_html("a\nb\u2028") == "a\nb\\u2028"


def test_a_large_view_shows_its_first_rows_and_how_to_see_the_others() -> None:
    profile = profile_of("\n".join(f"n{i:04} = Op() 1us" for i in range(1500)))
    found = page(profile.view("scope"))
    assert len(found.rows["tbody"]) == MOST_ROWS == 200
    ((foot,),) = found.texts("tfoot")
    assert foot.startswith("1,301 rows more: see .to_dataframe() or .text()")
    assert len(found.html) < 100_000


@pytest.mark.parametrize(
    ("profile", "view", "options", "told"),
    [
        (Profile.from_protos(), "op", {}, "the profile has no nodes. Give a graph"),
        (Profile.from_protos(), "scope", {}, "the profile has no nodes. Give a graph"),
        (PROFILE, "op", {"start_name_regexes": ["x"]}, "no node passes start_name_regexes=['x']. Loosen one of these."),
        (PROFILE, "scope", {"min_micros": 10**9, "max_depth": 3}, "no node passes min_micros=1000000000. Loosen"),
        (PROFILE, "scope", {"across_workers": "sum", "max_depth": 0}, "no node passes max_depth=0. Loosen"),
        (
            PROFILE,
            "op",
            {"show_name_regexes": ["Mat|x"]},
            "no node passes show_name_regexes=['Mat|x']. Loosen one of "
            "these. show_name_regexes has to match whole names, as '.*(?:Mat|x).*' does.",
        ),
        (PROFILE, "graph", {"account_type_regexes": []}, "no node passes account_type_regexes=[]."),
        (PROFILE, "code", {"show_name_regexes": ["x"], "step": 0}, "no node passes show_name_regexes=['x']."),
    ],
)
def test_an_empty_view_says_why_and_what_to_do(
    profile: Profile, view: str, options: dict[str, object], told: str
) -> None:
    ((foot,),) = page(profile.view(view, **options)).texts("tfoot")
    assert foot.startswith(f"Nothing to show: {told}")


def test_a_graph_view_in_which_everything_is_a_cycle_says_so() -> None:
    ((foot,),) = page(profile_of("a = Op(b)\nb = Op(a)").view("graph")).texts("tfoot")
    assert foot.startswith("Nothing to show: none of the nodes is part of this view.")


@pytest.mark.parametrize(
    ("sketch", "options", "told"),
    [
        ("a = Op()", {}, "nothing was run"),
        ("a = Op() 1us", {}, "one step, nanosecond clock"),
        ("a = Op() 1us;1us", {}, "mean of 2 steps, nanosecond clock"),
        ("a = Op() 1us;1us", {"step": 1}, "step 1, nanosecond clock"),
        ("a = Op() 1us", {"timing": "tfprof"}, "one step, tfprof's clock of whole microseconds"),
    ],
)
def test_the_caption_says_how_it_was_measured(sketch: str, options: dict[str, object], told: str) -> None:
    assert page(profile_of(sketch).view("op", **options)).caption == f"op view 1 row · {told}"


def test_the_caption_counts_the_runs_that_were_chosen() -> None:
    profile = replace(profile_of("a = Op() 9us;1us;1us"), step_names=("fit (warm-up)", "fit", "fit"))
    assert page(profile.view("op", run_name_regexes=["fit"])).caption.endswith("mean of 2 steps, nanosecond clock")


def test_a_notebook_gets_text_and_table() -> None:
    view = PROFILE.view("op")
    assert view._repr_mimebundle_() == {"text/plain": repr(view), "text/html": table(view)}
    assert view._repr_html_() == table(view)


def test_hidden_ops_types_and_shapes() -> None:
    options = {"select": ["num_hidden_ops", "op_types", "input_shapes"], "hide_name_regexes": ["layer/w"]}
    found = page(PROFILE.view("scope", **options))
    assert found.texts("thead") == [["name", "hidden ops", "op types", "input shapes"], []]
    cpu = "/job:localhost/replica:0/task:0/device:cpu:0"
    assert found.texts("tbody")[1:] == [
        ["layer", "1", "", ""],
        ["layer/mul", "0", f"{cpu}\nMatMul", "0: unknown"],
        ["loss", "0", f"{cpu}\nMean", "0: unknown"],
    ]


def test_a_view_says_what_it_leaves_out() -> None:
    """Of 7 us, three rows have 2 + 1 us, which a depth of 2 hides; a line is known of 6 us."""
    profile = profile_of("a = Op() 4us | f.py:1:f\na/b = Op() 2us | f.py:1:f > f.py:2:g\na/b/c = Op() 1us")
    assert "Left out: 2 rows with 3 µs of their own, hidden by max_depth." in repr(profile.view("scope", max_depth=2))
    told = "Left out: 1 row with 2 µs of their own, hidden by max_depth; 1 µs of ops of which no line is known."
    assert repr(profile.view("code", max_depth=2)).endswith(told)
    ((foot,),) = page(profile.view("code", max_depth=2)).texts("tfoot")
    assert foot == told
    displayed = profile.view("scope", min_micros=3, account_displayed_op_only=True)
    assert repr(displayed).endswith("Left out: 1 row with 1 µs of their own, hidden by min_micros.")
    assert "Left out" not in repr(profile.view("scope", max_depth=4))
    assert "2 rows. Left out: 2 rows with 3 µs of their own, hidden by max\\_depth." in markdown(
        profile.view("scope", max_depth=2), "cut", []
    )


def brief(view: View, most: int) -> Page:
    return Page(brief_table(view, most))


def test_a_brief_table_has_the_costliest_rows_with_those_above_them_and_nothing_of_zeros() -> None:
    profile = profile_of("a/b/c = Op() 5us\na/d = Op() 9us 2x3\ne = Op() 1us\nf = Op()")
    found = brief(profile.view("scope", select=["bytes", "params", "micros"], order_by="micros"), 5)
    assert found.texts("thead") == [["name", "time", "parameters"], ["own", "total"] * 2]
    assert [row[0] for row in found.texts("tbody")] == [
        "all",
        "\u2003a",
        "\u2003\u2003d",
        "\u2003\u2003b",
        "\u2003\u2003\u2003c",
    ]
    assert [row[2] for row in found.texts("tbody")] == ["15 µs", "14 µs", "9 µs", "5 µs", "5 µs"]
    assert [row[0] for row in brief(profile.view("scope", order_by="micros"), 20).texts("tbody")][-1] == "\u2003e"


def test_a_brief_table_is_indented_where_styles_are_taken_away() -> None:
    html = brief_table(PROFILE.view("scope", order_by="micros"), 20)
    assert "padding-left:" not in html.partition("</style>")[2]
    assert 'title="layer/mul">&emsp;&emsp;mul</th>' in html


def test_a_brief_table_of_nothing_measured_has_the_first_rows() -> None:
    found = brief(profile_of("a = Op()\nb = Op()\nc = Op()").view("op", select=["micros"]), 2)
    assert found.texts("tbody") == [["Op"]]
    assert found.texts("thead") == [["name"], []]
