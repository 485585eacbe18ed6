"""Float operations of a step are counted from the shapes that its executions had, whatever else ran, and how long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.ingest.spaces import ORIGIN, Space
from tests.made import changed
from tfprof_widget.api.profile import Profile
from tfprof_widget.engine.measures import measures
from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.flops.counting import count_float_ops
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.ingest.xspace.steps import Step
from tfprof_widget.profiles.options import Options
from tfprof_widget.widget.cut import cut
from tfprof_widget.widget.cut_plan import Limits
from tfprof_widget.widget.wire import encoded

tf1 = tf.compat.v1

WIDTH, UNITS = 3, 5
FULL, LAST = 32, 17


def layer(x: Any) -> Any:
    with tf.name_scope("dense"):
        return tf.nn.relu(tf.matmul(x, tf.ones([WIDTH, UNITS]), name="MatMul"), name="Relu")


def by_hand(*batches: int) -> dict[str, int]:
    """What the layer takes for some batches: a multiply-accumulate is two, and a maximum one for each element."""
    return {"dense/MatMul": 2 * sum(batches) * WIDTH * UNITS, "dense/Relu": sum(batches) * UNITS}


def graph_of(function: Callable[..., Any], *shape: int | None) -> Any:
    return tf.function(function, input_signature=[tf.TensorSpec(shape)]).get_concrete_function().graph


class Traced:
    """Steps of functions as TensorFlow's profiler would record them; each takes a microsecond or what is said."""

    def __init__(self, **functions: Any) -> None:
        self.functions = [(f"__inference_{name}_1", graph) for name, graph in functions.items()]
        self.space = Space()
        self.steps: list[Step] = []
        self.now = count(1000, 100_000)

    def step(self, name: str, function: str, *ran: tuple[str, str], took: int = 1000) -> Traced:
        """A step in which ops ran, each with the shapes of its inputs as TensorFlow writes them."""
        start = next(self.now)
        self.steps.append(Step(len(self.steps), name, ORIGIN + start - 5))
        self.space.add("python", "EagerExecute", start, 90_000, eager_op=f"__inference_{function}_1", is_func=1)
        for place, (op, shapes) in enumerate(ran):
            told = {"shape": shapes} if shapes else {}
            self.space.add("pool", op, start + 10 + 2000 * place, took // len(ran), **told)
        return self

    def of_layer(self, name: str, function: str, batch: int, took: int = 1000) -> Traced:
        """A step of the layer."""
        product = "dense/MatMul:MatMul", f"(float[{batch},{WIDTH}];float[{WIDTH},{UNITS}])"
        return self.step(name, function, product, ("dense/Relu:Relu", f"(float[{batch},{UNITS}])"), took=took)

    def profile(self, *, is_captured: bool = True) -> Profile:
        """What a capture makes of the steps."""
        gathered = Gathered()
        gathered.add_functions(self.functions, [read_xspace(self.space.message, self.steps)])
        return Profile.of(assemble(gathered.tables(), count_float_ops("all", of_what_ran=is_captured)))


def counted(profile: Profile, **options: Any) -> dict[str, Any]:
    """The float operations of the nodes that have any."""
    found = measures(profile, Options.of(**options))
    own = zip(profile.nodes.names, found.columns["float_ops"].tolist(), strict=True)
    each = {name: Fraction(value, found.unit("float_ops")) for name, value in own if value}
    return {name: value.numerator if value.denominator == 1 else value for name, value in each.items()}


def in_steps(profile: Profile) -> list[dict[str, int]]:
    return [counted(profile, step=number) for number in profile.steps]


BATCHES = (("fit", FULL), ("fit", FULL), ("fit", LAST), ("evaluate", 64), ("evaluate", 36), ("predict", 160))


def fit_evaluate_and_predict(slow: str = "") -> Profile:
    """Three kinds of steps, as of Keras: their functions know no batch, and share the layer."""
    graphs = {name: graph_of(layer, None, WIDTH) for name in ("fit", "evaluate", "predict")}
    traced = Traced(**graphs)
    for name, batch in BATCHES:
        traced.of_layer(name, name, batch, took=3500 if name == slow else 100)
    return traced.profile()


@pytest.mark.parametrize("slow", ["fit", "evaluate", "predict"])
def test_each_step_counts_as_its_own_batch_whichever_kind_took_longest(slow: str) -> None:
    profile = fit_evaluate_and_predict(slow)
    assert in_steps(profile) == [by_hand(batch) for _, batch in BATCHES]
    assert profile.nodes.float_ops[profile.nodes.names.index("dense/MatMul")] == by_hand(FULL)["dense/MatMul"]


def test_means_are_of_what_the_steps_took() -> None:
    profile = fit_evaluate_and_predict()
    assert counted(profile, run_name_regexes=["evaluate"]) == by_hand(50)
    assert counted(profile, run_name_regexes=["fit"]) == by_hand((FULL + FULL + LAST) // 3)
    assert counted(profile) == {name: Fraction(total, 6) for name, total in by_hand(*(b for _, b in BATCHES)).items()}


def test_natives_rule_is_one_count_for_each_node() -> None:
    profile = fit_evaluate_and_predict()
    assert [counted(profile, step=step, timing="tfprof") for step in profile.steps] == [by_hand(FULL)] * len(BATCHES)


def test_nothing_is_kept_by_step_where_all_steps_are_alike() -> None:
    traced = Traced(fit=graph_of(layer, None, WIDTH))
    profile = traced.of_layer("fit", "fit", FULL).of_layer("fit", "fit", FULL).profile()
    assert in_steps(profile) == [by_hand(FULL)] * 2
    assert profile.step_totals.float_ops is None
    assert b"step_totals.float_ops" not in encoded(profile)
    assert b"step_totals.float_ops" in encoded(fit_evaluate_and_predict())


def test_what_a_function_was_traced_for_counts_in_its_steps() -> None:
    """A function that is called with tensors is traced again for a smaller last batch; a sum tells no shapes here."""

    def tower(x: Any) -> Any:
        with tf.name_scope("top"):
            return tf.nn.relu(tf.add(x, 1.0, name="sum"), name="last")

    traced = Traced(full=graph_of(tower, FULL, WIDTH), last=graph_of(tower, LAST, WIDTH))
    for function in ("full", "last", "full"):
        ran = ("top/sum:AddV2", ""), ("top/last:Relu", "")
        traced.step("train", function, *ran, took=4000 if function == "last" else 10)
    profile = traced.profile()
    assert in_steps(profile) == [{"top/sum": batch * WIDTH, "top/last": batch * WIDTH} for batch in (FULL, LAST, FULL)]
    assert sorted(profile.nodes.float_ops.tolist())[-2:] == [FULL * WIDTH] * 2


def test_an_op_that_runs_before_the_call_does_not_speak_for_the_function_called_before() -> None:
    """Python makes an op of its own between the steps, which runs as if it were one of the function called last."""
    traced = Traced(fit=graph_of(layer, FULL, WIDTH), evaluate=graph_of(layer, LAST, WIDTH))
    ops = ("dense/MatMul:MatMul", ""), ("dense/Relu:Relu", "")
    traced.step("fit", "fit", *ops)
    traced.space.add("pool", "Cast:Cast", 100_990, 5)
    traced.step("evaluate", "evaluate", *ops)
    traced.steps[1] = Step(1, "evaluate", ORIGIN + 100_980)
    assert in_steps(traced.profile()) == [by_hand(FULL), by_hand(LAST)]


def test_a_late_op_of_another_step_does_not_speak_for_its_function() -> None:
    """What ends after the next step began is recorded there."""

    def with_late_op(x: Any) -> Any:
        return layer(x), tf.identity(tf.negative(x, name="dense/late"))

    traced = Traced(fit=graph_of(layer, FULL, WIDTH), evaluate=graph_of(with_late_op, LAST, WIDTH))
    ops = ("dense/MatMul:MatMul", ""), ("dense/Relu:Relu", "")
    traced.step("evaluate", "evaluate", *ops, took=10)
    traced.space.add("pool", "dense/late:Neg", 100_990, 5)
    traced.step("fit", "fit", *ops, took=4000)
    traced.steps[1] = Step(1, "fit", ORIGIN + 100_980)
    assert in_steps(traced.profile())[1] == {**by_hand(FULL), "dense/late": LAST * WIDTH}


def test_inputs_are_those_of_the_function_that_ran() -> None:
    """A sum of all elements, which are those of another node in each function."""

    def total(source: Callable[..., Any], name: str) -> Callable[[Any], Any]:
        def added_up(x: Any) -> Any:
            with tf.name_scope("top"):
                return tf.reduce_sum(source(x, name=name), name="total")

        return added_up

    graphs = {
        "one": graph_of(total(tf.nn.relu, "above"), FULL, WIDTH),
        "two": graph_of(total(tf.nn.elu, "other"), LAST, WIDTH),
    }
    traced = Traced(**graphs)
    for name in graphs:
        traced.step(name, name, ("top/total:Sum", ""))
    assert in_steps(traced.profile()) == [{"top/total": batch * WIDTH - 1} for batch in (FULL, LAST)]


def test_attributes_are_those_of_the_function_that_ran() -> None:
    """Batch normalization takes 6 for each element in training, and 2 after it; and 6 for each channel."""

    def normalized(is_training: bool) -> Callable[[Any], Any]:
        ones, none = tf.ones([3]), tf.zeros([0])
        mean, variance = (none, none) if is_training else (ones, ones)

        def normalize(x: Any) -> Any:
            with tf.name_scope("top"):
                return tf1.nn.fused_batch_norm(x, ones, ones, mean, variance, is_training=is_training, name="norm")[0]

        return normalize

    graphs = {str(kind): graph_of(normalized(kind == "fit"), None, 4, 4, 3) for kind in ("fit", "evaluate")}
    traced = Traced(**graphs)
    for name, took in (("fit", 100), ("evaluate", 5000)):
        shapes = "(float[8,4,4,3];float[3];float[3];float[0];float[0])"
        traced.step(name, name, ("top/norm:FusedBatchNormV3", shapes), took=took)
    assert in_steps(traced.profile()) == [{"top/norm": 8 * 4 * 4 * 3 * each + 6 * 3} for each in (6, 2)]


def test_each_round_of_a_loop_counts_as_it_was() -> None:
    """A decoder that reads one word more in each round; the second step has a last round of its own size."""
    traced = Traced(decode=graph_of(layer, None, WIDTH))
    for rounds in ((1, 2, 3, 4), (1, 2, 3, 9)):
        ran = [("dense/MatMul:MatMul", f"(float[{each},{WIDTH}];float[{WIDTH},{UNITS}])") for each in rounds]
        traced.step("decode", "decode", *ran)
    assert in_steps(traced.profile()) == [
        {"dense/MatMul": by_hand(*each)["dense/MatMul"]} for each in ((1, 2, 3, 4), (1, 2, 3, 9))
    ]


def test_a_fused_kernel_counts_as_its_own_batch() -> None:
    traced = Traced(fit=graph_of(layer, None, WIDTH))
    for batch in (FULL, LAST):
        traced.step("fit", "fit", ("dense/Relu:_FusedMatMul", f"(float[{batch},{WIDTH}];float[{WIDTH},{UNITS}])"))
    assert [sum(step.values()) for step in in_steps(traced.profile())] == [
        sum(by_hand(each).values()) for each in (FULL, LAST)
    ]


def test_a_function_that_xla_compiled_counts_as_it_was_traced() -> None:
    graphs = {f"f{batch}": graph_of(layer, batch, WIDTH) for batch in (FULL, LAST)}
    traced = Traced(**graphs)
    for name in graphs:
        traced.step("fit", name, (f"__inference_{name}_1:__inference_{name}_1", ""))
    found = [sum(step.values()) for step in in_steps(traced.profile())]
    assert found == [sum(by_hand(each).values()) for each in (FULL, LAST)]


def test_kernels_of_an_accelerator_count_as_the_compiler_noted_them() -> None:
    """The same op, compiled again for a smaller batch: the recording tells what each kernel took."""
    space = Space()
    for start, flops in ((1000, 100), (2000, 100), (3000, 45)):
        told = {"hlo_op": "dot.1", "hlo_module": "jit_f", "name": "jit(f)/dot_general", "flops": flops}
        space.add("Stream #7", "gemm", start, 10, "/device:GPU:0", **told)
    steps = [Step(0, "", ORIGIN + 900), Step(1, "", ORIGIN + 2900)]
    gathered = Gathered()
    gathered.add_functions([], [read_xspace(space.message, steps)])
    profile = Profile.of(assemble(gathered.tables(), count_float_ops("all")))
    assert in_steps(profile) == [{"jit(f)/dot_general": 200}, {"jit(f)/dot_general": 45}]


def runs_of_session(graph: Any, fetched: Any, fed: Any, batches: tuple[int, ...]) -> Iterator[Any]:
    with tf1.Session(graph=graph) as session:
        for batch in batches:
            run_meta = tf1.RunMetadata()
            options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
            session.run(fetched, {fed: np.ones([batch, WIDTH])}, options, run_meta)
            yield run_meta


@pytest.mark.parametrize("is_live", [True, False], ids=["tf.Graph", "GraphDef"])
def test_runs_of_a_session_count_as_they_were_fed(is_live: bool) -> None:
    """With a tf.Graph, TensorFlow counts the product, by the shapes that the first run completes."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, WIDTH], "x")
        last = tf.reduce_sum(
            tf.negative(tf.matmul(x, tf.ones([WIDTH, UNITS]), name="product"), name="other"), name="sum"
        )
    first, second, third = runs_of_session(graph, last, x, (FULL, FULL, LAST))
    given = graph if is_live else graph.as_graph_def()

    def expected(*batches: int) -> dict[str, int]:
        elements = sum(batches) * UNITS
        return {"product": 2 * elements * WIDTH, "other": elements, "sum": elements - len(batches)}

    apart = Profile.from_protos(given, {0: first, 1: second, 2: third})
    assert in_steps(apart) == [expected(batch) for batch in (FULL, FULL, LAST)]
    together = Profile.from_protos(given, {5: [first, third], 6: second})
    assert in_steps(together) == [expected(FULL, LAST), expected(FULL)]
    assert Profile.from_protos(given, {0: first, 1: second}).step_totals.float_ops is None
    # The compatible names count as native tfprof does.
    assert Profile.from_protos(given, {0: first, 2: third}, own_formulas=False).step_totals.float_ops is None


def test_a_count_in_an_op_log_holds_for_the_shapes_that_its_graph_tells() -> None:
    """An op log that counts double: of a run with half of the batch, it counts double too."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, WIDTH], "x")
        last = tf.matmul(x, tf.ones([WIDTH, UNITS]), name="product")
    first, second = runs_of_session(graph, last, x, (FULL, FULL // 2))
    twice = 2 * by_hand(FULL)["dense/MatMul"]
    log = tfprof.OpLogProto(log_entries=[{"name": "product", "float_ops": twice}])
    profile = Profile.from_protos(graph, {0: first, 1: second}, log)
    assert in_steps(profile) == [{"product": twice}, {"product": twice // 2}]


def workers() -> Mapping[str, Profile]:
    """Two workers with batches of their own."""
    found = {}
    for name, batch in (("one", FULL), ("two", 2 * FULL)):
        found[name] = Traced(fit=graph_of(layer, None, WIDTH)).of_layer("fit", "fit", batch).profile()
    return found


def test_a_saved_profile_is_loaded_as_it_was(tmp_path: Path) -> None:
    whole = fit_evaluate_and_predict()
    whole.save(tmp_path / "profile")
    loaded = tfprof.load(tmp_path / "profile")
    assert in_steps(loaded) == in_steps(whole)
    assert in_steps(loaded.with_flops()) == in_steps(whole)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "profile").read_bytes()


def test_saved_profiles_of_other_batches_are_loaded_together(tmp_path: Path) -> None:
    for number, batches in enumerate(((FULL, LAST), (2 * FULL,))):
        traced = Traced(fit=graph_of(layer, None, WIDTH))
        for batch in batches:
            traced.of_layer("fit", "fit", batch)
        traced.steps = [Step(2 * number + step.number, step.name, step.start) for step in traced.steps]
        traced.profile().save(tmp_path / f"profile_{number}")
    assert in_steps(tfprof.load(tmp_path)) == [by_hand(batch) for batch in (FULL, LAST, 2 * FULL)]


def test_workers_count_their_own_batches(tmp_path: Path) -> None:
    merged = tfprof.merge(workers())
    merged.save(tmp_path / "profile")
    for profile in (merged, tfprof.load(tmp_path / "profile"), tfprof.merge({"host": merged})):
        assert counted(profile, worker_regexes=[".*one"]) == by_hand(FULL)
        assert counted(profile, worker_regexes=[".*two"]) == by_hand(2 * FULL)
        assert counted(profile, across_workers="sum") == by_hand(3 * FULL)
        assert counted(profile) == by_hand(3 * FULL // 2)


def test_multiply_accumulates_are_counted_step_by_step_too() -> None:
    found = in_steps(fit_evaluate_and_predict().with_flops(multiply_accumulates=True))
    assert found == [{"dense/MatMul": by_hand(batch)["dense/MatMul"] // 2} for _, batch in BATCHES]
    merged = tfprof.merge(workers()).with_flops(multiply_accumulates=True)
    assert counted(merged, across_workers="sum") == {"dense/MatMul": by_hand(3 * FULL)["dense/MatMul"] // 2}


def test_models_of_different_sizes_count_as_each_is() -> None:
    """Two engines run a layer of the same name, of which one is wider: their graphs tell it, and no run does."""

    def sized(units: int) -> Profile:
        def wide(x: Any) -> Any:
            return tf.nn.relu(tf.matmul(x, tf.ones([WIDTH, units]), name="product"), name="last")

        traced = Traced(f=graph_of(wide, FULL, WIDTH))
        return traced.step("f", "f", ("product:MatMul", ""), ("last:Relu", "")).profile()

    merged = tfprof.merge({"small": sized(4), "large": sized(8)})
    for profile, products in ((merged, 2), (merged.with_flops(multiply_accumulates=True), 1)):
        for worker, units in (("small", 4), ("large", 8)):
            assert counted(profile, worker_regexes=[worker])["product"] == products * FULL * WIDTH * units


def test_counting_twice_changes_nothing() -> None:
    profile = fit_evaluate_and_predict()
    assert in_steps(profile.with_flops()) == in_steps(profile)
    assert profile.with_flops().nodes.float_ops.tolist() == profile.nodes.float_ops.tolist()


def test_parts_of_a_profile_have_its_counts() -> None:
    whole = fit_evaluate_and_predict()
    cone = whole.cone("dense/MatMul")
    assert in_steps(cone) == [{"dense/MatMul": by_hand(batch)["dense/MatMul"]} for _, batch in BATCHES]
    small = cut(whole, Limits(nodes=2, step_totals=12, executions=99, allocations=9)).profile
    assert len(small.nodes) < len(whole.nodes)
    sums = [sum(counted(small, step=step).values()) for step in small.steps]  # type: ignore[arg-type]
    assert sums == [sum(by_hand(batch).values()) for _, batch in BATCHES]


def test_rates_and_coverage_are_of_the_steps_shown() -> None:
    profile = fit_evaluate_and_predict()
    for kind, batch in (("evaluate", 50), ("predict", 160)):
        found = profile.flops_coverage(run_name_regexes=[kind])
        assert sum(each.float_ops for each in found.op_types) == sum(by_hand(batch).values())
    advised = changed(profile, main_kind="evaluate").advice()
    assert advised is not None
