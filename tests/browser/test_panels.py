"""Memory over time and the advice."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.made import profile_of_tables
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.lib.messages import GraphDef, RunMetadata


def test_memory_tells_the_peak_and_whose_it_was(demo: Screen) -> None:
    """At the peak layer1's gradient held 784 x 128 floats, 401,408 bytes."""
    demo.look_at("memory")
    expect(demo.root.get_by_role("region", name="memory over time")).to_contain_text("peak 440.1 kB")
    expect(demo.root.locator(".memory svg").first).to_be_visible()
    holders = demo.root.get_by_role("table", name=re.compile("Alive at the peak"))
    first = holders.locator("tbody tr").first
    expect(first).to_contain_text("gradients/layer1/MatMul_grad/MatMul_1")
    expect(first.get_by_role("cell", name="401.4 kB")).to_have_attribute("title", "401,408 B")
    first.get_by_role("button").click()
    demo.look_at("scope")
    expect(demo.row("gradients/layer1/MatMul_grad/MatMul_1")).to_have_attribute("aria-selected", "true")


def test_memory_is_that_of_the_runs_that_are_chosen(open_profile: Opening) -> None:
    """The warm-up takes the most, and is in no mean that it is not asked for."""
    gathered = Gathered()
    gathered.add_graph(GraphDef(node=[{"name": "a", "op": "Mul"}]))
    for step, (name, size) in enumerate([("fit (warm-up)", 9_000), ("fit", 1_000), ("fit", 3_000), ("fit", 2_000)]):
        run_meta = RunMetadata()
        stats = run_meta.step_stats.dev_stats.add(device="/device:CPU:0").node_stats.add(node_name="a")
        stats.all_start_micros = stats.op_end_rel_micros = 10
        records = stats.memory.add(allocator_name="cpu", total_bytes=size).allocation_records
        records.add(alloc_micros=11, alloc_bytes=size)
        gathered.add_step(step, run_meta, name)
    screen = open_profile(profile_of_tables(gathered.tables())).look_at("memory")
    region = screen.root.get_by_role("region", name="memory over time")
    expect(region).to_contain_text("step 0 · fit (warm-up), the one with the largest peak")
    screen.root.get_by_role("combobox", name="step").select_option("fit: mean of 3")
    expect(region).to_contain_text("step 2 · fit, the one with the largest peak")
    expect(region).to_contain_text("peak 3 kB")


def test_advice_names_the_costliest_and_selects_it(demo: Screen) -> None:
    """The tab counts the reports; the costliest operation type is the matrix product."""
    expect(demo.tab("advise")).to_have_accessible_description(re.compile(r"^\d+ reports?$"))
    demo.look_at("advise")
    expect(demo.root.get_by_role("tabpanel")).to_contain_text("MatMul")
    demo.root.get_by_role("tabpanel").get_by_role("button", name="MatMul", exact=True).first.click()
    demo.look_at("op")
    expect(demo.row("MatMul")).to_have_attribute("aria-selected", "true")


def test_facts_say_how_it_was_measured(demo: Screen) -> None:
    facts = demo.root.locator(".facts")
    for fact in ("nodes 81", "steps 1", "executions 30"):
        expect(facts).to_contain_text(fact)
    expect(demo.root).to_contain_text("UTC · Python 3.")
