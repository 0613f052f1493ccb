"""A headless Chromium, driven through chromedriver's HTTP interface (W3C WebDriver)."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from waiting import left_s, wait_until

ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
]


class Browser:
    """One session; every call raises OSError if the browser refuses it."""

    def __init__(self, port: int, session: str) -> None:
        self._base = f"http://127.0.0.1:{port}/session/{session}"

    def open(self, page: Path, fragment: str = "") -> None:
        """Load a page from its file."""
        self._post("/url", {"url": "about:blank"})
        self._post("/url", {"url": f"{page.resolve().as_uri()}{fragment}"})

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a function's body returns, a promise's value too."""
        return self._post("/execute/sync", {"script": script, "args": list(arguments)})

    def devtools(self, command: str, **parameters: Any) -> Any:
        """Execute a command of the DevTools protocol."""
        return self._post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def sized(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the size of the window, and whether the reader prefers dark pages."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def picture(self, output: Path, *, whole: bool = True) -> None:
        """Write a PNG of the page."""
        taken = self.devtools("Page.captureScreenshot", captureBeyondViewport=whole)
        if whole:
            size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
            taken = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        output.write_bytes(base64.b64decode(taken["data"]))

    def keys(self, *keys: str) -> None:
        """Press keys, one after another; names as in KeyboardEvent.key."""
        for key in keys:
            code = {"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowUp": 38}
            code |= {"ArrowRight": 39, "ArrowDown": 40, "PageUp": 33, "PageDown": 34}
            number = code.get(key, ord(key[0]))
            text = {"text": key} if len(key) == 1 else {}
            for kind in ("keyDown", "keyUp"):
                self.devtools(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key=key,
                    code=key,
                    windowsVirtualKeyCode=number,
                    **(text if kind == "keyDown" else {}),
                )

    def said(self) -> list[str]:
        """Return the messages of the console since the last call."""
        entries = self._post("/se/log", {"type": "browser"})
        return [str(entry["message"]) for entry in entries]

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return _post(self._base + path, body)


def _post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=left_s()) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise OSError(json.load(error)["value"]["message"]) from error


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless Chromium."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "driver.log")
        with log.open("wb") as written:
            driver = subprocess.Popen(
                ["chromedriver", "--port=0"], stdout=written, stderr=subprocess.STDOUT
            )
        try:
            port = _port_of(log)
            options = {"args": [*ARGUMENTS, f"--user-data-dir={folder}/profile"]}
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            url = f"http://127.0.0.1:{port}/session"
            session = _post(url, {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
            try:
                yield Browser(port, session)
            finally:
                urllib.request.urlopen(
                    urllib.request.Request(f"{url}/{session}", method="DELETE"), timeout=left_s()
                ).close()
        finally:
            driver.terminate()
            driver.wait()


def _port_of(log: Path) -> int:
    """Return the port that chromedriver has chosen."""

    def started() -> bool:
        return "successfully on port" in log.read_text()

    wait_until(started)
    found = re.search(r"successfully on port (\d+)", log.read_text())
    assert found is not None
    return int(found[1])
