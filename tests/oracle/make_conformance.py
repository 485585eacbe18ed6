"""Makes tests/conformance: small profiles, real and random, with native tfprof's answers.

Run it from the top of the repository: `python -m tests.oracle.make_conformance`. The format is described in
tests/conformance/README.md. The real models are run anew, so their times differ from one making to the next.
"""

from __future__ import annotations

import base64
import gzip
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto
from tensorflow.core.protobuf.config_pb2 import RunMetadata
from tensorflow.python.profiler import tfprof_logger

from tests.oracle.models import MODELS
from tests.oracle.native import VIEWS, NativeAnswer, NativeTfprof, Request, Step
from tests.oracle.random_options import DEFAULTS, options_proto, random_options
from tests.oracle.random_profiles import RandomProfile, random_profile
from tests.oracle.rows import rows

DIRECTORY = Path(__file__).parent.parent / "conformance"
REAL = ("mnist", "resnet", "rnn in frames", "parameter servers")
# Seeds of random profiles, with the ids of their steps: chosen for unlike devices, names and stacks.
RANDOM = {10: (0,), 14: (0,), 29: (0,), 33: (1, 2, 3), 47: (7, 7, 8)}
DEEPER_THAN_PROTOBUF = 105
FIT_ROWS, FIT_CHARACTERS = range(3, 60), 10_000

Case = dict[str, Any]


def main() -> None:
    """Writes the corpus afresh."""
    for stale in DIRECTORY.glob("*.json"):
        stale.unlink()
    with NativeTfprof() as native:
        for name, profile in _profiles():
            cases = _deep_cases(native, profile) if name == "chain" else _fit_cases(native, name, profile)
            document = {
                "graph": _packed(profile.graph),
                "op_log": _packed(profile.op_log),
                "steps": [[step, _packed(run_meta)] for step, run_meta in profile.steps],
            }
            _write(DIRECTORY / f"{name.replace(' ', '-')}.json", document, list(cases))


def _profiles() -> Iterator[tuple[str, RandomProfile]]:
    for name in REAL:
        traced = MODELS[name]()
        op_log = tfprof_logger.merge_default_with_oplog(traced.graph, run_meta=traced.run_meta)
        for number, string in op_log.id_to_string.items():
            op_log.id_to_string[number] = _without_machine(string)
        yield name, RandomProfile(traced.graph.as_graph_def(add_shapes=True), ((0, traced.run_meta),), op_log)
    for seed, steps in RANDOM.items():
        yield f"random {seed}", random_profile(seed, steps)
    yield "chain", _chain()


def _chain() -> RandomProfile:
    """Each node with an op type of its own and the next one as its input, so that graph and op view go deep."""
    graph, run_meta = GraphDef(), RunMetadata()
    device = run_meta.step_stats.dev_stats.add(device="/cpu:0")
    for index in range(DEEPER_THAN_PROTOBUF):
        graph.node.add(name=f"n{index}", op=f"Op{index}", input=[f"n{index + 1}"])
        device.node_stats.add(node_name=f"n{index}", all_start_micros=1, op_end_rel_micros=1 + index % 7)
    del graph.node[-1].input[:]
    return RandomProfile(graph, ((0, run_meta),), OpLogProto())


def _without_machine(string: str) -> str:
    """A path's last two parts: where this machine keeps its files is nobody's business."""
    return "/".join(string.split("/")[-2:]) if string.startswith("/") else string


def _fit_cases(native: NativeTfprof, name: str, profile: RandomProfile) -> Iterator[Case]:
    """For each view the first random options under which it is neither next to empty nor long."""
    for view in VIEWS:
        rng = Random(f"{name} {view}")
        while True:
            case = _case(native, profile, view, random_options(rng, view, profile))
            if case and len(case["rows"]) in FIT_ROWS and len(_case_json(case)) < FIT_CHARACTERS:
                yield case
                break


def _deep_cases(native: NativeTfprof, profile: RandomProfile) -> Iterator[Case]:
    for view in ("graph", "op"):
        case = _case(native, profile, view, DEFAULTS | {"order_by": "micros"})
        assert case is not None
        assert len(case["rows"]) == 1 + DEEPER_THAN_PROTOBUF
        yield case


def _case(native: NativeTfprof, profile: RandomProfile, view: str, options: dict[str, Any]) -> Case | None:
    """Native's answer to one question; the op log comes after the last step, so that it knows all nodes."""
    *earlier, (last, run_meta) = profile.steps
    steps = [Step(step, meta.SerializeToString()) for step, meta in earlier]
    steps.append(Step(last, run_meta.SerializeToString(), op_log=profile.op_log.SerializeToString()))
    with tempfile.TemporaryDirectory() as directory:
        request = Request(view, options_proto(options | {"output": f"file:outfile={directory}/text"}))
        answer = native.profile_steps(request, profile.graph.SerializeToString(), b"", steps)
    if not isinstance(answer, NativeAnswer) or answer.file is None:
        return None
    return {
        "view": view,
        "options": {name: value for name, value in options.items() if name != "output"},
        "text": answer.file.decode().split("\n"),
        "rows": rows(answer.proto, VIEWS[view]),
    }


def _packed(proto: Any) -> str:
    return base64.b64encode(gzip.compress(proto.SerializeToString(deterministic=True), mtime=0)).decode()


def _write(path: Path, document: dict[str, Any], cases: list[Case]) -> None:
    """JSON with a line for each printed line and each row, so that differences can be read."""
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items()]
    parts.append(f'"cases": {_array(_case_json(case) for case in cases)}')
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _case_json(case: Case) -> str:
    parts = [f'"{key}": {json.dumps(case[key], ensure_ascii=False)}' for key in ("view", "options")]
    for key in ("text", "rows"):
        parts.append(f'"{key}": {_array(json.dumps(item, ensure_ascii=False) for item in case[key])}')
    return "{" + ",\n".join(parts) + "}"


def _array(items: Iterable[str]) -> str:
    return "[\n" + ",\n".join(items) + "\n]"


if __name__ == "__main__":
    main()
