"""What the tests of the command line share: files of a small network."""

from __future__ import annotations

import pytest

from tests.cli.files import Files, written
from tests.sketches import protos_of

NETWORK = """
    x            = Placeholder() 1us;1us 8B
    layer/w      = VariableV2() 4x8 2us;4us 128B +_trainable_variables
    layer/MatMul = MatMul(x, layer/w) 100us+20us;140us 64B 512flops | run.py:10:main > model.py:20:layer
    layer/Relu   = Relu(layer/MatMul) 10us;20us 64B | run.py:10:main > model.py:21:layer
    loss         = Mean(layer/Relu) 5us;5us 4B | run.py:11:main
"""


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return written(protos_of(NETWORK), tmp_path_factory.mktemp("network"))
