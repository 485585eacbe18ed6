"""The panel of workers, tasks and transfers, the controls of workers, and both in the timeline."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.analysis.cluster.clusters import PS0, PS1, WORKER0, WORKER1, Came, Event, Ran, run_of
from tests.browser.conftest import Opening
from tests.browser.page import model_profile
from tests.browser.screen import Screen
from tests.browser.test_accessibility import AXE, violations
from tests.sketches import profile_of
from tfprof_widget import merge
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.messages import GraphDef

COMPARED = "What workers take a step, those rows first in which they differ most"
TIMES, MINUS = "\N{MULTIPLICATION SIGN}", "\N{MINUS SIGN}"

STEP: list[Event] = [
    *(Ran(PS0, "w0", 100, 10), Ran(PS1, "w1", 100, 10)),
    *(Came(WORKER0, "w0", PS0, 120, 40, 40_000), Came(WORKER0, "w1", PS1, 120, 80, 90_000)),
    *(Ran(WORKER0, "grad", 200, 300), Came(PS1, "grad", WORKER0, 510, 90, 90_000), Ran(PS1, "train", 600, 40)),
    Ran(WORKER1, "other", 150, 50),
]
"""Worker 0 gets variables from both servers, and gives one of them a gradient."""


def cluster_profile() -> Profile:
    """Two servers and two workers; the parameters are shared out as tfprof's documents describe."""
    graph = GraphDef()
    for name, task, rows in (("w0", PS0, 25_810), ("w1", PS1, 58_840)):
        node = graph.node.add(name=name, op="VariableV2", device=f"{task}/device:CPU:0")
        for size in (rows, 1000):
            node.attr["shape"].shape.dim.add(size=size)
    graph.node.extend(GraphDef(node=[{"name": name, "op": "NoOp"} for name in ("grad", "train", "other")]).node)
    return Profile.from_protos(graph, run_of(*STEP))


def worker(a: int, b: int) -> Profile:
    return profile_of(f"""
        net/a = MatMul() {a}us
        net/b = Relu() {b}us
    """)


THREE = {"w1": worker(10, 5), "w2": worker(40, 5), "w10": worker(10, 5)}
PAIR = {"before": worker(40, 5), "after": worker(10, 6)}


@pytest.fixture
def cluster(open_profile: Opening) -> Screen:
    return open_profile(cluster_profile(), view="workers")


def table(screen: Screen, name: str) -> Locator:
    return screen.root.get_by_role("table", name=name, exact=True)


def texts(rows: Locator) -> list[list[str]]:
    """The texts of the cells of each row."""
    found: list[list[str]] = rows.evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
    return found


def test_one_process_has_no_tab_of_workers(demo: Screen) -> None:
    expect(demo.tab("advise")).to_be_visible()
    expect(demo.tab("workers")).to_have_count(0)


def test_asked_for_without_workers_it_says_why_it_is_empty(open_profile: Opening) -> None:
    screen = open_profile(worker(1, 2), view="workers")
    expect(screen.root.get_by_role("tabpanel")).to_contain_text("one process's, and nothing went between devices")
    expect(screen.root.get_by_role("tabpanel")).to_contain_text("tfprof_widget.merge")


def test_tasks_are_told_with_what_they_did(cluster: Screen) -> None:
    """From 100 to 640 us: worker 0 ran for 300 of them, and got 130,000 bytes."""
    rows = table(cluster, "What each task did in a step").locator("tbody tr")
    expect(rows).to_have_count(4)
    told = {cells[0].split("\n")[0].split(" ▲")[0]: cells[1:] for cells in texts(rows)}
    assert list(told) == ["ps 0", "ps 1", "worker 0", "worker 1"]
    busy, operations, sent, received = told["worker 0"][:4]
    assert (busy, operations, sent, received) == ("56 %", "300 µs", "90 kB", "130 kB")


def test_parameters_are_shown_in_the_ratio_of_the_documents(cluster: Screen) -> None:
    """25,810,000 beside 58,840,000; the mean of both is 42,325,000."""
    parameters = cluster.root.get_by_role("region", name="parameters", exact=True)
    expect(parameters).to_contain_text(f"ps 1 holds 58.8 M of 84.7 M, 1.39 {TIMES} the mean")
    rows = table(cluster, "Parameters by task").locator("tbody tr")
    assert texts(rows) == [
        ["ps 0", "", "25.8 M", f"0.61 {TIMES}", "1"],
        ["ps 1", "", "58.8 M", f"1.39 {TIMES}", "1"],
    ]
    widths = rows.locator(".gauge > i").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert widths[0] / widths[1] == pytest.approx(25.81 / 58.84, abs=0.01)


def test_links_are_a_matrix_of_bytes_and_rates(cluster: Screen) -> None:
    """Nothing came to worker 1; 90,000 bytes in 80 us are 1.125 GB/s."""
    matrix = table(cluster, "What each task got from each other")
    expect(matrix.get_by_role("columnheader")).to_have_text(["from ↓ to →", "ps 1", "worker 0"])
    expect(matrix.get_by_role("rowheader")).to_have_text(["ps 0", "ps 1", "worker 0"])
    cell = matrix.locator("tbody tr").nth(1).locator("td").nth(1)
    expect(cell).to_contain_text("90 kB")
    expect(cell).to_contain_text(re.compile(r"1\.1\d GB/s"))
    expect(cell).to_have_attribute("title", "90,000 B in 1 transfers by RecvTensor")


def test_transfers_are_sorted_by_the_head_of_a_column(cluster: Screen) -> None:
    moved = table(cluster, "Tensors that devices got from others")
    names = moved.locator("tbody th")
    expect(names).to_have_text(["grad", "w1", "w0"])
    expect(moved.get_by_role("columnheader", name="time")).to_have_attribute("aria-sort", "descending")
    head = moved.get_by_role("columnheader", name="tensor")
    head.get_by_role("button").focus()
    cluster.page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(names).to_have_text(["grad", "w0", "w1"])
    moved.get_by_role("columnheader", name="bytes").get_by_role("button").click()
    expect(names.last).to_have_text("w0")


def test_a_tensor_selects_the_node_that_made_it(cluster: Screen) -> None:
    moved = table(cluster, "Tensors that devices got from others")
    moved.get_by_role("button", name="grad", exact=True).click()
    cluster.look_at("op").look_at("scope")
    expect(cluster.row("grad")).to_have_attribute("aria-selected", "true")


def test_workers_are_compared_those_rows_first_that_differ_most(open_profile: Opening) -> None:
    screen = open_profile(merge(THREE), view="workers")
    compared = table(screen, COMPARED)
    expect(compared.get_by_role("columnheader")).to_have_text(
        ["name", "workers", "mean", "spread", "w1", "w2", "w10"], use_inner_text=True
    )
    assert texts(compared.locator("tbody tr")) == [
        ["all", "", "25 µs", f"1.80 {TIMES}", "15 µs", "45 µs", "15 µs"],
        ["net/a", "", "20 µs", f"2.00 {TIMES}", "10 µs", "40 µs", "10 µs"],
        ["net/b", "", "5 µs", f"1.00 {TIMES}", "5 µs", "5 µs", "5 µs"],
    ]
    dots = compared.locator("tbody tr").nth(1).locator(".dot")
    assert dots.evaluate_all("dots => dots.map(dot => dot.style.insetInlineStart)") == ["25%", "100%", "25%"]
    screen.choice("rows of").select_option("op")
    expect(compared.locator("tbody th")).to_have_text(["all", "MatMul", "Relu"])
    compared.get_by_role("button", name="MatMul").click()
    screen.look_at("op")
    expect(screen.row("MatMul")).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize("view", ["scope", "op"])
def test_workers_are_compared_as_python_compares_them(open_profile: Opening, view: str) -> None:
    both = merge({"a": demo_profile(), "b": model_profile(50), "c": demo_profile()})
    screen = open_profile(both, view="workers")
    screen.choice("rows of").select_option(view)
    if view == "scope":
        screen.choice("part").select_option("total")
    rows = table(screen, COMPARED).locator("tbody tr")
    wanted = both.compare(view)
    wanted = wanted[(wanted[["a", "b", "c"]] > 0).any(axis=1) & (wanted["name"] != "_TFProfRoot")].head(10)
    costs = [[f"{cost:,.3f}".rstrip("0").rstrip(".") + " µs" for cost in row] for row in wanted[["a", "b", "c"]].values]
    read = "rows => rows.map(row => [...row.querySelectorAll('td[title]')].map(cell => cell.title))"
    screen.until(lambda: rows.evaluate_all(read)[1:11], costs)


def test_of_two_the_difference_and_ratio_are_told(open_profile: Opening) -> None:
    screen = open_profile(merge(PAIR), view="workers")
    compared = table(screen, COMPARED)
    first = compared.locator("tbody tr").nth(1)
    screen.until(lambda: texts(first), [["net/a", "", "40 µs", "10 µs", f"{MINUS}30 µs", f"0.25 {TIMES}"]])
    screen.root.get_by_role("button", name="swap").click()
    screen.until(lambda: texts(first), [["net/a", "", "10 µs", "40 µs", "+30 µs", f"4.00 {TIMES}"]])


def test_workers_have_controls(open_profile: Opening) -> None:
    """a takes 10, 40 and 10 us: 20 in the mean, 60 together, 40 on the slowest."""
    screen = open_profile(merge(THREE))
    screen.unfold_all()
    for across, time in (("mean", "20 µs"), ("sum", "60 µs"), ("slowest", "40 µs")):
        screen.choice("across_workers").select_option(across)
        expect(screen.cell("net/a", "own")).to_have_text(time)
    screen.choice("across_workers").select_option("mean")
    screen.choice("worker_regexes").fill("w1.*")
    screen.choice("worker_regexes").press("Enter")
    expect(screen.cell("net/a", "own")).to_have_text("10 µs")
    screen.choice("worker_regexes").fill("w[1")
    screen.choice("worker_regexes").press("Enter")
    expect(screen.choice("worker_regexes")).to_have_attribute("aria-invalid", "true")
    expect(screen.status).to_contain_text("worker_regexes")
    expect(screen.cell("net/a", "own")).to_have_text("10 µs")
    completed = screen.root.locator("datalist option").evaluate_all("all => all.map(each => each.value)")
    assert completed == ["w1", "w2", "w10"]
    expect(screen.root.get_by_role("combobox", name="step").locator("option")).to_have_count(2)


def test_one_process_has_no_controls_of_workers(demo: Screen) -> None:
    demo.show_all_options()
    expect(demo.choice("timing")).to_be_visible()
    expect(demo.choice("across_workers")).to_have_count(0)
    expect(demo.choice("worker_regexes")).to_have_count(0)


def test_transfers_are_in_the_timeline(cluster: Screen) -> None:
    cluster.look_at("timeline")
    expect(
        cluster.root.get_by_role("img", name=re.compile("^timeline of 5 executions and 3 transfers"))
    ).to_be_visible()
    expect(cluster.root.get_by_role("list", name="colours")).to_contain_text("transfer between devices")
    slices = cluster.root.get_by_role("listbox", name="slices")
    slices.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "Home"):
        slices.press(key)
    said = cluster.root.locator(".said")
    for fact in (r"transfer\s*RecvTensor", r"to\s*worker 0 · CPU:0", r"rate\s*1.13 GB/s"):
        expect(said).to_contain_text(re.compile(fact))


def test_workers_lie_below_each_other_in_the_timeline(open_profile: Opening) -> None:
    screen = open_profile(merge(PAIR), view="timeline")
    name = re.compile("^timeline of 4 executions in 1 step. before · CPU:0: .* after · CPU:0: ")
    expect(screen.root.get_by_role("img", name=name)).to_be_visible()


@pytest.mark.parametrize("kind", ["cluster", "workers"])
def test_axe_finds_nothing_serious(open_profile: Opening, kind: str) -> None:
    profile = cluster_profile() if kind == "cluster" else merge(THREE)
    screen = open_profile(profile, view="workers")
    expect(screen.root.locator(".workers table").first).to_be_visible()
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert violations(screen.page) == []


@pytest.mark.parametrize("width", [600, 340])
def test_a_narrow_page_does_not_scroll_across(open_profile: Opening, width: int) -> None:
    screen = open_profile(cluster_profile(), view="workers", viewport={"width": width, "height": 900})
    expect(table(screen, "What each task did in a step")).to_be_visible()
    assert screen.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    wide = screen.root.get_by_role("region", name="table of tasks")
    wide.focus()
    screen.page.keyboard.press("ArrowRight")
    screen.until(lambda: wide.evaluate("element => element.scrollLeft > 0"), True)


def test_contrast_of_the_system_leaves_the_pictures(open_profile: Opening) -> None:
    screen = open_profile(merge(THREE), view="workers", forced_colors="active")
    dot = screen.root.locator(".dot").first
    expect(dot).to_be_visible()
    colour = dot.evaluate("dot => getComputedStyle(dot).backgroundColor")
    ground = screen.root.evaluate("root => getComputedStyle(root).backgroundColor")
    assert colour != ground
