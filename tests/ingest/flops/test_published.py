"""Whole networks count what their papers, the documents or a calculation by hand say."""

from __future__ import annotations

from typing import Any

import keras
import pytest
import tensorflow as tf

from tfprof_widget.api.profile import Profile


def graph_of(call: Any, *shapes: tuple[int, ...]) -> tf.Graph:
    """The graph of a function called with floats of these shapes."""
    return tf.function(call).get_concrete_function(*map(tf.TensorSpec, shapes)).graph


def multiply_accumulates(graph: Any) -> int:
    return int(Profile.from_protos(graph).with_flops(multiply_accumulates=True).nodes.float_ops.sum())


def float_ops(graph: Any) -> int:
    return int(Profile.from_protos(graph).nodes.float_ops.sum())


@pytest.mark.parametrize(
    ("make", "published"),
    [
        (lambda: keras.applications.MobileNet(weights=None), 569e6),  # arXiv:1704.04861, table 4
        (lambda: keras.applications.ResNet50(weights=None), 3.86e9),  # arXiv:1512.03385, table 1: 3.8e9
        (lambda: keras.applications.VGG16(weights=None), 15.47e9),
    ],
    ids=["MobileNet", "ResNet-50", "VGG-16"],
)
def test_networks_take_the_multiply_accumulates_of_their_papers(make: Any, published: float) -> None:
    model = make()
    graph = graph_of(lambda image: model(image), (1, 224, 224, 3))
    macs = multiply_accumulates(graph)
    assert macs == pytest.approx(published, rel=0.001)
    assert 2 * macs < float_ops(graph) < 2.05 * macs  # normalization, activations and the like come on top
    assert Profile.from_protos(graph).flops_coverage().share == 1


def test_resnet_50_with_its_strides_in_the_wide_convolutions_takes_4_1_giga() -> None:
    """What is quoted as ResNet-50's 4.1 GMAC or 8.2 GFLOP: the variant whose 3 x 3 convolutions stride."""

    def convolve(image: tf.Tensor, width: int, size: int = 1, stride: int = 1) -> tf.Tensor:
        return tf.nn.conv2d(image, tf.zeros([size, size, image.shape[-1], width]), stride, "SAME")

    def network(image: tf.Tensor) -> tf.Tensor:
        image = tf.nn.max_pool2d(tf.nn.relu(convolve(image, 64, 7, 2)), 3, 2, "SAME")
        for stage, blocks in enumerate((3, 4, 6, 3)):
            width = 64 << stage
            for block in range(blocks):
                stride = 2 if stage and not block else 1
                shortcut = convolve(image, 4 * width, 1, stride) if not block else image
                inner = tf.nn.relu(convolve(tf.nn.relu(convolve(image, width)), width, 3, stride))
                image = tf.nn.relu(convolve(inner, 4 * width) + shortcut)
        return tf.matmul(tf.reduce_mean(image, [1, 2]), tf.zeros([2048, 1000]))

    graph = graph_of(network, (1, 224, 224, 3))
    assert multiply_accumulates(graph) == 4_089_184_256
    assert float_ops(graph) == pytest.approx(8.2e9, rel=0.01)


def test_a_transformer_layer_takes_what_was_calculated_by_hand() -> None:
    batch, length, width, heads = 2, 16, 32, 4
    attention = keras.layers.MultiHeadAttention(heads, width // heads, use_bias=False)
    inner, outer = keras.layers.Dense(4 * width, "relu"), keras.layers.Dense(width)

    def layer(tokens: Any) -> Any:
        attended = tokens + attention(tokens, tokens)
        return attended + outer(inner(attended))

    layer(tf.zeros([batch, length, width]))
    projections = 4 * width * width  # of a token: query, key, value, and the result
    scores_and_values = 2 * length * width  # with each other token: a product of all heads, twice
    perceptron = 2 * width * 4 * width
    by_hand = batch * length * (projections + scores_and_values + perceptron)
    assert multiply_accumulates(graph_of(layer, (batch, length, width))) == by_hand


def test_the_mobilenet_of_the_documents() -> None:
    """`alpha=.75` at 32 x 32: the convolutions' own sizes, multiplied out."""
    model = keras.applications.MobileNet(alpha=0.75, input_shape=(32, 32, 3), weights=None)
    by_hand = 16 * 16 * 24 * 3 * 9
    size, channels = 16, 24
    wide = (48, 96, 96, 192, 192, 384, 384, 384, 384, 384, 384, 768, 768)
    for place, width in enumerate(wide):
        size //= 2 if place in (1, 3, 5, 11) else 1
        by_hand += size * size * channels * (9 + width)
        channels = width
    by_hand += channels * 1000
    assert multiply_accumulates(graph_of(lambda image: model(image), (1, 32, 32, 3))) == by_hand
