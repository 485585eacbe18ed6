"""Replays the conformance corpus, without TensorFlow: native tfprof's answers, and layers worked out by hand."""

from __future__ import annotations

import base64
import gzip
import json
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.rows import rows
from tests.sketches import profile_of
from tfprof_widget import Profile
from tfprof_widget.api.view import View
from tfprof_widget.engine.layers import PASSES
from tfprof_widget.output.tabular import layer_types
from tfprof_widget.profiles.program import ModelLayer

CORPUS = Path(__file__).parent / "conformance"


@cache
def document(name: str) -> dict[str, Any]:
    text = (CORPUS / f"{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@cache
def profile(name: str) -> Profile:
    run_metas = defaultdict(list)
    for step, run_meta in document(name)["steps"]:
        run_metas[step].append(unpacked(run_meta))
    return Profile.from_protos(unpacked(document(name)["graph"]), run_metas, unpacked(document(name)["op_log"]))


def unpacked(proto: str) -> bytes:
    return gzip.decompress(base64.b64decode(proto))


NAMES = sorted(path.stem for path in CORPUS.glob("*.json"))
CASES = [pytest.param(name, case, id=f"{name} {case['view']}") for name in NAMES for case in document(name)["cases"]]


def test_the_corpus_is_all_there() -> None:
    assert len(CASES) == 38


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_case(name: str, case: dict[str, Any]) -> None:
    view = profile(name).view(case["view"], **case["options"], timing="tfprof")
    message = view.proto()
    assert [[depth, fields] for depth, fields in rows(message.SerializeToString(), type(message))] == case["rows"]
    assert view.text().split("\n") == case["text"]


LAYERS = CORPUS / "layers" / "by_hand.json"
BY_HAND: dict[str, Any] = json.loads(LAYERS.read_text(encoding="utf-8"))
OF_LAYERS = [
    pytest.param(sketched, case, id=f"{sketched['name']} {place}")
    for sketched in BY_HAND["profiles"]
    for place, case in enumerate(sketched["cases"])
]


def profile_with_layers(sketched: dict[str, Any]) -> Profile:
    """The profile of a sketch with its layers."""
    layers = tuple(ModelLayer(*layer) for layer in sketched["model_layers"])
    return replace(profile_of("\n".join(sketched["sketch"])), model_layers=layers)


def test_the_layers_are_all_there() -> None:
    assert len(OF_LAYERS) == 8


@pytest.mark.parametrize(("sketched", "case"), OF_LAYERS)
def test_layers(sketched: dict[str, Any], case: dict[str, Any]) -> None:
    view = profile_with_layers(sketched).view("layers", **case["options"])
    assert layer_rows(view) == case["rows"]


def layer_rows(view: View) -> list[list[Any]]:
    """The rows of a layers view with the columns that the corpus has."""
    own = [(view.own[name] / view.unit(name)).tolist() for name in (*PASSES, "micros")]
    total = (view.total["micros"] / view.unit("micros")).tolist()
    others = [(view.own[name] / view.unit(name)).tolist() for name in ("params", "float_ops", "bytes")]
    columns = (view.depth.tolist(), view.names, layer_types(view), *own, total, *others)
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("timing", ["exact", "tfprof"])
def test_layers_add_up_to_all_ops(name: str, timing: str) -> None:
    """In each measure, whatever the graph: native's answers hold the other view."""
    layers, ops = (profile(name).view(view, timing=timing, max_depth=10_000) for view in ("layers", "op"))
    for measure in ("micros", "cpu_micros", "accelerator_micros", "bytes", "params", "float_ops"):
        assert layers.own[measure].sum() == ops.own[measure].sum() == layers.grand_total[measure][0], measure
    assert sum(layers.own[each].sum() for each in PASSES) <= layers.own["micros"].sum()
