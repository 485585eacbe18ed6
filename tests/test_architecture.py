"""The package keeps its shape: rooms import downwards only, modules are deep and small, names stand for one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

PACKAGE = "tfprof_widget"
ROOT = Path(__file__).parent.parent / PACKAGE
MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
    if "_protos" not in path.parts
}

# From below to above. A room imports what is below it and itself, lazily or not; the root are the modules that users
# import by name. Rooms in one line do not import each other.
ROOMS = (
    ("_protos", "recorded", "static"),
    ("lib",),
    ("profiles",),
    ("engine",),
    ("ingest",),
    ("analysis",),
    ("output",),
    ("charts",),
    ("widget", "capturing"),
    ("api",),
    ("parallel", "jobs"),
    ("cli", "magic"),
    ("root",),
)
HEIGHTS = {room: height for height, rooms in enumerate(ROOMS) for room in rooms}
# The imports that go up, for types alone: the widget returns what it was given, which users call a Profile, and a View.
UPWARDS = {("tfprof_widget.widget.traits", f"tfprof_widget.api.{each}") for each in ("profile", "view")}
# Examples in docstrings use the demo, as users do.
SLOW = frozenset({"altair", "anywidget", "ipyparallel", "distributed", "pandas", "tensorflow"})
QUICK_TO_SHOW = {f"tfprof_widget.widget.{module}": {"anywidget"} for module in ("traits", "live", "jobs")}
"""What is imported when a widget is shown may import what shows it."""

PURE = frozenset({"profiles", "engine"})
IMPURITIES = frozenset({"altair", "google", "tensorflow", "traitlets"})
IMPURE_ROOMS = frozenset({"tfprof_widget.lib.messages", "tfprof_widget._protos"})
MOST_LINES = 400
MOST_MODULES = 265
MOST_SINGLE_IMPORTERS = 30
LISTS = frozenset({"tfprof_widget.charts.kinds"})
"""What lists rows of a kind, a module each: these are expected to have no other importer."""

When = Literal["at import", "in a function", "for types"]


@dataclass(frozen=True)
class Import:
    """What is imported, by its full name, and when."""

    name: str
    when: When


def test_every_module_keeps_the_rules() -> None:
    found = [fault for module, path in MODULES.items() for fault in faults(module, path.read_text(encoding="utf-8"))]
    assert found == []


def test_every_room_is_looked_at() -> None:
    assert {room_of(module) for module in MODULES} == HEIGHTS.keys() - {"_protos", "recorded", "static"}


def test_no_modules_import_each_other() -> None:
    """Neither lazily nor by way of others."""
    edges = {module: set(imported(module)) for module in MODULES}
    reached = dict(edges)
    for _ in range(len(MODULES)):
        wider = {module: found.union(*(reached[each] for each in found)) for module, found in reached.items()}
        if wider == reached:
            break
        reached = wider
    assert [module for module, found in reached.items() if module in found] == []


def test_modules_are_few_and_most_have_several_importers() -> None:
    importers: dict[str, set[str]] = defaultdict(set)
    for module in MODULES:
        for each in imported(module):
            importers[each].add(module)
    single = [
        each
        for each, found in importers.items()
        if len(found) == 1 and MODULES[each].name != "__init__.py" and not found <= LISTS
    ]
    assert len(MODULES) <= MOST_MODULES
    assert len(single) <= max(MOST_SINGLE_IMPORTERS, len(MODULES) // 5)


def test_a_class_name_stands_for_one_thing() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for module, path in MODULES.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(module)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_a_profile_is_made_in_one_place() -> None:
    """By assemble alone, but for the Profile of the same tables that users hold; and none is replaced."""
    makers = {module for module, call in calls() if call == "ProfileData"}
    assert makers == {"tfprof_widget.ingest.assemble"}
    assert {module for module, call in calls() if call == "replace"} <= {
        module
        for module, path in MODULES.items()
        if "replace(profile," not in (text := path.read_text(encoding="utf-8")) and "replace(tables," not in text
    }


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("profiles.options", "from tfprof_widget.engine.view import ViewData", "imports engine.view at import"),
        ("lib.text", "if True:\n    import tfprof_widget.api.profile", "imports api.profile at import"),
        ("engine.op", "def f():\n    from tfprof_widget.output import text", "imports output.text in a function"),
        ("widget.wire", "from tfprof_widget.capturing import hooks", "imports capturing.hooks at import"),
        ("output.text", "if TYPE_CHECKING:\n    from tfprof_widget.api.profile import View", "imports api.profile for"),
        ("lib.text", "import tfprof_widget", "imports tfprof_widget at import"),
        ("engine.op", "from .view import ViewData", "imports relatively"),
        ("gadgets.text", "", "is in no room"),
        ("output.tabular", "import pandas as pd", "imports pandas at import"),
        ("api.profile", "try:\n    import tensorflow.compat.v1 as tf\nfinally:\n    pass", "imports tensorflow at"),
        ("engine.op", "def f():\n    from google.protobuf import message", "imports google, and is to be pure"),
        ("engine.op", "from tfprof_widget.lib.messages import GraphDef", "imports lib.messages, and is to be pure"),
        ("output.text", "\n" * 401, "has 401 lines"),
        ("engine.op", "def f(name):\n    raise ValueError(name)", "raises a ValueError of any length"),
    ],
)
def test_broken_rule_is_found(module: str, source: str, fault: str) -> None:
    assert [found for found in faults(f"{PACKAGE}.{module}", source) if fault in found]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("api.profile", "def view(self):\n    from tfprof_widget.engine.evaluate import evaluate"),
        ("engine.view", "if TYPE_CHECKING:\n    from tfprof_widget.lib.messages import GraphNodeProto"),
        ("engine.op", "import numpy\nfrom tfprof_widget.engine.view import ViewData"),
        ("output.tabular", "def view_frame():\n    import pandas"),
        ("widget.traits", "if TYPE_CHECKING:\n    from tfprof_widget.api.profile import Profile"),
    ],
)
def test_kept_rule_is_no_fault(module: str, source: str) -> None:
    assert list(faults(f"{PACKAGE}.{module}", source)) == []


def faults(module: str, source: str) -> Iterator[str]:
    """What is wrong with a module, in words."""
    room = room_of(module)
    if room not in HEIGHTS:
        yield f"{module} is in no room: give it one of ROOMS"
        return
    lines = source.count("\n")
    if "raise ValueError(" in source:
        yield f"{module} raises a ValueError of any length: raise value_error"
    if lines > MOST_LINES:
        yield f"{module} has {lines} lines, {MOST_LINES} are the most: it wants to be two"
    for each in imports(ast.parse(source)):
        package, _, inner = each.name.partition(".")
        if each.name.startswith("."):
            yield f"{module} imports relatively: {each.name}"
        elif package == PACKAGE and not may_import(module, each):
            yield f"{module} imports {inner or package} {each.when}, which is not below it"
        if package in SLOW - QUICK_TO_SHOW.get(module, set()) and each.when == "at import":
            yield f"{module} imports {package} at import, which is slow"
        impure = package in IMPURITIES or each.name.startswith(tuple(IMPURE_ROOMS))
        if room in PURE and impure and each.when != "for types":
            yield f"{module} imports {inner if package == PACKAGE else package}, and is to be pure"


def may_import(module: str, each: Import) -> bool:
    """Whether this module of the package may import that one, and then."""
    own, other = room_of(module), room_of(each.name)
    if (module, each.name) in UPWARDS:
        return each.when == "for types"
    return own == other or HEIGHTS.get(other, len(ROOMS)) < HEIGHTS[own]


def room_of(module: str) -> str:
    """The room that a module is in.

    >>> room_of("tfprof_widget.ingest.live.graph"), room_of("tfprof_widget"), room_of("tfprof_widget.model_analyzer")
    ('ingest', 'root', 'root')
    """
    _, *parts = module.split(".")
    is_folder = parts and (
        f"{PACKAGE}.{parts[0]}" not in MODULES or MODULES[f"{PACKAGE}.{parts[0]}"].name == "__init__.py"
    )
    return parts[0] if is_folder else "root"


def imported(module: str) -> Iterator[str]:
    """The modules of the package that a module imports, those for types left out."""
    for each in imports(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if each.when != "for types" and each.name in MODULES and each.name != module:
            yield each.name


def imports(tree: ast.AST, when: When = "at import") -> Iterator[Import]:
    """All imports in a syntax tree, however deep."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, when) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from imports_from(node, when)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imports(node, "in a function")
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from imports(ast.Module(node.body, []), "for types")
            yield from imports(ast.Module(node.orelse, []), when)
        else:
            yield from imports(node, when)


def imports_from(node: ast.ImportFrom, when: When) -> Iterator[Import]:
    """What a `from … import …` imports: the modules among the names, else the module named after `from`."""
    source = "." * node.level + (node.module or "")
    names = [f"{source}.{alias.name}" for alias in node.names]
    modules = [name for name in names if name in MODULES]
    yield from (Import(name, when) for name in modules)
    if len(modules) < len(names):
        yield Import(source, when)


def calls() -> Iterator[tuple[str, str]]:
    """The names that are called in each module."""
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield module, node.func.id
