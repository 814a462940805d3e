"""A page in Chromium, driven over the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/)."""
import base64
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request


class Failure(AssertionError):
    pass


def wait(what, check, seconds=20):
    """Returns the first true answer of `check`."""
    end = time.monotonic() + seconds
    while True:
        answer = check()
        if answer:
            return answer
        if time.monotonic() > end:
            raise Failure(f"did not happen in {seconds} s: {what}")
        time.sleep(0.05)


class Chromium:
    """A headless browser with a profile of its own."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="notes-browser-")
        # Without a sandbox, as that cannot be had in containers: the browser shows the sample alone.
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--lang=en-US",
             "--remote-debugging-port=0", f"--user-data-dir={self.profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ, HOME=self.profile))
        file = pathlib.Path(self.profile, "DevToolsActivePort")
        self.port = int(wait("Chromium starts", lambda: file.exists() and file.read_text().splitlines(), 60)[0])

    def page(self, address, width=1280, height=800):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request) as answer:
            page = Page(self, json.load(answer))
        page.size(width, height)
        page.open(address)
        return page

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """One tab. What a person does has a call each: go, click, type, press."""

    def __init__(self, browser, target):
        self.browser, self.target, self.number, self.problems = browser, target, 0, []
        self.socket = socket.create_connection(("127.0.0.1", browser.port))
        self.socket.settimeout(60)
        path = target["webSocketDebuggerUrl"].split("/", 3)[3]
        nonce = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\n"
                             f"Upgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {nonce}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.stream = self.socket.makefile("rb")
        while self.stream.readline() not in (b"\r\n", b""):
            pass
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def _send(self, text):
        # https://www.rfc-editor.org/rfc/rfc6455#section-5.2
        data, mask = text.encode(), os.urandom(4)
        size = struct.pack("!B", 0x80 | len(data)) if len(data) < 126 else (
            struct.pack("!BH", 0xfe, len(data)) if len(data) < 65536 else struct.pack("!BQ", 0xff, len(data)))
        self.socket.sendall(b"\x81" + size + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(data)))

    def _receive(self):
        data = b""
        while True:
            first, second = self.stream.read(2)
            size = second & 0x7f
            if size > 125:
                size = struct.unpack("!H" if size == 126 else "!Q", self.stream.read(2 if size == 126 else 8))[0]
            data += self.stream.read(size)
            if first & 0x80:
                return json.loads(data)

    def call(self, method, **parameters):
        self.number += 1
        number = self.number
        self._send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = self._receive()
            if message.get("id") == number:
                if "error" in message:
                    raise Failure(f"{method}: {message['error']['message']}")
                return message.get("result", {})
            self._hear(message)

    def _hear(self, message):
        method, what = message.get("method"), message.get("params", {})
        if method == "Page.javascriptDialogOpening":
            # The answer to this call is read by the call that is waiting.
            self._send(json.dumps({"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}))
        elif method == "Runtime.exceptionThrown":
            self.problems.append(what["exceptionDetails"].get("exception", {}).get("description", str(what)))
        elif method == "Log.entryAdded" and what["entry"]["source"] in ("security", "javascript"):
            self.problems.append(what["entry"]["text"])

    def run(self, script):
        """The value of an expression, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise Failure(f"{script}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.ready()

    def reload(self):
        self.run("window.former = true")
        self.call("Page.reload")
        wait("the page is loaded again", lambda: not self.run("window.former"))
        self.ready()

    def ready(self):
        wait("the page is loaded", lambda: self.run("document.readyState === 'complete' && location.protocol === 'http:'"))

    def close(self):
        self.call("Page.close")
        self.socket.close()

    def front(self):
        self.call("Page.bringToFront")

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def click(self, selector, text=None):
        """Clicks with the mouse in the middle of what is seen."""
        self.front()
        find = (f"[...document.querySelectorAll({json.dumps(selector)})].find(e => e.checkVisibility() && "
                f"({json.dumps(text)} === null || e.textContent.includes({json.dumps(text)})))")
        place = wait(f"{selector} with {text} can be clicked", lambda: self.run(
            f"(() => {{ const e = {find}; if (!e) return null; e.scrollIntoView({{ block: 'nearest' }}); "
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"))
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key, shift=False, control=False):
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "End": 35, "a": 65, "/": 191}
        text = {"Enter": "\r", "/": "/"}.get(key, "")
        modifiers = (8 if shift else 0) + (2 if control else 0)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key],
                      modifiers=modifiers, **({"text": text} if text and kind == "keyDown" else {}))

    def text(self, selector="body"):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def value(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).value")

    def sees(self, text, selector="body", seconds=20):
        wait(f"{selector} has '{text}', and not '{self.text(selector)[:300]}'", lambda: text in self.text(selector), seconds)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))


class Movie:
    """An animated picture of pages beside each other (https://developers.google.com/speed/webp/docs/riff_container)."""

    def __init__(self, pages, gap=16):
        self.places, self.frames, self.width, self.height = {}, [], 0, 0
        for page in pages:
            width, height = page.run("[innerWidth, innerHeight]")
            self.places[page] = self.width
            self.width, self.height = self.width + width + gap, max(self.height, height)
        self.width -= gap
        self.shown = dict.fromkeys(pages)

    def shot(self, seconds):
        """Shows for some time what has changed in the pages."""
        changed = []
        for page, x in self.places.items():
            page.front()
            data = base64.b64decode(page.call("Page.captureScreenshot", format="webp", quality=75)["data"])
            if data != self.shown[page]:
                changed.append((x, *page.run("[innerWidth, innerHeight]"), data))
                self.shown[page] = data
        for index, frame in enumerate(changed):
            self.frames.append([*frame, int(seconds * 1000) if index == len(changed) - 1 else 0])

    def write(self, path):
        def chunk(name, data):
            return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)

        def box(*values):
            return b"".join(value.to_bytes(3, "little") for value in values)

        body = chunk(b"VP8X", b"\x02\0\0\0" + box(self.width - 1, self.height - 1))
        body += chunk(b"ANIM", b"\xff" * 4 + b"\0\0")
        for x, width, height, data, duration in self.frames:
            # Chromium's file without the header of the whole.
            at, image = 12, b""
            while at < len(data):
                size = struct.unpack_from("<I", data, at + 4)[0]
                if data[at:at + 4] in (b"ALPH", b"VP8 ", b"VP8L"):
                    image += chunk(data[at:at + 4], data[at + 8:at + 8 + size])
                at += 8 + size + size % 2
            body += chunk(b"ANMF", box(x // 2, 0, width - 1, height - 1, duration) + b"\x02" + image)
        pathlib.Path(path).write_bytes(chunk(b"RIFF", b"WEBP" + body))
