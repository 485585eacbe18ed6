"""The option builder beside TensorFlow's own: the same methods, and the same dicts out of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from tfprof_widget.lib.errors import ProfileWarning
from tfprof_widget.option_builder import ProfileOptionBuilder, default_options, of_mapping
from tfprof_widget.profiles.options import Options

Native = tf.compat.v1.profiler.ProfileOptionBuilder
METHODS = [name for name, _ in inspect.getmembers(Native, inspect.isfunction) if not name.startswith("_")]
READY_MADE = ("trainable_variables_parameter", "float_operation", "time_and_memory")
CALLS: list[Callable[[Any], Any]] = [
    lambda builder: builder.account_displayed_op_only(True),
    lambda builder: builder.order_by("bytes"),
    lambda builder: builder.select(["params", "bytes"]),
    lambda builder: builder.with_accounted_types([".*gpu.*"]),
    lambda builder: builder.with_empty_output(),
    lambda builder: builder.with_file_output("some file"),
    lambda builder: builder.with_max_depth(7),
    lambda builder: builder.with_min_execution_time(1, 2, 3),
    lambda builder: builder.with_min_float_operations(4),
    lambda builder: builder.with_min_memory(1, 2, 3, 4),
    lambda builder: builder.with_min_occurrence(5),
    lambda builder: builder.with_min_parameters(6),
    lambda builder: builder.with_node_names(show_name_regexes=["a.*", "b"]),
    lambda builder: builder.with_node_names(["a"], ["b"], ["c"], ["d"]),
    lambda builder: builder.with_pprof_output("some.pb.gz"),
    lambda builder: builder.with_stdout_output(),
    lambda builder: builder.with_step(3),
    lambda builder: builder.with_timeline_output("some.json"),
]


DEFAULTS = default_options()


def essence(options: dict[str, Any]) -> dict[str, Any]:
    """The options that say more than the default does: native leaves some of those out."""
    as_lists = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    return {name: value for name, value in as_lists.items() if value != DEFAULTS[name]}


@pytest.mark.parametrize("method", METHODS)
def test_there_is_every_method_with_natives_parameters(method: str) -> None:
    def parameters(builder: Any) -> dict[str, Any]:
        signature = inspect.signature(getattr(builder, method))
        return {name: parameter.default for name, parameter in signature.parameters.items()}

    assert parameters(ProfileOptionBuilder) == parameters(Native)


@pytest.mark.parametrize("method", READY_MADE)
def test_ready_made_options_are_natives(method: str) -> None:
    assert essence(getattr(ProfileOptionBuilder, method)()) == essence(getattr(Native, method)())


def test_time_and_memory_takes_thresholds() -> None:
    given = dict(zip(inspect.signature(Native.time_and_memory).parameters, range(10, 17), strict=True))
    assert essence(ProfileOptionBuilder.time_and_memory(**given)) == essence(Native.time_and_memory(**given))


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_a_call_builds_what_it_builds_natively(call: Callable[[Any], Any]) -> None:
    for start in (None, Native.float_operation()):
        assert essence(call(ProfileOptionBuilder(start)).build()) == essence(call(Native(start)).build())


def test_a_chain_builds_what_it_builds_natively() -> None:
    ours, natives = ProfileOptionBuilder(), Native()
    for call in CALLS:
        assert call(ours) is ours
        call(natives)
    assert essence(ours.build()) == essence(natives.build())


def test_what_is_built_is_the_callers_own() -> None:
    given = {"show_name_regexes": ["a"]}
    builder = ProfileOptionBuilder(given)
    built = builder.build()
    built["show_name_regexes"].append("b")
    given["show_name_regexes"].append("c")
    assert builder.build() == {"show_name_regexes": ["a"]}


def test_a_list_that_is_given_is_copied() -> None:
    regexes, columns = ["a"], ["micros"]
    builder = ProfileOptionBuilder().with_accounted_types(regexes).with_node_names(regexes).select(columns)
    regexes.append("b")
    columns.append("bytes")
    built = builder.build()
    assert built["account_type_regexes"] == built["start_name_regexes"] == ["a"]
    assert built["select"] == ["micros"]


@pytest.mark.parametrize("method", READY_MADE)
def test_ready_made_options_are_made_anew_each_time(method: str) -> None:
    getattr(ProfileOptionBuilder, method)()["select"].append("bytes")
    assert essence(getattr(ProfileOptionBuilder, method)()) == essence(getattr(Native, method)())


def test_defaults_are_natives_and_known_to_us() -> None:
    assert essence(Native().build()) == {}
    assert Native().build().keys() <= DEFAULTS.keys()
    assert Options.of(**DEFAULTS) == Options.of()


def test_a_plain_dict_is_read_as_native_reads_it() -> None:
    from tensorflow.python.profiler import model_analyzer

    native = model_analyzer._build_options({"min_micros": 5})
    read = Options.of(**of_mapping({"min_micros": 5}))
    assert read.max_depth == native.max_depth
    assert read.min_micros == native.min_micros
    assert read.step == native.step
    assert list(read.select) == list(native.select)
    assert list(read.trim_name_regexes) == list(native.trim_name_regexes)


def test_an_old_key_is_ignored_with_a_warning() -> None:
    """TensorFlow 1.3 had `viz`; native reads only what it knows."""
    with pytest.warns(ProfileWarning, match="^unknown option 'viz' is ignored$"):
        read = of_mapping({"viz": True, "min_micros": 5})
    assert Options.of(**read).min_micros == 5


def test_texts_may_be_bytes() -> None:
    """As `tf.compat.as_bytes` made them in old programs."""
    asked: Any = {b"show_name_regexes": [b"dense.*"], "order_by": b"bytes"}
    read = Options.of(**of_mapping(asked))
    assert (read.show_name_regexes, read.order_by) == (("dense.*",), "bytes")
