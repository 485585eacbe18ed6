"""Every command line of the documents, typed into a terminal: at the shell's prompt, and at `tfprof> `."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.cli.files import Files, written
from tests.cli.pseudo_terminal import CTRL_D, PseudoTerminal, plain
from tests.documents.resnet import resnet
from tests.documents.session import DEFAULTS
from tests.documents.test_notes import SUMMARIZER
from tests.sketches import profile_of, protos_of

WIDE = 400
PARAMETER_SERVERS = """
    encoder/embedding = VariableV2() 50000x512 3us @/job:ps/replica:0/task:0/cpu:0
    encoder/lstm      = VariableV2() 210x1000 3us @/job:ps/replica:0/task:0/cpu:0
    decoder/embedding = VariableV2() 50000x1024 3us @/job:ps/replica:0/task:1/cpu:0
    decoder/lstm      = VariableV2() 7640x1000 3us @/job:ps/replica:0/task:1/cpu:0
"""
RAN = {
    "random_shuffle_queue_DequeueMany": 3_090_000,
    "init/init_conv/Conv2D": 11_750,
    "cost": 508_250,
    "gradients/unit_1_0/sub1/conv1/Conv2D_grad/Conv2DBackpropFilter": 54_960,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return written(protos_of(resnet(micros=RAN)), tmp_path_factory.mktemp("resnet"))


@pytest.fixture(scope="module")
def guide(model: Files) -> Iterator[PseudoTerminal]:
    """The prompt of the guide, with the defaults that it shows."""
    with PseudoTerminal(*model.words, columns=WIDE) as started:
        started.prompt()
        started.run(f"set {DEFAULTS}")
        yield started


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("scope -show_name_regexes unit_1_0.*gamma -select tensor_value -max_depth 5", "_TFProfRoot ()"),
        (
            "scope -account_type_regexes _checkpoint_variables -select params -max_depth 4",
            "_TFProfRoot (--/930.58k params)",
        ),
        (
            "graph -start_name_regexes cost.* -max_depth 100 -min_micros 10000 -select micros -account_type_regexes .*",
            # As in the guide, (0us/3.61sec), with the parts of the time; the gradient is not below the cost.
            "_TFProfRoot (--/3.66sec, --/0ns, --/3.66sec)",
        ),
        (
            "scope -start_name_regexes gradient.* -max_depth 100 -min_micros 20000 -select micros "
            "-account_type_regexes .*",
            "gradients/unit_1_0/sub1/conv1/Conv2D_grad/Conv2DBackpropFilter (54.96ms/54.96ms,",
        ),
        (
            "scope -min_float_ops 1 -max_depth 10 -select float_ops -account_type_regexes .*",
            "gradients/pool_logit/xw_plus_b/MatMul_grad/MatMul (163.84k/163.84k flops)",
        ),
        ("set -account_type_regexes _trainable_variables", ""),
        ("scope -max_depth 4 -select params", "_TFProfRoot (--/464.15k params)"),
        ("set -account_type_regexes .*", ""),
        (
            "scope -show_name_regexes unit_2_1.*DW -max_depth 100 -account_displayed_op_only",
            "_TFProfRoot (--/18.43k params)",
        ),
        ("scope -account_type_regexes Variable -max_depth 4 -select params", "_TFProfRoot (--/930.58k params)"),
        # The page on profiling a model's architecture, with the op type of this model.
        (
            "scope -min_float_ops 1 -select float_ops -account_displayed_op_only -max_depth 100",
            "init/init_conv/Conv2D (113.25m/113.25m flops)",
        ),
        (
            "op -min_float_ops 1 -select float_ops -account_displayed_op_only -order_by float_ops",
            "Conv2D                   17.63b float_ops (100.00%, 100.00%)",
        ),
    ],
)
def test_the_lines_of_the_guide(guide: PseudoTerminal, line: str, row: str) -> None:
    shown = guide.run(line)
    complaint = "tfprof: tensor_value is empty without a checkpoint; " if "tensor_value" in line else "tfprof: "
    assert shown.count("tfprof: ") == shown.count(complaint) == ("tensor_value" in line)
    assert row.replace(" ", "") in shown.replace(" ", "")


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PseudoTerminal]:
    folder = tmp_path_factory.mktemp("summarizer")
    profile_of(SUMMARIZER).save(folder / "profile_xx")
    with PseudoTerminal("--profile_path", str(folder / "profile_xx"), columns=WIDE) as started:
        started.prompt()
        yield started


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("op -select micros,bytes,occurrence -order_by micros", "MatMul"),
        ("op -select micros,occurrence -order_by micros", "MatMul"),
        ("op -select micros,device -order_by micros", "MatMul"),
        (
            "code -show_name_regexes seq2seq_attention.* -max_depth 10 -select micros -order_by micros",
            "_TFProfRoot",
        ),
        (
            "code -start_name_regexes .*_add_seq2seq.* -show_name_regexes seq2seq_attention.* -max_depth 10 "
            "-select micros -order_by micros",
            "_TFProfRoot",
        ),
        (
            "code -max_depth 5 -select micros -order_by micros -start_name_regexes .*_add_seq2seq.* -min_micros 100000",
            "_TFProfRoot",
        ),
        ("scope -max_depth 30 -select micros -min_micros 100000 -order_by micros", "_TFProfRoot"),
        (
            "code -max_depth 1000 -show_name_regexes .*model_analyzer.*py.* -select micros -account_type_regexes .* "
            "-order_by micros",
            "_TFProfRoot",
        ),
        ("scope -account_type_regexes VariableV2 -max_depth 4 -select params", "_TFProfRoot"),
        ("scope -min_float_ops 1 -select float_ops -account_displayed_op_only", "_TFProfRoot"),
    ],
)
def test_the_lines_of_the_notes(notes: PseudoTerminal, line: str, first: str) -> None:
    shown = notes.run(line)
    assert shown.partition("node name |")[2].splitlines()[1].split()[0] == first


def test_advise_of_the_notes(notes: PseudoTerminal) -> None:
    shown = notes.run("advise")
    assert "top 1 operation type: MatMul, cpu: 450.00ms" in shown


def test_timeline_of_the_notes(notes: PseudoTerminal, tmp_path: Path) -> None:
    shown = notes.run(f"graph -step -1 -max_depth 100000 -output timeline:outfile={tmp_path / 'timeline'}")
    assert f"Timeline file is written to {tmp_path / 'timeline'}." in shown
    assert (tmp_path / "timeline").read_text().startswith("{")
    assert [path.name for path in tmp_path.iterdir()] == ["timeline"]


def test_how_balanced_variables_are_on_parameter_servers(tmp_path: Path) -> None:
    home = tmp_path / "tfprof" / "textsum"
    home.mkdir(parents=True)
    files = written(protos_of(PARAMETER_SERVERS), home)
    (home / "run_meta_0").rename(home / "run_meta")
    # The shell leaves the ~ in --option=~/path as it is.
    words = ["--graph_path=~/tfprof/textsum/graph.pbtxt", "--run_meta_path", f"{files.folder}/run_meta"]
    with PseudoTerminal(*words, columns=WIDE, environment={"HOME": str(tmp_path)}) as started:
        started.prompt()
        line = "scope -select device,params -account_type_regexes .*ps.*task:{}.* -max_depth 1"
        assert "_TFProfRoot (--/25.81m params)" in started.run(line.format(0))
        assert "_TFProfRoot (--/58.84m params)" in started.run(line.format(1))


def test_an_extra_op_type_by_op_log(model: Files, tmp_path: Path) -> None:
    op_log = type(protos_of("").op_log)()
    for name in ("pool_logit/DW", "pool_logit/biases"):
        op_log.log_entries.add(name=name, types=["pool_logit"])
    (tmp_path / "op_log").write_bytes(op_log.SerializeToString())
    with PseudoTerminal(f"--graph_path={model.graph}", "--op_log_path", str(tmp_path / "op_log")) as started:
        started.prompt()
        shown = started.run("scope -account_type_regexes pool_logit -max_depth 4 -select params")
    assert "_TFProfRoot (--/650 params)\n" in shown
    assert "pool_logit/DW (64x10, 640/640 params)\n" in shown
    assert "pool_logit/biases (10, 10/10 params)\n" in shown


def test_one_shot_of_the_guide(model: Files, tmp_path: Path) -> None:
    with PseudoTerminal("scope", f"--graph_path={model.graph}", "--max_depth=3") as started:
        assert started.wait() == 0
        assert "pool_logit/DW (64x10, 640/1.28k params)" in plain(started.seen)
    dump = tmp_path / "dump"
    with PseudoTerminal("scope", f"--graph_path={model.graph}", "--max_depth=3", f"--dump_to_file={dump}") as started:
        assert started.wait() == 0
        assert started.seen.splitlines() == [f"tfprof: wrote {dump}"]
    assert "pool_logit/biases (10, 10/20 params)" in dump.read_text()


def test_help_and_the_prompt_with_fewer_files(model: Files) -> None:
    with PseudoTerminal("help") as started:
        assert started.wait() == 0
        assert "-account_displayed_op_only" in started.seen
    with PseudoTerminal(f"--graph_path={model.graph}") as started:
        started.prompt()
        assert "-select                     params\n" in started.run("")
        started.type(CTRL_D)
        assert started.wait() == 0


GAMMA = "1.80 2.10 2.06 1.91 2.26 1.86 1.81 1.37 1.78 1.85 1.96 1.54 2.04 2.34 2.22 1.99"


def save_variable(folder: Path) -> None:
    """Save a variable of these values in a checkpoint, and its graph beside it."""
    import tensorflow as tf  # here, as `make matrix` runs the other tests without it

    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        value = np.array(GAMMA.split(), np.float32)
        variable = v1.get_variable("unit_1_0/shared_activation/init_bn/gamma", initializer=value, use_resource=False)
        session.run(variable.initializer)
        v1.train.Saver([variable]).save(session, str(folder / "model.ckpt"), write_meta_graph=False)
        tf.io.write_graph(session.graph, str(folder), "graph.pbtxt")


def test_gammas_of_a_checkpoint(tmp_path: Path) -> None:
    save_variable(tmp_path)
    words = [f"--graph_path={tmp_path / 'graph.pbtxt'}", f"--checkpoint_path={tmp_path / 'model.ckpt'}"]
    with PseudoTerminal(*words, columns=WIDE) as started:
        started.prompt()
        shown = started.run("scope -show_name_regexes unit_1_0.*gamma -select tensor_value -max_depth 5")
        assert f"unit_1_0/shared_activation/init_bn/gamma ()\n[{GAMMA} ]," in shown
        shown = started.run("scope -account_type_regexes _checkpoint_variables -select params -max_depth 4")
        assert "_TFProfRoot (--/16 params)" in shown
