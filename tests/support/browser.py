"""A headless Chromium, spoken to through its debugging pipe: nothing but the browser is needed."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage",
           "--remote-debugging-pipe")  # fmt: skip
PATIENCE = 120.0  # seconds
KEYS = {"Tab": (9, ""), "ArrowDown": (40, ""), "Space": (32, " "), "Enter": (13, "\r")}


def find_browser():
    """Return the path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """A browser with one page; what the page says and asks for is kept in ``events``."""

    def __init__(self, path):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        reads, self.out = os.pipe()
        self.into, writes = os.pipe()
        words = [path, *OPTIONS, f"--user-data-dir={self.profile.name}"]
        above = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (reads, writes)]  # out of the way of 3 and 4
        silent = [(os.POSIX_SPAWN_OPEN, end, os.devnull, os.O_WRONLY, 0) for end in (1, 2)]
        pipes = [(os.POSIX_SPAWN_DUP2, end, number) for end, number in zip(above, (3, 4), strict=True)]
        self.process = os.posix_spawn(path, words, os.environ, file_actions=[*silent, *pipes])
        for end in (reads, writes, *above):
            os.close(end)
        self.left, self.sent, self.events, self.session = b"", 0, [], None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **params):
        """Send a command and return its answer."""
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self.sent:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width, height=900, media="", scheme="light"):
        """Show a file in a window of some width, as on a screen or as printed, in light or dark, and wait until it is there."""
        self.events.clear()
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=scheme)
        self.ask("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def evaluate(self, expression):
        """Return the value of a JavaScript expression."""
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def press(self, key):
        """Press a key: Tab, ArrowDown, Space, Enter, or that of a letter."""
        code, text = KEYS.get(key) or (ord(key.upper()), key)
        for kind in ("keyDown", "keyUp"):
            words = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=text or key, windowsVirtualKeyCode=code, **words)

    def type(self, text):
        """Type a text where the focus is."""
        self.ask("Input.insertText", text=text)

    def complaints(self):
        """Return errors of the page, and what it wrote to the console or wanted from elsewhere."""
        self.evaluate("0")  # all that was said before this answer has then been read
        said = [
            e
            for e in self.events
            if e["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        ]
        asked = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return said + [url for url in asked[1:] if not url.startswith("data:")]

    def screenshot(self, path):
        """Save a picture of the whole page."""
        box = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": box["width"], "height": box["height"], "scale": 1}
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self):
        """Return the page as a printer would get it."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])

    def close(self):
        """End the browser."""
        os.kill(self.process, signal.SIGTERM)
        os.waitpid(self.process, 0)
        os.close(self.out)
        os.close(self.into)
        self.profile.cleanup()

    def _read(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.left:
            if not select.select([self.into], [], [], max(end - time.monotonic(), 0.0))[0]:
                raise TimeoutError(f"the browser has not answered for {PATIENCE:g} seconds")
            part = os.read(self.into, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.left += part
        message, _, self.left = self.left.partition(b"\0")
        return json.loads(message)
