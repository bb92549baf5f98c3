#!/usr/bin/python3
"""Stand-in for the base's own server on 127.0.0.1:8091 (SANDBOX_SRV_PORT): /auth, /tickets, /health, and a trap.

It checks credentials as the base does: a ticket, an API key or a JWT. Every other route is a trap, because the base has a
shell there: the request is logged in TRAP_LOG and answered with 200. Like the base, it does not check who requests a
ticket; only nginx does.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt

PORT = int(os.environ.get("SANDBOX_SRV_PORT") or 8091)
TTL = int(os.environ.get("TICKET_TTL_SECONDS") or 30)
API_KEY = os.environ.get("SANDBOX_API_KEY", "").strip()
PUBLIC_KEY = base64.b64decode(os.environ.get("JWT_PUBLIC_KEY", "").strip())
TRAP_LOG = Path(os.environ.get("TRAP_LOG") or "/var/log/gem/trap.log")

lock = threading.Lock()
tickets: dict[str, float] = {}


def new_ticket() -> dict[str, Any]:
    """Creates a ticket, which can be used repeatedly until it expires."""
    now = time.monotonic()
    ticket = str(uuid.uuid4())
    with lock:
        for old in [name for name, end in tickets.items() if end <= now]:
            del tickets[old]
        tickets[ticket] = now + TTL
    return {"ticket": ticket, "expires_in": TTL}


def is_ticket(value: str) -> bool:
    with lock:
        return tickets.get(value, 0.0) > time.monotonic()


def is_api_key(value: str) -> bool:
    return bool(API_KEY) and hmac.compare_digest(value.encode(), API_KEY.encode())


def is_token(value: str) -> bool:
    """Accepts RS256 only. `exp` is checked if present; audience and issuer are not."""
    if not PUBLIC_KEY:
        return False
    try:
        jwt.decode(value, PUBLIC_KEY, algorithms=["RS256"], options={"verify_aud": False})
    except jwt.PyJWTError:
        return False
    return True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if self.command != "HEAD":
            self.wfile.write(body)

    def allowed(self) -> bool:
        query = parse_qs(urlsplit(self.headers.get("X-Original-URI", "")).query)
        if any(is_ticket(value) for value in query.get("ticket", [])):
            return True
        keys = query.get("api_key", []) + [self.headers.get("X-AIO-API-Key", "")]
        kind, _, bearer = self.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer":
            bearer = bearer.strip()
            keys.append(bearer)
            if is_token(bearer):
                return True
        return any(is_api_key(key) for key in keys)

    def log_trap(self, why: str) -> None:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "why": why,
            "request": getattr(self, "requestline", ""),
            "headers": list(getattr(self, "headers", None) or []),
        }
        with lock, TRAP_LOG.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")

    def handle_any(self) -> None:
        path = urlsplit(self.path).path
        route = (self.command, path)
        if route == ("GET", "/health"):
            self.answer(200, {"status": "ok"})
        elif route == ("GET", "/auth"):
            allowed = self.allowed()
            self.answer(200 if allowed else 401, {"allowed": allowed})
        elif route == ("POST", "/tickets"):
            self.answer(200, new_ticket())
        else:
            self.log_trap("route")
            self.answer(200, {"trap": "the base's own server must not be reachable from outside"})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # any method
            return self.handle_any
        raise AttributeError(name)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        self.log_trap(f"unreadable: {code} {message}")
        super().send_error(code, message, explain)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Prints nothing, because the trap log is enough."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    TRAP_LOG.parent.mkdir(parents=True, exist_ok=True)
    TRAP_LOG.touch()
    server = Server(("127.0.0.1", PORT), Handler)
    print(f"stand-in server on 127.0.0.1:{PORT}, trap log {TRAP_LOG}", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
