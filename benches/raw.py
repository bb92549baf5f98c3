"""The floor of `benches/compare --fast`: a client of the debugging protocol that sends the input of a step and waits for nothing else.

It finds an element by one script, checks nothing, reads nothing back and hides nothing. What a tool takes above it is the price of
its checks and of its answer.
"""

import base64
import json
import os
import socket
import struct
import time
import urllib.request

import fast

POINT = """(() => { const box = document.querySelector(%s).getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2] })()"""
FOCUS = "document.querySelector(%s).focus()"
SELECT = """(() => { const list = document.querySelector(%s); list.value = %s;
  for (const kind of ['input', 'change']) list.dispatchEvent(new Event(kind, {bubbles: true})) })()"""
END_KEY = {"key": "End", "code": "End", "windowsVirtualKeyCode": 35}


class DebugSocket:
    """A WebSocket of the debugging protocol, with one attached tab."""

    def __init__(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/version", timeout=10) as answer:
            path = json.load(answer)["webSocketDebuggerUrl"].split("/", 3)[3]
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.stream.sendall(f"{head}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        self.frames = self.stream.makefile("rb")
        status = self.frames.readline()
        if b" 101 " not in status:
            raise fast.Failed(f"no WebSocket on port {port}: {status!r}")
        while self.frames.readline().strip():
            pass
        self.asked, self.session, self.events = 0, None, []

    def attach(self, target):
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)[1]["sessionId"]

    def ask(self, method, **params):
        """Returns the time until the whole answer was read, and its result."""
        frame = self.frame(method, params)
        start = time.perf_counter()
        self.stream.sendall(frame)
        return self.answer(start)

    def ask_all(self, commands):
        """Sends commands without waiting between them, and returns the time until the last answer was read."""
        frames = b"".join(self.frame(method, params) for method, params in commands)
        start = time.perf_counter()
        self.stream.sendall(frames)
        return self.answer(start)[0]

    def frame(self, method, params):
        self.asked += 1
        message = {"id": self.asked, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        text = json.dumps(message).encode()
        assert len(text) < 65536
        size = bytes([0x80 | len(text)]) if len(text) < 126 else struct.pack("!BH", 0x80 | 126, len(text))
        # A mask of zeros leaves the text as it is.
        return b"\x81" + size + bytes(4) + text

    def answer(self, start):
        """Returns the time until the answer to the last command was read, and its result."""
        while True:
            read = self.message()
            took = time.perf_counter() - start
            answer = json.loads(read)
            if "error" in answer:
                raise fast.Failed(str(answer))
            if answer.get("id") == self.asked:
                return took, answer["result"]
            if "method" in answer:
                self.events.append(answer["method"])

    def event(self, method):
        """Returns the time until an event comes, which may have come before."""
        start = time.perf_counter()
        while method not in self.events:
            message = json.loads(self.message())
            if "method" in message:
                self.events.append(message["method"])
        self.events.clear()
        return time.perf_counter() - start

    def close(self):
        self.frames.close()
        self.stream.close()

    def message(self):
        """Reads a message. Both servers send each in one frame."""
        head = self.frames.read(2)
        if len(head) < 2 or head[0] != 0x81:
            raise fast.Failed(f"no text frame: {head!r}")
        size = head[1]
        if size > 125:
            form, more = ("!H", 2) if size == 126 else ("!Q", 8)
            (size,) = struct.unpack(form, self.frames.read(more))
        return self.frames.read(size)


class Raw:
    """One tab of its own on Chromium's port."""

    def __init__(self, page, port=9222):
        self.page, self.socket = page, DebugSocket(port)
        self.target = self.socket.ask("Target.createTarget", url="about:blank")[1]["targetId"]
        self.socket.attach(self.target)
        self.socket.ask("Page.enable")

    def run(self, step):
        if step not in self.STEPS:
            return None
        words = [self.page if word == "PAGE" else word for word in fast.STEPS[step]]
        return self.STEPS[step](self, *words[1:])

    def open(self, page):
        return self.socket.ask("Page.navigate", url=page)[0] + self.socket.event("Page.loadEventFired")

    def snapshot(self, _):
        return self.socket.ask("Accessibility.getFullAXTree")[0]

    def evaluate(self, script, *values):
        took, answer = self.socket.ask("Runtime.evaluate", expression=script % tuple(map(json.dumps, values)), returnByValue=True)
        if "exceptionDetails" in answer:
            raise fast.Failed(answer)
        return took, answer["result"].get("value")

    def hover(self, selector):
        return self.mouse(selector)

    def click(self, selector):
        return self.mouse(selector, 1)

    def dblclick(self, selector):
        return self.mouse(selector, 1, 2)

    def mouse(self, selector, *presses):
        found, (x, y) = self.evaluate(POINT, selector)
        point = {"x": x, "y": y, "button": "left"}
        input = [{**point, "type": "mouseMoved", "button": "none"}]
        for count in presses:
            input += [{**point, "type": kind, "clickCount": count} for kind in ("mousePressed", "mouseReleased")]
        return found + self.socket.ask_all([("Input.dispatchMouseEvent", part) for part in input])

    def focus(self, selector):
        return self.evaluate(FOCUS, selector)[0]

    def fill(self, selector, text):
        return self.evaluate(FOCUS.replace("focus()", "select()"), selector)[0] + self.socket.ask("Input.insertText", text=text)[0]

    def type(self, selector, text):
        keys = []
        for sign in text:
            key = {"key": sign, "code": f"Key{sign.upper()}", "windowsVirtualKeyCode": ord(sign.upper())}
            keys += [{**key, "type": "keyDown", "text": sign}, {**key, "type": "keyUp"}]
        return self.focus(selector) + self.socket.ask_all([("Input.dispatchKeyEvent", key) for key in keys])

    def press(self, _):
        return self.socket.ask_all([("Input.dispatchKeyEvent", {**END_KEY, "type": kind}) for kind in ("rawKeyDown", "keyUp")])

    def select(self, selector, value):
        return self.evaluate(SELECT, selector, value)[0]

    def wait(self, selector):
        return self.evaluate("document.querySelector(%s) !== null", selector)[0]

    def screenshot(self):
        return self.socket.ask("Page.captureScreenshot")[0]

    STEPS = {
        "open": open,
        "snapshot -i": snapshot,
        "snapshot -i, again": snapshot,
        "click": click,
        "dblclick": dblclick,
        "hover": hover,
        "focus": focus,
        "fill": fill,
        "type": type,
        "press": press,
        "check": click,
        "uncheck": click,
        "select": select,
        "wait SEL": wait,
        "screenshot": screenshot,
    }

    def stop(self):
        self.socket.ask("Page.close")
        self.socket.close()
