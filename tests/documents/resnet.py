"""The 32-layer ResNet that the tfprof guide profiles: CIFAR-10 images in batches of 128, as a sketch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

BATCH, IMAGE, CLASSES = 128, 32, 10
UNITS = 5
WIDTHS = (16, 16, 32, 64)  # filters before the first group of units, and in each of the three groups


@dataclass(frozen=True)
class Convolution:
    """A 3x3 convolution: its scope, filters in and out, and the side of the image that it puts out."""

    scope: str
    before: int
    after: int
    side: int

    @property
    def float_ops(self) -> int:
        """A multiplication and an addition for each weight at each pixel of each image."""
        return 2 * BATCH * self.side**2 * self.after * 9 * self.before


def convolutions() -> list[Convolution]:
    """All 31 of them, from the image on; the first of the second and of the third group halves the image."""
    found = [Convolution("init/init_conv", 3, WIDTHS[0], IMAGE)]
    for group in (1, 2, 3):
        width, side = WIDTHS[group], IMAGE >> (group - 1)
        for unit in range(UNITS):
            before = WIDTHS[group - 1] if unit == 0 else width
            found.append(Convolution(f"unit_{group}_{unit}/sub1/conv1", before, width, side))
            found.append(Convolution(f"unit_{group}_{unit}/sub2/conv2", width, width, side))
    return found


def normalizations() -> Iterator[tuple[str, int]]:
    """The scope and the width of each batch normalization."""
    for group in (1, 2, 3):
        for unit in range(UNITS):
            before = WIDTHS[group - 1] if unit == 0 else WIDTHS[group]
            activation = "shared_activation" if (group, unit) == (1, 0) else "residual_only_activation"
            yield f"unit_{group}_{unit}/{activation}/init_bn", before
            yield f"unit_{group}_{unit}/sub2/bn2", WIDTHS[group]
    yield "unit_last/final_bn", WIDTHS[-1]


def variables(op: str) -> Iterator[str]:
    """Every variable, as lines of a sketch; those that are trained have a momentum of their own shape."""
    trained = [(f"{each.scope}/DW", f"3x3x{each.before}x{each.after}") for each in convolutions()]
    trained += [(f"{scope}/{part}", str(width)) for scope, width in normalizations() for part in ("beta", "gamma")]
    trained += [("pool_logit/DW", f"{WIDTHS[-1]}x{CLASSES}"), ("pool_logit/biases", str(CLASSES))]
    for name, shape in trained:
        yield f"{name} = {op}() {shape} +_trainable_variables +_checkpoint_variables"
        yield f"{name}/Momentum = {op}() {shape} +_checkpoint_variables"
    for scope, width in normalizations():
        yield f"{scope}/moving_mean = {op}() {width} +_checkpoint_variables"
        yield f"{scope}/moving_variance = {op}() {width} +_checkpoint_variables"


def forward(micros: Mapping[str, int]) -> Iterator[str]:
    """The ops from the images to the cost, each after the one before; with the times given."""
    before = "random_shuffle_queue_DequeueMany"
    yield f"{before} = QueueDequeueManyV2(){_ran(before, micros)}"
    for each in convolutions():
        name = f"{each.scope}/Conv2D"
        yield f"{name} = Conv2D({before}, {each.scope}/DW) {each.float_ops}flops{_ran(name, micros)}"
        before = name
    product = BATCH * WIDTHS[-1] * CLASSES * 2
    matmul, sum_ = "pool_logit/xw_plus_b/MatMul", "pool_logit/xw_plus_b"
    yield f"{matmul} = MatMul({before}, pool_logit/DW) {product}flops{_ran(matmul, micros)}"
    yield f"{sum_} = BiasAdd({matmul}, pool_logit/biases) {BATCH * CLASSES}flops{_ran(sum_, micros)}"
    yield f"cost = Mean({sum_}){_ran('cost', micros)}"


def backward(micros: Mapping[str, int]) -> Iterator[str]:
    """The gradients that the guide speaks of."""
    product = BATCH * WIDTHS[-1] * CLASSES * 2
    for name in ("MatMul", "MatMul_1"):
        yield f"gradients/pool_logit/xw_plus_b/MatMul_grad/{name} = MatMul() {product}flops"
    for each in convolutions():
        name = f"gradients/{each.scope}/Conv2D_grad/Conv2DBackpropFilter"
        yield f"{name} = Conv2DBackpropFilter(){_ran(name, micros)}"


def resnet(variable_op: str = "Variable", global_step: str = "[]", micros: Mapping[str, int] | None = None) -> str:
    """The whole model as a sketch; `global_step` is how its shape is written, if it is known."""
    times = micros or {}
    step = f"global_step = {variable_op}() {global_step} +_checkpoint_variables"
    return "\n".join([step, *variables(variable_op), *forward(times), *backward(times)])


def _ran(name: str, micros: Mapping[str, int]) -> str:
    return f" {micros[name]}us" if name in micros else ""
