"""A saved page may do nothing but show itself, and the widget works where its host's policy forbids eval."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Opening
from tests.browser.screen import Screen
from tfprof_widget.lib.static_files import static_bytes

# What someone's script would try, by the directive that is to refuse it.
ATTEMPTS = {
    "eval": ("script-src", "eval('1')"),
    "function": ("script-src", "new Function('return 1')()"),
    "timer": ("script-src", "setTimeout('1')"),
    "script": ("script-src-elem", "append('script', {textContent: 'fired()'})"),
    "script of others": ("script-src-elem", "append('script', {src: 'EVIL/x.js'})"),
    "handler": ("script-src-attr", "append('p', {}).setAttribute('onclick', 'fired()')"),
    "fetch": ("connect-src", "fetch('EVIL/').catch(() => {})"),
    "own file": ("connect-src", "fetch(location.href).catch(() => {})"),
    "socket": ("connect-src", "new WebSocket('SOCKET')"),
    "beacon": ("connect-src", "navigator.sendBeacon('EVIL/', 'x')"),
    "image": ("img-src", "append('img', {src: 'EVIL/x.png'})"),
    "style": ("style-src-elem", "append('link', {rel: 'stylesheet', href: 'EVIL/x.css'})"),
    "font": ("font-src", "new FontFace('x', 'url(EVIL/x.woff)').load().catch(() => {})"),
    "frame": ("frame-src", "append('iframe', {src: 'EVIL/'})"),
    "form": ("form-action", "append('form', {action: 'EVIL/'}).submit()"),
    "base": ("base-uri", "append('base', {href: 'EVIL/'})"),
    "worker": ("worker-src", "new Worker('data:text/javascript,1')"),
}
# From a timer: what the debugger runs itself, no policy binds.
ATTEMPT = """attempt => new Promise(resolve => {
  const append = (tag, given) => document.body.appendChild(Object.assign(document.createElement(tag), given));
  window.fired = () => { window.hasFired = true; };
  document.addEventListener("securitypolicyviolation", event => resolve(event.effectiveDirective), {once: true});
  const run = new Map(Object.entries(attempts(append))).get(attempt);
  setTimeout(() => { try { run(); } catch { /* told by the event */ } });
  setTimeout(() => resolve("nothing was refused"), 5000);
})"""
HOST = """
const text = async part => new Response(
  new Blob([bytes(part)]).stream().pipeThrough(new DecompressionStream("gzip")));
const bytes = part => Uint8Array.from(
  atob(document.querySelector(`[data-part="${part}"]`).textContent), character => character.charCodeAt(0));
const state = await (await text("state")).json();
const columns = await (await text("columns-0")).arrayBuffer();
const values = {...state.traits, _graphs: [{...state.graphs[0], columns: new Uint8Array(columns)}]};
const model = {get: name => values[name], set() {}, save_changes() {}, on() {}, off() {}};
const el = document.querySelector("[data-static]");
el.replaceChildren();
(await import("./widget.js")).default.render(
  {model, el, assets: async () => (
    {panels: bytes("panels"), carried: bytes("carried"), charts: bytes("charts"), page: ""})});
"""


def test_a_saved_page_refuses_whatever_is_put_into_it(chromium: Browser, demo_file: Path, tmp_path: Path) -> None:
    tried = ", ".join(f"{name!r}: () => {script}" for name, (_, script) in ATTEMPTS.items())
    with hosting(tmp_path, "") as other, closing(chromium.new_context()) as context:
        page = context.new_page()
        page.goto(demo_file.as_uri())
        Screen(page).until_ready()
        attempt = ATTEMPT.replace("attempts(append)", f"{{{tried}}}").replace("EVIL", other.address)
        attempt = attempt.replace("SOCKET", other.address.replace("http", "ws"))
        refused = {name: page.evaluate(attempt, name) for name in ATTEMPTS}
        has_fired = page.evaluate("() => window.hasFired ?? false")
    assert refused == {name: directive for name, (directive, _) in ATTEMPTS.items()}
    assert not has_fired
    assert other.asked == []


def test_a_saved_page_works_under_its_policy(demo_file: Path, open_file: Opening) -> None:
    """All of it: the browser's complaints of its policy would be faults."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', demo_file.read_text(encoding="utf-8"))
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy[1]
    assert "unsafe-inline" not in policy[1].partition("script-src")[2].partition(";")[0]
    assert not re.search(r"https?:|\*|'self'", policy[1])
    works(open_file(demo_file))


def works(screen: Screen) -> None:
    """Tables, charts and panels are there, and react."""
    screen.until(lambda: screen.marks("Time by op type")[:1], ["MatMul"])
    for tab in ("scope", "graph", "code", "timeline", "memory", "advise", "op"):
        screen.look_at(tab)
    screen.type_regexes("show_name_regexes", "Relu")
    screen.until(screen.names, ["Relu"])
    screen.until(lambda: screen.marks("Time by op type"), ["Relu"])


@pytest.fixture
def site(tmp_path: Path, demo_file: Path) -> Path:
    """The demo as another page would host the widget."""
    page = re.sub(
        r"<meta http-equiv=[^>]*>|<script>.*?</script>", "", demo_file.read_text(encoding="utf-8"), flags=re.S
    )
    script = '<script type="module" src="host.js"></script>'
    (tmp_path / "index.html").write_text(page.replace("</body>", f"{script}</body>"), encoding="utf-8")
    (tmp_path / "host.js").write_text(HOST, encoding="utf-8")
    (tmp_path / "widget.js").write_bytes(static_bytes("widget.js"))
    return tmp_path


@dataclass(frozen=True)
class Host:
    """Where a folder is served, and what was asked for."""

    address: str
    asked: list[str]


@contextmanager
def hosting(folder: Path, policy: str) -> Iterator[Host]:
    """Serves a folder under a policy."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            asked.append(self.path)
            self.send_header("Content-Security-Policy", policy)
            super().end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Host(f"http://127.0.0.1:{server.server_port}", asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("allowed", ["blob:", "data:"])
def test_the_widget_works_where_the_host_forbids_eval(chromium: Browser, site: Path, allowed: str) -> None:
    """Scripts may come from the page itself, and from one kind of address; the widget tries the one, then the other."""
    policy = f"default-src 'none'; script-src 'self' {allowed}; style-src 'unsafe-inline'; img-src data: blob:"
    complaints: list[str] = []
    with hosting(site, policy) as host, closing(chromium.new_context()) as context:
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{host.address}/index.html")
        works(Screen(page).until_ready())
    refused = [text for text in complaints if "Loading the script 'blob:" in text]
    assert len(refused) == (allowed == "data:")
    assert [text for text in complaints if text not in refused] == []
    assert {path for path in host.asked if "favicon" not in path} == {"/index.html", "/host.js", "/widget.js"}


def test_sentence_and_costliest_rows_stay_where_the_host_lets_no_script_be_loaded(
    chromium: Browser, site: Path
) -> None:
    policy = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data: blob:"
    with hosting(site, policy) as host, closing(chromium.new_context()) as context:
        page = context.new_page()
        page.goto(f"{host.address}/index.html")
        Screen(page).until_ready()
        expect(page.get_by_text("the policy of this page lets no script be loaded").first).to_be_visible()
        root = page.get_by_role("row").filter(has_text="_TFProfRoot")
        expect(root).to_have_text(re.compile(r"_TFProfRoot\d+(\.\d+)?\s[µm]s"))
        page.get_by_role("searchbox").fill("Relu")
        expect(page.locator(".search output")).to_have_text(re.compile("^1 of "))
        for tab in ("overview", "op", "timeline", "advise"):
            page.get_by_role("tab", name=tab, exact=True).click()
            expect(
                page.get_by_text("This panel cannot be shown: the policy of this page lets no script be loaded").first
            ).to_be_visible()
            sentence = page.get_by_role("heading", name=re.compile("^A step takes 365.1 µs"))
            expect(sentence).to_have_count(1 if tab == "overview" else 0)
