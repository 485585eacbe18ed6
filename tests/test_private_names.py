"""Private names of other packages are where the table says: what a new version has moved is told by name."""

from __future__ import annotations

import ast
import ctypes
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from IPython.core.inputtransformer2 import TransformerManager
from tensorflow.python.profiler.internal import _pywrap_profiler
from tensorflow.python.util import tf_stack

from tests.capturing.models import FULL_TRACE, v1
from tests.capturing.program_steps import BATCH, TRAIN, capturing, data, function, small_model
from tfprof_widget.api.profile import Profile
from tfprof_widget.capturing.tf_profiler import TfProfiler
from tfprof_widget.ingest.live.captures import POINTERS, places
from tfprof_widget.ingest.parts.names import DATA_SCOPE, EAGER_SCOPE, without_body_numbers
from tfprof_widget.ingest.xspace.space import read_stats
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.messages import XSpace
from tfprof_widget.lib.private_names import _PLACE, PrivateName, gone_names, private_names
from tfprof_widget.profiles.data import WARM_UP

PACKAGE = Path(__file__).parents[1] / "tfprof_widget"
IN_CODE = [each for each in private_names() if each.probe]
IN_RUNS = [each for each in private_names() if each.seen_in]
SEEN_ELSEWHERE = {
    "accelerator": "recorded traces in tests/ingest show it",
    "cluster": "tests/analysis/cluster runs one",
    "strategy": "tests/capturing/test_replicas.py runs one",
}
JOINED = 0.95

Texts = Mapping[str, set[str]]


def told(names: list[PrivateName]) -> list[str]:
    return [f"{each.package}: {each.name}, used by {', '.join(each.used_by)}: {each.when_gone}" for each in names]


def test_no_name_is_gone() -> None:
    assert told(gone_names()) == []


def test_each_name_can_be_found_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    unnoticed = []
    for each in IN_CODE:
        with monkeypatch.context() as breaking:
            for place in each.probe.split(" | "):
                take_away(place, breaking)
            if not each.is_gone():
                unnoticed.append(each)
        assert not each.is_gone()
    assert told(unnoticed) == []


def test_a_function_that_takes_other_parameters_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def five(self: Any, options: Any, feed_dict: Any, fetch_list: Any, target_list: Any) -> None: ...

    monkeypatch.setattr(v1.Session.__mro__[1], "_call_tf_sessionrun", five)
    assert [each.name for each in gone_names()] == ["BaseSession._call_tf_sessionrun"]


def test_every_probe_is_well_formed() -> None:
    malformed = [each.probe for each in IN_CODE if not all(map(_PLACE.fullmatch, each.probe.split(" | ")))]
    assert malformed == []
    assert len({(each.name, each.package, each.used_by) for each in private_names()}) == len(private_names()) > 100


def test_nothing_is_gone_of_what_is_not_installed() -> None:
    missing = PrivateName("f", "no_such_package", ("lib.text",), "A note.", "no_such_package:f")
    assert not missing.is_gone()
    assert PrivateName("f", "tensorflow", ("lib.text",), "A note.", "no_such_package:f").is_gone()


def test_a_run_shows_every_spelling(texts: Texts) -> None:
    assert told([each for each in IN_RUNS if each.seen_in not in SEEN_ELSEWHERE and not shown(each, texts)]) == []


def test_each_spelling_can_be_missed(texts: Texts) -> None:
    """What a run shows is not found where other texts are; what it does not show is seen elsewhere."""
    for each in IN_RUNS:
        assert each.seen_in in texts.keys() | SEEN_ELSEWHERE.keys(), each.name
        others = {kind: {"renamed by TensorFlow", ""} for kind in texts}
        assert each.seen_in in SEEN_ELSEWHERE or not shown(each, others), each.name


def test_ops_of_a_fit_join_their_nodes() -> None:
    """Nodes of functions' graphs have a stack of Python; ops that found none have names and nothing else."""
    model = small_model()
    x, y = data(3)
    with capturing() as captured:
        model.fit(x, y, batch_size=BATCH, verbose=0)
    profile = captured.profile
    steps = [place for place, name in enumerate(profile.step_names) if name.removesuffix(WARM_UP) == TRAIN]
    ran = profile.executions.node[np.isin(profile.executions.step, steps)].tolist()
    nodes = [node for node in ran if not profile.nodes.names[node].startswith((f"{DATA_SCOPE}/", f"{EAGER_SCOPE}/"))]
    assert len(nodes) > 100
    assert np.mean(profile.traces.stack[nodes] != ABSENT) >= JOINED


def test_ops_of_a_session_join_their_nodes() -> None:
    """So do nodes of the graph; what the runtime adds to feed and fetch begins with an underscore."""
    metadata = v1.RunMetadata()
    graph = tf.Graph()
    with graph.as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        product = tf.matmul(x, v1.get_variable("weights", [3, 2]), name="product")
        train = v1.train.AdamOptimizer().minimize(tf.reduce_mean(tf.square(product)))
        session.run(v1.global_variables_initializer())
        session.run(train, {x: [[1.0, 2.0, 3.0]]}, options=v1.RunOptions(trace_level=FULL_TRACE), run_metadata=metadata)
    profile = Profile.from_protos(graph, metadata)
    nodes = [node for node in profile.executions.node.tolist() if not profile.nodes.names[node].startswith("_")]
    assert len(nodes) > 20
    assert np.mean(profile.traces.stack[nodes] != ABSENT) >= JOINED


def test_modules_use_the_names_that_the_table_says() -> None:
    drifted = [
        f"{module} does not use {each.name}"
        for each in private_names()
        for module in each.used_by
        if not re.search(rf"(?<!\w){re.escape(re.split(r'[.](?=[^.]+$)', each.name)[-1])}(?!\w)", source_of(module))
    ]
    assert drifted == []


def test_the_table_has_every_private_name() -> None:
    assert [missing for module, source in sources() for missing in missing_names(module, source)] == []


@pytest.mark.parametrize(
    "source",
    [
        "def f(graph):\n    return graph._nodes_by_id",
        "def f(graph):\n    return getattr(graph, '_nodes_by_id', None)",
        "import sys\nmodule = sys.modules.get('tensorflow.python.eager.backprop')",
        "def f():\n    from tensorflow.python.eager import backprop",
        "def f():\n    import keras.src.trainers.trainer",
    ],
)
def test_a_name_that_the_table_lacks_is_found(source: str) -> None:
    assert list(missing_names("ingest.live.graph", source))


@pytest.fixture(scope="module")
def texts() -> dict[str, set[str]]:
    """The texts that a run of a session, a recording of functions, and a cell are made of, by kind."""
    found: dict[str, set[str]] = defaultdict(set)
    for device in run_session().step_stats.dev_stats:
        found["device"].add(device.device.lower())
        for node in device.node_stats:
            found["ran"].add(node.node_name)
            found["label"].add(node.timeline_label)
    space, nodes = record_functions()
    for plane in space.planes:
        found["plane"].add(plane.name)
        found["stat"] |= read_stats(plane, plane.stats).keys()
        for line in plane.lines:
            found["line"].add(line.name)
            for event in line.events:
                stats = read_stats(plane, event.stats)
                found["event"].add(plane.event_metadata[event.metadata_id].name)
                found["stat"] |= stats.keys()
                found["function"].add(str(stats.get("eager_op", "")))
    found["body"] = {without_body_numbers(name) for name in found["event"]}
    found["attribute"] = {name for node in nodes for name in node.attr}
    found["memory"] = {str(POINTERS)} if places([tf_stack.extract_stack()])[0] is not None else set()
    found["cell"] = {TransformerManager().transform_cell("%%tfprof --all\n1")}
    return found


def run_session() -> Any:
    """The metadata of a run in which the runtime inlines a function."""
    metadata = v1.RunMetadata()
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        total = tf.reduce_sum(x)
        chosen = tf.cond(total > 0, lambda: total * 2, lambda: total)
        session.run(chosen, {x: [1.0]}, options=v1.RunOptions(trace_level=FULL_TRACE), run_metadata=metadata)
    return metadata


def record_functions() -> tuple[Any, list[Any]]:
    """The XSpace of a fit and of functions with a loop, gradients, and XLA, and the nodes of their graphs."""
    weights = tf.Variable([[1.0]])
    compiled = function(lambda x: x * 2.0, jit_compile=True)

    @function
    def looping(x: Any) -> Any:
        return tf.while_loop(lambda count, _: count < 2, lambda count, each: (count + 1, compiled(each)), [0, x])[1]

    @function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.matmul(looping(x), weights, name="layer/product")))
        return tape.gradient(loss, weights)

    product = function(lambda x: tf.reduce_sum(tf.square(tf.matmul(x, weights))))
    large = function(tf.matmul)  # so large that the allocator tells of it
    x, y = data(2)
    model = small_model()
    profiler = TfProfiler(_pywrap_profiler.ProfilerSession)
    profiler.open()
    try:
        model.fit(x, y, batch_size=BATCH, verbose=0)
        with tf.profiler.experimental.Trace("step", step_num=0, _r=1):
            step(tf.constant([[2.0]]))
        with tf.GradientTape() as tape:
            loss = product(tf.constant([[2.0], [3.0]]))
        tape.gradient(loss, weights)
        compiled(tf.constant(3.0))
        large(tf.ones([600, 600]), tf.ones([600, 600]))
    finally:
        space = XSpace.FromString(profiler.close())
    graph = step.get_concrete_function(tf.constant([[2.0]])).graph.as_graph_def()
    return space, [*graph.node, *(node for body in graph.library.function for node in body.node_def)]


def shown(name: PrivateName, texts: Texts) -> bool:
    """Whether one of the texts has the spelling, or what the pattern of that name in the module is of."""
    spelled = getattr(import_module(f"tfprof_widget.{name.used_by[0]}"), name.name, name.name)
    pattern = spelled if isinstance(spelled, re.Pattern) else re.compile(re.escape(str(spelled)))
    return any(found[0] for text in texts[name.seen_in] for found in pattern.finditer(text))


def take_away(place: str, breaking: pytest.MonkeyPatch) -> None:
    """Let a place of a probe be gone, as a new version may have it; one that this version has not is left."""
    match = _PLACE.fullmatch(place)
    assert match is not None
    if match["symbol"]:
        breaking.setattr(ctypes, "CDLL", lambda file: object())
        return
    around, _, last = match["path"].rpartition(".")
    try:
        module = import_module(match["module"])
        owner = attrgetter(around)(module) if around else module
        getattr(owner, last)
    except (AttributeError, ImportError):
        return
    if match["parameters"] or match["attribute"]:
        breaking.setattr(owner, last, lambda: None)
        return
    for holder in [owner, *getattr(owner, "__mro__", type(owner).__mro__)[:-1]]:
        if last in getattr(holder, "__dict__", {}):
            breaking.delattr(holder, last)


def sources() -> Iterator[tuple[str, str]]:
    """The modules of the package, called as in the table, but for the table itself."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        if "_protos" not in path.parts and module != "lib.private_names":
            yield module, path.read_text(encoding="utf-8")


def source_of(module: str) -> str:
    return dict(sources())[module]


PRIVATE = re.compile(r"_[A-Za-z]\w*[A-Za-z0-9]")
PRIVATE_MODULE = re.compile(
    r"(tensorflow\.(python|dtensor|core|compiler)|(tf_)?keras\.(src|engine|utils\.traceback_utils)"
    r"|google\.protobuf\.internal|ipyparallel\.client)\b[\w.]*"
)
TOUCHING = ("capturing", "ingest.live", "magic", "parallel")
"""Rooms in which a string that is written as a private name is one: they handle objects of other packages."""

NO_NAMES_OF_OTHERS = {
    **dict.fromkeys(("_asdict", "_fields", "_make", "_replace"), "named tuples offer it"),
    "_checkpoint_variables": "a type of tfprof's",
    "_output_shapes": "an attribute that as_graph_def(add_shapes=True) writes",
    "_tfprof_widget_patch": "our own mark",
    "_tfprof_widget_made_from": "our own mark",
}


def missing_names(module: str, source: str) -> Iterator[str]:
    """What a module uses of other packages' private names and modules that the table does not have for it."""
    tree = ast.parse(source)
    entries = [each for each in private_names() if module in each.used_by]
    known = {part for each in private_names() for part in re.findall(r"\w+", f"{each.name} {each.probe}")}
    known |= own_names(tree) | NO_NAMES_OF_OTHERS.keys()
    modules = {place.partition(":")[0].partition(" ")[0] for each in entries for place in each.probe.split(" | ")}
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="sys")):
                continue
            case ast.Attribute(attr=name) if PRIVATE.fullmatch(name) and name not in known:
                yield f"{module}:{node.lineno}: {ast.unparse(node)}"
            case ast.Constant(value=str(text)) if id(node) not in documentation:
                is_name = module.startswith(TOUCHING) and PRIVATE.fullmatch(text) and text not in known
                if is_name or (PRIVATE_MODULE.fullmatch(text) and text not in modules):
                    yield f"{module}:{node.lineno}: {text!r}"
            case ast.ImportFrom(module=str(name), names=names) if PRIVATE_MODULE.fullmatch(name):
                for each in names:
                    if not {name, f"{name}.{each.name}"} & modules:
                        yield f"{module}:{node.lineno}: {name}.{each.name}"
            case ast.Import(names=names):
                yield from (f"{module}: {each.name}" for each in names if PRIVATE_MODULE.fullmatch(each.name))


def own_names(tree: ast.AST) -> set[str]:
    """The names that a module defines, and the attributes that its classes give themselves."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                found.add(name)
    return found
