"""Each output escapes what its readers act on: docs/trust.md lists them, and this is where each is looked at."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import warnings
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import mistune
import pytest

from tests.cli.pseudo_terminal import ROOT, PseudoTerminal
from tests.hostile.names import CLOSING, FILED_NAMES, HOSTILE, NAMES, hostile_profile, unseen
from tfprof_widget.api.profile import Profile, load
from tfprof_widget.charts.chart import Subject
from tfprof_widget.charts.kinds import CHARTS, described
from tfprof_widget.charts.pictures import svg as drawn
from tfprof_widget.cli.session import Terminal, fitted
from tfprof_widget.ingest.files import reading as loading_progress
from tfprof_widget.lib.errors import ProfileError, ProfileWarning
from tfprof_widget.lib.messages import GraphDef, RunMetadata, message_class
from tfprof_widget.magic.profiling import ProgressLine
from tfprof_widget.output.destination import write_pprof, write_timeline
from tfprof_widget.output.html import table
from tfprof_widget.output.tabular import markdown
from tfprof_widget.widget.report import report
from tfprof_widget.widget.scriptless import plain_bars
from tfprof_widget.widget.shown import Shown

VIEWS = ("scope", "graph", "op", "code")
COLUMNS = ["micros", "device", "op_types", "input_shapes"]
ERASED = "\x1b[2J"
ERASED_SHOWN = r"\x1b[2J"


@pytest.fixture(scope="module")
def profile() -> Profile:
    return hostile_profile()


@pytest.mark.parametrize("view", VIEWS)
def test_text_has_nothing_unseen(profile: Profile, view: str) -> None:
    text = profile.view(view, select=COLUMNS).text()
    assert unseen(text, but="\n\t" if view == "op" else "\n") == set()  # native has tabs between input shapes
    assert [each.shown for each in HOSTILE if each.shown not in text] == []


@pytest.mark.parametrize("view", ["scope", "graph", "code"])
def test_a_name_makes_no_rows_of_its_own(profile: Profile, view: str) -> None:
    rows = profile.view(view, select=["micros"])
    printed = rows.text().partition("node name |")[2].splitlines()
    assert len(printed) == 1 + len(rows)


@pytest.mark.parametrize("view", VIEWS)
def test_what_python_shows_of_a_view_has_nothing_unseen(profile: Profile, view: str) -> None:
    assert unseen(repr(profile.view(view, select=COLUMNS)), but="\n\t") == set()


@pytest.mark.parametrize("view", VIEWS)
def test_a_terminal_gets_no_commands_but_our_colours(profile: Profile, view: str) -> None:
    shown = fitted(profile.view(view, select=COLUMNS), Terminal(100, coloured=True))
    assert unseen(re.sub(r"\x1b\[\d*m", "", shown), but="\n\t") == set()


def test_advice_has_nothing_unseen() -> None:
    run_meta = RunMetadata()
    stats = run_meta.step_stats.dev_stats.add(device="/cpu:0").node_stats.add(node_name=ERASED, all_start_micros=1)
    stats.op_end_rel_micros, stats.op_end_rel_nanos = 10, 10_000
    advice = Profile.from_protos(GraphDef(node=[{"name": ERASED, "op": "Op"}]), run_meta).advice()
    assert ERASED in "".join(str(each) for reports in advice.reports.values() for each in reports)
    assert ERASED_SHOWN in advice.text()
    assert unseen(advice.text()) == set()


def test_the_command_line_has_nothing_unseen(saved: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tfprof_widget", "scope", f"--profile_path={saved}", "--select=micros,device"],
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        check=True,
    )
    assert r"\x9b31mred" in done.stdout
    assert unseen(done.stdout + done.stderr) == set()


def test_the_command_line_at_a_terminal_sends_it_no_commands(saved: Path) -> None:
    with PseudoTerminal("scope", f"--profile_path={saved}", columns=100) as terminal:
        assert terminal.wait() == 0
        shown = terminal.seen
        assert r"\x9b31mred" in shown
        assert unseen(re.sub(r"\x1b\[\d*m", "", shown), but="\r\n") == set()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "profile"
    hostile_profile(FILED_NAMES).save(path)
    return path


def test_errors_have_nothing_unseen(tmp_path: Path) -> None:
    assert str(ProfileError(f"node {ERASED}\nis damaged")) == f"node {ERASED_SHOWN}\nis damaged"
    with pytest.raises(ProfileError) as missing:
        load(tmp_path / f"{ERASED}\u202e")
    assert unseen(str(missing.value)) == set()
    done = subprocess.run(
        [sys.executable, "-m", "tfprof_widget", "scope", f"--graph_path={tmp_path}/{ERASED}"],
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        check=False,
    )
    assert (done.returncode, unseen(done.stderr)) == (1, set())


def test_warnings_have_nothing_unseen() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(f"node {ERASED}", ProfileWarning, stacklevel=1)
    assert str(caught[0].message) == f"node {ERASED_SHOWN}"


def test_the_line_of_a_long_cell_has_nothing_unseen() -> None:
    shown: list[str] = []
    line = ProgressLine(lambda: f"tfprof: {ERASED}\nMatMul", shown.append, after=0.0)
    line.start()
    while not shown:
        pass
    line.stop()
    assert shown[0] == rf"tfprof: {ERASED_SHOWN}\nMatMul"


def test_the_bar_of_a_long_load_has_nothing_unseen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loading_progress, "_is_watched", lambda: True)
    monkeypatch.setattr(loading_progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(loading_progress, "REFRESH_SECONDS", 0.01)
    shown = ""
    with loading_progress.progress("loading", 10) as advance:
        advance(f"reading {ERASED}", 5)
        while ERASED_SHOWN not in shown:
            shown += capsys.readouterr().err
    assert ERASED not in shown


class Page(HTMLParser):
    """The tags, handlers and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.titles: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}
        self.titles += [value or "" for name, value in attributes if name in ("title", "alt")]
        self._in_script = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        self.text += "" if self._in_script else data


TABLE_TAGS = {"div", "style", "table", "caption", "b", "thead", "tbody", "tfoot", "tr", "th", "td", "span"}
PAGE_TAGS = {"html", "head", "meta", "title", "body", "main", "h1", "h2", "h3", "p", "ol", "li", "img", "script"}
ATTRIBUTES = {
    "aria-label",
    *("class", "translate", "dir", "scope", "rowspan", "colspan", "style", "title", "lang", "charset", "name"),
    *(
        "content",
        "http-equiv",
        "data-tfprof",
        "data-static",
        "data-part",
        "data-version",
        "type",
        "alt",
        "width",
        "height",
        "src",
    ),
}


@pytest.mark.parametrize("view", VIEWS)
def test_html_shows_names_as_text(profile: Profile, view: str) -> None:
    page = Page(table(profile.view(view, select=COLUMNS)))
    assert set(page.tags) <= TABLE_TAGS
    assert page.attributes <= ATTRIBUTES
    assert unseen("".join((page.text, *page.titles))) == set()
    assert [each.shown for each in HOSTILE if each.shown not in page.text] == []


def test_the_page_and_the_block_show_names_as_text(profile: Profile) -> None:
    written = report(Shown.of_profile(profile, view="op", title=f"{CLOSING}{ERASED}"))
    page = Page(written)
    assert set(page.tags) <= TABLE_TAGS | PAGE_TAGS
    assert page.attributes <= ATTRIBUTES
    assert page.tags.count("script") == written.count('<script type="text/plain" data-part="') + 1
    assert unseen("".join((page.text, *page.titles))) == set()
    assert f"{CLOSING}{ERASED_SHOWN}" in page.text


@pytest.mark.parametrize("view", VIEWS)
def test_markdown_shows_names_as_text(profile: Profile, view: str) -> None:
    rendered = mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "url", "math", "footnotes"])
    page = markdown(profile.view(view, select=["micros"]), f"{CLOSING}\n# x", [])
    assert unseen(page) == set()
    shown = Page(str(rendered(page)))
    assert set(shown.tags) == {"h1", "p", "table", "thead", "tbody", "tr", "th", "td"}
    if view != "code":  # which cuts functions short
        names = [each.shown for each in HOSTILE]
        parts = [part for name in names for part in (name.split("/") if view == "scope" else [name])]
        assert [part for part in parts if part.strip() not in shown.text] == []
    # JupyterLab and GitHub take these for mathematics, whatever is before them.
    assert not re.search(r"\$|\\\\[(\[]", page)


def test_pictures_show_names_as_text(profile: Profile) -> None:
    shown = Subject(profile.view("op"), name=CLOSING, about=CLOSING)
    pictures = [plain_bars(CHARTS["op types"].content(shown))]
    for chart in CHARTS:
        with suppress(ProfileError):  # of what this profile has nothing
            pictures.append(drawn(described(chart, shown)))
    assert len(pictures) > 3
    for picture in pictures:
        svg = ElementTree.fromstring(picture)
        tags = {each.tag.rpartition("}")[2] for each in svg.iter()}
        assert tags <= {"svg", "style", "text", "rect", "g", "path", "defs", "clipPath", "line", "title", "tspan"}
        assert unseen("".join(svg.itertext())) == set()
        assert not [name for each in svg.iter() for name in each.attrib if name.startswith("on")]


def test_timeline_is_json_that_keeps_the_names(profile: Profile, tmp_path: Path) -> None:
    """What reads it takes it for data: a viewer in a browser, which shows text, or a program."""
    (path,) = write_timeline(profile.view("graph"), tmp_path / "timeline.json")
    written = Path(path).read_text(encoding="utf-8")
    assert unseen(written) == set()
    names = {event["name"] for event in json.loads(written)["traceEvents"] if event["ph"] == "X"}
    assert {CLOSING, f"{ERASED}\x1b]0;owned\x07"} <= names


def test_pprof_prints_to_a_terminal_and_gets_nothing_unseen(profile: Profile, tmp_path: Path) -> None:
    write_pprof(profile.view("code", select=["micros"]), tmp_path / "profile.gz")
    content = gzip.decompress((tmp_path / "profile.gz").read_bytes())
    strings = message_class("Profile").FromString(content).string_table
    assert unseen("".join(strings)) == set()
    assert ERASED_SHOWN in "".join(strings)


def test_frames_and_saved_profiles_keep_the_names_for_programs(profile: Profile, saved: Path) -> None:
    assert set(NAMES) <= set(profile.view("graph").to_dataframe()["name"])
    assert set(FILED_NAMES) <= set(Profile.load(saved).nodes.names)


def test_the_list_spells_out_what_is_not_seen_and_nothing_else() -> None:
    assert [each.name for each in HOSTILE if bool(each.spelled) != bool(unseen(each.name, but=""))] == []
    assert len(set(NAMES)) == len(NAMES)


def test_a_file_with_controls_in_its_names_is_not_taken_for_a_profile(profile: Profile, tmp_path: Path) -> None:
    profile.save(tmp_path / "profile")
    with pytest.raises(ProfileError, match="this is none of"):
        load(tmp_path / "profile")
