"""A headless Chromium, driven through a pipe by its own protocol; nothing to install but the browser."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 60  # for an answer, on a busy machine


def there():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page. Whatever it asks for is in `requests`, what went wrong in its scripts in `errors`."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, its = os.pipe(), os.pipe()  # it reads from descriptor 3 and writes to 4
        command = [there(), "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"]
        command += ["--hide-scrollbars", "--no-first-run", "--disable-extensions", "about:blank"]
        command += [f"--user-data-dir={self.profile.name}"]
        script = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, str(ours[0]), str(its[1]), *command],
            pass_fds=(ours[0], its[1]),
            stderr=subprocess.DEVNULL,
        )
        os.close(ours[0])
        os.close(its[1])
        self.input, self.output = os.fdopen(ours[1], "wb", buffering=0), os.fdopen(its[0], "rb", buffering=0)
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        self.requests, self.bytes, self.errors = [], 0, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.input.close()
        self.output.close()
        self.profile.cleanup()

    def message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.output.fileno(), 1 << 20)
            if not piece:
                raise RuntimeError("Chromium has ended")
            self.rest += piece
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def ask(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        self.input.write(json.dumps(request | ({"sessionId": self.session} if self.session else {})).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.note(message)

    def note(self, message):
        what, more = message.get("method"), message.get("params", {})
        self.events.append(what)
        if what == "Network.requestWillBeSent":
            self.requests.append(more["request"]["url"])
        elif what == "Network.dataReceived":
            self.bytes += more["dataLength"]
        elif what == "Runtime.exceptionThrown":
            details = more["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))

    def open(self, url):
        self.requests, self.bytes, self.errors, self.events = [], 0, [], []
        self.ask("Page.navigate", url=url)
        end = time.monotonic() + SECONDS
        while "Page.loadEventFired" not in self.events:
            if time.monotonic() > end:
                raise RuntimeError(f"{url} is not loaded after {SECONDS} s")
            self.note(self.message())

    def value(self, expression):
        done = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"]["exception"].get("description", "an error"))
        return done["result"].get("value")

    def key(self, name, code, character=""):
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, text=character
            )

    def choose(self, selector, *files):
        """Gives files to an input."""
        document = self.ask("DOM.getDocument")["root"]["nodeId"]
        node = self.ask("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]
        self.ask("DOM.setFileInputFiles", nodeId=node, files=list(map(str, files)))

    def looks(self, width, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, file, selector=None):
        where = self.value(
            f"(() => {{ const r = document.querySelector({json.dumps(selector or 'body')}).getBoundingClientRect();"
            "return {x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height, scale: 1}; })()"
        )
        done = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=where)
        Path(file).write_bytes(base64.b64decode(done["data"]))
