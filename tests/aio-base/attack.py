#!/usr/bin/env python3
"""Asks a container for everything that it must not give, and for the little that it must.

Decides, request by request, whether the answer is the one that the wall promises: only /mcp, /vnc/, /websockify and
POST /tickets, whatever the spelling, and with credentials only if they are configured. Requests go out as raw bytes,
since a client library would tidy up the very spellings that matter.
Must never do harm where a hole is found: what could act gets an empty body, nothing is closed, moved or written. Must never
show a credential, nor pass over a row in silence. It needs Python 3.10 and nothing else.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import random
import re
import socket
import ssl
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn
from urllib.parse import urlsplit

HELP_END = """\
The rows are sent without credentials first. If the container asks for them and --token or --api-key is given, everything
that has to be refused is sent again with them (a good token opens no other path), and what they open is tried as well.

exit code: 0 every answer is as expected, 1 at least one is not, 2 wrong usage or nobody answers at URL

examples:
  attack.py http://localhost:8080
  attack.py http://localhost:8080 --token "$JWT"
  attack.py https://box.example.com --via-proxy --api-key "$KEY" --json >report.json
"""

# Stands in a request where the credentials go; nothing is in its place on the first pass.
CREDENTIALS = b"{credentials}"
WEBSOCKET_KEY = "d2FsbC1hdHRhY2sta2V5IQ=="
GREETING = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"attack","version":"1"}}}'
)
GREETED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
LIST_TOOLS = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
MCP_HEADERS = ("Content-Type: application/json", "Accept: application/json, text/event-stream")
WEBSOCKET_HEADERS = (
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    f"Sec-WebSocket-Key: {WEBSOCKET_KEY}",
    "Sec-WebSocket-Protocol: binary",
)

DENIED = frozenset({"403"})
# an older nginx takes a version that it does not know for HTTP/0.9, and refuses without a head
UNREADABLE = frozenset({"400", "403", "405", "closed", "refused, no head"})
UNAUTHORIZED = frozenset({"401"})
OK = frozenset({"200"})
# what a GET for the tool's stream may be answered with, and what a request may that is odd but can be understood
STREAM = frozenset({"200", "400", "405", "406"})
UNDERSTOOD = frozenset({"200", "202", "400", "403", "405", "406", "411", "415", "422", "501", "closed"})

MAX_ANSWER = 1 << 20


# ---- one exchange ----


@dataclass
class Answer:
    """What came back: the status of every response, and the first one's headers and body."""

    statuses: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def first(self) -> str:
        return self.statuses[0] if self.statuses else "closed"


class Target:
    """The container: how to reach it, and what it is called."""

    def __init__(self, url: str, timeout: float, insecure: bool) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"`{url}` is no http or https URL")
        if parts.path not in ("", "/") or parts.query or parts.username:
            raise ValueError(f"`{url}` has more than scheme, host and port: give the root of the container")
        self.name = parts.hostname
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        self.host = parts.netloc
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.timeout = timeout
        self.tls: ssl.SSLContext | None = None
        if parts.scheme == "https":
            self.tls = ssl.create_default_context()
            if insecure:
                self.tls.check_hostname = False
                self.tls.verify_mode = ssl.CERT_NONE

    def connect(self) -> socket.socket:
        plain = socket.create_connection((self.name, self.port), self.timeout)
        return self.tls.wrap_socket(plain, server_hostname=self.name) if self.tls else plain

    def exchange(self, request: bytes, to_the_end: bool = False, event: bool = True) -> Answer:
        """Sends the bytes and reads one response, or all of them until the other side closes; of a stream, an event or none."""
        try:
            connection = self.connect()
        except OSError as error:
            return Answer([f"no connection ({error.__class__.__name__})"])
        with connection:
            try:
                connection.sendall(request)
            except OSError:
                pass  # it may have answered and closed before it had read everything
            return Reader(connection, event).answer(request.startswith(b"HEAD "), to_the_end)


class Reader:
    """Reads responses off a connection, as far as they can be understood."""

    def __init__(self, connection: socket.socket, event: bool) -> None:
        self.connection = connection
        self.event = event
        self.data = b""
        self.end = ""

    def more(self) -> bool:
        """Whether more has come; else `end` says why not."""
        if self.end or len(self.data) > MAX_ANSWER:
            return False
        try:
            chunk = self.connection.recv(65536)
        except TimeoutError:
            self.end = "timeout"
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self.end = "closed"
        self.data += chunk
        return bool(chunk)

    def line(self) -> bytes | None:
        while b"\n" not in self.data:
            if not self.more():
                return None
        line, _, self.data = self.data.partition(b"\n")
        return line.rstrip(b"\r")

    def take(self, count: int) -> bytes:
        while len(self.data) < count and self.more():
            pass
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def answer(self, head: bool, to_the_end: bool) -> Answer:
        answer = Answer()
        while True:
            while len(self.data) < 5 and self.more():
                pass
            if not self.data:
                if not answer.statuses or self.end == "timeout":
                    answer.statuses.append(self.end)
                return answer
            if not self.data.startswith(b"HTTP/"):
                return self.without_a_head(answer)
            status, headers = self.head()
            if status.startswith("1") and status != "101":
                continue
            answer.statuses.append(status)
            body = b"" if head or status in ("101", "204", "304") else self.body(headers)
            if len(answer.statuses) == 1:
                answer.headers, answer.body = headers, body
            if not to_the_end or status == "101":
                return answer

    def without_a_head(self, answer: Answer) -> Answer:
        """HTTP/0.9: the body is all there is, so its words must say what it is."""
        while self.more():
            pass
        refused = re.search(rb"\b(forbidden|40[035])\b", self.data[:600], re.IGNORECASE)
        answer.statuses.append("refused, no head" if refused else "answered, no head")
        return answer

    def head(self) -> tuple[str, dict[str, str]]:
        words = (self.line() or b"").split(b" ", 2)
        headers: dict[str, str] = {}
        while line := self.line():
            name, _, value = line.partition(b":")
            headers.setdefault(name.decode("latin-1").lower(), value.strip().decode("latin-1"))
        return (words[1].decode("latin-1") if len(words) > 1 else "unreadable"), headers

    def first_event(self) -> bytes:
        """A stream has no end: its first line of data is all that is waited for, if anything is."""
        line = self.line() if self.event else None
        while line is not None and not line.startswith(b"data: {"):
            line = self.line()
        return line or b""

    def chunks(self) -> bytes:
        whole = b""
        while size := int((self.line() or b"0").split(b";")[0] or b"0", 16):
            whole += self.take(size)
            self.line()
        while self.line():
            pass
        return whole

    def body(self, headers: dict[str, str]) -> bytes:
        if headers.get("content-type", "").startswith("text/event-stream"):
            return self.first_event()
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return self.chunks()
        if headers.get("content-length", "").isdigit():
            return self.take(int(headers["content-length"]))
        while self.more():
            pass
        whole, self.data = self.data, b""
        return whole


# ---- rows ----

Check = Callable[[Answer], str]


def no_check(_: Answer) -> str:
    return ""


@dataclass(frozen=True)
class Row:
    """One request, and what may come back without authentication (`off`) and with it but without credentials (`on`)."""

    group: str
    name: str
    request: bytes
    off: frozenset[str]
    on: frozenset[str]
    check: Check = no_check
    # what further responses on the same connection may be; empty: only the first one is read
    further: frozenset[str] = frozenset()
    # a proxy in front of the container may answer this by itself
    direct: bool = False
    with_credentials: bool = False


@dataclass(frozen=True)
class Result:
    row: Row
    expected: frozenset[str]
    got: str
    problem: str
    skipped: str = ""

    @property
    def verdict(self) -> str:
        return "skip" if self.skipped else "BAD" if self.problem else "ok"


class Rows:
    """Makes the rows for one target."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.session: tuple[str, ...] = ()

    def message(
        self, method: str, path: str, headers: Iterable[str] = (), body: bytes = b"", host: str | None = None,
        version: str = "HTTP/1.1", connection: str = "close",
    ) -> bytes:
        lines = [f"{method} {path} {version}"]
        if host != "":
            lines.append(f"Host: {self.host if host is None else host}")
        if connection:
            lines.append(f"Connection: {connection}")
        lines += headers
        if body or method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body)}")
        start = "".join(line + "\r\n" for line in lines).encode("utf-8", "surrogateescape")
        return start + CREDENTIALS + b"\r\n" + body

    def websocket(self, path: str, headers: Iterable[str] = (), host: str | None = None, version: str = "HTTP/1.1") -> bytes:
        return self.message("GET", path, (*WEBSOCKET_HEADERS, *headers), host=host, version=version, connection="Upgrade")

    def call(self, path: str = "/mcp", headers: Iterable[str] = (), **more: Any) -> bytes:
        return self.message("POST", path, (*MCP_HEADERS, *self.session, *headers), LIST_TOOLS, **more)

    def greet(self, target: Target, credentials: bytes) -> str:
        """The handshake of MCP; a server that keeps sessions wants its number in every call. Gives the status."""
        answer = target.exchange(self.message("POST", "/mcp", MCP_HEADERS, GREETING).replace(CREDENTIALS, credentials))
        if number := answer.headers.get("mcp-session-id"):
            self.session = (f"Mcp-Session-Id: {number}",)
            target.exchange(self.message("POST", "/mcp", (*MCP_HEADERS, *self.session), GREETED).replace(CREDENTIALS, credentials), event=False)
        return answer.first

    def all(self, count: int, seed: int) -> list[Row]:
        groups = [
            self.opened(), self.answers(), self.table(), self.spellings(), self.queries(), self.hosts(), self.methods(),
            self.versions(), self.smuggling(), self.websockets(), self.headers(), self.web_pages(), self.limits(),
            self.random(count, seed),
        ]
        return [row for group in groups for row in group]

    # -- what is open --

    def opened(self) -> Iterator[Row]:
        group = "what is open"
        page = has_text(b"noVNC")
        yield Row(group, "POST /mcp tools/list: exactly the one tool", self.call(), OK, UNAUTHORIZED, one_tool)
        yield Row(group, "POST /mcp?x=.js", self.call("/mcp?x=.js"), OK, UNAUTHORIZED, one_tool)
        yield Row(group, "GET /mcp", self.message("GET", "/mcp", MCP_HEADERS[1:]), STREAM, UNAUTHORIZED)
        yield Row(group, "GET /vnc/", self.message("GET", "/vnc/"), OK, UNAUTHORIZED, page)
        yield Row(group, "GET /vnc/index.html", self.message("GET", "/vnc/index.html"), OK, UNAUTHORIZED, page)
        yield Row(group, "HEAD /vnc/index.html", self.message("HEAD", "/vnc/index.html"), OK, UNAUTHORIZED)
        yield Row(group, "GET /vnc/core/rfb.js: a static file", self.message("GET", "/vnc/core/rfb.js"), OK, OK, has_text(b"RFB"))
        yield Row(group, "GET /vnc/core/rfb.js?v=1", self.message("GET", "/vnc/core/rfb.js?v=1"), OK, OK, has_text(b"RFB"))
        yield Row(group, "WebSocket /websockify", self.websocket("/websockify"), frozenset({"101"}), UNAUTHORIZED, accepted)
        yield Row(group, "WebSocket /websockify?x=.js", self.websocket("/websockify?x=.js"), frozenset({"101"}), UNAUTHORIZED, accepted)
        yield Row(group, "POST /tickets", self.message("POST", "/tickets"), OK, UNAUTHORIZED, gives_ticket)
        for host in ("any-name.example.com", "UPPER.example", "box", "my_box:8080", "dot.example.", "192.0.2.7", "[2001:db8::7]:8080", "a-8091.example"):
            yield Row(group, f"POST /mcp, Host: {host}", self.call(host=host), OK, UNAUTHORIZED, direct=True)

    def answers(self) -> Iterator[Row]:
        group = "what the answers say"
        anything = frozenset({"200", "401", "403"})
        for name, request in (
            ("POST /mcp", self.call()), ("GET /vnc/", self.message("GET", "/vnc/")),
            ("GET /vnc/core/rfb.js", self.message("GET", "/vnc/core/rfb.js")), ("GET /nowhere", self.message("GET", "/nowhere")),
        ):
            yield Row(group, f"{name}: safe headers, no version", request, anything, anything, safe_headers)

    # -- what is closed --

    def denied(self, group: str, path: str, **more: Any) -> Row:
        return Row(group, f"GET {path}", self.message("GET", path, **more), DENIED, DENIED, with_credentials=True)

    def table(self) -> Iterator[Row]:
        group = "paths of the base"
        for path in BASE_PATHS:
            yield self.denied(group, path)
        for path in ("/v1/shell/exec", "/v1/mcp", "/v1/file/read", "/v1/jupyter/execute", "/v1/nodejs/execute", "/actions", "/sse", "/messages", "/"):
            request = self.message("POST", path, ("Content-Type: application/json",), b"{}")
            yield Row(group, f"POST {path}", request, DENIED, DENIED, with_credentials=True)

    def spellings(self) -> Iterator[Row]:
        group = "other spellings"
        for path in SPELLINGS:
            request = self.message("GET", path)
            yield Row(group, f"GET {printable(path)}", request, DENIED, DENIED, with_credentials=True)
        for path in ("/mcp/", "/mcp/../v1/shell/exec", "//mcp", "/%6dcp", "/MCP", "/mcp;x", "/./mcp", "/vnc/../mcp", "/tickets/", "/tickets/../v1/shell/exec", "/%74ickets"):
            request = self.message("POST", path, ("Content-Type: application/json",), b"{}")
            yield Row(group, f"POST {path}", request, DENIED, DENIED, with_credentials=True)
        for path in UNREADABLE_SPELLINGS:
            request = self.message("GET", path)
            yield Row(group, f"GET {printable(path)}", request, UNREADABLE, UNREADABLE, direct=True, with_credentials=True)
        for name, line in ODD_LINES:
            request = line + b"\r\nHost: " + self.host.encode() + b"\r\nConnection: close\r\n" + CREDENTIALS + b"\r\n"
            yield Row(group, name, request, UNREADABLE, UNREADABLE, direct=True, with_credentials=True)

    def queries(self) -> Iterator[Row]:
        group = "queries that look like files"
        endings = ("?x=.js", "?.css", "?x=/vnc/app/ui.js", "?a.json", "?x=.woff2", "?ticket=.js", "?x=.js&ticket=x", "?api_key=x.js", "?/vnc/../x.png")
        for ending in endings:
            yield Row(group, f"GET /mcp{ending}", self.message("GET", f"/mcp{ending}", MCP_HEADERS[1:]), STREAM, UNAUTHORIZED)
            yield Row(group, f"WebSocket /websockify{ending}", self.websocket(f"/websockify{ending}"), frozenset({"101"}), UNAUTHORIZED)
            yield Row(group, f"GET /vnc/{ending}", self.message("GET", f"/vnc/{ending}"), OK, UNAUTHORIZED)
            yield Row(group, f"GET /vnc/index.html{ending}", self.message("GET", f"/vnc/index.html{ending}"), OK, UNAUTHORIZED)
            yield Row(group, f"POST /tickets{ending}", self.message("POST", f"/tickets{ending}"), OK, UNAUTHORIZED)
            for path in ("/v1/shell/exec", "/v1/ping", "/json/version", "/"):
                yield self.denied(group, path + ending)
        for page in ("vnc.html", "vnc_lite.html", "vnc_auto.html"):
            there = frozenset({"200", "403"})  # not every noVNC has them
            yield Row(group, f"GET /vnc/{page}?x=.js", self.message("GET", f"/vnc/{page}?x=.js"), there, UNAUTHORIZED)

    def hosts(self) -> Iterator[Row]:
        group = "hosts"
        ports = ("8091-x", "8091-x:8080", "9222-a.b", "8081-x", "8079-x", "8100-localhost", "8091-", "8091-X.example.", "08091-x", "1-2", f"8091-{self.host}", "6080-127.0.0.1:80")
        for host in ports:
            for path in ("/", "/v1/shell/exec", "/mcp", "/vnc/", "/vnc/core/rfb.js", "/json/version"):
                yield Row(group, f"GET {path}, Host: {host}", self.message("GET", path, host=host), DENIED, DENIED, direct=True, with_credentials=True)
            yield Row(group, f"POST /mcp, Host: {host}", self.call(host=host), DENIED, DENIED, direct=True, with_credentials=True)
            yield Row(group, f"POST /tickets, Host: {host}", self.message("POST", "/tickets", host=host), DENIED, DENIED, direct=True, with_credentials=True)
            yield Row(group, f"WebSocket /websockify, Host: {host}", self.websocket("/websockify", host=host), DENIED, DENIED, direct=True, with_credentials=True)
        for prefix in ("http://8091-x", "http://8091-x:8080", "http://9222-a.b", "HTTP://8091-X", "https://8091-x", "http://x@8091-x", f"http://{self.host}", "http://127.0.0.1:8091", "//8091-x"):
            for path in ("/", "/v1/shell/exec", "/mcp", "/vnc/", "/websockify", "/json/version"):
                yield Row(group, f"GET {prefix}{path}", self.message("GET", prefix + path), UNREADABLE, UNREADABLE, direct=True, with_credentials=True)
            yield Row(group, f"POST {prefix}/mcp", self.call(prefix + "/mcp"), UNREADABLE, UNREADABLE, direct=True, with_credentials=True)
        for prefix in ("http://8091-x", f"http://{self.host}"):
            for path in ("/", "/mcp", "/vnc/"):
                yield Row(group, f"GET {prefix}{path}, exactly 403", self.message("GET", prefix + path), DENIED, DENIED, direct=True, with_credentials=True)
        for host in ("8091-x/", "x@8091-x", "8091-x#", "8091-x\\", "-", "a b", "..", "a..b/c", "[::1", "[8091-x]", "localhost:x", "localhost:999999", "%38091-x", "８091-x", "8091\t-x", "localhost,8091-x", "*"):
            strict = Row(group, f"POST /mcp, Host: {printable(host)}", self.call(host=host), UNREADABLE, UNREADABLE, direct=True, with_credentials=True)
            yield strict
        right = f"Host: {self.host}"
        for name, lines in (
            ("two Hosts, the second for a port", (right, "Host: 8091-x")),
            ("two Hosts, the first for a port", ("Host: 8091-x", right)),
            ("two equal Hosts", (right, right)),
            ("no Host", ()),
            ("an empty Host", ("Host:",)),
            ("a space before the colon", ("Host : 8091-x", right)),
            ("a folded Host", (right + "\r\n 8091-x",)),
            ("Host after a blank in front", (" Host: 8091-x", right)),
        ):
            for path in ("/mcp", "/v1/shell/exec", "/"):
                request = self.message("POST", path, (*lines, *MCP_HEADERS), LIST_TOOLS if path == "/mcp" else b"{}", host="")
                allowed = UNREADABLE
                if path == "/mcp" and ("two" not in name and right in "".join(lines)):
                    allowed = UNREADABLE | OK | UNAUTHORIZED  # an older nginx drops a line that it cannot read, and the rest is sound
                yield Row(group, f"POST {path}, {name}", request, allowed, allowed, direct=True)

    def methods(self) -> Iterator[Row]:
        group = "methods"
        refused, refused_on = frozenset({"403", "405"}), frozenset({"401", "403", "405"})
        for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "HEAD", "PROPFIND", "FOO", "post", "Post", "POSTX"):
            yield Row(group, f"{method} /mcp", self.message(method, "/mcp", MCP_HEADERS), refused | {"400"}, refused_on | {"400"})
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"):
            yield Row(group, f"{method} /tickets", self.message(method, "/tickets"), DENIED, DENIED, with_credentials=True)
        for path in ("/vnc/", "/vnc/core/rfb.js", "/vnc/nothing.js"):
            for method in ("POST", "PUT", "DELETE", "OPTIONS", "PROPFIND", "MKCOL", "SEARCH"):
                yield Row(group, f"{method} {path}", self.message(method, path), refused, refused, with_credentials=True)
        yield Row(group, "POST /websockify", self.message("POST", "/websockify"), refused, refused, with_credentials=True)
        yield Row(group, "GET /websockify without an upgrade", self.message("GET", "/websockify"), DENIED | {"400", "426"}, DENIED | UNAUTHORIZED)
        for path in ("/", "/mcp", "/vnc/", "/v1/shell/exec"):
            for method in ("TRACE", "TRACK"):
                yield Row(group, f"{method} {path}", self.message(method, path), UNREADABLE, UNREADABLE, with_credentials=True)
        for target in ("127.0.0.1:8091", "localhost:9222", "8091-x:8080", "/mcp", self.host):
            yield Row(group, f"CONNECT {target}", self.message("CONNECT", target), UNREADABLE, UNREADABLE, direct=True, with_credentials=True)
        yield Row(group, "OPTIONS *", self.message("OPTIONS", "*"), UNREADABLE, UNREADABLE, direct=True, with_credentials=True)
        for header in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
            request = self.message("GET", "/tickets", (f"{header}: POST",))
            yield Row(group, f"GET /tickets, {header}: POST", request, DENIED, DENIED, with_credentials=True)
            request = self.message("POST", "/vnc/", (f"{header}: GET",))
            yield Row(group, f"POST /vnc/, {header}: GET", request, refused, refused, with_credentials=True)

    def versions(self) -> Iterator[Row]:
        group = "versions of HTTP"
        host = f"Host: {self.host}\r\n".encode()
        odd = UNREADABLE | {"505"}
        for path in ("/", "/mcp", "/vnc/", "/v1/shell/exec", "/tickets", "/websockify"):
            yield Row(group, f"GET {path} HTTP/1.0 without Host", f"GET {path} HTTP/1.0\r\n\r\n".encode(), UNREADABLE, UNREADABLE | UNAUTHORIZED, direct=True)
            yield Row(group, f"GET {path}, HTTP/0.9", f"GET {path}\r\n".encode(), odd, odd, direct=True)
            for version in ("HTTP/2.0", "HTTP/3.0", "HTTP/1.2", "HTTP/0.9", "HTTP/1.10", "http/1.1", "HTTP/1", "HTTP/01.1", "ICY/1.1", "HTTP/1.1x"):
                yield Row(group, f"GET {path} {version}", self.message("GET", path, version=version), odd, odd, direct=True, with_credentials=True)
        yield Row(group, "POST /mcp HTTP/1.0 with Host", self.call(version="HTTP/1.0"), OK, UNAUTHORIZED, one_tool, direct=True)
        for path in ("/", "/v1/shell/exec", "/json/version"):
            yield Row(group, f"GET {path} HTTP/1.0 with Host", self.message("GET", path, version="HTTP/1.0"), DENIED, DENIED, with_credentials=True)
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
        yield Row(group, "HTTP/2 with prior knowledge", preface, odd, odd, direct=True)
        h2c = ("Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
        upgrade = "Upgrade, HTTP2-Settings"
        yield Row(group, "POST /mcp, Upgrade: h2c stays HTTP/1.1", self.call(headers=h2c, connection=upgrade), OK | {"400", "403"}, UNAUTHORIZED | {"400", "403"}, direct=True)
        for path in ("/", "/v1/shell/exec", "/mcp/", "/websockify"):
            yield Row(group, f"GET {path}, Upgrade: h2c", self.message("GET", path, h2c, connection=upgrade), DENIED, DENIED, direct=True, with_credentials=True)
        yield Row(group, "a TLS greeting in plain HTTP, or the reverse", b"\x16\x03\x01\x00\x05hello\r\n\r\n" + host + b"\r\n", odd, odd, direct=True)

    def smuggling(self) -> Iterator[Row]:
        group = "two requests in one"
        further = frozenset({"400", "403", "405"})
        host = self.host.encode()
        inner = b"GET /v1/shell/exec HTTP/1.1\r\nHost: " + host + b"\r\nX: y\r\n\r\n"
        last = b"GET /wall-attack-end HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n"
        chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(LIST_TOOLS), LIST_TOOLS)

        def length(body: bytes) -> bytes:
            return b"Content-Length: %d\r\n" % len(body)

        te = b"Transfer-Encoding: chunked\r\n"
        pairs: list[tuple[str, bytes, bytes]] = [
            ("TE and CL, CL covers a second request", te + length(b"0\r\n\r\n" + inner), b"0\r\n\r\n" + inner),
            ("CL and TE, CL covers a second request", length(b"0\r\n\r\n" + inner) + te, b"0\r\n\r\n" + inner),
            ("CL short, TE", length(b"0\r\n") + te, chunk + inner),
            ("CL 0 and TE", b"Content-Length: 0\r\n" + te, chunk + inner),
            ("CL and CL, different", length(b"") + length(LIST_TOOLS + inner), LIST_TOOLS + inner),
            ("CL and CL, equal", length(LIST_TOOLS) * 2, LIST_TOOLS + inner),
            ("CL as a list", b"Content-Length: 0, %d\r\n" % len(inner), inner),
            ("CL with a sign", b"Content-Length: +%d\r\n" % len(LIST_TOOLS), LIST_TOOLS + inner),
            ("CL negative", b"Content-Length: -1\r\n", LIST_TOOLS + inner),
            ("CL in hex", b"Content-Length: 0x3a\r\n", LIST_TOOLS + inner),
            ("CL too large for a number", b"Content-Length: 18446744073709551616\r\n", LIST_TOOLS + inner),
            ("CL with a space before the colon", b"Content-Length : 0\r\n", inner),
            ("TE with a space before the colon", b"Transfer-Encoding : chunked\r\n" + length(b""), inner),
            ("TE xchunked", b"Transfer-Encoding: xchunked\r\n" + length(chunk), chunk + inner),
            ("TE chunked, identity", b"Transfer-Encoding: chunked, identity\r\n" + length(chunk), chunk + inner),
            ("TE identity", b"Transfer-Encoding: identity\r\n" + length(LIST_TOOLS), LIST_TOOLS + inner),
            ("TE twice", te + b"Transfer-Encoding: identity\r\n", chunk + inner),
            ("TE with a tab", b"Transfer-Encoding:\tchunked\r\n" + length(chunk), chunk + inner),
            ("TE with a vertical tab", b"Transfer-Encoding: \x0bchunked\r\n" + length(chunk), chunk + inner),
            ("TE in quotes", b'Transfer-Encoding: "chunked"\r\n' + length(chunk), chunk + inner),
            ("TE folded", b"Transfer-Encoding:\r\n chunked\r\n" + length(chunk), chunk + inner),
            ("TE after a bare CR", b"X: y\rTransfer-Encoding: chunked\r\n" + length(LIST_TOOLS), LIST_TOOLS + inner),
            ("TE after a bare LF", b"X: y\nTransfer-Encoding: chunked\n" + length(LIST_TOOLS), LIST_TOOLS + inner),
            ("TE with an underscore", b"Transfer_Encoding: chunked\r\n" + length(LIST_TOOLS), LIST_TOOLS + inner),
            ("TE after a NUL", b"X: \x00\r\n" + te, chunk + inner),
            ("chunk size with a sign", te, b"+3\r\nabc\r\n0\r\n\r\n" + inner),
            ("chunk size too large", te, b"ffffffffffffffff1\r\n" + inner),
            ("chunk with an extension that holds a line", te, b"0;x=\n\r\n" + inner),
            ("chunks and a trailer that is a header", te, b"0\r\nHost: 8091-x\r\n\r\n" + inner),
            ("obs-fold before the headers", b"X: a\r\n\tb: c\r\n" + length(LIST_TOOLS), LIST_TOOLS + inner),
            ("plain pipelining, a denied path behind", length(LIST_TOOLS), LIST_TOOLS + inner),
        ]
        for name, headers, body in pairs:
            for path in (b"/mcp", b"/v1/shell/exec"):
                request = b"POST " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
                request += headers + b"\r\n" + body + last
                first = UNDERSTOOD if path == b"/mcp" else UNREADABLE | {"413", "501"}
                yield Row(group, f"POST {path.decode()}, {name}", request, first | {"413"}, first | UNAUTHORIZED | {"413"}, further=further | {"401", "timeout"}, direct=True)
        bare = b"GET /v1/shell/exec HTTP/1.1\nHost: " + host + b"\n\n" + last
        yield Row(group, "GET /v1/shell/exec, lines end in bare LF", bare, UNREADABLE, UNREADABLE, further=further, direct=True)
        yield Row(group, "GET with a body that is a request", self.message("GET", "/vnc/core/rfb.js", (f"Content-Length: {len(inner)}",), connection="keep-alive").replace(CREDENTIALS, b"") + inner + last,
                  OK | {"400", "403", "413"}, OK | {"400", "403", "413"}, further=further, direct=True)
        yield Row(group, "a failed upgrade, a request behind", self.message("GET", "/websockify", ("Upgrade: websocket", "Sec-WebSocket-Version: 777"), connection="Upgrade").replace(CREDENTIALS, b"") + inner + last,
                  UNREADABLE | {"426", "501"}, UNAUTHORIZED, further=further | {"timeout"}, direct=True)

    def websockets(self) -> Iterator[Row]:
        group = "WebSockets elsewhere"
        for path in (*BASE_PATHS, "/websockify/", "/websockify/../v1/shell/ws", "//websockify", "/websockify%2f", "/Websockify", "/%77ebsockify", "/websockify;x", "/vnc/websockify", "/devtools/browser/x", "/devtools/page/x", "/v1/shell/ws", "/terminal/ws"):
            yield Row(group, f"WebSocket {path}", self.websocket(path), DENIED, DENIED, with_credentials=True)
        for path in ("/mcp", "/vnc/", "/vnc/core/rfb.js", "/tickets"):
            got = frozenset({"200", "400", "403", "405", "406"})
            yield Row(group, f"WebSocket {path} is no upgrade", self.websocket(path), got, got | UNAUTHORIZED)
        yield Row(group, "WebSocket /websockify, HTTP/1.0 without Host", self.websocket("/websockify", host="", version="HTTP/1.0"), UNREADABLE, UNREADABLE, direct=True)

    def headers(self) -> Iterator[Row]:
        group = "headers"
        for header in HEADERS:
            for path in ("/", "/v1/shell/exec", "/json/version", "/auth"):
                yield Row(group, f"GET {path}, {header}", self.message("GET", path, (header,)), DENIED, DENIED, with_credentials=True)
            if header.startswith("Connection"):
                continue  # two of them below
            yield Row(group, f"POST /mcp, {header}", self.call(headers=(header,)), OK, UNAUTHORIZED, one_tool)
            yield Row(group, f"WebSocket /websockify, {header}", self.websocket("/websockify", (header,)), frozenset({"101"}), UNAUTHORIZED)
        for name in ("X-Original-URI", "Authorization", "Host", "Content-Length", "X-AIO-API-Key"):
            yield Row(group, f"POST /mcp, Connection: close, {name}", self.call(connection=f"close, {name}"), OK | {"400"}, UNAUTHORIZED | {"400"}, direct=True)
            yield Row(group, f"GET /v1/shell/exec, Connection: close, {name}", self.message("GET", "/v1/shell/exec", connection=f"close, {name}"), DENIED, DENIED, with_credentials=True)

    def web_pages(self) -> Iterator[Row]:
        group = "pages of other sites"
        for origin in ("http://evil.example", "null", "https://8091-x", f"http://{self.host}.evil.example", f"http://evil.example/{self.host}", f"http://x@{self.host}", "http://", f"file://{self.host}", f"http://{self.host} http://evil.example", self.host):
            header = (f"Origin: {origin}",)
            yield Row(group, f"POST /mcp, Origin: {origin}", self.call(headers=header), DENIED, DENIED, with_credentials=True)
            yield Row(group, f"POST /tickets, Origin: {origin}", self.message("POST", "/tickets", header), DENIED, DENIED, with_credentials=True)
            yield Row(group, f"WebSocket /websockify, Origin: {origin}", self.websocket("/websockify", header), DENIED, DENIED, with_credentials=True)
        preflight = ("Origin: http://evil.example", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type")
        yield Row(group, "OPTIONS /mcp, a preflight", self.message("OPTIONS", "/mcp", preflight), DENIED | {"405"}, DENIED | {"405"}, no_cors, with_credentials=True)
        for scheme in ("http", "https"):
            header = (f"Origin: {scheme}://{self.host}",)
            yield Row(group, f"POST /mcp, its own Origin ({scheme})", self.call(headers=header), OK, UNAUTHORIZED, one_tool)
            yield Row(group, f"WebSocket /websockify, its own Origin ({scheme})", self.websocket("/websockify", header), frozenset({"101"}), UNAUTHORIZED, accepted)

    def limits(self) -> Iterator[Row]:
        group = "limits"
        large = frozenset({"400", "403", "413", "414", "431", "closed"})
        # the header alone is enough: the body is never sent
        for path, size in (("/mcp", 1 << 21), ("/tickets", 1 << 16)):
            request = self.message("POST", path, (*MCP_HEADERS, f"Content-Length: {size}")).replace(b"Content-Length: 0\r\n", b"")
            yield Row(group, f"POST {path}, a body of {size} bytes", request, frozenset({"413", "closed"}), frozenset({"413", "401", "closed"}))
        yield Row(group, "GET /mcp?, 60,000 characters of query", self.message("GET", "/mcp?" + "x" * 60000), large, large, direct=True)
        yield Row(group, "GET /vnc/, a header of 60,000 characters", self.message("GET", "/vnc/", ("X: " + "x" * 60000,)), large, large, direct=True)
        yield Row(group, "GET /v1/ping, 2,000 headers", self.message("GET", "/v1/ping", [f"X-{i}: {'x' * 20}" for i in range(2000)]), large, large, direct=True)

    def random(self, count: int, seed: int) -> Iterator[Row]:
        group = "random paths"
        chance = random.Random(seed)
        while count > 0:
            path = "".join(chance.choice(WORDS) if chance.random() < 0.6 else chance.choice(JOINTS) for _ in range(chance.randint(1, 9)))
            path = "/" + path + chance.choice(ENDINGS)
            if OPEN_PATHS.fullmatch(path):
                continue
            count -= 1
            kind = chance.choice(("GET", "GET", "HEAD", "WebSocket"))
            host = chance.choice((None, None, None, "8091-x", "9222-a.b"))
            request = self.websocket(path, host=host) if kind == "WebSocket" else self.message(kind, path, host=host)
            name = f"{kind} {printable(path)}" + (f", Host: {host}" if host else "")
            yield Row(group, name, request, DENIED | {"400"}, DENIED | {"400"}, direct=host is not None, with_credentials=True)

    # -- credentials, if they are asked for --

    def wrong_credentials(self, token: str | None) -> Iterator[Row]:
        group = "wrong credentials"

        def part(value: bytes) -> str:
            return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

        claims = part(b'{"sub":"x","exp":99999999999}')
        unsigned = part(b'{"alg":"none","typ":"JWT"}') + "." + claims + "."
        shared = part(b'{"alg":"HS256","typ":"JWT"}') + "." + claims + "." + part(hashlib.sha256(b"x").digest())
        wrong = {
            "an empty bearer": "Authorization: Bearer ",
            "a made-up bearer": "Authorization: Bearer letmein",
            "an unsigned JWT": f"Authorization: Bearer {unsigned}",
            "a JWT with alg HS256": f"Authorization: Bearer {shared}",
            "Basic": "Authorization: Basic YWRtaW46YWRtaW4=",
            "an empty API key": "X-AIO-API-Key:",
            "a made-up API key": "X-AIO-API-Key: letmein",
            "a JWT as cookie": f"Cookie: token={unsigned}",
            "X-Original-URI of a static file": "X-Original-URI: /vnc/app/ui.js",
            "X-Original-URI with a ticket": "X-Original-URI: /mcp?ticket=00000000-0000-0000-0000-000000000000",
            "X_AIO_API_Key": "X_AIO_API_Key: letmein",
            "claims to come from inside": "X-Forwarded-For: 127.0.0.1",
        }
        if token and token.count(".") == 2:
            head, _, signature = token.split(".")
            wrong["the JWT with other claims"] = f"Authorization: Bearer {head}.{claims}.{signature}"
            wrong["the JWT without its signature"] = f"Authorization: Bearer {head}.{token.split('.')[1]}."
            wrong["the JWT, but as Basic"] = f"Authorization: Basic {token}"
        for name, header in wrong.items():
            yield Row(group, f"POST /mcp, {name}", self.call(headers=(header,)), OK, UNAUTHORIZED)
            yield Row(group, f"WebSocket /websockify, {name}", self.websocket("/websockify", (header,)), OK, UNAUTHORIZED)
            yield Row(group, f"POST /tickets, {name}", self.message("POST", "/tickets", (header,)), OK, UNAUTHORIZED)
            yield Row(group, f"GET /vnc/, {name}", self.message("GET", "/vnc/", (header,)), OK, UNAUTHORIZED)
        nobody = "00000000-0000-0000-0000-000000000000"
        for query in ("ticket=", f"ticket={nobody}", f"ticket={nobody}&ticket=", "api_key=", "api_key=letmein", "token=letmein", "ticket[]=x", "ticket=%00", "ticket=*", "ticket=true", "TICKET=x"):
            for path in ("/mcp", "/vnc/", "/vnc/index.html"):
                yield Row(group, f"GET {path}?{query}", self.message("GET", f"{path}?{query}"), OK, UNAUTHORIZED)
            yield Row(group, f"WebSocket /websockify?{query}", self.websocket(f"/websockify?{query}"), OK, UNAUTHORIZED)

    def ticket(self, ticket: str) -> Iterator[Row]:
        group = "a ticket"
        page = has_text(b"noVNC")
        for _ in range(2):  # not single-use: the page, then its WebSocket, then a reload
            yield Row(group, "GET /vnc/?ticket=", self.message("GET", f"/vnc/?ticket={ticket}"), OK, OK, page)
            link = f"/vnc/index.html?ticket={ticket}&path=websockify%3Fticket%3D{ticket}"
            yield Row(group, "GET /vnc/index.html?ticket=&path=", self.message("GET", link), OK, OK, page)
            yield Row(group, "WebSocket /websockify?ticket=", self.websocket(f"/websockify?ticket={ticket}"), frozenset({"101"}), frozenset({"101"}), accepted)
        yield Row(group, "POST /tickets?ticket=, it buys no other", self.message("POST", f"/tickets?ticket={ticket}"), UNAUTHORIZED, UNAUTHORIZED)
        yield Row(group, "GET /v1/shell/exec?ticket=", self.message("GET", f"/v1/shell/exec?ticket={ticket}"), DENIED, DENIED)
        yield Row(group, "GET /vnc/?ticket= with another ending", self.message("GET", f"/vnc/?ticket={ticket[:-1]}"), UNAUTHORIZED, UNAUTHORIZED)


# ---- what an answer must hold ----


def one_tool(answer: Answer) -> str:
    if answer.first != "200":
        return ""
    text = answer.body.decode("utf-8", "replace")
    try:
        value = json.loads(next((line[5:] for line in text.splitlines() if line.startswith("data:")), text))
        names = [tool["name"] for tool in value["result"]["tools"]]
    except (ValueError, KeyError, TypeError):
        return "the answer lists no tools"
    return "" if names == ["browser-shell"] else f"other tools: {', '.join(map(str, names))[:80]}"


def has_text(text: bytes) -> Check:
    return lambda answer: "" if answer.first != "200" or text in answer.body else f"no `{text.decode()}` in the answer"


def accepted(answer: Answer) -> str:
    proof = base64.b64encode(hashlib.sha1(WEBSOCKET_KEY.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
    return "" if answer.first != "101" or answer.headers.get("sec-websocket-accept") == proof else "the handshake is wrong"


def ticket_of(answer: Answer) -> str:
    try:
        value = json.loads(answer.body)["ticket"]
    except (ValueError, KeyError, TypeError):
        return ""
    return value if isinstance(value, str) else ""


def gives_ticket(answer: Answer) -> str:
    return "" if answer.first != "200" or ticket_of(answer) else "there is no ticket in the answer"


def no_cors(answer: Answer) -> str:
    allowed = [name for name in answer.headers if name.startswith("access-control-allow")]
    return f"{', '.join(allowed)} in the answer" if allowed else ""


def safe_headers(answer: Answer) -> str:
    headers = answer.headers
    problems = [no_cors(answer)]
    problems += [f"{name} names a version" for name in ("server", "x-powered-by", "via") if re.search(r"\d", headers.get(name, ""))]
    problems += [f"no {name}: {value}" for name, value in (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")) if headers.get(name) != value]
    problems += [] if "frame-ancestors" in headers.get("content-security-policy", "") else ["no frame-ancestors"]
    return "; ".join(filter(None, problems))


# ---- the words ----

BASE_PATHS = (
    "/", "/v1", "/v1/", "/v1/mcp", "/v1/mcp/servers", "/v1/ping", "/v1/shell/exec", "/v1/shell/sessions", "/v1/bash/exec", "/v1/file/read",
    "/v1/file/download?path=/etc/hostname", "/v1/jupyter/info", "/v1/nodejs/info", "/v1/browser/info", "/v1/sandbox", "/v1/proxy/upstream",
    "/v1/docs", "/v1/openapi.json", "/openapi.json", "/docs", "/redoc", "/json", "/json/version", "/json/list", "/json/protocol", "/devtools/browser/",
    "/devtools/inspector.html", "/cdp", "/cdp/json/version", "/code-server", "/code-server/", "/proxy/8091/", "/proxy/9222/json/version",
    "/absproxy/9222/", "/absproxy/8091/v1/ping", "/jupyter", "/jupyter/lab", "/terminal", "/terminal/", "/screenshot", "/actions", "/api/", "/api/v1/x",
    "/sse", "/messages", "/messages/", "/auth", "/auth/", "/.wall/auth", "/tickets/x", "/ws", "/ws/", "/nginx_status", "/health", "/healthz", "/metrics",
    "/browser", "/index.html", "/static/app.js", "/favicon.ico", "/aio", "/opencode", "/.well-known/oauth-protected-resource", "/.git/config", "/server-status",
)  # fmt: skip

# paths that a tidying server, or the one behind it, could take for one of ours or lead out of it
SPELLINGS = (
    "/mcp/", "/mcpx", "/mcp/x", "//mcp", "///mcp", "/mcp//", "/mcp/../v1", "/mcp/%2e%2e/v1", "/mcp/%2E%2E/v1", "/mcp/.%2e/v1/shell/exec", "/mcp%2f..%2fv1",
    "/mcp%2F..%2Fv1", "/mcp/..;/v1", "/mcp;/../v1", "/mcp/..%5cv1", "/mcp\\..\\v1", "/mcp/..\\v1", "/MCP", "/Mcp", "/mCP", "/./mcp", "/mcp/.", "/mcp/..",
    "/x/../mcp", "/v1/../mcp", "/vnc/../mcp", "/%6dcp", "/%6d%63%70", "/mc%70", "/%6Dcp", "/%256dcp", "/mcp%20", "/mcp%09", "/mcp%0a", "/mcp%0d%0a", "/mcp%23",
    "/mcp%3f", "/mcp%3Fx=.js", "/mcp.js", "/mcp.html", "/mcp.json", "/mcp;x", "/mcp;x=.js", "/mcp;jsessionid=1", "/mcp,x", "/mcp:8091", "/mcp@x", "/mcp&x", "/mcp=",
    "/mcp~", "/mcp.", "/mcp..", "/mcp*", "/mcp#", "/mcp#x", "/#/mcp", "/mcp%c0%af..%c0%afv1", "/mcp/%c0%ae%c0%ae/v1", "/%ef%bd%8dcp", "/\uff4dcp", "/mcp\u2215..\u2215v1",
    "/mcp%252f..%252fv1", "/mcp/%252e%252e/v1", "/mcp/%25%32%65%25%32%65/v1", "/mcp%e2%88%95", "/\u217ccp", "/.;/mcp", "/;/mcp", "/;mcp",
    "/x;/../mcp", "/mcp\x7f", "/\xe9", "/mcp|x", "/mcp\"", "/mcp'", "/mcp<x>", "/mcp`id`", "/mcp$(id)", "/mcp{}", "/{mcp}", "/mcp^",
    "/vnc", "/VNC/", "/vnc//", "//vnc/", "/vnc/.", "/vnc/./index.html", "/vnc/x/../index.html", "/vnc//index.html", "/vnc/index.html/", "/vnc/index.htm",
    "/vnc/Index.HTML", "/vnc/index.html%20", "/vnc/index.html;x=.js", "/vnc/index%2ehtml", "/vnc/%69ndex.html", "/vnc/index.html%3f.js", "/vnc/core", "/vnc/core/",
    "/vnc/..%2fgem/nginx.conf", "/vnc/%2e%2e/gem/nginx.conf.js", "/vnc../gem/nginx.conf",
    "/vnc../gem/x.js", "/vnc/..;/gem/x.js", "/vnc/....//gem/x.js", "/vnc/..\\gem\\x.js", "/vnc/..%5cgem%5cx.js", "/vnc/.hidden.js", "/vnc/.git/x.json", "/vnc/core/.x.js",
    "/vnc/nothing.js", "/vnc/x.txt", "/vnc/x.conf", "/vnc/x.sh", "/vnc/x.py", "/vnc/utils/websockify/run", "/vnc/utils/novnc_proxy", "/vnc/x.js%00.html", "/vnc/x.js/y",
    "/vnc/core/rfb.js/", "/vnc/core/rfb.js/..", "/vnc/core/%72fb.js", "/vnc/core//rfb.js", "/vnc/core/./rfb.js", "/vnc/core/RFB.JS", "/vnc/core/rfb.js%20", "/vnc/core/rfb.js;x",
    "/vnc/websockify", "/vnc/ws", "/vnc/mcp", "/vnc/v1/shell/exec.js", "/vnc/%2e%2e/v1/shell/exec.js", "/vnc/..%2f/v1/ping.js", "/vnc/x/%2e%2e/%2e%2e/mcp",
    "/tickets/", "//tickets", "/Tickets", "/tickets;x", "/tickets%2f", "/tickets/../auth", "/websockify/", "//websockify", "/Websockify", "/websockify;x", "/websockify%2f",
    "/websockify/../ws", "/.wall/auth", "/%2ewall/auth", "/.wall/../mcp", "/@refused", "/@unavailable", "@mcp", "/1", "/0", "/*", "/%", "/?", "/?x=.js", "/??",
)  # fmt: skip
SPELLINGS = tuple(path for path in SPELLINGS if path.startswith("/") and not re.search(r"%00|%$|[\x00-\x20\x7f]", path))
UNREADABLE_SPELLINGS = (
    "/%00", "/mcp%00", "/mcp%00.js", "/vnc/x%00.js", "/vnc/core/rfb.js%00", "/mcp%zz", "/mcp%", "/mcp%2", "/..", "/../", "/../mcp", "/%2e%2e/mcp", "/../../etc/passwd", "/vnc/../../x",
    "/mcp%u002f..%u002fv1", "/vnc/..%2f..%2f", "/vnc/..%2f..%2fetc/passwd", "/vnc/../../etc/passwd.js",
    "/mcp\x00", "/mcp\x01", "/mcp\x7f", "/mcp\tx", "/mcp\x0bx", "mcp", "?", "*", "\\mcp", "@8091", ":8091/", "mcp/../v1", "http:/mcp", "http:mcp", "http:///mcp", "http://", "ws://x/websockify",
    "file:///etc/passwd", "javascript:x", "unix:/run/x", "http://[::1]:8091/", "http://127.0.0.1:8091/v1/ping", "//127.0.0.1:8091/v1/ping",
)  # fmt: skip
ODD_LINES = (
    ("a line feed before the request line, a denied path", b"\r\n\r\nGET /v1/ping HTTP/1.1"),
    ("two spaces before the path", b"GET  /mcp HTTP/1.1"),
    ("two spaces before the version", b"GET /mcp  HTTP/1.1"),
    ("a tab before the path", b"GET\t/mcp HTTP/1.1"),
    ("a space at the end", b"GET /mcp HTTP/1.1 "),
    ("a space in the path", b"GET /mcp /v1/shell/exec HTTP/1.1"),
    ("a space in the query", b"GET /mcp?x y HTTP/1.1"),
    ("a space in front", b" GET /mcp HTTP/1.1"),
    ("a vertical tab", b"GET /mcp\x0bHTTP/1.1"),
    ("a bare CR in the path", b"GET /mcp\rX HTTP/1.1"),
    ("a NUL in the path", b"GET /mcp\x00/v1 HTTP/1.1"),
    ("a NUL in the query", b"GET /mcp?\x00 HTTP/1.1"),
    ("bytes above 127 in the query", b"GET /mcp?\xff\xfe HTTP/1.1"),
    ("an overlong slash as bytes", b"GET /mcp\xc0\xaf..\xc0\xafv1 HTTP/1.1"),
    ("a fragment in the query", b"GET /mcp?x#y HTTP/1.1"),
    ("no path", b"GET HTTP/1.1"),
    ("no method", b"/mcp HTTP/1.1"),
    ("an encoded line break and a second request line", b"GET /mcp%20HTTP/1.1%0d%0aHost:%208091-x HTTP/1.1"),
)  # fmt: skip

HEADERS = (
    "x-aio-proxy-port: 8091", "X-AIO-Proxy-Port: 9222", "X_AIO_PROXY_PORT: 8091", "X-Forwarded-Host: 8091-x", "X-Forwarded-Host: 8091-x:8080",
    "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Port: 8091", "X-Forwarded-Proto: https", "X-Forwarded-Server: 8091-x", "X-Forwarded-Prefix: /v1", "X-Forwarded-Uri: /v1/ping",
    "Forwarded: for=127.0.0.1;host=8091-x", "X-Host: 8091-x", "X-HTTP-Host-Override: 8091-x", "X-Real-IP: 127.0.0.1", "X-Original-URL: /v1/shell/exec",
    "X-Original-URI: /vnc/app/ui.js", "X-Rewrite-URL: /mcp", "X-Override-URL: /v1/ping", "X-Accel-Redirect: /v1/ping", "X-Sendfile: /etc/hostname", "X-Original-Method: OPTIONS",
    "X-HTTP-Method-Override: PUT", "X-Client-IP: 127.0.0.1", "True-Client-IP: 127.0.0.1", "CF-Connecting-IP: 127.0.0.1", "X-Custom-IP-Authorization: 127.0.0.1", "X-Proxy-URL: http://127.0.0.1:8091",
    "Proxy: http://127.0.0.1:8091", "Proxy-Connection: keep-alive", "Connection: x-aio-proxy-port", "Connection: close, Host", "Upgrade-Insecure-Requests: 1", "Referer: http://8091-x/vnc/app/ui.js",
    "Via: 1.1 8091-x", "TE: trailers", "Expect: 100-continue",
)  # fmt: skip

# Nothing among them acts when it is only asked for with GET.
WORDS = (
    "mcp", "MCP", "vnc", "websockify", "tickets", "auth", "v1", "shell", "exec", "ping", "json", "version", "devtools", "page", "cdp", "proxy", "8091", "9222", "absproxy", "api",
    "ws", "sse", "messages", "index.html", "app", "ui.js", "core", "rfb.js", "x", "%6dcp", "vn%63", "static", "a.b", "etc", "passwd", ".wall",
)  # fmt: skip
JOINTS = (
    "/", "/", "/", "//", "/./", "/../", "/%2e%2e/", "%2f", "%2F", "/..;/", ";", ";x=y/", "\\", "%5c", "/..%2f", "..", ".", "%20", "%09", "%c0%af", "%252f", "%252e%252e", ":", "@", "~", "%00", "+", ",", "&", "%ef%bc%8f", "\u2044",
)  # fmt: skip
ENDINGS = ("", "", "", "/", "?x=.js", "?/vnc/app/ui.js", ".js", ".html", ".css?x", ";.js", "%3f.js", "#.js", "?ticket=x", "%23")
OPEN_PATHS = re.compile(r"/(?:mcp|tickets|websockify|vnc/(?:[\w.-]+/)*(?:[\w.-]+\.\w+)?)(?:\?.*)?", re.ASCII)


def printable(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")


# ---- the run ----


class Run:
    def __init__(self, target: Target, jobs: int, via_proxy: bool) -> None:
        self.target = target
        self.via_proxy = via_proxy
        self.pool = ThreadPoolExecutor(jobs)
        self.done = 0

    def one(self, row: Row, expected: frozenset[str], credentials: bytes) -> Result:
        if row.direct and self.via_proxy:
            return Result(row, expected, "-", "", "a proxy in front may answer this itself")
        answer = self.target.exchange(row.request.replace(CREDENTIALS, credentials), bool(row.further), row.check is not no_check)
        self.done += 1
        if self.done % 50 == 0 and sys.stderr.isatty():
            print(f"\r{self.done} requests ", end="", file=sys.stderr, flush=True)
        problem = ""
        if answer.first not in expected:
            problem = f"expected {spell(expected)}"
        elif row.further and not set(answer.statuses[1:]) <= row.further:
            problem = f"further answers on the connection: expected {spell(row.further)}"
        return Result(row, expected, ", ".join(answer.statuses), problem or row.check(answer))

    def all(self, rows: list[Row], on: bool, credentials: bytes = b"") -> list[Result]:
        # with credentials, everything is expected as if none were asked for
        work = [(row, row.on if on and not credentials else row.off) for row in rows]
        return list(self.pool.map(lambda item: self.one(*item, credentials), work))


def spell(statuses: frozenset[str]) -> str:
    return " or ".join(sorted(statuses))


def brief(text: str, width: int) -> str:
    return f"{text if len(text) <= width else text[: width - 3] + '...':<{width}}"


def probe(run: Run, rows: Rows) -> str:
    """Whether the container asks for credentials; exits when nobody is there."""
    try:
        run.target.connect().close()
    except OSError as error:
        fail(f"nobody answers at {run.target.url}: {error}")
    status = rows.greet(run.target, b"")
    return {"200": "off", "401": "on"}.get(status, f"POST /mcp is answered with `{status}`, not with 200 or 401")


def fail(message: str) -> NoReturn:
    print(f"attack.py: {message}", file=sys.stderr)
    raise SystemExit(2)


def attack(options: argparse.Namespace, run: Run, rows: Rows) -> tuple[str, list[Result]]:
    found = probe(run, rows)
    auth = options.auth if options.auth != "auto" else found
    if auth not in ("on", "off"):
        fail(f"{auth}: say --auth on or --auth off")
    credentials = b""
    if options.token:
        credentials = f"Authorization: Bearer {options.token}\r\n".encode()
    elif options.api_key:
        credentials = f"X-AIO-API-Key: {options.api_key}\r\n".encode()

    if auth == "on" and credentials:
        rows.greet(run.target, credentials)
    listed = rows.all(options.random, options.seed)
    if auth == "off":
        return auth, run.all(listed, on=False)
    results = run.all(listed, on=True) + run.all(list(rows.wrong_credentials(options.token)), on=True)
    # what has to be refused for everybody, then what credentials open
    again = [replace(row, group=f"with credentials: {row.group}") for row in listed if row.with_credentials]
    opened = [replace(row, group=f"with credentials: {row.group}") for row in listed if row.off != row.on and not row.with_credentials and CREDENTIALS in row.request]
    if not credentials:
        for row in again + opened + [Row("with credentials: a ticket", "the page and the WebSocket with a ticket", b"", OK, OK)]:
            results.append(Result(row, row.off, "-", "", "needs --token or --api-key"))
        return auth, results
    results += run.all(opened, True, credentials) + run.all(again, True, credentials)
    ticket = ticket_of(run.target.exchange(rows.message("POST", "/tickets").replace(CREDENTIALS, credentials)))
    return auth, results + run.all([replace(row, group=f"with credentials: {row.group}") for row in rows.ticket(ticket)], True)


# ---- the report ----


def report(results: list[Result], url: str, auth: str, seed: int) -> None:
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    paint = {"ok": "\33[32m", "BAD": "\33[1;31m", "skip": "\33[33m"}

    def show(result: Result) -> None:
        verdict = f"{result.verdict:<4}"
        if colour:
            verdict = f"{paint[result.verdict]}{verdict}\33[0m"
        print(f"  {verdict}  {brief(result.row.name, 66)}  {brief(spell(result.expected), 26)}  {result.got}")
        if result.problem:
            print(f"        {result.problem}\n        sent: {result.row.request[:300]!r}")

    print(f"{url}, authentication {auth}, seed {seed}")
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.row.group, []).append(result)
    for group, members in groups.items():
        print(f"\n{group}\n        {'request':<66}  {'expected':<26}  got")
        skipped = Counter(result.skipped for result in members if result.skipped)
        for why, count in skipped.items():
            verdict = f"{paint['skip']}skip\33[0m" if colour else "skip"
            print(f"  {verdict}  {count} rows: {why}")
        # a thousand lines that say the same help nobody
        short = "random paths" in group or group.startswith("with credentials") and len(members) > 60
        for result in members:
            if not result.skipped and (result.problem or not short):
                show(result)
        good = Counter(result.got for result in members if result.verdict == "ok")
        if short and good:
            verdict = f"{paint['ok']}ok  \33[0m" if colour else "ok  "
            print(f"  {verdict}  {sum(good.values())} requests, answered {', '.join(f'{got} ({count})' for got, count in good.most_common())}")
    counts = Counter(result.verdict for result in results)
    print(f"\n{counts['ok']} ok, {counts['BAD']} BAD, {counts['skip']} skipped")


def as_json(results: list[Result], url: str, auth: str, seed: int) -> str:
    counts = Counter(result.verdict for result in results)
    rows = [
        {
            "group": result.row.group, "request": result.row.name, "expected": sorted(result.expected), "got": result.got,
            "verdict": result.verdict, "why": result.problem or result.skipped or None,
        }
        for result in results
    ]  # fmt: skip
    summary = {name.lower(): counts[name] for name in ("ok", "BAD", "skip")}
    return json.dumps({"url": url, "auth": auth, "seed": seed, "summary": summary, "rows": rows}, indent=1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Checks from outside that a browser-shell container gives its tool and its screen, and nothing else.",
        epilog=HELP_END, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("url", metavar="URL", help="the container's root, like http://localhost:8080")
    secret = parser.add_mutually_exclusive_group()
    secret.add_argument("--token", metavar="JWT", help="a valid JWT; also read from ATTACK_TOKEN", default=os.environ.get("ATTACK_TOKEN"))
    secret.add_argument("--api-key", metavar="KEY", help="a valid API key; also read from ATTACK_API_KEY", default=os.environ.get("ATTACK_API_KEY"))
    parser.add_argument("--auth", choices=("on", "off", "auto"), default="auto", help="whether it has to ask for credentials; auto: believe what it does (default)")
    parser.add_argument("--random", metavar="N", type=int, default=1000, help="how many random paths to try (default 1000)")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="which random paths: the same for the same seed (default 1)")
    parser.add_argument("--via-proxy", action="store_true", help="a proxy of yours is in front: skip what it may answer by itself (foreign Hosts, malformed requests)")
    parser.add_argument("--insecure", action="store_true", help="do not check the certificate of an https URL")
    parser.add_argument("--jobs", metavar="N", type=int, default=8, help="requests at a time (default 8)")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=30.0, help="how long to wait for an answer (default 30)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args()
    if options.jobs < 1 or options.random < 0 or options.timeout <= 0:
        parser.error("--jobs and --timeout must be positive, --random not negative")
    for secret_value in filter(None, (options.token, options.api_key)):
        if not re.fullmatch(r"[\x21-\x7e]+", secret_value):
            parser.error("a credential has characters that cannot stand in a header")
    return options


def main() -> int:
    options = arguments()
    try:
        target = Target(options.url, options.timeout, options.insecure)
    except ValueError as error:
        fail(str(error))
    rows = Rows(target.host)
    run = Run(target, options.jobs, options.via_proxy)
    auth, results = attack(options, run, rows)
    if sys.stderr.isatty():
        print("\r\33[K", end="", file=sys.stderr)
    if options.json:
        print(as_json(results, target.url, auth, options.seed))
    else:
        report(results, target.url, auth, options.seed)
    return 1 if any(result.problem for result in results) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(2)
    except BrokenPipeError:
        os._exit(1)
