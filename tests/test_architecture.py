"""The package keeps its shape: imports flow one way, slow packages wait until they are used, modules stay small."""

from __future__ import annotations

import ast
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
}

# Each part of the package may import the parts above its line, and itself.
LAYERS = (
    ("visible",),
    ("_version", "errors", "memory", "options", "tables", "_protos"),
    ("integers", "step_names"),
    ("intervals",),
    ("profiles", "messages", "option_builder"),
    ("engine", "ingest"),
    ("cluster",),
    ("cutting",),
    ("output", "flops", "merging"),
    ("loading",),
    ("capturing",),
    ("parallel",),
    ("advisor",),
    ("charts", "wire", "static_files", "option_texts"),
    ("exhibit",),
    ("report",),
    ("widget",),
    ("compat",),
    ("profile_context", "demo"),
    ("magic", "cli"),
    ("__main__",),
)
HEIGHTS = {part: height for height, parts in enumerate(LAYERS) for part in parts}

# The methods of what users hold: they may reach these parts once called.
FACADES = {
    "tfprof_widget": frozenset(HEIGHTS),
    "tfprof_widget.api.profile": frozenset(
        {"advisor", "cluster", "engine", "flops", "ingest", "loading", "output", "widget"}
    ),
    "tfprof_widget.api.result": frozenset({"advisor", "exhibit", "report", "widget"}),
    "tfprof_widget.engine.view": frozenset({"output"}),
}

SLOW = frozenset({"altair", "pandas", "tensorflow"})
PURE = frozenset({"engine", "options", "profiles", "tables"})
IMPURITIES = frozenset({"altair", "google", "tensorflow", "traitlets", "messages", "_protos"})
MOST_LINES = 400

When = Literal["at import", "in a function", "for types"]


@dataclass(frozen=True)
class Import:
    """What is imported, by its full name, and when."""

    name: str
    when: When

    @property
    def part(self) -> str:
        """The part of this package, or the foreign package."""
        head, *others = self.name.split(".")
        return others[0] if head == PACKAGE and others else head


@pytest.mark.parametrize("module", MODULES)
def test_module_keeps_the_rules(module: str) -> None:
    assert list(faults(module, MODULES[module].read_text(encoding="utf-8"))) == []


def test_every_layer_is_looked_at() -> None:
    assert {part_of(module) for module in MODULES} >= {PACKAGE, "options", "profiles", "engine", "ingest"}


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("profiles", "from tfprof_widget.engine.view import View", "imports engine at import"),
        ("options", "if True:\n    import tfprof_widget.api.profile", "imports profiles at import"),
        ("options", "class A:\n    from tfprof_widget import profiles", "imports profiles at import"),
        ("engine.op", "from tfprof_widget.ingest import wire", "imports ingest at import"),
        ("ingest.wire", "def f():\n    from tfprof_widget.engine import op", "imports engine in a function"),
        ("engine.op", "def f():\n    from tfprof_widget.output import text", "imports output in a function"),
        ("engine.view", "def f():\n    from tfprof_widget.ingest import wire", "imports ingest in a function"),
        ("output.text", "from tfprof_widget.model_analyzer import Profiler", "imports compat at import"),
        ("wire", "if TYPE_CHECKING:\n    from tfprof_widget.widget.traits import Widget", "imports widget for types"),
        ("demo", "from tfprof_widget import Profile", "imports Profile at import"),
        ("demo", "import tfprof_widget", "imports tfprof_widget at import"),
        ("engine.op", "from .view import View", "imports relatively"),
        ("gadgets", "", "has no layer"),
        ("output.frame", "import pandas as pd", "imports pandas at import"),
        ("compat", "try:\n    import tensorflow.compat.v1 as tf\nfinally:\n    pass", "imports tensorflow at import"),
        ("engine.op", "def f():\n    from google.protobuf import message", "imports google, and is to be pure"),
        ("engine.op", "from tfprof_widget.lib.messages import GraphDef", "imports messages, and is to be pure"),
        ("output.text", "\n" * 401, "has 401 lines"),
    ],
)
def test_broken_rule_is_found(module: str, source: str, fault: str) -> None:
    assert [found for found in faults(f"{PACKAGE}.{module}", source) if fault in found]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("profiles", "def view(self):\n    from tfprof_widget.engine.evaluate import evaluate"),
        ("profiles", "if TYPE_CHECKING:\n    from tfprof_widget.engine.view import View"),
        (
            "engine.view",
            "if TYPE_CHECKING:\n    import pandas\n    from tfprof_widget.lib.messages import GraphNodeProto",
        ),
        ("engine.op", "import numpy\nfrom tfprof_widget.engine.view import View"),
        ("output.frame", "def view_frame():\n    import pandas"),
    ],
)
def test_kept_rule_is_no_fault(module: str, source: str) -> None:
    assert list(faults(f"{PACKAGE}.{module}", source)) == []


def faults(module: str, source: str) -> Iterator[str]:
    """What is wrong with a module, in words."""
    part = part_of(module)
    if part != PACKAGE and part not in HEIGHTS:
        yield f"{module} has no layer: give it one in LAYERS"
        return
    lines = source.count("\n")
    if lines > MOST_LINES:
        yield f"{module} has {lines} lines, {MOST_LINES} are the most: it wants to be two"
    for each in imports(ast.parse(source)):
        if each.name.startswith("."):
            yield f"{module} imports relatively: {each.name}"
        elif each.name.split(".")[0] == PACKAGE and not may_import(module, each):
            yield f"{module} imports {each.part} {each.when}, which is not below it"
        if each.part in SLOW and each.when == "at import":
            yield f"{module} imports {each.part} at import, which is slow"
        if part in PURE and each.part in IMPURITIES and each.when != "for types":
            yield f"{module} imports {each.part}, and is to be pure"


def may_import(module: str, each: Import) -> bool:
    """Whether this part of the package may be imported by this module, and then."""
    if each.when != "at import" and each.part in FACADES.get(module, ()):
        return True
    part = part_of(module)
    if each.part not in HEIGHTS or part not in HEIGHTS:
        return False
    return each.part == part or HEIGHTS[each.part] < HEIGHTS[part]


def part_of(module: str) -> str:
    """The part of the package that a module belongs to; the package's own name for its `__init__`.

    >>> part_of("tfprof_widget.engine.view")
    'engine'
    """
    return Import(module, "at import").part


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
    """What a `from … import …` imports: from the package itself its parts, else the module named after `from`."""
    source = "." * node.level + (node.module or "")
    if source == PACKAGE:
        yield from (Import(f"{PACKAGE}.{alias.name}", when) for alias in node.names)
    else:
        yield Import(source, when)
