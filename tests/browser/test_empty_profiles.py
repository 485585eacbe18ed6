"""Where there is nothing to show it says why, and what to do about it."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Opening
from tests.browser.expected import status_of
from tests.browser.screen import Screen
from tests.made import changed
from tests.sketches import profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile, recorded


def test_a_profile_of_nothing(open_profile: Opening) -> None:
    screen = open_profile(Profile.from_protos(b""))
    for view in ("scope", "graph", "op"):
        screen.look_at(view)
        expect(screen.root).to_contain_text("The profile has no nodes")
    screen.look_at("code")
    expect(screen.root).to_contain_text("no code traces; give an op_log")
    screen.look_at("timeline")
    expect(screen.root).to_contain_text("%%tfprof")
    screen.look_at("memory")
    expect(screen.root).to_contain_text("profile a run")
    screen.look_at("advise")
    expect(screen.root.get_by_role("tabpanel")).not_to_be_empty()


def test_a_graph_that_never_ran(open_profile: Opening) -> None:
    profile = Profile.from_protos(recorded("graph"))
    screen = open_profile(profile)
    expect(screen.status).to_have_text(status_of(profile, "scope"))
    expect(screen.root.get_by_role("complementary", name="charts")).to_contain_text("nothing was run", ignore_case=True)
    screen.look_at("timeline")
    expect(screen.root.get_by_role("region", name="timeline")).to_contain_text("No run was recorded")
    expect(screen.root.get_by_role("region", name="timeline")).to_contain_text("RunMetadata")
    screen.look_at("memory")
    expect(screen.root.get_by_role("tabpanel")).to_contain_text("Nothing was run")


def test_runs_without_traces_have_no_code_view(open_profile: Opening) -> None:
    screen = open_profile(profile_of("a = MatMul() 4us"))
    screen.look_at("code")
    expect(screen.root.locator(".empty")).to_contain_text("no code traces; give an op_log")
    screen.root.get_by_role("button", name="show scopes").click()
    expect(screen.row("a")).to_be_visible()


def test_ops_that_ran_one_by_one_have_no_lines_and_the_way_out_is_told(open_profile: Opening) -> None:
    screen = open_profile(changed(profile_of("a = MatMul() 4us"), step_names=("eager ops",)))
    screen.look_at("code")
    expect(screen.root.locator(".empty")).to_contain_text("put them into a tf.function to see their lines")


def test_a_report_may_start_at_a_view_that_is_empty(open_profile: Opening) -> None:
    screen = open_profile(profile_of("a = MatMul() 4us"), view="code")
    expect(screen.root.locator(".empty")).to_contain_text("no code traces; give an op_log")


def test_thresholds_out_of_reach_say_how_far(demo: Screen) -> None:
    """The whole step took 320.8 µs."""
    demo.look_at("op").type_number("min_micros", "1 s")
    expect(demo.root.locator(".empty")).to_contain_text("min_micros = 1 s: the largest has 320.8 µs")
    demo.root.get_by_role("button", name="reset min_micros").click()
    expect(demo.status).to_have_text(status_of(demo_profile(), "op"))


def test_filters_that_exclude_each_other_are_named(demo: Screen) -> None:
    demo.type_regexes("show_name_regexes", "layer1.*")
    demo.type_regexes("hide_name_regexes", ".*")
    empty = demo.root.locator(".empty")
    expect(empty).to_contain_text("show_name_regexes = layer1.* and hide_name_regexes = .*")
    empty.get_by_role("button", name="reset all filters").click()
    expect(demo.grid).to_be_visible()
