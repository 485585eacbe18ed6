"""Memory over time and the advice."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import expect

from tests.analysis.test_device_steps import profile_of as profile_of_space
from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.browser.test_accessibility import AXE, violations
from tests.ingest.spaces import Space
from tests.ingest.test_xspace_accelerators import allocation
from tests.made import profile_of_tables
from tests.widget.test_accelerators import with_memory
from tfprof_widget.demo import demo_profile
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.lib.messages import GraphDef, RunMetadata
from tfprof_widget.profiles.devices import CPU_MEMORY
from tfprof_widget.widget.report import report
from tfprof_widget.widget.shown import Shown, ShownGraph, starting_options


def test_memory_tells_the_peak_and_whose_it_was(demo: Screen) -> None:
    """At the peak layer1's gradient held 784 x 128 floats, 401,408 bytes, and its weights as much."""
    demo.look_at("memory")
    expect(demo.root.get_by_role("region", name="memory over time")).to_contain_text("peak 847.2 kB")
    expect(demo.root.locator(".memory svg").first).to_be_visible()
    holders = demo.root.get_by_role("table", name=re.compile("Alive at the peak"))
    first = holders.locator("tbody tr").first
    expect(first).to_contain_text("gradients/layer1/MatMul_grad/MatMul_1")
    expect(first.get_by_role("cell", name="401.4 kB")).to_have_attribute("title", "401,408 B")
    first.get_by_role("button").first.click()
    demo.look_at("scope")
    expect(demo.row("gradients/layer1/MatMul_grad/MatMul_1")).to_have_attribute("aria-selected", "true")


def test_a_click_on_the_curve_tells_what_is_alive_then(demo: Screen) -> None:
    """Before the first op the weights are alive: 101,770 floats of 4 bytes."""
    demo.look_at("memory")
    moments = demo.root.get_by_role("listbox", name=re.compile("Memory over time"))
    moments.get_by_role("option").first.click()
    kinds = demo.root.get_by_role("list", name="held for")
    expect(kinds).to_have_text("weights 407.1 kB 100.0 %")
    expect(demo.root.get_by_role("table", name=re.compile("Alive at 0")).locator("tbody tr")).to_have_count(4)
    moments.get_by_role("option").last.focus()
    demo.page.keyboard.press("ArrowLeft")
    demo.page.keyboard.press("Enter")
    expect(kinds).to_contain_text("gradients")
    demo.root.get_by_role("button", name="back to the peak").click()
    expect(demo.root.get_by_role("table", name=re.compile("Alive at the peak"))).to_be_visible()


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
    """What costs most is no finding, so the tab counts none; the costliest operation type is the matrix product."""
    expect(demo.tab("advise")).to_have_accessible_description("")
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


def test_accelerators_tell_what_they_did_and_what_their_allocators_had(open_profile: Opening) -> None:
    """In a step of 10 µs: 4 of compute, 3 of copies that nothing hides, and nothing."""
    screen = open_profile(profile_of_space(with_memory()), view="memory")
    memory = screen.root.get_by_role("region", name="memory by allocator")
    expect(memory.get_by_role("row").nth(1)).to_have_text(re.compile(r"GPU_0_bfc.*GPU:0.*8.19 kB"))
    expect(memory.locator("svg").first).to_be_visible()
    screen.look_at("workers")
    row = screen.root.get_by_role("region", name="accelerators").get_by_role("row").nth(1)
    parts = ["10 µs", "4 µs · 40.0 %", "\N{EN DASH}", "3 µs · 30.0 %", "3 µs · 30.0 %"]
    expect(row.get_by_role("cell")).to_have_text(parts)
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert violations(screen.page) == []


def test_peaks_of_several_allocators_can_be_read(open_profile: Opening) -> None:
    """Four TPUs are full at once, having held different amounts before; they tell of no op."""
    space = Space()
    space.add("XLA Ops", "%fusion.1 = f32[8] fusion(…)", 1000, 10_000, "/device:TPU:0")
    for number in range(4):
        for at, held in ((1000, 2**27 * (number + 1)), (9000, 2**30)):
            memory = {"index_on_host": number, "bytes_allocated": held, "requested_bytes": 64, "addr": 1}
            space.add("pool", "MemoryAllocation", at, 0, **memory)
    screen = open_profile(profile_of_space(space), view="memory")
    memory_tab = screen.root.get_by_role("tabpanel")
    expect(memory_tab).to_contain_text("TensorFlow did not record which ops held this memory.")
    labels = memory_tab.locator("svg text").filter(has_text="peak 1.07 GB")
    expect(labels).to_have_count(4)
    boxes = [box for label in labels.all() if (box := label.bounding_box()) is not None]
    for above, below in pairwise(sorted(boxes, key=lambda box: box["y"])):
        assert above["y"] + above["height"] <= below["y"] + 1 or above["x"] + above["width"] <= below["x"]


def test_a_note_on_memory_leads_to_the_memory_and_is_told_there(open_file: Opening, tmp_path: Path) -> None:
    """It says nothing of times, so it is not among the notes on what is shown first; other notes are."""
    profile, other = demo_profile(), "2 runs were not counted, having ended in an exception"
    for notes in ((other, CPU_MEMORY), (other,)):
        graph = ShownGraph("a", profile, (), notes)
        file = tmp_path / "page.html"
        file.write_text(report(Shown("", (graph,), "op", starting_options(profile, {}))), encoding="utf-8")
        screen = open_file(file)
        expect(screen.root.get_by_role("list", name="notes")).to_have_text(other)
        link = screen.root.get_by_role("button", name="memory in part")
        if CPU_MEMORY in notes:
            link.click()
            expect(screen.tab("memory")).to_have_attribute("aria-selected", "true")
            expect(screen.root.locator(".facts")).to_contain_text(CPU_MEMORY)
        else:
            expect(screen.root.locator(".facts")).to_have_count(1)
            screen.look_at("memory")
            expect(screen.root.get_by_role("region", name="memory over time")).to_be_visible()
        expect(link).to_have_count(0)


def test_without_an_accelerator_there_is_memory_by_allocator_but_no_tab_of_workers(open_profile: Opening) -> None:
    """TensorFlow tells of its allocator on CPUs, too."""
    space = Space()
    space.add("pool", "dense/MatMul:MatMul", 1000, 10_000)
    space.add("pool", "MemoryAllocation", 1500, 0, **allocation("dense/MatMul", "mklcpu", 64, 4096))
    screen = open_profile(profile_of_space(space), view="memory")
    memory = screen.root.get_by_role("region", name="memory by allocator")
    expect(memory.get_by_role("row").nth(1)).to_have_text(re.compile(r"mklcpu.*CPU:0.*4.10 kB"))
    expect(screen.tab("timeline")).to_be_visible()
    expect(screen.tab("workers")).to_have_count(0)
