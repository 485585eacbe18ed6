"""Makes patches where a fix is mechanical: finds the statement of the user's, and changes its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence

from tfprof_widget.analysis.own_statements import (
    CodeChange,
    Statement,
    last_name,
    only_one,
    parsed_statements,
    statements_at,
)
from tfprof_widget.profiles.cell import CodeLine, OwnCode
from tfprof_widget.profiles.program import PipelineStage

AUTOTUNE = "tf.data.AUTOTUNE"
SAME = "the results stay the same"

EVERY = 100
"""A callback that needs the number of the batch is called so seldom."""


def faster_input(code: OwnCode, stages: Sequence[PipelineStage], slowest: PipelineStage | None) -> CodeChange | None:
    """The patch that lets the slowest stage of a pipeline make several elements at once, and the pipeline work ahead.

    >>> from tfprof_widget.profiles.program import StageSettings
    >>> slow = PipelineStage("Map(augment)", "Root/Map", None, 0.01, 1.0, StageSettings("Root/Map"), 1.0, 0.9)
    >>> code = OwnCode((CodeLine("In[3]", 21, "<module>", "ds = ds.map(augment).batch(64)"),))
    >>> print(faster_input(code, [slow], slow))
    change In[3]:21 (the results stay the same):
      - ds = ds.map(augment).batch(64)
      + ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(64).prefetch(tf.data.AUTOTUNE)
    """
    statements = list(parsed_statements(code))
    found = _call_of_stage(statements, slowest) if slowest is not None else _any_pipeline(statements)
    if found is None:
        return None
    statement, call = found
    insertions = []
    if slowest is not None and _can_be_parallel(call, slowest):
        insertions.append(statement.with_argument(call, f"num_parallel_calls={AUTOTUNE}"))
    patch = statement.changed(insertions, SAME)
    last = _last_of_pipeline(statements, statement)
    if _works_ahead(stages) or ".prefetch(" in last.text:
        return patch
    chain = _chain_around(last, call if last is statement else next(last.calls()))
    ahead = (last.end(chain), f".prefetch({AUTOTUNE})")
    if last is statement:
        return statement.changed([*insertions, ahead], SAME)
    return patch or last.changed([ahead], SAME)


def _call_of_stage(statements: Sequence[Statement], stage: PipelineStage) -> tuple[Statement, ast.Call] | None:
    """The call that makes a stage which calls a function: the only one that is given the function of this name."""
    told = re.fullmatch(r"\w+\((.+?)(, py_function)?\)", stage.stage)
    if told is None:
        return None
    name, line = told[1], stage.line
    found = []
    for statement in statements:
        for call in statement.calls("map", "interleave", "flat_map", "from_generator"):
            given = next(iter([*call.args, *(each.value for each in call.keywords)]), None)
            if isinstance(given, ast.Lambda):
                at = statement.line.line + given.lineno - 1
                is_it = line is not None and name == "<lambda>" and (statement.line.file, at) == (line.file, line.line)
            else:
                is_it = given is not None and last_name(given) == name
            if is_it:
                found.append((statement, call))
    return only_one(found)


def _any_pipeline(statements: Sequence[Statement]) -> tuple[Statement, ast.Call] | None:
    """The last call of the only statement that makes batches."""
    return only_one((each, call) for each in statements for call in each.calls("batch", "padded_batch"))


def _can_be_parallel(call: ast.Call, stage: PipelineStage) -> bool:
    is_given = len(call.args) > 1 or any(each.arg in ("num_parallel_calls", None) for each in call.keywords)
    is_function = isinstance(call.func, ast.Attribute) and call.func.attr in ("map", "interleave")
    return is_function and not is_given and "py_function" not in stage.stage


def _chain_around(statement: Statement, call: ast.Call) -> ast.expr:
    """The whole chain of method calls that a call is in, as `ds.map(f).batch(64)`."""
    chain: ast.expr = call
    while True:
        outer = next(
            (each for each in statement.calls() if isinstance(each.func, ast.Attribute) and each.func.value is chain),
            None,
        )
        if outer is None:
            return chain
        chain = outer


def _last_of_pipeline(statements: Sequence[Statement], statement: Statement) -> Statement:
    """The last statement of the same function that adds to the pipeline which this one assigns."""
    node = statement.node
    if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
        return statement
    name = node.targets[0].id
    place = (statement.line.file, statement.line.function)
    later = (
        each
        for each in statements
        if (each.line.file, each.line.function) == place
        and each.line.line > statement.line.line
        and isinstance(each.node, ast.Assign | ast.Return)
        and any(_begins_with(call, name) for call in each.calls())
    )
    return max(later, key=lambda each: each.line.line, default=statement)


def _begins_with(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == name


def _works_ahead(stages: Sequence[PipelineStage]) -> bool:
    """Whether the pipeline ends in a prefetch."""
    return any(each.stage.startswith("Prefetch") for each in stages[:2])


def prefetched_loop(code: OwnCode, file: str, line: int) -> CodeChange | None:
    """The patch that lets what a `for` goes over, or a model is fitted to, work ahead.

    >>> code = OwnCode((CodeLine("train.py", 7, "main", "for x, y in dataset:"),))
    >>> print(prefetched_loop(code, "train.py", 7))
    change train.py:7 (the results stay the same):
      - for x, y in dataset:
      + for x, y in dataset.prefetch(tf.data.AUTOTUNE):
    """
    for statement in statements_at(code, file, line):
        over = _gone_over(statement)
        is_dataset = isinstance(over, ast.Name) or (isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute))
        if over is not None and is_dataset and ".prefetch(" not in statement.text:
            return statement.changed([(statement.end(over), f".prefetch({AUTOTUNE})")], SAME)
    return None


def _gone_over(statement: Statement) -> ast.expr | None:
    """What a `for` goes over, counted or not, or what a model is fitted to."""
    node = statement.node
    if not isinstance(node, ast.For):
        return next((each.args[0] for each in statement.calls("fit") if each.args), None)
    over = node.iter
    if isinstance(over, ast.Call) and ast.unparse(over.func) == "enumerate" and over.args:
        return over.args[0]
    return over


def one_signature(code: OwnCode, kind: str) -> CodeChange | None:
    """The patch that gives a function which is built again and again one signature for all of its calls.

    >>> text = "@tf.function\\ndef train(x):"
    >>> code = OwnCode((CodeLine("a.py", 1, "<module>", text),), {"train": "input_signature=[tf.TensorSpec([None])]"})
    >>> print("\\n".join(one_signature(code, "train").lines))
    - @tf.function
    + @tf.function(input_signature=[tf.TensorSpec([None])])
      def train(x):
    """
    argument = code.signatures.get(kind)
    if argument is None:
        return None
    effect = "numbers of Python are taken as tensors" if "[], tf." in argument else SAME
    found = []
    for statement in parsed_statements(code):
        node = statement.node
        if isinstance(node, ast.FunctionDef) and node.name == kind:
            found += [(statement, each) for each in node.decorator_list if _is_tf_function(each)]
        elif isinstance(node, ast.Assign):
            found += [
                (statement, call)
                for call in statement.calls("function")
                if call.args and _is_tf_function(call) and last_name(call.args[0]) == kind
            ]
    if len(found) != 1:
        return None
    statement, made = found[0]
    if not isinstance(made, ast.Call):
        return statement.changed([(statement.end(made), f"({argument})")], effect)
    if any(each.arg in ("input_signature", "reduce_retracing", None) for each in made.keywords):
        return None
    return statement.changed([statement.with_argument(made, argument)], effect)


def _is_tf_function(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(func) in ("tf.function", "tensorflow.function", "function")


def whole_batches(code: OwnCode) -> CodeChange | None:
    """The patch that leaves out the last, smaller batch, if the program makes batches in one place.

    >>> code = OwnCode((CodeLine("train.py", 7, "main", "ds = ds.batch(64)"),))
    >>> whole_batches(code).after
    ('ds = ds.batch(64, drop_remainder=True)',)
    """
    found = _any_pipeline(list(parsed_statements(code)))
    if found is None:
        return None
    statement, call = found
    if len(call.args) > 1 or any(each.arg in ("drop_remainder", None) for each in call.keywords):
        return None
    argument = statement.with_argument(call, "drop_remainder=True")
    return statement.changed([argument], "the last batch is left out if it is smaller")


def as_graph(code: OwnCode, file: str, line: int) -> CodeChange | None:
    """The patch that makes a function, whose `def` is at a line, a `tf.function`.

    >>> code = OwnCode((CodeLine("train.py", 7, "<module>", "def step(x):"),))
    >>> as_graph(code, "train.py", 7).after
    ('@tf.function', 'def step(x):')
    """
    effect = "what Python prints or appends in it happens once"
    for statement in statements_at(code, file, line):
        if isinstance(statement.node, ast.FunctionDef) and not statement.node.decorator_list:
            return statement.replaced(f"@tf.function\n{statement.text}", effect)
    return None


_ONCE_A_BATCH = {
    "on_train_batch_end": "on_epoch_end",
    "on_batch_end": "on_epoch_end",
    "on_train_batch_begin": "on_epoch_begin",
    "on_batch_begin": "on_epoch_begin",
}


def seldom_called(code: OwnCode, line: CodeLine, method: str) -> CodeChange | None:
    """The patch that lets a callback work once an epoch; every so many batches if it needs the number of the batch.

    >>> text = "class Sleeper(Callback):\\n    def on_train_batch_end(self, batch, logs=None):\\n        nap()"
    >>> code = OwnCode((CodeLine("train.py", 7, "<module>", text),))
    >>> print("\\n".join(seldom_called(code, CodeLine("train.py", 8, ""), "on_train_batch_end").lines))
    - def on_train_batch_end(self, batch, logs=None):
    + def on_epoch_end(self, batch, logs=None):
    """
    for statement in parsed_statements(code):
        node = statement.node
        first = statement.line.line
        if not isinstance(node, ast.ClassDef) or statement.line.file != line.file or method not in _ONCE_A_BATCH:
            continue
        methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
        found = methods.get(method)
        if found is None or not found.lineno <= line.line - first + 1 <= (found.end_lineno or found.lineno):
            continue
        return _moved(statement, methods, found)
    return None


def _moved(statement: Statement, methods: Mapping[str, ast.FunctionDef], method: ast.FunctionDef) -> CodeChange | None:
    names = [each.arg for each in method.args.args]
    if len(names) < 2 or _ONCE_A_BATCH[method.name] in methods:
        return None
    lines = statement.text.splitlines()
    at = method.lineno - 1
    if not any(isinstance(each, ast.Name) and each.id == names[1] for each in ast.walk(method)):
        changed = lines[at].replace(method.name, _ONCE_A_BATCH[method.name], 1)
        return statement.of_lines(at, lines[at : at + 1], [changed], "it works once an epoch, not once a batch")
    body = method.body[0].lineno - 1
    if body == at:
        return None
    indent = lines[body][: len(lines[body]) - len(lines[body].lstrip())]
    guard = [f"{indent}if {names[1]} % {EVERY}:", f"{indent}    return"]
    added = [*lines[at:body], *guard, lines[body]]
    return statement.of_lines(at, lines[at : body + 1], added, f"it works every {EVERY} batches")


def _compiled(code: OwnCode, change: Callable[[Statement, ast.Call], CodeChange | None]) -> CodeChange | None:
    """The patch of the only statement that compiles a model."""
    found = only_one(
        (each, call)
        for each in parsed_statements(code)
        for call in each.calls("compile")
        if not (isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "re")
    )
    return change(*found) if found is not None else None


def several_steps(code: OwnCode) -> CodeChange | None:
    """The patch that lets Keras run several steps in one call.

    >>> code = OwnCode((CodeLine("train.py", 7, "main", "model.compile('sgd', 'mse')"),))
    >>> several_steps(code).after
    ("model.compile('sgd', 'mse', steps_per_execution=10)",)
    """

    def change(statement: Statement, call: ast.Call) -> CodeChange | None:
        if any(each.arg in ("steps_per_execution", "run_eagerly", None) for each in call.keywords):
            return None
        argument = statement.with_argument(call, "steps_per_execution=10")
        return statement.changed([argument], "callbacks are called every 10 batches")

    return _compiled(code, change)


def not_eagerly(code: OwnCode) -> CodeChange | None:
    """The patch that takes `run_eagerly=True` out of what compiles the model.

    >>> code = OwnCode((CodeLine("train.py", 7, "main", "model.compile('sgd', run_eagerly=True)"),))
    >>> not_eagerly(code).after
    ("model.compile('sgd')",)
    """

    def change(statement: Statement, call: ast.Call) -> CodeChange | None:
        text = re.sub(r",\s*run_eagerly=True|run_eagerly=True,?\s*", "", statement.text)
        return statement.replaced(text, SAME)

    return _compiled(code, change)
