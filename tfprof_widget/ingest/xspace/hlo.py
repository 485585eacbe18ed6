"""Finds the op that a kernel ran for, and its float operations, by what XLA's compiler wrote of its ops."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfprof_widget.ingest.xspace.events import OP
from tfprof_widget.ingest.xspace.space import read_stats
from tfprof_widget.lib.arrays import LARGEST_INTEGER

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import HloInstructionProto, HloModuleProto, ShapeProto, WindowDimension, XSpace

PLANE = "/host:metadata"

_PROTO = "Hlo Proto"
_PROGRAMS = 2**64
_MOST_FRAMES = 200


class Frame(NamedTuple):
    """A line of Python."""

    file: str
    line: int
    function: str


class Instruction(NamedTuple):
    """An op of XLA's: its module, the framework's op that it came from, and its Python stack, outermost first.

    `float_ops` are those of one run, as far as they can be counted, and `accessed_bytes` what it reads and writes.
    """

    module: str
    op_name: str
    stack: tuple[Frame, ...] = ()
    float_ops: int = 0
    accessed_bytes: int = 0


Programs = Mapping[int, Mapping[str, Instruction]]
"""The ops of each program by name; programs have the numbers that `number_of` gives."""


def number_of(program: object) -> int:
    """The number of a program, which is written with a sign or without.

    >>> number_of(-1) == number_of(2**64 - 1), number_of("none")
    (True, -1)
    """
    return program % _PROGRAMS if isinstance(program, int) else -1


def read_programs(space: XSpace) -> dict[int, dict[str, Instruction]]:
    """The programs of which the compiler's notes are in the trace; damaged notes are left out.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> read_programs(XSpace())
    {}
    """
    from google.protobuf.message import DecodeError

    from tfprof_widget.lib.messages import HloProto

    found = {}
    for plane in space.planes:
        for key, metadata in plane.event_metadata.items() if plane.name == PLANE else ():
            content = read_stats(plane, metadata.stats).get(_PROTO)
            if isinstance(content, bytes):
                try:
                    found[number_of(key)] = dict(_instructions(HloProto.FromString(content).hlo_module))
                except DecodeError:
                    continue
    return found


def _instructions(module: HloModuleProto) -> Iterator[tuple[str, Instruction]]:
    stacks: dict[int, tuple[Frame, ...]] = {}
    count = float_ops_of(module)
    shapes = {each.id: each.shape for computation in module.computations for each in computation.instructions}
    for computation in module.computations:
        for each in computation.instructions:
            told = each.metadata
            stack = stacks.setdefault(told.stack_frame_id, _stack(module, told.stack_frame_id))
            if not stack and told.source_file:
                stack = (Frame(told.source_file, told.source_line, ""),)
            operands = [shapes[operand] for operand in each.operand_ids if operand in shapes]
            costs = count(each), _accessed_bytes(each, operands)
            yield each.name, Instruction(module.name, told.op_name.rstrip(":"), stack, *costs)


def _stack(module: HloModuleProto, number: int) -> tuple[Frame, ...]:
    """The frames of a stack, outermost first; the numbers of all lists begin with 1."""
    index = module.stack_frame_index
    frames: list[Frame] = []
    while 0 < number <= len(index.stack_frames) and len(frames) < _MOST_FRAMES:
        frame = index.stack_frames[number - 1]
        place = _at(index.file_locations, frame.file_location_id)
        if place is not None:
            file, function = (
                _at(index.file_names, place.file_name_id),
                _at(index.function_names, place.function_name_id),
            )
            frames.append(Frame(file or "", place.line, function or ""))
        number = frame.parent_frame_id
    return tuple(reversed(frames))


def _at(entries: Any, number: int) -> Any:
    return entries[number - 1] if 0 < number <= len(entries) else None


_LINE = re.compile(r"(?P<file>.*?):(?P<line>\d{1,9})(?::\d{1,9})?")


def stack_of_text(lines: Iterable[str]) -> tuple[Frame, ...]:
    """The frames that a TPU's events tell as lines of text.

    >>> stack_of_text(["train.py:12:4"])
    (Frame(file='train.py', line=12, function=''),)
    """
    found = (_LINE.fullmatch(line) for line in lines)
    return tuple(Frame(each["file"], int(each["line"]), "") for each in found if each is not None)[:_MOST_FRAMES]


class Op(NamedTuple):
    """The op that a kernel ran for: name, type, where Python made it and what one run costs, as far as known.

    A kernel that names no op is a symbol, and has its own name.
    """

    name: str
    op: str
    stack: tuple[Frame, ...] = ()
    float_ops: int = 0
    is_symbol: bool = False
    accessed_bytes: int = 0

    def done_by(self, kernels: int) -> Op:
        """The part of it that each of so many kernels does.

        >>> Op("x", "dot", float_ops=10).done_by(2).float_ops
        5
        """
        return self._replace(float_ops=self.float_ops // kernels, accessed_bytes=self.accessed_bytes // kernels)


_MODULE = "XlaModule:"
# TensorFlow 2.6 and later write `tf_op`. TensorFlow 2.2 to 2.5 wrote `annotation`: nested ops joined by `::`, each with
# details after a `#`; a copy has a last part with details only.
_OP_STATS = ("tf_op", "annotation", "name")
_LAST_NUMBER = re.compile(r"[._]\d+\Z")


def op_of(stats: Mapping[str, Any], symbol: str, programs: Programs = MappingProxyType({})) -> Op:
    """The op that a kernel ran for; `symbol` is the kernel's own name.

    A kernel of XLA's names the op of the framework, such as `jit(step)/conv_general_dilated`, or at least XLA's own.
    The compiler's notes are taken first: a fusion has the name of one of its ops, which may be another one's.
    """
    for key in _OP_STATS:
        parts = [part.partition("#")[0] for part in str(stats.get(key, "")).split("::")]
        op = OP.fullmatch(next(filter(None, reversed(parts)), ""))
        if op is not None:
            return Op(op["name"], op["type"])
    if "hlo_op" not in stats:
        return Op(symbol, symbol, is_symbol=True)
    hlo = str(stats["hlo_op"])
    program = programs.get(number_of(stats.get("program_id")), {})
    known = program.get(hlo)
    module = str(stats.get("hlo_module", "")) or next((each.module for each in program.values()), "")
    told = (str(stats.get(key, "")).rstrip(":") for key in ("name", "tf_op") if stats.get(key) != _MODULE)
    framework = known.op_name if known is not None else next(filter(None, told), "")
    return Op(
        framework or (f"{module}/{hlo}" if module else hlo),
        framework.rpartition("/")[2] or _LAST_NUMBER.sub("", hlo),
        (known.stack if known is not None else ()) or stack_of_text(str(stats.get("source_stack", "")).splitlines()),
        _told(stats, "flops") or (known.float_ops if known else 0),
        accessed_bytes=_told(stats, "bytes_accessed") or (known.accessed_bytes if known else 0),
    )


def _told(stats: Mapping[str, Any], name: str) -> int:
    value = stats.get(name, 0)
    return value if isinstance(value, int) and 0 < value <= LARGEST_INTEGER else 0


A_MULTIPLY_ACCUMULATE = 2
OF_AN_ELEMENT = 3
"""What XLA's model of GPUs counts for an element of an elementwise op, by default and so for nearly all."""

OF_A_JOINED_ELEMENT = 6
"""What it counts for an element of a concatenation, which is compared and jumped for.

It counts 400 along an inner dimension of odd size, so that XLA does not fuse these; nothing computes so much.
"""

_ELEMENTWISE = frozenset(
    {
        *("abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "convert", "cosine", "divide", "erf"),
        *("exponential", "exponential-minus-one", "floor", "is-finite", "log", "log-plus-one", "logistic", "maximum"),
        *("minimum", "multiply", "negate", "not", "or", "power", "remainder", "round-nearest-afz"),
        *("round-nearest-even", "rsqrt", "select", "sign", "sine", "sqrt", "subtract", "tan", "tanh", "xor"),
    }
)
_INSIDE = frozenset({"fusion", "call"})
_GEMM = ("__cublas$gemm", "__cublas$lt$matmul")
_CONVOLUTION = "__cudnn$conv"
_BACKWARD_INPUT, _BACKWARD_FILTER = "__cudnn$convBackwardInput", "__cudnn$convBackwardFilter"
_MOST_POSITIONS = 2**24
_DEEPEST = 20
_MOST_FLOAT_OPS = LARGEST_INTEGER // 2


def float_ops_of(module: HloModuleProto) -> Callable[[HloInstructionProto], int]:
    """A function that counts the float operations of an op of this module, with those of the ops that are fused in it.

    >>> from tfprof_widget.lib.messages import HloModuleProto
    >>> add = {"opcode": "add", "shape": {"dimensions": [2, 3]}, "id": 1}
    >>> module = HloModuleProto(computations=[{"instructions": [add]}])
    >>> float_ops_of(module)(module.computations[0].instructions[0])
    18
    """
    by_id = {each.id: each for computation in module.computations for each in computation.instructions}
    inside = {computation.id: computation.instructions for computation in module.computations}
    known: dict[int, int] = {}

    def within(computation: int, depth: int) -> int:
        if computation not in known:
            known[computation] = 0  # if it calls itself, it is damaged
            known[computation] = sum(count(each, depth + 1) for each in inside.get(computation, ()))
        return known[computation]

    def count(op: HloInstructionProto, depth: int = 0) -> int:
        operands = [by_id[each].shape for each in op.operand_ids if each in by_id]
        if depth > _DEEPEST:
            return 0
        if op.opcode in _INSIDE:
            found = sum(within(each, depth) for each in op.called_computation_ids)
        elif op.opcode == "reduce":
            reduced = sum(_size(each) for each in operands[: len(operands) // 2]) - _result_size(op.shape)
            found = max(reduced, 0) * sum(within(each, depth) for each in op.called_computation_ids)
        elif op.opcode == "reduce-window":
            reduced = _size(_result(op.shape)) * (math.prod(each.size for each in op.window.dimensions) - 1)
            found = max(reduced, 0) * sum(within(each, depth) for each in op.called_computation_ids)
        else:
            found = _FORMULAS.get(op.opcode, _nothing)(op, operands)
            found += OF_AN_ELEMENT * _size(op.shape) if op.opcode in _ELEMENTWISE else 0
        return found if 0 <= found <= _MOST_FLOAT_OPS else 0

    return count


# By the numbers of XLA's PrimitiveType: predicate, integers, floats, complex numbers.
_BYTES = MappingProxyType(
    {
        **dict.fromkeys((1, 2, 6, 19, 20, 21, 22, 23, 24, 25, 28, 29), 1),
        **dict.fromkeys((3, 7, 10, 16), 2),
        **dict.fromkeys((4, 8, 11), 4),
        **dict.fromkeys((5, 9, 12, 15), 8),
        18: 16,
    }
)
_UNKNOWN = frozenset({"while", "conditional", "call"})


def _accessed_bytes(op: HloInstructionProto, operands: Sequence[ShapeProto]) -> int:
    """What an op reads and writes: all of its operands and results, without the working memory of libraries."""
    if op.opcode in _UNKNOWN:
        return 0
    written = op.shape
    if op.opcode == "custom-call":
        if not op.custom_call_target.startswith((_CONVOLUTION, *_GEMM)):
            return 0
        written = _result(op.shape)
    found = sum(map(_bytes, (written, *operands)))
    return found if 0 <= found <= LARGEST_INTEGER else 0


def _bytes(shape: ShapeProto) -> int:
    if shape.tuple_shapes:
        return sum(_bytes(each) for each in shape.tuple_shapes if not each.tuple_shapes)
    return _BYTES.get(shape.element_type, 0) * _size(shape)


def _nothing(op: HloInstructionProto, operands: Sequence[ShapeProto]) -> int:
    return 0


def _dot(op: HloInstructionProto, operands: Sequence[ShapeProto]) -> int:
    contracted = op.dot_dimension_numbers.lhs_contracting_dimensions
    sizes = list(operands[0].dimensions) if operands else []
    if any(not 0 <= each < len(sizes) for each in contracted):
        return 0
    return A_MULTIPLY_ACCUMULATE * _size(op.shape) * math.prod(sizes[each] for each in contracted)


def _concatenation(op: HloInstructionProto, operands: Sequence[ShapeProto]) -> int:
    return OF_A_JOINED_ELEMENT * _size(op.shape)


def _library_call(op: HloInstructionProto, operands: Sequence[ShapeProto]) -> int:
    if op.custom_call_target.startswith(_CONVOLUTION):
        return _convolution(op, operands)
    return _gemm(op, operands) if op.custom_call_target.startswith(_GEMM) else 0


_OPERANDS = 2


def _gemm(op: HloInstructionProto, operands: Sequence[ShapeProto]) -> int:
    """A product by a library: how much is contracted follows from the sizes, as the dimensions are not told."""
    result = _result(op.shape)
    if len(operands) < _OPERANDS or not _size(result):
        return 0
    batch = math.prod(result.dimensions[:-2])
    squared, rest = divmod(_size(operands[0]) * _size(operands[1]), _size(result) * max(batch, 1))
    contracted = math.isqrt(max(squared, 0))
    return 0 if rest or contracted**2 != squared else A_MULTIPLY_ACCUMULATE * _size(result) * contracted


def _convolution(op: HloInstructionProto, operands: Sequence[ShapeProto]) -> int:
    """As XLA counts: positions of the window that lie in the padding are none."""
    if len(operands) < _OPERANDS:
        return 0
    image, kernel, result = operands[0], operands[1], _result(op.shape)
    if op.custom_call_target == _BACKWARD_INPUT:
        image, kernel, result = result, kernel, image
    elif op.custom_call_target == _BACKWARD_FILTER:
        image, kernel, result = image, result, kernel
    numbers = op.convolution_dimension_numbers
    spatial = [
        (dimension, _extent(image, of_image), _extent(result, of_result))
        for dimension, of_image, of_result in zip(
            op.window.dimensions, numbers.input_spatial_dimensions, numbers.output_spatial_dimensions, strict=False
        )
    ]
    window = math.prod(_extent(kernel, each) for each in numbers.kernel_spatial_dimensions)
    channels = _size(kernel) // window if window else 0  # inputs of a group by outputs
    positions = math.prod(_positions(*each) for each in spatial)
    return A_MULTIPLY_ACCUMULATE * channels * _extent(image, numbers.input_batch_dimension) * positions


def _positions(window: WindowDimension, size: int, results: int) -> int:
    """How many pairs of a place of the result and one of the window meet an element of the image."""
    stride, dilation, spread = (max(each, 1) for each in (window.stride, window.window_dilation, window.base_dilation))
    if not 0 < window.size * results <= _MOST_POSITIONS or size < 1:
        return 0
    place = np.arange(results)[:, None] * stride - window.padding_low + np.arange(window.size)[None, :] * dilation
    return int(np.count_nonzero((place >= 0) & (place <= (size - 1) * spread) & (place % spread == 0)))


_FORMULAS: Mapping[str, Callable[[HloInstructionProto, Sequence[ShapeProto]], int]] = MappingProxyType(
    {"dot": _dot, "convolution": _convolution, "concatenate": _concatenation, "custom-call": _library_call}
)


def _size(shape: ShapeProto) -> int:
    return math.prod(shape.dimensions)


def _result(shape: ShapeProto) -> ShapeProto:
    """The result itself; a call of a library has its working memory beside it."""
    return shape.tuple_shapes[0] if shape.tuple_shapes else shape


def _result_size(shape: ShapeProto) -> int:
    return sum(map(_size, shape.tuple_shapes)) if shape.tuple_shapes else _size(shape)


def _extent(shape: ShapeProto, dimension: int) -> int:
    return shape.dimensions[dimension] if 0 <= dimension < len(shape.dimensions) else 0
