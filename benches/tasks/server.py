"""Web server of the task pages, which also records what their checkers report.

A page file holds everything of one task: a JSON block with its values and its goal, and one or more documents. The block is
removed before a document is served, so no contestant can read the goal or the answer from it. Documents are separated by a
line `<!-- part: NAME OPTION... -->`. The option `slow=MS` delays a part, `fail=N` answers its first N requests with 500.

Each episode has a run of its own, which is the first element of its paths. The first report of a run counts.
"""

import html
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

PAGES = Path(__file__).resolve().parent / "pages"
HOST, OTHER_HOST = "shop.example.com", "news.example.net"

TASK_BLOCK = re.compile(r'<script type="application/json" id="task">(.*?)</script>\s*', re.DOTALL)
PART_LINE = re.compile(r"^<!-- part: (\S+?)((?: \w+=\d+)*) -->\n", re.MULTILINE)

# What pages may use: their values, a random order that depends on the seed only, and the report of the checker.
PRELUDE = """<script>
const task = Object.assign(%s, {
  // The body is read, because some contestants wait until a request that a click caused has ended.
  report(solved) { fetch(this.verdict, {method: "POST", body: solved ? "1" : "0"}).then(answer => answer.text()) },
  random() { return (this.state = this.state * 48271 %% 2147483647) / 2147483647 },
  shuffle(list) { return list.map(item => [this.random(), item]).sort((a, b) => a[0] - b[0]).map(pair => pair[1]) },
});
const by = id => document.getElementById(id);
</script>
"""


class Task:
    """One page file."""

    def __init__(self, path):
        self.name = path.stem
        text = path.read_text()
        block = TASK_BLOCK.match(text)
        if block is None:
            raise ValueError(f"`{path}` does not begin with its JSON block")
        self.task = json.loads(block[1])
        documents = PART_LINE.split(text[block.end() :])
        self.parts = {"": (documents[0], {})}
        for name, options, document in zip(documents[1::3], documents[2::3], documents[3::3]):
            self.parts[name] = (document, dict(option.split("=") for option in options.split()))

    def values(self, seed):
        """Returns the values of one variant: the element at the seed's place of each list."""
        return {key: given[(seed - 1) % len(given)] for key, given in self.task.get("values", {}).items()}

    def goal(self, seed):
        """Returns the goal of one variant, with its values filled in."""
        values = self.values(seed)

        def filled(part):
            if isinstance(part, dict):
                return {key: filled(value) for key, value in part.items()}
            if isinstance(part, list):
                return [filled(value) for value in part]
            if isinstance(part, str):
                return re.sub(r"\{\{(\w+)\}\}", lambda match: str(values[match[1]]), part)
            return part

        return filled(self.task["goal"])


def all_tasks():
    """Returns all tasks by name, in the order of their names."""
    return {path.stem: Task(path) for path in sorted(PAGES.glob("*.html"))}


class Run:
    """One episode: a task, its seed, and what the checker reported."""

    def __init__(self, task, seed):
        self.task, self.seed, self.requests = task, seed, {}
        self.solved, self.reported = None, threading.Event()


class TaskServer:
    """The web server. It listens on all addresses of the test network."""

    def __init__(self, port):
        self.port, self.runs = port, {}
        runs = self.runs

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                run_id, name, part = (urlsplit(self.path).path.strip("/").split("/") + ["", ""])[:3]
                run = runs.get(run_id)
                if self.path == "/favicon.ico":
                    self.answer(204, "")
                    return
                if run is None or run.task.name != name or part not in run.task.parts:
                    self.answer(404, "Not Found")
                    return
                document, options = run.task.parts[part]
                run.requests[part] = run.requests.get(part, 0) + 1
                time.sleep(int(options.get("slow", 0)) / 1000)
                if run.requests[part] <= int(options.get("fail", 0)):
                    self.answer(500, "<!doctype html><title>Error</title><h1>Internal Server Error</h1>")
                    return
                self.answer(200, filled_in(document, run_id, run, port))

            def do_POST(self):
                run = runs.get(urlsplit(self.path).path.strip("/").split("/")[0])
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if run is not None and not run.reported.is_set():
                    run.solved = body == b"1"
                    run.reported.set()
                self.answer(200, "")

            def answer(self, status, text):
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("Access-Control-Allow-Origin", "*")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("", port), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def start_run(self, task, seed):
        """Returns a new run and the address of its page."""
        run_id = f"r{len(self.runs) + 1}"
        self.runs[run_id] = Run(task, seed)
        return self.runs[run_id], f"http://{HOST}:{self.port}/{run_id}/{task.name}"

    def stop(self):
        self.http.shutdown()


def filled_in(document, run_id, run, port):
    """Returns a document with its values, its prelude and the addresses of its parts."""
    values = run.task.values(run.seed)
    values |= {"here": f"/{run_id}/{run.task.name}", "other": f"http://{OTHER_HOST}:{port}/{run_id}/{run.task.name}"}
    given = {"values": values, "seed": run.seed, "state": run.seed * 7919 + 13}
    given["verdict"] = f"http://{HOST}:{port}/{run_id}/verdict"
    document = re.sub(r"\{\{(\w+)\}\}", lambda match: html.escape(str(values[match[1]])), document)
    safe = json.dumps(given).replace("<", "\\u003c")
    return document.replace("<!doctype html>", "<!doctype html>" + PRELUDE % safe, 1)
