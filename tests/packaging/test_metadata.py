"""What the package says of itself is true: its version, its extras, its licence and its description."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from trove_classifiers import classifiers

import tfprof_widget
from hatch_readme import portable
from tests.packaging.commands import ROOT, metadata, run

EXTRAS = {"distributed", "export", "tensorflow"}
NAMED_EXTRA = re.compile(r"tfprof-widget\[([^\]]*)\]")
FILES_BESIDE = re.compile(
    r"""\]\((?!https?:|\#) | ^\[[^\]]+\]:\s*(?!https?:) | \b(?:src|srcset|href)=["'](?!https?:|\#)""",
    re.MULTILINE | re.VERBOSE,
)


def test_version_is_everywhere_the_same(wheel: Path, installed: Path) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", tfprof_widget.__version__)
    assert metadata(wheel)["Version"] == tfprof_widget.__version__
    said = run(str(installed.parent / "tfprof"), "--version", cwd=installed.parent)
    assert said == f"tfprof {tfprof_widget.__version__}\n"
    for name in ("package.json", "package-lock.json"):
        assert "version" not in json.loads((ROOT / name).read_text(encoding="utf-8"))


def test_classifiers_are_known(wheel: Path) -> None:
    given = metadata(wheel).get_all("Classifier", [])
    assert {"Framework :: IPython", "Framework :: Jupyter", "Typing :: Typed"} <= set(given) <= classifiers


def test_notebooks_need_no_extra(wheel: Path) -> None:
    assert set(metadata(wheel).get_all("Provides-Extra", [])) == EXTRAS
    plain = {line for line in metadata(wheel).get_all("Requires-Dist", []) if "extra ==" not in line}
    assert {"anywidget", "ipython"} <= {re.split(r"[^\w-]", line)[0] for line in plain}


def test_every_extra_that_is_named_exists() -> None:
    written = [ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/*.md"), *ROOT.glob("tfprof_widget/**/*.py")]
    named = {extra for path in written for extra in NAMED_EXTRA.findall(path.read_text(encoding="utf-8"))}
    assert named == EXTRAS


def test_licence_files_are_shipped(wheel: Path) -> None:
    assert metadata(wheel).get_all("License-File") == ["LICENSE", "tfprof_widget/static/THIRD_PARTY_NOTICES.txt"]


def test_description_needs_no_file_beside_it(wheel: Path) -> None:
    description = metadata(wheel).get_payload()
    assert isinstance(description, str)
    assert description.startswith("# tfprof-widget\n")
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", description, flags=re.DOTALL | re.MULTILINE)
    assert FILES_BESIDE.findall(text) == []


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("See [`docs/a.md`](docs/a.md#b), [c](https://example.org).", "See `docs/a.md`, [c](https://example.org)."),
        ("Before\n\n<!-- given\na = [0](1)\n-->\n\nAfter", "Before\n\nAfter"),
        ("[one](#one) and [two](two.md)", "[one](#one) and two"),
        ("Before\n\n![alt](docs/a.png)\n\nAfter", "Before\n\nAfter"),
        ('Before\n\n<picture>\n<source srcset="a.png">\n<img src="b.png">\n</picture>\n\nAfter', "Before\n\nAfter"),
        ('<img src="docs/a.png" width="600">\nAfter', "After"),
        ("`views[0](x)` and\n```python\nviews[0](x)\n```\n", "`views[0](x)` and\n```python\nviews[0](x)\n```\n"),
    ],
)
def test_description_of_a_readme(written: str, shown: str) -> None:
    assert portable(written) == shown
