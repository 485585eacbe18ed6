"""Advice on captured programs of each kind: causes that were planted are found, and no figure contradicts another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.slow.share import share
from tfprof_widget.analysis.advisor.finding import Finding
from tfprof_widget.analysis.advisor.runner import CHECKERS
from tfprof_widget.api.result import Capture

HEAD = """\
import time
import keras, numpy as np, tensorflow as tf
import tfprof_widget as tfprof
v1 = tf.compat.v1

def model_of(*layers):
    model = keras.Sequential([*layers, keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    return model

"""

PROGRAMS = {
    # 200 runs of a step, and 2 of an evaluation that takes many times as long
    "session": """
with tf.Graph().as_default():
    x = v1.placeholder(tf.float32, [None, 512])
    w = v1.get_variable("w", [512, 512], use_resource=False)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w, name="train_product")))
    train = v1.train.GradientDescentOptimizer(1e-3).minimize(loss)
    big = tf.random.normal([1500, 1500])
    evaluation = tf.matmul(big, big, name="evaluation_product")
    batch = np.ones([512, 512], np.float32)
    with v1.Session() as session, tfprof.capture() as prof:
        session.run(v1.global_variables_initializer())
        for i in range(200):
            session.run(train, {x: batch})
            if i % 100 == 50:
                session.run(evaluation.op)
""",
    "session with sleep": """
with tf.Graph().as_default():
    product = tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]))
    with v1.Session() as session, tfprof.capture() as prof:
        for i in range(25):
            session.run(product)
            time.sleep(0.02)  # HERE
""",
    "fit": """
model = model_of(keras.layers.Dense(256), keras.layers.Dense(256))
x, y = np.ones([3200, 256], "float32"), np.ones([3200, 1], "float32")
with tfprof.capture() as prof:
    model.fit(x, y, epochs=4, batch_size=32, verbose=0)
""",
    "fit with a callback": """
class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.05)  # HERE

model = model_of(keras.layers.Dense(64))
x, y = np.ones([640, 64], "float32"), np.ones([640, 1], "float32")
with tfprof.capture() as prof:
    model.fit(x, y, epochs=2, batch_size=32, verbose=0, callbacks=[Slow()])
""",
    "fit on a sequence": """
class Slow(keras.utils.PyDataset):
    def __len__(self):
        return 20
    def __getitem__(self, index):
        time.sleep(0.03)
        return np.ones([32, 64], "float32"), np.ones([32, 1], "float32")

model = model_of(keras.layers.Dense(64))
with tfprof.capture() as prof:
    model.fit(Slow(), epochs=2, verbose=0)
""",
    "recurrent": """
model = model_of(keras.layers.LSTM(8))
x, y = np.ones([320, 50, 8], "float32"), np.ones([320, 1], "float32")
with tfprof.capture() as prof:
    model.fit(x, y, epochs=4, batch_size=32, verbose=0)
""",
    "function": """
w = tf.Variable(tf.ones([512, 512]))
@tf.function
def step(x):
    for _ in range(10):
        x = tf.matmul(x, w) * 1e-3
    return x

with tfprof.capture() as prof:
    x = tf.ones([512, 512])
    for i in range(60):
        x = tf.nn.relu(step(x))  # a few eager ops beside graphs
""",
    "function on a generator": """
w = tf.Variable(tf.ones([64, 64]))
step = tf.function(lambda x: w.assign_sub(1e-9 * tf.matmul(x, w)))
def batches():
    for _ in range(30):
        time.sleep(0.03)  # HERE
        yield np.ones([64, 64], "float32")

with tfprof.capture() as prof:
    for x in batches():
        step(x)
""",
    "eager": """
w = tf.Variable(tf.ones([16, 16]))
def train_step(x):  # HERE
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.relu(tf.matmul(x, w)) ** 2)
    w.assign_sub(1e-6 * tape.gradient(loss, w))

with tfprof.capture() as prof:
    for i in range(1000):
        train_step(tf.ones([8, 16]))
""",
    "eager in the cell": """
w = tf.Variable(tf.ones([16, 16]))
predict = tf.function(lambda x: tf.matmul(x, w))
with tfprof.capture() as prof:
    for epoch in range(4):
        for i in range(250):  # HERE
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.relu(tf.matmul(tf.ones([8, 16]), w)) ** 2)
            w.assign_sub(1e-6 * tape.gradient(loss, w))
        predict(tf.ones([8, 16]))
""",
    "fit that runs eagerly": """
model = model_of(keras.layers.Dense(64))
model.compile(optimizer="sgd", loss="mse", run_eagerly=True)
x, y = np.ones([960, 64], "float32"), np.ones([960, 1], "float32")
with tfprof.capture() as prof:
    model.fit(x, y, batch_size=32, verbose=0)
""",
    "eager on large products": """
with tfprof.capture() as prof:
    x = tf.ones([1200, 1200])
    for i in range(20):
        x = tf.matmul(x, x) * 1e-4
""",
}

FOUND = {
    "session with sleep": {"PythonChecker": "Do less there"},
    "fit with a callback": {"PythonChecker": "Let the callback do less"},
    "fit on a sequence": {"InputBoundChecker": "workers=4"},
    "function on a generator": {"InputBoundChecker": "from_generator"},
    "eager": {"EagerOpsChecker": "Decorate this function with @tf.function"},
    "fit that runs eagerly": {"EagerOpsChecker": "without run_eagerly=True"},
    "eager in the cell": {"EagerOpsChecker": "Move the body of this loop into a function, decorated with @tf.function"},
    **share({"recurrent": {"TinyKernelChecker": "Give each op more to do"}}, {}),
}
"""The causes planted in programs, by checker, each with a part of the fix.

How long tiny ops take depends on the load: `test_tiny_kernels.py` judges made ones, and only the slow tests real ones.
"""

BETWEEN_STEPS = frozenset({"EagerOpsChecker", "PythonChecker"})
"""These say nothing of a program in which their cause was not planted, however busy the machine is."""

ON_A_LINE = [program for program, source in PROGRAMS.items() if "# HERE" in source]
TIME = re.compile(r"(\d+(?:\.\d+)?) ?(ns|µs|us|ms|sec|s)\b")
OF = re.compile(rf"{TIME.pattern} of (?:its |a step's |the cell's ){TIME.pattern}")
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0}


@dataclass(frozen=True)
class Program:
    """A captured program and the line that was marked in it."""

    prof: Capture
    line: int

    @property
    def findings(self) -> Iterator[tuple[str, Finding]]:
        for checker, reports in self.prof.advice().reports.items():
            yield from ((checker, report) for report in reports if isinstance(report, Finding))


@cache
def captured(program: str) -> Program:
    source = HEAD + PROGRAMS[program]
    line = next((number for number, text in enumerate(source.splitlines(), 1) if "# HERE" in text), 0)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(source)
        names: dict[str, Capture] = {}
        exec(compile(source, str(file), "exec"), names)
        return Program(names["prof"], line)


each_program = pytest.mark.parametrize("program", PROGRAMS)


@pytest.mark.parametrize("program", FOUND)
def test_what_was_planted_is_found(program: str) -> None:
    found = dict(captured(program).findings)
    for checker, fix in FOUND[program].items():
        assert fix in found[checker].fix


@each_program
def test_what_was_not_planted_is_not_found(program: str) -> None:
    found = {checker: finding.cause for checker, finding in captured(program).findings if checker in BETWEEN_STEPS}
    assert {checker: cause for checker, cause in found.items() if checker not in FOUND.get(program, {})} == {}


@pytest.mark.parametrize("program", ON_A_LINE)
def test_the_line_is_the_users(program: str) -> None:
    of = captured(program)
    (checker,) = FOUND[program]
    assert f"at program.py:{of.line}" in dict(of.findings)[checker].cause


@each_program
def test_shares_are_at_most_all_and_times_at_most_the_cell(program: str) -> None:
    of = captured(program)
    assert of.prof.profile.cell is not None
    cell = of.prof.profile.cell.seconds
    for checker, finding in of.findings:
        told = finding.cause + finding.fix
        assert all(int(share) <= 100 for share in re.findall(r"(\d+) ?%", told)), (checker, told)
        assert all(float(time) * SECONDS[unit] <= 1.01 * cell for time, unit in TIME.findall(told)), (checker, told)
        for part, unit, whole, of_unit in OF.findall(told):
            assert float(part) * SECONDS[unit] <= 1.01 * float(whole) * SECONDS[of_unit], (checker, told)


@each_program
def test_shares_are_those_of_the_times_beside_them(program: str) -> None:
    for checker, finding in captured(program).findings:
        for part, unit, whole, of_unit, percent in re.findall(rf"{OF.pattern} \((\d+) %\)", finding.cause):
            told = float(part) * SECONDS[unit] / (float(whole) * SECONDS[of_unit])
            assert abs(told - int(percent) / 100) < 0.02, (checker, finding.cause)


@each_program
def test_a_step_is_as_long_as_the_api_says(program: str) -> None:
    of = captured(program)
    profile = of.prof.profile
    runs = profile.cell.runs_of(profile.main_kind) if profile.cell is not None else None
    if runs is None or not runs.usual_nanos:
        return
    step_seconds = runs.usual_nanos / 1e9
    assert step_seconds == pytest.approx(of.prof.measurement.run_seconds, abs=1e-9)
    for checker, finding in of.findings:
        told = re.search(rf"of (?:its|a step's) {TIME.pattern}", finding.cause)
        if told:
            assert abs(float(told[1]) * SECONDS[told[2]] - step_seconds) <= 0.01 * step_seconds, checker


@each_program
def test_costs_are_those_of_the_views_of_the_api(program: str) -> None:
    prof = captured(program).prof
    (kinds, *_) = prof.advice().reports["ExpensiveOperationChecker"]
    rows = prof.view("op", order_by="micros")
    for row, told in enumerate(str(kinds).splitlines()):
        name, share = re.fullmatch(r"top \d operation type: (.+?), .* \(([\d.]+)%\)", told).groups()  # type: ignore[union-attr]
        assert name == rows.names[row]
        assert abs(float(share) - 100 * rows.own["micros"][row] / rows.grand_total["micros"][0]) <= 0.01
        assert float(share) <= 100


def test_the_kind_that_does_most_of_the_work_is_looked_at() -> None:
    """Not the evaluation, whose two runs take longer than many of training."""
    prof = captured("session").prof
    runs = {runs.name: runs for runs in prof.measurement.runs}
    assert runs["evaluation_product"].traced
    assert runs["evaluation_product"].run_seconds > runs["GradientDescent"].run_seconds
    product = {"GradientDescent": "train_product", "evaluation_product": "evaluation_product"}
    work = {name: runs[name].seen * runs[name].run_seconds for name in product}
    shown = prof.measurement.shown
    # By their operations training does twelve times the work; a run that others held up may make up for that.
    assert shown == "GradientDescent" or work["GradientDescent"] < 3 * work["evaluation_product"]
    told = str(prof.advice())
    assert [each for each in product.values() if each in told] == [product[shown]]


@each_program
def test_advice_ends_with_the_checkers_that_found_nothing(program: str) -> None:
    advice = captured(program).prof.advice()
    silent = sum(not reports for reports in advice.reports.values())
    assert len(advice.reports) == len(CHECKERS)
    assert str(advice).endswith(f"\n\n{silent} other checkers found nothing.")
