"""Whoever's code is in the bundles is named with licence and copyright; esbuild's account of them tells who that is."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.packaging.commands import ROOT, metadata, run
from tfprof_widget.demo import demo_profile
from tfprof_widget.widget.report import block, page_template, report
from tfprof_widget.widget.shown import Shown

NOTICES = ROOT / "tfprof_widget" / "static" / "THIRD_PARTY_NOTICES.txt"
FOLDER = re.compile(r".*node_modules/(?:@[^/]+/)?[^/]+(?=/)")
HEADING = re.compile(r"^(\S+ \d\S*) \(([^()]+)\)$", re.MULTILINE)
# Their licence is in their own comment.
COMMENTED = {
    "Esprima": "THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS",
}


def sections() -> list[str]:
    return re.split(r"\n-{20,}\n", NOTICES.read_text(encoding="utf-8"))[1:]


@pytest.mark.parametrize("entry", ["carried.ts", "charts.ts", "opener.ts", "panels.ts", "widget.ts"])
def test_every_bundled_package_is_named(entry: str, tmp_path: Path) -> None:
    """A plain bundle, without what js/build.mjs does: it has at least the same packages in it."""
    account = tmp_path / "account.json"
    run(
        *(str(ROOT / "node_modules" / ".bin" / "esbuild"), f"js/src/{entry}", "--bundle", "--minify", "--format=esm"),
        *("--jsx-factory=h", "--jsx-fragment=Fragment", "--jsx=transform", "--tsconfig-raw={}"),
        *("--loader:.css=text", f"--metafile={account}", f"--outdir={tmp_path}", "--log-level=error"),
        cwd=ROOT,
    )
    (output,) = json.loads(account.read_text())["outputs"].values()
    used = [path for path, part in output["inputs"].items() if part["bytesInOutput"]]
    folders = {found[0] for path in used if (found := FOLDER.match(path))}
    descriptions = [json.loads((ROOT / folder / "package.json").read_text()) for folder in folders]
    bundled = {f"{each['name']} {each['version']}" for each in descriptions}
    assert bundled - {name for name, _ in HEADING.findall(NOTICES.read_text(encoding="utf-8"))} == set()
    assert bundled or entry == "opener.ts"


def test_each_has_its_licence_in_full() -> None:
    for section in sections():
        assert HEADING.search(section), section[:200]
        assert re.search(r"Copyright|public domain", section), section[:200]
        assert re.search(r"AS IS", section), section[:200]


@pytest.mark.parametrize(("name", "licence"), COMMENTED.items())
def test_what_no_import_tells_is_named_too(name: str, licence: str) -> None:
    assert [section for section in sections() if name in section and licence in section]


def test_they_go_with_the_code_wherever_it_goes() -> None:
    """Panels and charts end with the notices of what is in them, and pages and saved results say so."""
    named = set()
    for bundle in ("panels", "charts"):
        code = gzip.decompress((NOTICES.parent / f"{bundle}.js.gz").read_bytes()).decode()
        assert "\n// What runs in the browser contains code of these packages" in code
        named |= set(re.findall(r"^// (\S+ \d\S*) \([^()]+\)$", code, re.MULTILINE))
    assert named == {name for name, _ in HEADING.findall(NOTICES.read_text(encoding="utf-8"))}
    exhibit = Shown.of_profile(demo_profile())
    told = "<!-- tfprof_widget .*their licences are at the end of the parts 'panels' and 'charts'"
    for result in (report(exhibit), block(exhibit), page_template()):
        assert len(re.findall(told, result)) == 1


def test_the_package_says_under_which_licences_it_comes(wheel: Path) -> None:
    bundled = {licence for _, licence in HEADING.findall(NOTICES.read_text(encoding="utf-8"))}
    # Esprima's is in the comment of the package that has taken its code.
    assert metadata(wheel)["License-Expression"] == " AND ".join(sorted({"Apache-2.0", "BSD-2-Clause", *bundled}))
