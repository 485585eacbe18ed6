"""%%tfprof around session runs in a real kernel: every way of running, threads, errors, interrupts, and nothing."""

from __future__ import annotations

import pytest

from tests.notebooks.notebook import Notebook, parted, told

GRAPHS = """
def graph_of(layers):
    with tf.Graph().as_default() as graph:
        image = tf1.placeholder(tf.float32, [2, None], name="image")
        logits = image
        for _ in range(layers):
            logits = tf.matmul(logits, tf.ones((784, 784)))
        return graph, image, tf.reduce_sum(logits, name="loss")

(graph, image, loss), (other_graph, other_image, other_loss) = graph_of(1), graph_of(3)
session, other = tf1.Session(graph=graph), tf1.Session(graph=other_graph)
batch = images[:2]
feeds, other_feeds = {image: batch}, {other_image: batch}
"""


@pytest.fixture(autouse=True, scope="module")
def graphs(notebook: Notebook) -> None:
    notebook.run_well(GRAPHS)


def test_runs_of_callables_are_seen(notebook: Notebook) -> None:
    notebook.run_well("""%%tfprof --all --out prof
run = session.make_callable(loss, [image])
for _ in range(20):
    run(batch)""")
    assert notebook.runs() == {"loss": (20, 20)}


def test_runs_of_several_threads_are_seen_graph_by_graph(notebook: Notebook) -> None:
    notebook.run_well("""%%tfprof --all --out prof
def train(session, loss, feeds):
    for _ in range(10):
        session.run(loss, feeds)
work = [(session, loss, feeds), (session, loss, feeds), (other, other_loss, other_feeds)]
threads = [threading.Thread(target=train, args=each) for each in work]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()""")
    ran = notebook.value("[(each.name, each.seen, each.traced) for each in prof.measurement.runs]")
    assert sorted(ran) == [("loss", 10, 10), ("loss", 20, 20)]
    products = notebook.value("[counted(profile, 'loss')['MatMul'] for profile in prof.profiles]")
    assert sorted(products) == [1, 3]


def test_a_run_that_fails_has_its_line_and_the_runs_before_are_shown(notebook: Notebook) -> None:
    failing = "for width in (784, 784, 783):\n    wide = {image: images[:2, :width]}\n    session.run(loss, wide)"
    (without,) = notebook.run(f"# %%tfprof\n{failing}")
    (error,), page = parted(notebook.run(f"%%tfprof --all --out prof\n{failing}"))
    assert error.ename == without.ename == "InvalidArgumentError"
    assert "----> 4     session.run(loss, wide)" in told(error)
    assert error.evalue == without.evalue
    assert "1 run was not counted, having ended in an exception" in page
    assert notebook.runs() == {"loss": (2, 2)}


def test_a_cell_that_raises_shows_the_runs_before(notebook: Notebook) -> None:
    outputs = notebook.run("""%%tfprof --all --out prof
for _ in range(3):
    session.run(loss, feeds)
raise ValueError('stop')""")
    (error,), _ = parted(outputs)
    assert error.ename == "ValueError"
    assert "----> 4 raise ValueError('stop')" in told(error)
    assert notebook.runs() == {"loss": (3, 3)}


def test_an_interrupted_cell_shows_the_runs_before(notebook: Notebook) -> None:
    outputs = notebook.run(
        """%%tfprof --out prof
session.run(loss, feeds)
while True:
    print("running", flush=True)
    for _ in range(1000):
        session.run(loss, feeds)""",
        interrupt_at="running",
    )
    (*_, error), _ = parted(outputs)
    assert error.ename == "KeyboardInterrupt"
    assert notebook.value("prof.measurement.runs_seen > 0")


def test_sessions_are_themselves_again_afterwards(notebook: Notebook) -> None:
    notebook.run_well("plain = {name: tf1.Session.__dict__.get(name) for name in dir(tf1.Session)}")
    notebook.run_well("%%tfprof --quiet\nsession.run(loss, feeds);")
    assert notebook.value("all(tf1.Session.__dict__.get(name) is each for name, each in plain.items())")


def test_a_cell_without_tensorflow_says_why_it_is_empty(notebook: Notebook) -> None:
    value, profile = notebook.run_well("%%tfprof\nsum(range(10))")
    assert told(value) == "45"
    assert told(profile).startswith("Nothing was captured: ")
