"""The shapes that a node takes in, for text and protos."""

from __future__ import annotations

from tfprof_widget.profiles import Profile
from tfprof_widget.tables import ABSENT


def input_shapes(profile: Profile, node: int, timing: str) -> list[tuple[int, ...]]:
    """The shape of each input of a node by index, empty where it is not known.

    Native tfprof takes every input for the first output of its source; with the native clock so do we.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> input_shapes(profile, profile.nodes.names.index("layer1/MatMul"), "exact")
    [(64, 784), (784, 128)]
    """
    nodes = profile.nodes
    start = int(nodes.inputs.start[node])
    found: list[tuple[int, ...]] = []
    for position, source in enumerate(nodes.inputs[node].tolist(), start):
        outputs = nodes.output_shapes[source] if source != ABSENT else ()
        port = 0 if timing == "tfprof" else int(nodes.input_ports[position])
        found.append(nodes.shapes[outputs[port]] if port < len(outputs) else ())
    return found


def joined(shape: tuple[int, ...], unknown: str = "unknown") -> str:
    """A shape as tfprof prints it.

    >>> joined((3, 3, 16)), joined(())
    ('3x3x16', 'unknown')
    """
    return "x".join(map(str, shape)) or unknown
