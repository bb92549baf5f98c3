"""Stand-in for the MCP hub of the older base: HTTP on 127.0.0.1:8079 in front of the stdio servers in mcp-hub.json.

It waits for the ports in MCP_HUB_WAIT_PORTS before it starts these servers, forwards each request to every listed server and
merges the responses. How the real hub treats names, sessions and errors is not known.
"""

import itertools
import json
import os
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Message = dict[str, Any]


class Server:
    """One stdio server with one request at a time."""

    def __init__(self, entry: Message) -> None:
        command = [entry["command"], *entry.get("args", [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        client = {"name": "stand-in-hub", "version": "0"}
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Message) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, params: Message) -> Message:
        assert self.process.stdout
        with self.lock:
            number = next(self.numbers)
            self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            for line in self.process.stdout:
                answer = json.loads(line)
                if answer.get("id") == number:
                    return {key: answer[key] for key in ("result", "error") if key in answer}
        raise SystemExit("a server of the hub has ended")


class Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    servers: list[Server] = []

    def do_POST(self) -> None:
        try:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)))
        except ValueError:
            self.reply(400, b"")
            return
        if self.path != "/mcp" or "id" not in message:
            self.reply(202 if self.path == "/mcp" else 404, b"")
            return
        answers = [server.request(message["method"], message.get("params", {})) for server in self.servers]
        answer = answers[0]
        if message["method"] == "tools/list":
            answer["result"]["tools"] = [tool for each in answers for tool in each["result"]["tools"]]
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode())

    def do_GET(self) -> None:
        self.reply(405, b"")

    def reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def wait_for_port(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.1)


for port in os.environ.get("MCP_HUB_WAIT_PORTS", "").split(","):
    if port.strip():
        wait_for_port(int(port))
hub = json.loads(Path("/opt/gem/mcp-hub.json").read_text())
Hub.servers = [Server(entry) for entry in hub["mcpServers"].values()]
ThreadingHTTPServer(("127.0.0.1", 8079), Hub).serve_forever()
