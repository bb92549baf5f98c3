"""Benchmark of `benches/compare --fast`: each subcommand through browser-shell with the engine `cdp`, through its engine `agent-browser`
and the bare CLI of both versions, through two other MCP servers, and through a client that only sends the input, in one run and in turns.

Every contestant uses the same page of the same Chromium over CDP, one at a time, because two attached clients slow each other
down. Each contestant has several turns in a rotating order, so that load on the machine affects all of them. A round is one
pass over all steps, and the first round of a turn is a warm-up. Nothing is parsed or built while a measurement runs, every
response is checked, and a failed step is printed as failed.

A pause precedes each step, because an agent thinks before it. Without one, the step that follows pays for what the page still
draws. Chromium handles a move of the pointer with its next frame, so the pause ends at a random moment of a frame, the same for
every contestant.
"""

import json
import os
import random
import re
import statistics
import subprocess
import threading
import time
from pathlib import Path

CALL_TIMEOUT_S = 30

# Number of turns of each contestant: many and short ones, so that a slow minute of the machine is everybody's.
TURNS = 10

# Pause before a step, to which a random part of a frame of the screen is added.
PAUSE_S, FRAME_S = 0.1, 1 / 60

STEPS = {
    "open": ["open", "PAGE"],
    # The first snapshot of a document injects the contestant's scripts; `again` does not.
    "snapshot -i": ["snapshot", "-i"],
    "snapshot -i, again": ["snapshot", "-i"],
    "click": ["click", "#button"],
    "dblclick": ["dblclick", "#button"],
    "hover": ["hover", "#button"],
    "focus": ["focus", "#name"],
    "fill": ["fill", "#name", "some text"],
    "type": ["type", "#name", "more"],
    "press": ["press", "End"],
    "check": ["check", "#box"],
    "uncheck": ["uncheck", "#box"],
    "select": ["select", "#choice", "b"],
    "wait SEL": ["wait", "#button"],
    "screenshot": ["screenshot"],
}

# Time until an agent has seen a page, because contestants read it at different steps.
SEEN = "open, then snapshot -i"

class Failed(Exception):
    """A step did not have the expected effect."""


class Bare:
    """agent-browser's own CLI with a separate daemon, and the folders and port that browser-shell would use."""

    def __init__(self, program, page, folder, port=9222):
        self.program, self.page, self.folder, self.port = program, page, Path(folder), port
        for name in ("home", "tmp", "s"):
            (self.folder / name).mkdir(parents=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": f"{folder}/home",
            "TMPDIR": f"{folder}/tmp",
            "AGENT_BROWSER_SOCKET_DIR": f"{folder}/s",
            "AGENT_BROWSER_NO_VERSION_CHECK": "1",
        }

    def run(self, step):
        argv = [self.page if word == "PAGE" else word for word in STEPS[step]]
        return self.command(argv + ([f"{self.folder}/picture.png"] if step == "screenshot" else []))

    def command(self, argv):
        command = [self.program, "--session", "bare", "--cdp", str(self.port), "--json", *argv]
        start = time.perf_counter()
        done = subprocess.run(
            command, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=CALL_TIMEOUT_S
        )
        took = time.perf_counter() - start
        if done.returncode != 0:
            raise Failed((done.stdout + done.stderr).decode(errors="replace"))
        return took

    def stop(self):
        self.command(["close"])


class Server:
    """An MCP server over stdio."""

    def __init__(self, command, environment, folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.asked = 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.ask("initialize", client)
        self.send(line({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def send(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def ask(self, method, params):
        """Returns the time until the whole response was read, and the response."""
        self.asked += 1
        request = line({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})
        # Kills a server that does not respond, which also ends the read.
        alarm = threading.Timer(CALL_TIMEOUT_S, self.process.kill)
        alarm.start()
        try:
            start = time.perf_counter()
            self.send(request)
            while True:
                text = self.process.stdout.readline()
                took = time.perf_counter() - start
                if not text:
                    raise Failed("the server has exited")
                answer = json.loads(text)
                if answer.get("id") == self.asked and "method" not in answer:
                    return took, answer
        except BrokenPipeError:
            raise Failed("the server has exited") from None
        finally:
            alarm.cancel()

    def tool(self, name, **arguments):
        took, answer = self.ask("tools/call", {"name": name, "arguments": arguments})
        result = answer.get("result")
        if result is None or result.get("isError"):
            raise Failed(json.dumps(answer))
        return took, result

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class BrowserShell(Server):
    """`browser-shell mcp`."""

    def __init__(self, program, environment, folder):
        super().__init__([program, "mcp"], environment, folder)

    def call(self, session, argv):
        took, result = self.tool("browser-shell", session_id=session, argv=argv)
        # With `output.style: text` there is no such member, and a failure is an error of the tool.
        if result.get("structuredContent", {"exit_code": 0})["exit_code"] != 0:
            raise Failed(json.dumps(result))
        return took


class Ours(BrowserShell):
    def __init__(self, program, environment, page, folder):
        self.page = page
        super().__init__(program, environment, folder)

    def run(self, step):
        return self.call("bench", [self.page if word == "PAGE" else word for word in STEPS[step]])

    def stop(self):
        self.call("bench", ["close"])
        super().stop()


class Peer(Server):
    """Another MCP server. It refers to elements by its own snapshot, which is taken before the first step that needs one."""

    def __init__(self, command, more, page, folder):
        self.page, self.refs = page, {}
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
        super().__init__(["node", *command], environment | more, folder)

    def run(self, step):
        if step not in self.calls:
            return None
        name, arguments = self.calls[step]
        arguments = {key: self.filled_in(value) for key, value in arguments.items()}
        took, result = self.tool(name, **arguments)
        if step.startswith("snapshot"):
            self.refs = self.read_refs(text_of(result))
        return took

    def filled_in(self, value):
        if isinstance(value, tuple):
            (mark,) = value
            if mark == "PAGE":
                return self.page
            if mark not in self.refs:
                raise Failed(f"its snapshot has no `{mark}`")
            return self.refs[mark]
        return value

    def read_refs(self, text):
        return {mark: match[1] for mark, pattern in self.patterns.items() if (match := re.search(pattern, text))}


class PlaywrightMcp(Peer):
    title = "playwright-mcp"
    entry = "@playwright/mcp/cli.js"
    patterns = {
        "button": r'button "Push".*?\[ref=(\w+)\]',
        "name": r'textbox "Name".*?\[ref=(\w+)\]',
        "box": r'checkbox "Box".*?\[ref=(\w+)\]',
        "choice": r'combobox "Choice".*?\[ref=(\w+)\]',
    }
    calls = {
        "open": ("browser_navigate", {"url": ("PAGE",)}),
        "snapshot -i": ("browser_snapshot", {}),
        "snapshot -i, again": ("browser_snapshot", {}),
        "click": ("browser_click", {"element": "Push", "target": ("button",)}),
        "dblclick": ("browser_click", {"element": "Push", "target": ("button",), "doubleClick": True}),
        "hover": ("browser_hover", {"element": "Push", "target": ("button",)}),
        "fill": ("browser_type", {"element": "Name", "target": ("name",), "text": "some text"}),
        "type": ("browser_type", {"element": "Name", "target": ("name",), "text": "more", "slowly": True}),
        "press": ("browser_press_key", {"key": "End"}),
        "select": ("browser_select_option", {"element": "Choice", "target": ("choice",), "values": ["b"]}),
        "wait SEL": ("browser_wait_for", {"text": "Entry 1"}),
        "screenshot": ("browser_take_screenshot", {"type": "png", "scale": "css"}),
    }

    def __init__(self, peers, page, folder):
        command = [f"{peers}/{self.entry}", "--cdp-endpoint", "http://127.0.0.1:9222", "--output-dir", f"{folder}/output"]
        super().__init__(command, {}, page, folder)


class ChromeDevtoolsMcp(Peer):
    title = "chrome-devtools-mcp"
    entry = "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"
    patterns = {
        "button": r'uid=(\S+) button "Push"',
        "name": r'uid=(\S+) textbox "Name"',
        "choice": r'uid=(\S+) combobox "Choice"',
    }
    calls = {
        "open": ("navigate_page", {"type": "url", "url": ("PAGE",)}),
        "snapshot -i": ("take_snapshot", {}),
        "snapshot -i, again": ("take_snapshot", {}),
        "click": ("click", {"uid": ("button",)}),
        "dblclick": ("click", {"uid": ("button",), "dblClick": True}),
        "hover": ("hover", {"uid": ("button",)}),
        "fill": ("fill", {"uid": ("name",), "value": "some text"}),
        "type": ("type_text", {"text": "more"}),
        "press": ("press_key", {"key": "End"}),
        "select": ("fill", {"uid": ("choice",), "value": "b"}),
        "wait SEL": ("wait_for", {"text": ["Entry 1"]}),
        "screenshot": ("take_screenshot", {}),
    }

    def __init__(self, peers, page, folder):
        command = [f"{peers}/{self.entry}", "--browserUrl", "http://127.0.0.1:9222"]
        command += ["--no-usage-statistics", "--no-performance-crux"]
        quiet = {"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1", "CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS": "1"}
        super().__init__(command, quiet, page, folder)
        self.page_id = None

    def tool(self, name, **arguments):
        if self.page_id is None:
            _, pages = super().tool("list_pages")
            self.page_id = int(re.search(r"^(\d+):", text_of(pages), re.MULTILINE)[1])
        return super().tool(name, pageId=self.page_id, **arguments)


def line(value):
    return (json.dumps(value) + "\n").encode()


def text_of(result):
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


class Column:
    """One contestant and its times."""

    def __init__(self, title, start):
        self.title, self.start, self.failures, self.absent = title, start, {}, set()
        self.times = {step: [] for step in [*STEPS, SEEN]}
        self.moments = random.Random(0)

    def turn(self, number, rounds):
        """Starts the contestant, measures these rounds, and ends it."""
        contestant = None
        try:
            contestant = self.start(number)
            # The first call of a session starts the daemon and is not measured.
            contestant.run("open")
            self.round(contestant, counts=False)
            for _ in range(rounds):
                self.round(contestant)
        except (Failed, OSError, subprocess.TimeoutExpired) as error:
            for step in STEPS:
                self.failures.setdefault(step, error)
        finally:
            if contestant is not None:
                try:
                    contestant.stop()
                except (Failed, OSError, subprocess.TimeoutExpired) as error:
                    self.failures["its end"] = error

    def round(self, contestant, counts=True):
        taken = {}
        for step in STEPS:
            # Drawn for steps that are left out too, so that all contestants have the same.
            moment = self.moments.uniform(0, FRAME_S)
            if step in self.failures or step in self.absent:
                continue
            time.sleep(PAUSE_S + moment)
            try:
                took = contestant.run(step)
            except (Failed, OSError, subprocess.TimeoutExpired) as error:
                self.failures[step] = error
                continue
            if took is None:
                self.absent.add(step)
            else:
                taken[step] = took
        if "open" in taken and "snapshot -i" in taken:
            taken[SEEN] = taken["open"] + taken["snapshot -i"]
        for step, took in taken.items():
            if counts:
                self.times[step].append(took)

    def median(self, step):
        """Returns the median in milliseconds, or None if a round failed."""
        if step in self.failures or step in self.absent or not self.times[step]:
            return None
        return statistics.median(self.times[step]) * 1e3

    def cell(self, step):
        median = self.median(step)
        if median is not None:
            low, high = (time * 1e3 for time in interval(self.times[step]))
            return f"{median:.1f} ms ({low:.1f} to {high:.1f})"
        return "no such tool" if step in self.absent else "failed"


def interval(times):
    """Returns the interval that contains the median with 95 % confidence: order statistics, by the normal approximation of their ranks."""
    ordered, half = sorted(times), 0.98 * len(times) ** 0.5
    low = max(int(len(times) / 2 - half), 0)
    return ordered[low], ordered[-1 - low]


def measure(starts, rounds):
    """Measures all contestants and returns a column for each. `starts` maps each title to a function that starts it."""
    columns = [Column(title, start) for title, start in starts.items()]
    for number in range(TURNS):
        at = number * len(columns) // TURNS
        for column in columns[at:] + columns[:at]:
            column.turn(number, -(-rounds // TURNS))
    return columns
