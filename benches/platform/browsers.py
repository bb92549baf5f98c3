"""The two browsers of a comparison: a bare Chromium over its debugging protocol, and one behind browser-shell, by the tool's own calls.

Both run a page as a person would open it, and read its report from the elements that report.js makes. Both begin each page with an
empty tab and nothing stored.
"""

import base64
import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

BENCHES = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(BENCHES), str(BENCHES / "common")]
import fast  # after the line that makes them visible
import raw
import stage

# What a page can be expected to need to load, before its tests begin.
LOAD_S = 15
POLL_S = 0.15
START_S = 180
# Of one command, on a machine that is busy.
ANSWER_S = 120

# Flags of the bare Chromium: those without which it does not run here, and those that keep it quiet. None of them is a rule of
# browser-shell.
BARE_FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-component-update",
    "--disable-background-networking",
    "--disable-sync",
    "--mute-audio",
    "--password-store=basic",
    "--window-size=1280,800",
    "--screen-info={1280x800}",
]


class Failed(Exception):
    """A browser did not do what a run needs."""


class NoReport(Exception):
    """A page did not report within its time."""


def decode(parts):
    return json.loads(base64.b64decode("".join(parts)))


class Bare:
    """A Chromium of its own, with one tab for each page and the profile's own context, as a person has it."""

    name = "bare"

    def __init__(self, chromium, folder, number, origins):
        self.chromium, self.top, self.port, self.origins = chromium, Path(folder), 9300 + number, origins
        self.process, self.starts = None, 0
        self.start()

    def start(self):
        # A new folder each time: processes of the one before may still write.
        shutil.rmtree(self.top, ignore_errors=True)
        self.starts += 1
        self.folder = self.top / str(self.starts)
        self.folder.mkdir(parents=True)
        flags = [*BARE_FLAGS, f"--remote-debugging-port={self.port}", f"--user-data-dir={self.folder}/profile", "about:blank"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "TMPDIR": str(self.folder), "LANG": "C.UTF-8"}
        self.process = subprocess.Popen(
            [self.chromium, *flags], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + START_S
        while True:
            try:
                self.debugger = Debugger(self.port)
                self.debugger.stream.settimeout(ANSWER_S)
                break
            except (OSError, fast.Failed):
                if time.monotonic() > until or self.process.poll() is not None:
                    raise Failed("Chromium does not start") from None
                time.sleep(0.1)

    def run(self, page, url, seconds):
        """Returns the report of a page."""
        try:
            return self.debugger.run(url, seconds, self.origins)
        except (OSError, fast.Failed, AssertionError) as error:
            self.stop()
            self.start()
            raise NoReport(f"the browser ended: {error}") from None

    def stop(self):
        self.debugger.close()
        self.process.kill()
        self.process.wait()


class Debugger(raw.DebugSocket):
    """The connection to the bare Chromium. It answers dialogs as browser-shell does where agents may not: `alert` is accepted."""

    READ = """(() => { const text = (id) => document.getElementById(id)?.textContent ?? null, parts = text("platform-parts");
      return parts === null ? null : Array.from({length: +parts}, (_, part) => text("platform-part-" + part)) })()"""

    def run(self, url, seconds, origins):
        target = self.ask("Target.createTarget", url="about:blank")[1]["targetId"]
        self.attach(target)
        tab = self.session
        try:
            self.ask("Page.enable")
            self.close_others(target)
            self.session = tab
            self.ask_all([("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"}) for origin in origins])
            self.ask("Network.clearBrowserCache")
            self.ask("Page.navigate", url=url)
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                time.sleep(POLL_S)
                self.session = None
                self.answer_dialogs_of_others()
                self.session = tab
                try:
                    found = self.ask("Runtime.evaluate", expression=self.READ, returnByValue=True)[1]["result"].get("value")
                except fast.Failed:
                    # The document changes.
                    continue
                if found is not None:
                    return decode(found)
            raise NoReport("no report")
        finally:
            self.session = None

    def answer_dialogs_of_others(self):
        """Attaches to windows that the page has opened, for their dialogs. With `setAutoAttach`, Chromium 156 has the opener wait for ever."""
        for one in self.ask("Target.getTargets")[1]["targetInfos"]:
            if one["type"] == "page" and not one["attached"]:
                self.tell(None, "Target.attachToTarget", targetId=one["targetId"], flatten=True)

    def close_others(self, kept):
        """Closes the other tabs, and takes back what they were permitted."""
        self.session = None
        for one in self.ask("Target.getTargets")[1]["targetInfos"]:
            if one["type"] == "page" and one["targetId"] != kept:
                self.ask("Target.closeTarget", targetId=one["targetId"])
        self.ask("Browser.resetPermissions")
        self.ask("Storage.clearCookies")

    def answer(self, start):
        asked = self.asked
        while True:
            answer = json.loads(self.message())
            took = time.perf_counter() - start
            if answer.get("id") == asked:
                if "error" in answer:
                    raise fast.Failed(str(answer))
                return took, answer["result"]
            self.event_of(answer)

    def event_of(self, event):
        session, params = event.get("sessionId"), event.get("params", {})
        if event.get("method") == "Page.javascriptDialogOpening":
            self.tell(session, "Page.handleJavaScriptDialog", accept=params["type"] in ("alert", "beforeunload"))
        elif event.get("method") == "Target.attachedToTarget":
            self.tell(params["sessionId"], "Page.enable")

    def tell(self, session, method, **params):
        """Sends a command and does not wait for its answer."""
        kept, self.session = self.session, session
        self.stream.sendall(self.frame(method, params))
        self.session = kept


class Behind:
    """A `browser-shell serve` with a Chromium of its own, and one session for each page."""

    name = "behind"
    POLICY = {
        "engine": "cdp",
        "browser": {"isolation": "session"},
        "open": {"allow_host_suffixes": [".web-platform.test", ".not-web-platform.test"], "allow_hosts": ["web-platform.test", "not-web-platform.test"]},
        "subcommands": {"enable": ["get", "tab"]},
    }

    def __init__(self, program, chromium, folder, number):
        self.program, self.chromium, self.top, self.number = program, chromium, Path(folder), number
        self.process, self.pages, self.starts = None, 0, 0
        self.start()

    def start(self):
        shutil.rmtree(self.top, ignore_errors=True)
        self.starts += 1
        self.folder = self.top / str(self.starts)
        (self.folder / "w").mkdir(parents=True)
        policy = self.folder / "policy.json"
        policy.write_text(json.dumps(self.POLICY))
        first = 9400 + 10 * self.number
        self.port, self.health = first, first + 1
        settings = {
            "SCREEN": "none",
            "LISTEN": f"127.0.0.1:{first}",
            "HEALTH": f"127.0.0.1:{first + 1}",
            "EGRESS": f"127.0.0.1:{first + 2}",
            "CHROMIUM": self.chromium,
            "POLICY": str(policy),
            "WORKSPACE": f"{self.folder}/w",
            "RUNTIME_DIR": f"{self.folder}/r",
            "AUDIT": f"{self.folder}/audit.jsonl",
        }
        environment = {"PATH": os.environ["PATH"], **{f"BROWSER_SHELL_{name}": value for name, value in settings.items()}}
        with (self.folder / "log").open("w") as log:
            self.process = subprocess.Popen([self.program, "serve"], env=environment, cwd=self.folder, stdin=subprocess.DEVNULL, stderr=log)
        until = time.monotonic() + START_S
        while not stage.is_healthy(self.health):
            if time.monotonic() > until or self.process.poll() is not None:
                raise Failed(f"browser-shell does not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.1)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)

    def call(self, *argv, seconds=60):
        """Makes a call and returns its exit code, its data and its messages."""
        arguments = {"session_id": f"p{self.pages}", "argv": list(argv), "timeout_sec": seconds}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "browser-shell", "arguments": arguments}}
        try:
            self.connection.request("POST", "/mcp", json.dumps(call), {"Content-Type": "application/json"})
            answer = json.loads(self.connection.getresponse().read())["result"]["structuredContent"]
        except (OSError, http.client.HTTPException, KeyError) as error:
            self.connection.close()
            raise NoReport(f"no answer: {error!r}") from None
        return answer["exit_code"], json.loads(answer["stdout"] or "null"), answer["stderr"]

    def text(self, id):
        """Returns the text of an element, or nothing if it is not there."""
        code, data, _ = self.call("get", "text", f"#{id}")
        return data["text"] if code == 0 else None

    def run(self, page, url, seconds):
        """Returns the report of a page, and notices of the calls."""
        self.pages += 1
        said = []
        if self.process.poll() is not None:
            self.start()
        try:
            until = time.monotonic() + seconds
            code, _, messages = self.call("open", url, seconds=LOAD_S)
            said.append(messages)
            if code == 77:
                raise NoReport(f"refused: {messages}")
            while (parts := self.text("platform-parts")) is None:
                if time.monotonic() > until:
                    raise NoReport(f"no report; {' '.join(filter(None, said))[:300]}")
                self.first_tab()
                time.sleep(POLL_S)
            return decode([self.text(f"platform-part-{part}") or "" for part in range(int(parts))])
        finally:
            self.call("close")

    def first_tab(self):
        """Turns to the tab of the page, if the page has opened another one."""
        code, data, _ = self.call("tab", "list")
        tabs = data.get("tabs", []) if code == 0 and data else []
        if len(tabs) > 1 and not tabs[0].get("active"):
            self.call("tab", str(tabs[0].get("index", 0)))

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
