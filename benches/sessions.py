"""The sessions of `benches/compare --fast`: what a first call and a further session cost with the engine `cdp`.

Each session has the isolation `session`. A first call is an `open` in a session that was not there, in turns with an `open` in one that was.
"""

import re
import statistics
import time
from pathlib import Path

# Chromium starts and ends processes for some seconds after a page has loaded.
SETTLE_S = 8

ROUNDS = 30
SESSIONS = 16


def first_opens(server, page):
    """Returns the times of `open` in a living session, and in as many new ones."""
    times = ([], [])
    server.call("living", ["open", page])
    for number in range(ROUNDS + 1):
        for way in (0, 1) if number % 2 else (1, 0):
            took = server.call(f"first{number}" if way else "living", ["open", page])
            if number:
                times[way].append(took)
        server.call(f"first{number}", ["close"])
    server.call("living", ["close"])
    return times


def memory(server, browser, page):
    """Returns our memory and Chromium's, in MB, with one session and with the full number of them."""
    figures = {}
    for count in range(1, SESSIONS + 1):
        server.call(f"memory{count}", ["open", page])
        if count in (1, SESSIONS):
            time.sleep(SETTLE_S)
            chromium = memory_mb(browser.pid)
            figures[count] = (resident_mb(server.process.pid), chromium)
    for count in range(1, SESSIONS + 1):
        server.call(f"memory{count}", ["close"])
    return figures


def resident_mb(process):
    """Returns what a process has allocated: pages of its own program's file are not counted, since the kernel can drop them."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (size,) = (int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
    return size * 1.024e-3


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


def median_ms(times):
    return statistics.median(times) * 1e3
