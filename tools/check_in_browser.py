"""Look at the built documentation in headless Chromium: ``python -m tools.check_in_browser docs/_build/html``.

For every page, on a wide and a narrow screen, light and dark: is the contrast of text what WCAG 2 (AA) asks for, does the page stay within the
screen, and on a wide one, does code fit its column? Without Chromium nothing is checked, and that is said.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTHS = (1300, 390)
SCRIPT = """
const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const luminance = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
const over = (top, below) => { const a = top[3] ?? 1; return [0, 1, 2].map(i => a * top[i] + (1 - a) * below[i]); };
function ground(element, view) {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    const color = parse(view.getComputedStyle(e).backgroundColor);
    if (color.length && (color[3] ?? 1) > 0) { layers.push(color); if ((color[3] ?? 1) === 1) break; }
  }
  return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
}
function pale(view) {
  const found = new Map(), walker = view.document.createTreeWalker(view.document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, style = view.getComputedStyle(e);
    if (!walker.currentNode.data.trim() || !e.offsetParent || style.visibility === "hidden") continue;
    if (e.closest("svg, mjx-container, [aria-hidden=true], script, style")) continue;
    const below = ground(e, view), color = parse(style.color);
    let seen = color[3] ?? 1;
    for (let p = e; p; p = p.parentElement) seen *= +view.getComputedStyle(p).opacity;
    if (!seen) continue;
    const text = over([...color.slice(0, 3), seen], below);
    const [high, low] = [luminance(text), luminance(below)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.6 && +style.fontWeight >= 700);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < (large ? 3 : 4.5)) found.set(`${e.tagName} ${e.className} ${style.color}`, `${ratio.toFixed(2)} "${walker.currentNode.data.trim().slice(0, 30)}"`);
  }
  return [...found].map(([where, what]) => `contrast ${what} of ${where}`);
}
function wide(view, width) {
  const root = view.document.documentElement, found = [];
  if (root.scrollWidth > width) found.push(`the page is ${root.scrollWidth} wide on a screen of ${width}`);
  if (width > 1000) for (const pre of view.document.querySelectorAll("article pre"))
    if (pre.offsetParent && pre.scrollWidth > pre.clientWidth + 1)
      found.push(`cut off by ${pre.scrollWidth - pre.clientWidth} of ${pre.clientWidth}: ${pre.innerText.split("\\n").sort((a, b) => b.length - a.length)[0].slice(0, 60)}`);
  if (width > 1000) for (const box of view.document.querySelectorAll("article .output, article .pst-scrollable-table-container"))
    if (box.offsetParent && box.scrollWidth > box.clientWidth + 1 && !box.querySelector("pre"))
      found.push(`a table is cut off by ${box.scrollWidth - box.clientWidth} of ${box.clientWidth}`);
  return found;
}
const wait = time => new Promise(done => setTimeout(done, time));
(async () => {
  const found = {};
  for (const page of PAGES) for (const width of WIDTHS) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
    frame.src = page;
    await new Promise(done => { frame.onload = done; document.body.append(frame); });
    await wait(50);
    const view = frame.contentWindow, say = (mode, texts) => texts.forEach(text => (found[`${page} ${width} ${mode}`] ??= []).push(text));
    view.document.head.insertAdjacentHTML("beforeend", "<style>* { transition: none !important }</style>");
    say("light", wide(view, width));
    for (const mode of ["light", "dark"]) {
      view.document.documentElement.dataset.theme = mode;
      view.document.documentElement.dataset.mode = mode;
      await wait(20);
      say(mode, pale(view));
    }
    frame.remove();
  }
  const result = document.createElement("pre");
  result.id = "result"; result.textContent = JSON.stringify(found);
  document.body.append(result);
})();
"""


def browser() -> str | None:
    """Return a Chromium, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        """Say nothing."""


def look(site: Path, pages: list[str], chromium: str, widths: tuple[int, ...] = WIDTHS) -> dict[str, list[str]]:
    """Return what is wrong with pages of a site, by page, width and colours."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    script = f"const PAGES = {json.dumps([f'/{page}' for page in pages])}, WIDTHS = {json.dumps(widths)};{SCRIPT}"
    checker = site / "_static" / "check.html"
    checker.write_text(f"<!doctype html><meta charset=utf-8><body><script>{script}</script>")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000", "--dump-dom"]
    with tempfile.TemporaryDirectory() as profile:
        address = f"http://127.0.0.1:{server.server_port}/_static/check.html"
        call = [chromium, *options, f"--user-data-dir={profile}", f"--virtual-time-budget={4000 * len(pages)}", address]
        done = subprocess.run(call, capture_output=True, text=True, timeout=60 + 20 * len(pages))
    server.shutdown()
    checker.unlink()
    result = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    if result is None:
        raise RuntimeError(f"Chromium did not finish: {done.stderr[-500:]}")
    return json.loads(unescape(result[1]))


def main(site: Path, some: list[str]) -> int:
    """Print what is wrong, and return how much; pages of the reference are all alike, and one of them is looked at."""
    chromium = browser()
    if chromium is None:
        print("There is no Chromium: contrast and widths of the pages are not checked.")
        return 0
    written = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))]
    pages = [page for page in written if not page.startswith(("_", "generated/", "genindex", "py-modindex", "search"))]
    pages += [page for page in written if page.startswith("generated/")][:1]
    found: dict[str, list[str]] = {}
    pages = some or pages
    for start in range(0, len(pages), 8):
        found |= look(site, pages[start : start + 8], chromium)
    print("\n".join(f"{where}: {text}" for where, texts in found.items() for text in texts))
    count = sum(map(len, found.values()))
    print(f"{len(pages)} pages, {' and '.join(map(str, WIDTHS))} wide, light and dark: {count or 'no'} problems.")
    return count


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/_build/html").resolve(), sys.argv[2:]), 1))
