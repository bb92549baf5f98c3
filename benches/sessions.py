"""The sessions of `benches/compare --fast`: what a first call and a further session cost with the engine `cdp`.

Each session has the isolation `session`. A first call is an `open` in a session that was not there, in turns with an `open` in one that was.
"""

from pathlib import Path

import gate

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
            chromium = gate.settled(browser)
            figures[count] = (resident_mb(server.process.pid), chromium)
    for count in range(1, SESSIONS + 1):
        server.call(f"memory{count}", ["close"])
    return figures


def resident_mb(process):
    """Returns what a process has allocated: pages of its own program's file are not counted, since the kernel can drop them."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (size,) = (int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
    return size * 1.024e-3
