"""Finds the forward nodes of the gradients that tf.GradientTape made: their names tell a scope, and seldom a node."""

from __future__ import annotations

from collections.abc import Mapping

TAPE = "gradient_tape/"
GRADIENTS, GRADIENT_END = "gradients/", "_grad/"


def forward_nodes(ops: Mapping[str, str]) -> dict[str, str]:
    """The forward node by gradient node, of the op types by node in the order made.

    A tape puts a gradient in the scope that the forward node was made in: that may be the node's own name, or the scope
    around it. There the gradient's type tells which node it is of, or else the first node of the scope stands
    for all: they were made by one layer. Gradients of which nothing is found are left out.

    Without any scope, there must be one node only of the gradient's type.

    >>> nodes = {"dense/MatMul": "MatMul", "dense/Relu": "Relu", "gradient_tape/dense/ReluGrad": "ReluGrad"}
    >>> forward_nodes(nodes | {"gradient_tape/dense/MatMul/MatMul_1": "MatMul", "gradient_tape/Reshape": "Reshape"})
    {'gradient_tape/dense/ReluGrad': 'dense/Relu', 'gradient_tape/dense/MatMul/MatMul_1': 'dense/MatMul'}
    """
    scopes = _by_scope(ops)
    found = {}
    for name, op in ops.items():
        forward = _named(name, ops) or _of_tape(name, op, ops, scopes)
        if forward is not None:
            found[name] = forward
    return found


def _by_scope(ops: Mapping[str, str]) -> dict[str, list[str]]:
    """The forward nodes in each scope, however deep."""
    scopes: dict[str, list[str]] = {}
    for name in ops:
        if TAPE in name or GRADIENTS in name:
            continue
        scope = name.rpartition("/")[0]
        while scope:
            scopes.setdefault(scope, []).append(name)
            scope = scope.rpartition("/")[0]
    return scopes


def _named(name: str, ops: Mapping[str, str]) -> str | None:
    """The node that the backward pass of a function names, which is in the scope of that function."""
    before, found, rest = name.partition(GRADIENTS)
    forward, ended, _ = rest.partition(GRADIENT_END)
    if not found or not ended:
        return None
    return next((each for each in (forward, before + forward) if each in ops), None)


def _of_tape(name: str, op: str, ops: Mapping[str, str], scopes: Mapping[str, list[str]]) -> str | None:
    before, found, rest = name.partition(TAPE)
    if not found:
        return None
    scope = before + rest.rpartition("/")[0]
    while scope:
        if scope in ops:
            return scope
        nodes = scopes.get(scope)
        if nodes:
            beside = [node for node in nodes if node.rpartition("/")[0] == scope and op.startswith(ops[node])]
            return max(beside, key=lambda node: len(ops[node]), default=nodes[0])
        scope = scope.rpartition("/")[0]
    alone = [
        node for node, kind in ops.items() if op == f"{kind}Grad" and node.rpartition("/")[0] == before.rstrip("/")
    ]
    return alone[0] if len(alone) == 1 else None
