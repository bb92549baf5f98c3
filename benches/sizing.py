"""Benchmark of `benches/compare --sizing`: memory, processor time and calls of `browser-shell serve` with 1 to 64 sessions.

Each server is new and has its own Chromium without a screen, sessions of the isolation `session`, and the engine `cdp`. A session has
one small page. Processor time is that of the server and all its processes, those that have ended included.
"""

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "common"))
import sessions  # after the line that makes `stage` visible
import stage

COUNTS = [1, 2, 4, 8, 16, 32, 64]
# Sessions that call at the same time, until more of them bring no more calls per second.
CALLERS = [1, 2, 4, 8, 16]
FIRST_CALLS = 30
COLD_STARTS = 10
IDLE_S = 10
LOAD_S = 15
WARM_UP_S = 3
PORT, HEALTH, EGRESS = 8080, 8081, 8119
TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """A call did not succeed."""


class Server:
    """A `browser-shell serve`, from its start until `stop`."""

    def __init__(self, program, environment, folder):
        Path(environment["BROWSER_SHELL_POLICY"]).write_text(json.dumps({"engine": "cdp", "browser": {"isolation": "session"}}))
        settings = {"SCREEN": "none", "LISTEN": f"127.0.0.1:{PORT}", "HEALTH": f"127.0.0.1:{HEALTH}", "EGRESS": f"127.0.0.1:{EGRESS}"}
        settings |= {"MAX_SESSIONS": str(max(COUNTS)), "IDLE_SEC": "3600"}
        environment = environment | {f"BROWSER_SHELL_{name}": value for name, value in settings.items()}
        self.began = time.perf_counter()
        self.process = subprocess.Popen([program, "serve"], env=environment, cwd=folder, stderr=subprocess.DEVNULL)
        while not stage.is_healthy(HEALTH):
            if self.process.poll() is not None:
                raise Failed(f"the server ended with {self.process.returncode}")
            time.sleep(0.005)
        self.healthy_after = time.perf_counter() - self.began

    def client(self):
        return Client()

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


class Client:
    """A connection that is kept, as a client of MCP has one."""

    def __init__(self):
        self.connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)

    def call(self, session, argv):
        """Returns the seconds from sending a call to having read its answer."""
        arguments = {"session_id": session, "argv": argv}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "browser-shell", "arguments": arguments}}
        body = json.dumps(call)
        began = time.perf_counter()
        self.connection.request("POST", "/mcp", body, {"Content-Type": "application/json"})
        answer = self.connection.getresponse().read()
        took = time.perf_counter() - began
        if json.loads(answer)["result"]["structuredContent"]["exit_code"] != 0:
            raise Failed(f"{argv}: {answer[:500]!r}")
        return took


def processes(root):
    """Returns a process and all below it."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found, left = [], [root]
    while left:
        found.append(left.pop())
        left += children.get(found[-1], [])
    return found


def processor_s(root):
    """Returns the processor time of a process, all below it, and those of them that have ended."""
    ticks = 0
    for process in processes(root):
        try:
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue
    return ticks / TICKS


def own_mb(process):
    """Returns the memory of the server itself, without the pages of the program's file."""
    return int(re.search(r"^RssAnon:\s*(\d+)", Path(f"/proc/{process}/status").read_text(), re.MULTILINE)[1]) * 1.024e-3


def idle_rows(server, page):
    """Returns memory and processor use with each number of sessions, whose pages nobody uses."""
    client, rows = server.client(), []
    for count in [0, *COUNTS]:
        for number in range(rows[-1]["sessions"] if rows else 0, count):
            client.call(f"s{number}", ["open", page])
        time.sleep(sessions.SETTLE_S)
        began, before = time.perf_counter(), processor_s(server.process.pid)
        time.sleep(IDLE_S)
        used = (processor_s(server.process.pid) - before) / (time.perf_counter() - began)
        row = {"sessions": count, "memory_mb": sessions.memory_mb(server.process.pid), "own_mb": own_mb(server.process.pid)}
        rows.append(row | {"cores": used, "processes": len(processes(server.process.pid))})
    return rows


def load_row(server, page, callers):
    """Returns the rate and the times of calls while so many sessions call, each as soon as it has its answer."""
    steps = [["open", page], ["snapshot", "-i"], ["click", "#box"], ["fill", "#name", "some text"]]
    times, failures, counts = [], [], threading.Event()
    end = threading.Event()

    def work(number):
        client, step = server.client(), 0
        try:
            while not end.is_set():
                took = client.call(f"c{number}", steps[step % len(steps)])
                step += 1
                if counts.is_set():
                    times.append(took)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    time.sleep(WARM_UP_S)
    counts.set()
    began, before, own = time.perf_counter(), processor_s(server.process.pid), time.process_time()
    time.sleep(LOAD_S)
    counts.clear()
    took, used = time.perf_counter() - began, processor_s(server.process.pid) - before
    client_cores = (time.process_time() - own) / took
    end.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    client = server.client()
    for number in range(callers):
        client.call(f"c{number}", ["close"])
    p50, p99 = quantiles(times)
    row = {"callers": callers, "calls_per_s": len(times) / took, "p50_ms": p50 * 1e3, "p99_ms": p99 * 1e3}
    return row | {"cores": used / took, "cpu_ms_per_call": 1e3 * used / len(times), "client_cores": client_cores}


def quantiles(times):
    ordered = sorted(times)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


def first_calls(server, page):
    """Returns the times of the first `open` of new sessions, while nothing else runs."""
    client, times = server.client(), []
    for number in range(FIRST_CALLS + 1):
        times.append(client.call(f"first{number}", ["open", page]))
        client.call(f"first{number}", ["close"])
    # The first one of all loads what the others use.
    return times[1:]


def measure(start, page):
    """Returns all figures. `start` starts a server in a new folder."""
    colds = []
    for _ in range(COLD_STARTS):
        server = start()
        try:
            server.client().call("first", ["open", page])
            colds.append((server.healthy_after, time.perf_counter() - server.began))
        finally:
            server.stop()
    server = start()
    try:
        idle = idle_rows(server, page)
    finally:
        server.stop()
    server = start()
    try:
        firsts = first_calls(server, page)
        load = [load_row(server, page, callers) for callers in CALLERS]
    finally:
        server.stop()
    healthy, usable = zip(*colds)
    first_p50, first_p99 = quantiles(firsts)
    return {
        "cores": os.cpu_count(),
        "idle": idle,
        "load": load,
        "first_call_s": first_p50,
        "first_call_p99_s": first_p99,
        "healthy_s": statistics.median(healthy),
        "cold_start_s": statistics.median(usable),
        "cold_start_longest_s": max(usable),
    }
