"""Replays the conformance corpus: native tfprof's answers, without TensorFlow."""

from __future__ import annotations

import base64
import gzip
import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.rows import rows
from tfprof_widget import Profile

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
