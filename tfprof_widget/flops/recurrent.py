"""What recurrent cells that are one kernel compute: their matrix products, and what their gates do to each unit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tfprof_widget.flops.operation import Formula, Operation

_SIGMOID, _TANH = 4, 1
# Bias (4 gates), the forget gate's own bias, three sigmoids, two tanh, c = i * g + f * c and h = o * tanh(c).
_LSTM_UNIT = 4 + 1 + 3 * _SIGMOID + 2 * _TANH + 3 + 1
# Three gates' peepholes: multiply and add.
_PEEPHOLES = 6
# Bias (3 gates), two sigmoids, a tanh, r * h and h = u * h + (1 - u) * c.
_GRU_UNIT = 3 + 2 * _SIGMOID + _TANH + 1 + 4

_GATES = {"lstm": 4, "gru": 3, "rnn_relu": 1, "rnn_tanh": 1}
# Of a cuDNN cell, which has two biases for each gate.
_CUDNN_UNIT = {"lstm": _LSTM_UNIT - 1 + 4, "gru": _GRU_UNIT + 3, "rnn_relu": 4, "rnn_tanh": 4}


def _lstm_cell(operation: Operation) -> int:
    """The input and the state before, beside each other, times the weights of four gates.

    >>> cell = Operation("LSTMBlockCell", ((2, 3), (2, 5), (2, 5), (8, 20)))
    >>> _lstm_cell(cell) == 2 * 8 * 20
    True
    """
    return operation.input(0)[0] * _elements(operation, 3)


def _lstm_cell_rest(operation: Operation) -> int:
    units = _elements(operation, 1)
    return units * (_LSTM_UNIT + (_PEEPHOLES if operation.flag("use_peephole") else 0))


def _lstm_sequence(operation: Operation) -> int:
    """A cell for each time; the sequence's longest length is the first input, the sequence the second."""
    times, batch, _ = operation.input(1)
    return times * batch * _elements(operation, 4)


def _lstm_sequence_rest(operation: Operation) -> int:
    times = operation.input(1)[0]
    unit = _LSTM_UNIT + (_PEEPHOLES if operation.flag("use_peephole") else 0)
    return times * _elements(operation, 2) * unit


def _lstm_sequence_gradient(operation: Operation) -> int:
    """The gates' gradients times the weights, and times what went in."""
    return 2 * _lstm_sequence(operation)


def _gru_cell(operation: Operation) -> int:
    """Input and state before times the weights of reset and update, then of the candidate.

    >>> cell = Operation("GRUBlockCell", ((2, 3), (2, 5), (8, 10), (8, 5)))
    >>> _gru_cell(cell) == 2 * 8 * 15
    True
    """
    return operation.input(0)[0] * (_elements(operation, 2) + _elements(operation, 3))


def _gru_cell_rest(operation: Operation) -> int:
    return _elements(operation, 1) * _GRU_UNIT


def _cudnn(operation: Operation) -> int:
    """Each layer and direction: what goes in and the state before, times the weights of all gates."""
    times, batch, features = operation.input(0)
    states, _, units = operation.input(1)
    gates = _GATES[operation.text("rnn_mode", "lstm")]
    directions = 2 if operation.text("direction") == "bidirectional" else 1
    first = directions * (features + units)
    others = (states - directions) * (directions * units + units)
    return times * batch * gates * units * (first + others)


def _cudnn_rest(operation: Operation) -> int:
    times = operation.input(0)[0]
    return times * _elements(operation, 1) * _CUDNN_UNIT[operation.text("rnn_mode", "lstm")]


def _cudnn_gradient(operation: Operation) -> int:
    return 2 * _cudnn(operation)


def _elements(operation: Operation, index: int) -> int:
    return operation.input_size(index)


_CUDNN = ("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")

MULTIPLY_ACCUMULATES: Mapping[str, Formula] = MappingProxyType(
    {
        "LSTMBlockCell": _lstm_cell,
        "BlockLSTM": _lstm_sequence,
        "BlockLSTMV2": _lstm_sequence,
        "BlockLSTMGrad": _lstm_sequence_gradient,
        "BlockLSTMGradV2": _lstm_sequence_gradient,
        "GRUBlockCell": _gru_cell,
        **dict.fromkeys(_CUDNN, _cudnn),
        **{op.replace("RNN", "RNNBackprop"): _cudnn_gradient for op in _CUDNN},
    }
)

FLOAT_OPS: Mapping[str, Formula] = MappingProxyType(
    {
        "LSTMBlockCell": _lstm_cell_rest,
        "BlockLSTM": _lstm_sequence_rest,
        "BlockLSTMV2": _lstm_sequence_rest,
        "GRUBlockCell": _gru_cell_rest,
        **dict.fromkeys(_CUDNN, _cudnn_rest),
    }
)
