"""Whole and healthy inputs, which the fuzzers damage: one small network in every form that a reader takes."""

from __future__ import annotations

import gzip
from functools import cache

from google.protobuf import text_format

from tests.ingest.spaces import Space
from tests.sketches import Protos, profile_of, protos_of
from tfprof_widget.api.profile import Profile
from tfprof_widget.output.saved import profile_proto

NETWORK = """
    x            = Placeholder() 1us;1us 8B
    layer/w      = VariableV2() 4x8 2us;4us 128B +_trainable_variables
    layer/MatMul = MatMul(x, layer/w) 100us+20us;140us 64B 512flops | run.py:10:main > model.py:20:layer
    layer/Relu   = Relu(layer/MatMul) 10us;20us 64B @/gpu:0 | run.py:10:main > model.py:21:layer
    gradients/layer/Relu_grad/ReluGrad = ReluGrad(layer/Relu, ^x) 7us;- ?x8 | run.py:11:main
"""

LINES = (
    "scope -max_depth 3 -select micros,bytes -account_type_regexes .*Mat.*,_trainable_variables",
    "graph --start_name_regexes='layer/.*' --hide-name-regexes \"a,b\" -min_micros=5",
    "op -order_by=occurrence -account_displayed_op_only -step -1 --timing tfprof",
    "code -show_name_regexes .*run.py.* -trim_name_regexes (a|b){1,2} -output none",
    "set -select params,float_ops",
    "advise",
    "help scope",
)
MAGICS = (
    "--view op --min-micros=5 -select micros --every 10 train()",
    "--name='my net' --steps 1:3 --report page.html",
    "--all --quiet true f('--all')",
)
REGEXES = (
    ".*",
    "layer/.*|x",
    "(?i)LAYER/(w|MatMul)",
    "[[:alpha:]]+/\\w*",
    "\\Qlayer/\\E.*",
    "(a+)+$",
    "\\pL{1,9}(?:/[^R-Z]+)?",
    "(?m)^layer$\\n?",
    "x{0,3}|\\x{78}|\\170",
)
OPTIONS = (
    '{"view": "scope", "max_depth": 3, "min_bytes": 1, "select": ["micros", "bytes"], "order_by": "bytes"}',
    '{"view": "op", "step": 1, "min_occurrence": 1, "account_displayed_op_only": true, "timing": "tfprof"}',
    '{"view": "graph", "start_name_regexes": ["layer/.*"], "trim_name_regexes": ["x"], "min_float_ops": 9}',
    '{"view": "code", "hide_name_regexes": [".*run.*"], "device_regexes": [".*cpu.*"], "output": "none"}',
)


@cache
def protos() -> Protos:
    """The network as messages."""
    return protos_of(NETWORK)


@cache
def profile() -> Profile:
    """The network as a profile."""
    return profile_of(NETWORK)


def graphs() -> list[bytes]:
    """GraphDefs."""
    return [protos().graph.SerializeToString()]


def graph_texts() -> list[bytes]:
    """GraphDefs in the text format."""
    return [text_format.MessageToString(protos().graph).encode()]


def runs() -> list[bytes]:
    """RunMetadata."""
    return [each.SerializeToString() for each in protos().run_metas]


def op_logs() -> list[bytes]:
    """OpLogProtos."""
    return [protos().op_log.SerializeToString()]


def profiles() -> list[bytes]:
    """ProfileProtos."""
    return [profile_proto(profile()).SerializeToString()]


def files() -> list[bytes]:
    """What a file may hold: any of these, as text, compressed, or as Python 3 wrote bytes."""
    whole = [*graphs(), *runs(), *op_logs(), *profiles()]
    texts = [text_format.MessageToString(each).encode() for each in (protos().op_log, profile_proto(profile()))]
    return [*whole, *graph_texts(), *texts, gzip.compress(whole[0], mtime=0), str(whole[1]).encode(), b'{"ph": "X"}']


def spaces() -> list[bytes]:
    """XSpaces."""
    space = Space()
    space.add("worker", "layer/MatMul:MatMul", 1_000, 400, input_shapes="(2,3;3,4)")
    space.add("worker", "layer/Relu:Relu", 1_100, 100)
    space.add("worker", "MemoryAllocation", 1_010, 0, addr=9, requested_bytes=64, allocator_name="GPU_0_bfc")
    space.add("worker", "MemoryAllocation", 1_020, 0, addr=8, requested_bytes=32, region_type="output")
    space.add("worker", "MemoryDeallocation", 1_200, 0, addr=9)
    space.add("tf_data_0", "Iterator::Root::Map[3]", 900, 50)
    space.add("python", "EagerLocalExecute: MatMul", 2_000, 300, eager_op="MatMul", is_func=1)
    space.add("python", "EagerExecute", 2_000, 300, eager_op="__inference_f_1", is_func=1)
    space.add("Stream #1", "gemm", 1_300, 90, "/device:GPU:0", tf_op="layer/MatMul:MatMul")
    space.message.warnings.append("worker: 12 events were dropped.")
    return [space.message.SerializeToString()]
