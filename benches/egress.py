#!/usr/bin/env python3
"""Benchmark of the egress guard on loopback: `benches/egress.py PATH_OF_A_RELEASE`. Takes about ten seconds.

It measures a small plain request, opening a tunnel, and a round trip in an open tunnel, each in turns with the same
operation without the guard. It connects only to its own server.
"""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


def connect(port: int) -> socket.socket:
    one = socket.create_connection(("127.0.0.1", port))
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one


def serve(one: socket.socket) -> None:
    """Echoes data that starts with `echo`; handles anything else as a request."""
    with one:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = one.recv(65536)
        if not data.startswith(b"echo"):
            one.sendall(ANSWER if data else b"")
            return
        while data:
            one.sendall(data)
            data = one.recv(65536)


def accept(server: socket.socket) -> None:
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()


def request(port: int, target: str, host: str) -> None:
    with connect(port) as one:
        one.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        data = b""
        while more := one.recv(65536):
            data += more
    assert data.endswith(b"hello"), data


def tunnel(port: int, host: str) -> socket.socket:
    one = connect(port)
    one.sendall(f"CONNECT {host} HTTP/1.1\r\n\r\n".encode())
    assert one.recv(1000).startswith(b"HTTP/1.1 200"), "the guard refuses"
    return one


def round_trip(one: socket.socket) -> None:
    one.sendall(b"echo")
    assert one.recv(100) == b"echo"


def main() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept, args=(server,), daemon=True).start()
    port = server.getsockname()[1]
    host = f"127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder, "policy.json")
        policy.write_text(json.dumps({"open": {"allow_cidrs": ["127.0.0.0/8"]}}), encoding="utf-8")
        settings = ["--listen", "127.0.0.1:0", "--policy", str(policy), "--audit", str(Path(folder, "audit"))]
        with subprocess.Popen([sys.argv[1], "egress", *settings], stderr=subprocess.PIPE, text=True) as guard:
            assert guard.stderr is not None
            line = next(line for line in guard.stderr if "listening address=" in line)
            measure(port, int(line.strip().rsplit(":", 1)[1]), host)
            guard.terminate()


def measure(port: int, guard: int, host: str) -> None:
    with connect(port) as direct, tunnel(guard, host) as through:
        rows = [
            ("a plain request, direct", 2000, lambda: request(port, "/", host)),
            ("a plain request, through the guard", 2000, lambda: request(guard, f"http://{host}/", host)),
            ("a connection, direct", 2000, lambda: connect(port).close()),
            ("a tunnel, until it is open", 2000, lambda: tunnel(guard, host).close()),
            ("a round trip, direct", 5000, lambda: round_trip(direct)),
            ("a round trip in a tunnel", 5000, lambda: round_trip(through)),
        ]
        times: dict[str, list[float]] = {name: [] for name, _, _ in rows}
        for turn in range(5200):
            for name, count, act in rows:
                if turn < count + 200:
                    began = time.perf_counter()
                    act()
                    # The first turns are a warm-up.
                    if turn >= 200:
                        times[name].append((time.perf_counter() - began) * 1e6)
    for name, all_of_it in times.items():
        all_of_it.sort()
        print(f"| {name} | {statistics.median(all_of_it):.0f} µs | {all_of_it[len(all_of_it) * 99 // 100]:.0f} µs |")


main()
