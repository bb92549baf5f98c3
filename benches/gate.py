"""Benchmark of `benches/compare --gate`: the control gate beside a bare debugging port, in one run and in turns.

Two Chromium processes run with the same flags. One is behind browser-shell, whose sessions have the isolation `session`; the other
is not. A message is sent to the same tab on both ways, so that only the gate is between. A command of agent-browser's CLI uses a
browser of its own on each way, because two attached daemons slow each other down. Every answer is checked, outside the time.
"""

import base64
import json
import os
import re
import signal
import socket
import statistics
import struct
import subprocess
import time
import urllib.request
from pathlib import Path

import fast

GATED_PORT, BARE_PORT = 9222, 9223
POLICY = {"browser": {"isolation": "session"}, "subcommands": {"enable": ["get"]}}
# As the runtime and the image start Chromium.
FLAGS = ["--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup"]

WARM_UP = 50
MESSAGES = {
    "`document.title`": ("document.title", 1000),
    "a string of 1 MB": ("'x'.repeat(1e6)", 100),
}
COMMANDS = {"open": ["open", "PAGE"], "get title": ["get", "title"], "snapshot": ["snapshot"]}
ROUNDS = 30
SESSIONS, BROWSERS = [1, 4, 16], [1, 4]
FIRST_CALLS = 10
# Chromium starts and ends processes for some seconds after a page has loaded.
SETTLE_S = 8


class Gate(fast.BrowserShell):
    """`browser-shell mcp` on a running Chromium."""

    def __init__(self, program, environment, folder):
        Path(environment["BROWSER_SHELL_POLICY"]).write_text(json.dumps(POLICY))
        super().__init__(program, environment | {"BROWSER_SHELL_CDP_PORT": str(GATED_PORT)}, folder)

    def endpoint(self, page):
        """Opens a session on the page and returns the port of its endpoint."""
        before = listening(self.process.pid)
        self.call("endpoint", ["open", page])
        (port,) = listening(self.process.pid) - before
        return port


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


def messages(endpoint):
    """Measures `Runtime.evaluate` in one tab, through the gate and on Chromium's own port."""
    gate, bare = DebugSocket(endpoint), DebugSocket(GATED_PORT)
    (tab,) = gate.ask("Target.getTargets")[1]["targetInfos"]
    for way in (gate, bare):
        way.attach(tab["targetId"])
    rows = {}
    for name, (expression, count) in MESSAGES.items():
        times = {gate: [], bare: []}
        values = set()
        for turn in range(WARM_UP + count):
            for way in (gate, bare) if turn % 2 else (bare, gate):
                took, answer = way.ask("Runtime.evaluate", expression=expression, returnByValue=True)
                values.add(answer["result"]["value"])
                if turn >= WARM_UP:
                    times[way].append(took)
        if len(values) != 1:
            raise fast.Failed(f"answers to {expression} differ")
        rows[name] = (times[bare], times[gate])
    for way in (gate, bare):
        way.close()
    return rows


def commands(gate, endpoint, program, page, folder):
    """Measures commands: on the bare port, on the endpoint by hand, and as calls of browser-shell."""
    bare = fast.Bare(program, page, f"{folder}/bare", BARE_PORT)
    by_hand = fast.Bare(program, page, f"{folder}/hand", endpoint)
    ways = [bare.command, by_hand.command, lambda argv: gate.call("calls", argv)]
    rows = {name: tuple([] for _ in ways) for name in COMMANDS}
    # The first round starts the daemons.
    for turn in range(ROUNDS + 1):
        for name, argv in COMMANDS.items():
            argv = [page if word == "PAGE" else word for word in argv]
            for at in range(len(ways)):
                way = (at + turn) % len(ways)
                if turn:
                    rows[name][way].append(ways[way](argv))
                else:
                    repeated(ways[way], argv)
    gate.call("calls", ["close"])
    end_daemons(folder)
    return rows


def repeated(way, argv):
    """Repeats a first command, because the daemon of the Node version may miss its own time limit on a busy machine."""
    for _ in range(3):
        try:
            return way(argv)
        except fast.Failed:
            continue
    return way(argv)


def first_calls(gate, program, page, folder):
    """Measures the first call of new sessions beside the first command of a new daemon on the bare port."""
    times = ([], [])
    for number in range(FIRST_CALLS + 1):
        bare = fast.Bare(program, page, f"{folder}/first{number}", BARE_PORT)
        ways = [lambda: bare.command(["open", page]), lambda: gate.call(f"first{number}", ["open", page])]
        for way in (0, 1) if number % 2 else (1, 0):
            took = ways[way]()
            # The first one is a warm-up of files.
            if number:
                times[way].append(took)
        gate.call(f"first{number}", ["close"])
        end_daemons(f"{folder}/first{number}")
    return times


def session_memory(gate, browser, page):
    """Returns Chromium's memory in MB without a session, with each number of sessions, and after all are closed."""
    figures, count = {0: settled(browser)}, 0
    for wanted in SESSIONS:
        for count in range(count + 1, wanted + 1):
            gate.call(f"memory{count}", ["open", page])
        figures[wanted] = settled(browser)
    for number in range(1, count + 1):
        gate.call(f"memory{number}", ["close"])
    return figures, settled(browser)


def settled(*browsers):
    time.sleep(SETTLE_S)
    return sum(memory_mb(browser.pid) for browser in browsers)


def memory_mb(browser):
    """Returns the proportional set size of a process and all below it."""
    children = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parent = int(re.search(r"^PPid:\s*(\d+)", status.read_text(), re.MULTILINE)[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(status.parent.name))
    total, left = 0, [browser]
    while left:
        process = left.pop()
        left += children.get(process, [])
        try:
            total += int(re.search(r"^Pss:\s*(\d+)", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE)[1])
        except (OSError, TypeError):
            continue
    return total * 1.024e-3


def listening(process):
    """Returns the TCP ports that a process listens on."""
    own = set()
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        try:
            own.add(os.readlink(descriptor))
        except OSError:
            continue
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own}


def end_daemons(folder):
    """Ends the processes whose temporary folder is below a folder of this benchmark."""
    mark = b"TMPDIR=" + str(folder).encode() + b"/"
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if any(entry.startswith(mark) for entry in environment.read_bytes().split(b"\0")):
                os.kill(int(environment.parent.name), signal.SIGKILL)
        except OSError:
            continue


def median_ms(times):
    return statistics.median(times) * 1e3


def added_ms(before, after):
    """Returns the median of the differences between neighbors."""
    return statistics.median((b - a) * 1e3 for a, b in zip(before, after))
