"""Random small models with their runs, written as sketches so that a failure can be read, and random options."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from tests.sketches import CPU, profile_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.engine.tree import ROOT_NAME
from tfprof_widget.profiles.options import ORDERS

# "b-1" and "b/1" stand on both sides of "/" in byte order; U+FF5E is before U+1D4B3 by code point, after it in UTF-16.
NAMES = (
    *("a", "a/b", "a/b/c", "a/b/c/conv", "a/b-1", "a/conv", "a/conv/b", "ab", "b", "b-1", "b/1", "b/1/2/3"),
    *("conv", "conv/été", "conv/été/a", "conv/conv", "conv/\uff5e", "conv/\U0001d4b3/b", "\uff5e", "\U0001d4b3/a/b"),
)
OPS = ("MatMul", "Add", "Const", "\U0001d4b3Op")
TYPES = ((), (), ("mine",), ("mine", "own/type"))
ACCELERATOR = "/device:GPU:0/stream:all"
# Executions of less than a microsecond are where the two clocks part.
EXECUTIONS = ((), (), (0,), (1,), (999,), (1000,), (1001, 1), (7_654_321,), (5, 20_000, 999))
MAIN, LAYER, SAME_LAYER, LONG = (
    "a.py:1:main",
    "b.py:2:layer",
    "x/b.py:2:layer",
    "c.py:3:a_function_with_quite_a_long_name",
)
STACKS = ((MAIN,), (MAIN, LAYER), (MAIN, LAYER, LONG), (MAIN, SAME_LAYER), (LAYER,), (LONG, MAIN), (MAIN, MAIN))
THRESHOLDS = ("micros", "accelerator_micros", "cpu_micros", "bytes", "params", "float_ops", "occurrence")
REGEXES_OF_TYPES = (*OPS, "mine", "own.*", ".*gpu.*", ".*", "_kTF.*")
REGEXES_OF_NAMES = ("start_name_regexes", "trim_name_regexes", "show_name_regexes", "hide_name_regexes")

BOUNDED = settings(max_examples=20)


@dataclass(frozen=True)
class Node:
    """A graph node as a sketch has it; `runs` has by step the nanoseconds of each execution."""

    name: str
    op: str
    inputs: tuple[str, ...]
    runs: tuple[tuple[int, ...], ...]
    shape: str
    bytes: int
    float_ops: int
    device: str
    types: tuple[str, ...]
    stack: tuple[str, ...]

    def __str__(self) -> str:
        runs = ";".join("+".join(f"{nanos}ns" for nanos in step) or "-" for step in self.runs)
        types = " ".join(f"+{each}" for each in self.types)
        known = f"{runs} {self.shape} {self.bytes}B {self.float_ops}flops @{self.device} {types}"
        return f"{self.name} = {self.op}({', '.join(self.inputs)}) {known} | {' > '.join(self.stack)}"


@dataclass(frozen=True, repr=False)
class Model:
    """Nodes, of which those that ran did so in the same number of steps."""

    nodes: tuple[Node, ...]

    def __repr__(self) -> str:
        return "\n".join(map(str, ("", *self.nodes)))

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        printer.text(repr(self))  # which is how hypothesis shows what fails

    @cached_property
    def profile(self) -> Profile:
        """The profile of the model, which keeps what it computed from one question to the next."""
        return self.new_profile()

    def new_profile(self) -> Profile:
        """The profile of the model, of which nothing was asked before."""
        return profile_of(repr(self))

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.nodes[0].runs)


@st.composite
def models(draw: st.DrawFn, /, *, whole: bool = False) -> Model:
    """A model of up to a dozen nodes; if `whole`, each is in every view: no cycle, a stack each, and no gradients."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=9, unique=True))
    if not whole:
        forward = draw(st.lists(st.sampled_from(names), max_size=3, unique=True))
        names += [f"gradients/{name}_grad/x" for name in forward]
    facts = _facts(draw(st.integers(1, 4)), whole)
    return Model(tuple(_node(name, names[:row] if whole else names, draw(facts)) for row, name in enumerate(names)))


@cache
def _facts(steps: int, has_stack: bool) -> st.SearchStrategy[tuple[Any, ...]]:
    """What is known of a node, but for its name; of its inputs their positions among the names."""
    return st.tuples(
        st.sampled_from(OPS),
        st.lists(st.integers(0, 9), max_size=3),
        st.tuples(*[st.sampled_from(EXECUTIONS)] * steps),
        st.sampled_from(("", "[]", "3x4", "?x4", "7")),
        st.sampled_from((0, 0, 1, 10, 4096)),
        st.sampled_from((0, 0, 1, 1000)),
        st.sampled_from((CPU, "/gpu:0", ACCELERATOR)),
        st.sampled_from(TYPES),
        st.sampled_from(STACKS if has_stack else ((), *STACKS)),
    )


def _node(name: str, sources: list[str], facts: tuple[Any, ...]) -> Node:
    op, inputs, *others = facts
    return Node(name, op, tuple(sources[each % len(sources)] for each in inputs if sources), *others)


@st.composite
def choices(draw: st.DrawFn, /, model: Model, view: str, **fixed: Any) -> dict[str, Any]:
    """Random options for a view, seldom many at once; those that are fixed stay as they are."""
    regexes = st.lists(_regexes(model, view), max_size=2)
    values: dict[str, st.SearchStrategy[Any]] = {
        "max_depth": st.integers(0, 6),
        "step": st.integers(-1, model.steps - 1),
        "order_by": st.sampled_from(ORDERS),
        "account_type_regexes": st.lists(
            st.sampled_from((*OPS, "mine", "own.*", ".*gpu.*", ".*", "_kTF.*")), max_size=3
        ),
        "device_regexes": st.lists(st.sampled_from((".*cpu.*", ".*(cpu|gpu).*", "")), max_size=2),
        "account_displayed_op_only": st.booleans(),
        "timing": st.sampled_from(("exact", "tfprof")),
        **dict.fromkeys(REGEXES_OF_NAMES, regexes),
        **{f"min_{measure}": st.sampled_from((0, 1, 2, 10, 1000)) for measure in THRESHOLDS},
    }
    chosen = draw(st.lists(st.sampled_from(sorted(values.keys() - fixed.keys())), max_size=4, unique=True))
    return {option: draw(values[option]) for option in chosen} | fixed


def _regexes(model: Model, view: str) -> st.SearchStrategy[str]:
    names = [re.escape(name) for name in _places(model, view)]
    about = [regex for name in names for regex in (name, f"{name}.*", f".*{name[-1]}")]
    general = (".*", "", ".*[/:].*", "[^/]*", f"{ROOT_NAME}|a", ".*[é-\U0001d4b3].*", r"(?i).*CONV\d?.*")
    return st.sampled_from((*about, *general))


def _places(model: Model, view: str) -> list[str]:
    if view == "op":
        return list(OPS)
    if view == "code":
        return [frame.rpartition("/")[2] for frame in (MAIN, LAYER)]
    scopes = {node.name.rpartition("/")[0] for node in model.nodes} - {""}
    return sorted(scopes | {node.name for node in model.nodes})
