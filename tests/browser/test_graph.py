"""The graph as a picture: boxes that open, keys along the edges, links with the tables, and what is said of it."""

from __future__ import annotations

import re
from io import BytesIO
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tests.browser.test_accessibility import AXE, violations
from tests.sketches import profile_of
from tfprof_widget.demo import demo_profile
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.engine.measures import measures
from tfprof_widget.profiles.options import Options

SVG = "{http://www.w3.org/2000/svg}"
# Two layers one after the other, of which the first has two ops; scopes are layers where no model is known.
MODEL = """
    x = Placeholder() 1us
    first/mul = MatMul(x) 60us
    first/relu = Relu(first/mul) 20us
    second/mul = MatMul(first/relu) 19us
"""


@pytest.fixture
def picture(open_profile: Opening) -> Screen:
    screen = open_profile(profile_of(MODEL), title="two layers")
    show(screen)
    return screen


def show(screen: Screen) -> None:
    screen.tab("graph").click()
    expect(boxes(screen)).to_have_count(1)
    screen.until_painted()


def boxes(screen: Screen) -> Locator:
    """What takes the keys and the pointer."""
    return screen.root.get_by_role("listbox", name="boxes")


def said(screen: Screen) -> Locator:
    """The box that the keys are at, in words."""
    return boxes(screen).get_by_role("option")


def press(screen: Screen, *keys: str) -> None:
    boxes(screen).focus()
    for key in keys:
        screen.page.keyboard.press(key)


def test_arrow_keys_go_along_the_edges_and_tell_inputs_and_outputs(picture: Screen) -> None:
    expect(said(picture)).to_contain_text("none chosen")
    press(picture, "ArrowDown", "ArrowDown")
    expect(said(picture)).to_contain_text(re.compile(r"^first; 80 µs, 80\.0 % of all; 2 nodes; closed; .*from "))
    expect(said(picture)).to_contain_text("to second")
    press(picture, "ArrowDown")
    expect(said(picture)).to_contain_text("second")
    press(picture, "ArrowUp")
    expect(said(picture)).to_contain_text("first; 80 µs")


def test_a_box_opens_and_closes_by_keys(picture: Screen) -> None:
    """Its own boxes are then told one by one, with the outside that the first takes from."""
    press(picture, "Home", "ArrowDown", "Enter")
    expect(said(picture)).to_contain_text("; open;")
    press(picture, "ArrowDown")
    expect(said(picture)).to_contain_text(re.compile("^mul, MatMul; 60 µs, 60.0 % of all; .*from outside.*; to relu"))
    press(picture, "Escape", "Enter")
    expect(said(picture)).to_contain_text("first; 80 µs, 80.0 % of all; 2 nodes; closed")


def test_a_box_and_the_row_of_the_table_are_selected_together(picture: Screen) -> None:
    press(picture, "Home", "ArrowDown", " ")
    expect(picture.root.get_by_role("region", name="selection")).to_contain_text("Selected: first")
    picture.look_at("scope")
    expect(picture.row("first")).to_have_attribute("aria-selected", "true")
    picture.row("second").click()
    show(picture)
    expect(said(picture)).to_contain_text("second")
    expect(said(picture)).to_have_attribute("aria-selected", "true")


def test_the_search_opens_what_hides_a_node(picture: Screen) -> None:
    search = picture.root.get_by_role("searchbox")
    search.fill("relu")
    search.press("Enter")
    expect(said(picture)).to_contain_text("relu, Relu; 20 µs")
    expect(picture.root.get_by_role("button", name="close all boxes")).to_have_count(1)


def test_what_is_on_the_critical_path_is_told(demo: Screen) -> None:
    """The part of a layer's time, added up from the tables of Python."""
    profile = demo_profile()
    layers = node_layers(profile)
    place, on_path = layers.names.index("layer1"), set(profile.critical_path()["name"])
    micros = dict(zip(profile.nodes.names, measures(profile, Options.of()).columns["micros"].tolist(), strict=True))
    inside = [name for name, layer in zip(profile.nodes.names, layers.layer.tolist(), strict=True) if layer == place]
    part = sum(micros[name] for name in inside if name in on_path) / sum(micros[name] for name in inside)
    show(demo)
    press(demo, "Home", "ArrowDown")
    path = demo.root.get_by_role("region", name="critical path")
    expect(path.get_by_role("row").first).to_contain_text("layer1")
    path.get_by_role("button", name="layer2").click()
    expect(said(demo)).to_contain_text("layer2")
    press(demo, "ArrowUp")
    expect(said(demo)).to_contain_text(re.compile(rf"^layer1;.*; {part:.1%} of its time on".replace("%", " %")))


def test_nothing_is_said_of_a_path_that_is_not_known(open_profile: Opening) -> None:
    screen = open_profile(profile_of("first/mul = MatMul()\nsecond/mul = MatMul(first/mul)"))
    show(screen)
    press(screen, "Home")
    expect(said(screen)).to_contain_text("first")
    expect(said(screen)).not_to_contain_text("critical")
    expect(screen.root.get_by_role("list", name="legend")).not_to_contain_text("critical")


def test_the_tree_is_one_click_away(picture: Screen) -> None:
    picture.root.get_by_role("radio", name="tree").check(force=True)
    picture.until(lambda: "first/mul" in picture.names(), True)
    picture.root.get_by_role("radio", name="picture").check(force=True)
    expect(boxes(picture)).to_have_count(1)


def test_a_result_that_opens_at_the_graph_begins_with_the_tree(open_profile: Opening) -> None:
    """Python's options of that view are about the tree."""
    screen = open_profile(profile_of(MODEL), view="graph")
    screen.until(lambda: "first/mul" in screen.names(), True)


def test_a_click_selects_and_a_double_click_opens(picture: Screen) -> None:
    """The graph of four boxes is drawn one below the other in the middle: there is a box somewhere on that line."""
    box = boxes(picture).bounding_box()
    assert box
    for y in range(10, int(box["height"]), 12):
        picture.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + y)
        if picture.root.get_by_text("Selected: first").count():
            break
    expect(said(picture)).to_contain_text("first; 80 µs, 80.0 % of all; 2 nodes; closed")
    picture.page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + y)
    expect(said(picture)).to_contain_text("; open;")


def test_the_picture_is_exported_with_title_and_all_boxes(picture: Screen) -> None:
    svg = ElementTree.fromstring(picture.export("Graph as SVG"))
    texts = ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]
    assert "two layers · Graph, boxes filled by time" in texts
    assert {"first", "80 µs", "second", "19 µs"} <= set(texts)
    assert svg.find(f"{SVG}rect").attrib["fill"] == "#ffffff"  # type: ignore[union-attr]
    with Image.open(BytesIO(picture.export("Graph as PNG"))) as png:
        assert png.size == (2 * int(svg.attrib["width"]), 2 * int(svg.attrib["height"]))
        assert [round(dots) for dots in png.info["dpi"]] == [192, 192]
        assert png.convert("RGB").getpixel((2, 2)) == (255, 255, 255)


def test_axe_finds_nothing_in_the_picture(open_profile: Opening) -> None:
    screen = open_profile(profile_of(MODEL))
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    show(screen)
    press(screen, "Home", "ArrowDown", "Enter", " ")
    screen.root.get_by_role("searchbox").fill("mul")
    expect(said(screen)).to_contain_text("; open;")
    assert violations(screen.page) == []
