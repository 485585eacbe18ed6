"""Ops of functions that tf.data calls have lines, shapes and FLOPs, in scopes with the functions' names."""

from __future__ import annotations

import gc
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from tests.capturing.program_steps import Captured, capturing, function
from tfprof_widget.capturing import called_functions
from tfprof_widget.capturing.called_functions import MOST_LOOKED_AT, CalledFunctions, users_code

ELEMENTS = 8
FLOPS = 2 * 4 * 5 * 6
HERE = Path(__file__).name


def augment(x: Any) -> Any:
    return tf.matmul(x, tf.ones([5, 6]))


def elements() -> Any:
    return tf.data.Dataset.from_tensor_slices(tf.ones([ELEMENTS, 4, 5]))


def mapped(python: Any = augment) -> Any:
    return elements().map(python, num_parallel_calls=2)


def node(captured: Captured, name: str) -> int:
    return captured.profile.nodes.names.index(name)


def lines(captured: Captured, name: str) -> list[str]:
    """The frames of this file in the stack of a node."""
    view = captured.profile.view("code", show_name_regexes=[f".*{HERE}.*"], max_depth=1000)
    assert name in captured.profile.nodes.names
    return [each for each in view.names if HERE in each]


def test_ops_of_a_map_are_joined_with_its_function() -> None:
    dataset = mapped()
    with capturing() as captured:
        assert len(list(dataset)) == ELEMENTS
    name = "tf.data/map_augment/MatMul"
    assert captured.nodes(*captured.profile.step_names)[name] == ELEMENTS
    assert captured.profile.nodes.float_ops[node(captured, name)] == FLOPS
    assert any(each.endswith(":augment") for each in lines(captured, name))


def test_op_of_a_function_with_the_same_name_is_another() -> None:
    dataset = mapped()
    step = function(lambda x: tf.matmul(x, tf.ones([6, 7])))
    with capturing() as captured:
        for x in dataset:
            step(x)
    counts = captured.nodes(*captured.profile.step_names)
    assert counts["tf.data/map_augment/MatMul"] == ELEMENTS
    assert counts["<lambda>/MatMul"] + counts["MatMul"] == ELEMENTS
    assert captured.profile.nodes.float_ops[node(captured, "tf.data/map_augment/MatMul")] == FLOPS


def test_functions_of_two_places_are_two_and_one_traced_twice_is_one() -> None:
    first, second = (lambda x: tf.square(x)), (lambda x: tf.square(x) + 1.0)  # the same names, other code
    functions = CalledFunctions()
    for dataset in (mapped(first), mapped(first), mapped(second)):
        functions.add_of_data(dataset)
    labels = list(functions.labels.values())
    assert labels[0] == labels[1] != labels[2]
    assert labels[2] == f"{labels[0]}_1"


def test_functions_of_all_datasets_before_are_found() -> None:
    functions = CalledFunctions()
    functions.add_of_data(tf.data.Dataset.zip((mapped(), elements().filter(lambda x: x[0, 0] > 0.0))).batch(2))
    assert len(functions.data_graphs()) == 2


def test_dataset_that_is_made_in_a_function() -> None:
    def total() -> Any:
        return mapped().reduce(0.0, lambda total, x: total + tf.reduce_sum(x))

    with capturing() as captured:
        function(total)()
    name = "tf.data/map_augment/MatMul"
    assert captured.nodes(*captured.profile.step_names)[name] == ELEMENTS
    assert any(each.endswith(":augment") for each in lines(captured, name))


def test_calls_within_a_map_are_in_its_scope() -> None:
    inner = function(augment)

    def outer(x: Any) -> Any:
        return inner(x)

    dataset = mapped(outer)
    with capturing() as captured:
        list(dataset)
    (name,) = (each for each in captured.profile.nodes.names if each.endswith("/MatMul"))
    assert name.startswith("tf.data/map_outer/")
    assert captured.nodes(*captured.profile.step_names)[name] == ELEMENTS


def test_dataset_that_cannot_be_read_costs_a_note() -> None:
    with capturing() as captured:
        captured.recorder.keep_functions_of_data(object())
        tf.square(1.0)
    (note,) = (each for each in captured.warnings if each.startswith("ops of tf.data have no lines and shapes"))
    assert "_functions" in note
    assert captured.recorder.is_open is False
    assert sum(captured.nodes(*captured.profile.step_names).values()) > 0


@pytest.mark.parametrize("calls", [1, 3])
def test_function_is_kept_once(calls: int) -> None:
    functions, dataset = CalledFunctions(), mapped()
    for _ in range(calls):
        functions.add_of_data(dataset)
    assert len(functions.data_graphs()) == 1


def test_functions_that_no_window_may_have_recorded_are_not_kept() -> None:
    """Half a megabyte each: a program that calls `predict` thousands of times makes as many."""
    functions, kept = CalledFunctions(), mapped()
    functions.add_of_data(kept, is_recorded=False)
    functions.add_of_data(mapped(), is_recorded=False)
    gc.collect()
    assert functions.data_graphs() == []
    functions.keep_data()  # a window is opened, and only the first dataset is there still
    functions.add_of_data(mapped(), is_recorded=True)
    del kept
    gc.collect()
    assert len(functions.data_graphs()) == 2


def test_datasets_of_a_capture_are_kept_from_when_a_window_opens() -> None:
    with capturing() as captured:
        source = captured.recorder
        source.release_profiler()
        source.keep_functions_of_data(mapped())
        source.keep_functions_of_data(there := mapped())
        gc.collect()
        source.windows.open()
        assert len(source.functions.data_graphs()) == 1
        del there


class Item:
    """Refers to many others, as the objects behind a library's adapters do."""

    def __init__(self, items: list[Item]) -> None:
        for number in range(200):
            setattr(self, f"item_{number}", items)
        self.others = dict.fromkeys(range(9), self)


def test_search_for_the_users_code_looks_at_few_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is behind a library's adapter is all of Keras, and each object is met from hundreds of others."""
    items: list[Item] = []
    items += [Item(items) for _ in range(1000)]
    looked, original = [], called_functions._behind

    def behind(found: Any) -> Any:
        for each in original(found):
            looked.append(found)
            yield each

    monkeypatch.setattr(called_functions, "_behind", behind)
    assert users_code(partial(print, *items)) is None
    assert len(looked) < 2 * MOST_LOOKED_AT
