"""Rows of the attack: each request, its allowed responses, and the checks of response contents."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from attack_checks import WEBSOCKET_KEY, Check, accepted, gives_ticket, has_text, leads_to, no_check, no_cors, one_tool, safe_headers
from attack_http import Target
from attack_paths import (
    BASE_PATHS, ENDINGS, FOREIGN_HOSTS, HEADERS, JOINTS, MALFORMED_HOSTS, ODD_LINES, OPEN_PATHS, OWN_HOSTS, SPELLINGS, UNREADABLE_SPELLINGS, WORDS,
    printable,
)  # fmt: skip

# Placeholder for the credentials in a request. Removed in the first pass.
CREDENTIALS = b"{credentials}"
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"attack","version":"1"}}}'
)
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
LIST_TOOLS = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
MCP_HEADERS = ("Content-Type: application/json", "Accept: application/json, text/event-stream")
WEBSOCKET_HEADERS = (
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    f"Sec-WebSocket-Key: {WEBSOCKET_KEY}",
    "Sec-WebSocket-Protocol: binary",
)

DENIED = frozenset({"403"})
# An older nginx treats an unknown version as HTTP/0.9 and refuses without a head.
UNREADABLE = frozenset({"400", "403", "405", "closed", "refused, no head"})
UNAUTHORIZED = frozenset({"401"})
OK = frozenset({"200"})
UPGRADED = frozenset({"101"})
METADATA = "/.well-known/oauth-protected-resource"
# Responses to a GET of the tool's stream, and to an unusual but valid request.
STREAM = frozenset({"200", "400", "405", "406"})
UNDERSTOOD = frozenset({"200", "202", "400", "403", "405", "406", "411", "415", "422", "501", "closed"})


@dataclass(frozen=True)
class Row:
    """One request with its allowed statuses: without authentication (`off`), and with authentication but no credentials (`on`).

    With credentials, the statuses of `opened` are allowed; if it is empty, those without authentication.
    """

    group: str
    name: str
    request: bytes
    off: frozenset[str]
    on: frozenset[str]
    check: Check = no_check
    # Allowed statuses of further responses on the connection. If empty, only the first response is read.
    further: frozenset[str] = frozenset()
    # A proxy in front of the container may respond to this itself.
    direct: bool = False
    with_credentials: bool = False
    opened: frozenset[str] = frozenset()


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
    """Creates the rows for one target."""

    def __init__(self, host: str, serve: bool = False) -> None:
        self.host = host
        # `browser-shell serve` instead of the image: a ticket counts once, a second credential is refused, and a server
        # with tokens has metadata.
        self.serve = serve
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

    def handshake(self, target: Target, credentials: bytes) -> str:
        """Completes the MCP handshake, stores the session id if the server uses one, and returns the status."""
        answer = target.exchange(self.message("POST", "/mcp", MCP_HEADERS, INITIALIZE).replace(CREDENTIALS, credentials))
        if number := answer.headers.get("mcp-session-id"):
            self.session = (f"Mcp-Session-Id: {number}",)
            target.exchange(self.message("POST", "/mcp", (*MCP_HEADERS, *self.session), INITIALIZED).replace(CREDENTIALS, credentials), event=False)
        return answer.first

    def all(self, count: int, seed: int) -> list[Row]:
        groups = [
            self.allowed(), self.clients(), self.response_headers(), self.base_paths(), self.spellings(), self.queries(), self.hosts(),
            self.own_hosts(), self.foreign_hosts(), self.methods(),
            self.versions(), self.smuggling(), self.websockets(), self.headers(), self.web_pages(), self.two_origins(), self.limits(),
            self.random(count, seed),
        ]
        return [row for group in groups for row in group]

    # -- allowed requests --

    def allowed(self) -> Iterator[Row]:
        group = "allowed requests"
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
        for method in ("GET", "HEAD"):
            for query in ("", "?x=.js", "?resize=off&ticket=x"):
                request = self.message(method, f"/vnc{query}")
                yield Row(group, f"{method} /vnc{query}: leads to the viewer", request, frozenset({"302"}), UNAUTHORIZED, leads_to(f"/vnc/{query}"))

    def clients(self) -> Iterator[Row]:
        """Clients that accept JSON without listing both media types of the protocol, such as curl."""
        group = "clients"
        for accept in ((), ("Accept: */*",), ("Accept: application/json",), ("Accept: text/html,application/xhtml+xml,*/*;q=0.8",)):
            lines = (MCP_HEADERS[0], *accept, *self.session)
            yield Row(group, f"POST /mcp, {accept[0] if accept else 'no Accept'}", self.message("POST", "/mcp", lines, LIST_TOOLS), OK, UNAUTHORIZED, one_tool)

    def response_headers(self) -> Iterator[Row]:
        group = "response headers"
        anything = frozenset({"200", "401", "403"})
        for name, request in (
            ("POST /mcp", self.call()), ("GET /vnc/", self.message("GET", "/vnc/")),
            ("GET /vnc/core/rfb.js", self.message("GET", "/vnc/core/rfb.js")), ("GET /nowhere", self.message("GET", "/nowhere")),
        ):
            yield Row(group, f"{name}: safe headers, no version", request, anything, anything, safe_headers)

    # -- refused requests --

    def denied(self, group: str, path: str, **more: Any) -> Row:
        return Row(group, f"GET {path}", self.message("GET", path, **more), DENIED, DENIED, with_credentials=True)

    def with_metadata(self, row: Row, path: str) -> Row:
        """Allows the metadata of a server with tokens, which is no upgrade either."""
        return replace(row, on=DENIED | OK, opened=DENIED | OK) if self.serve and path == METADATA else row

    def base_paths(self) -> Iterator[Row]:
        group = "paths of the base"
        for path in BASE_PATHS:
            yield self.with_metadata(self.denied(group, path), path)
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
            # With a credential in the header, a ticket is a second one.
            second = frozenset({"400"}) if self.serve and "ticket=" in ending else frozenset()
            yield Row(group, f"GET /mcp{ending}", self.message("GET", f"/mcp{ending}", MCP_HEADERS[1:]), STREAM, UNAUTHORIZED)
            yield Row(group, f"WebSocket /websockify{ending}", self.websocket(f"/websockify{ending}"), UPGRADED, UNAUTHORIZED, opened=UPGRADED | second)
            yield Row(group, f"GET /vnc/{ending}", self.message("GET", f"/vnc/{ending}"), OK, UNAUTHORIZED, opened=OK | second)
            yield Row(group, f"GET /vnc/index.html{ending}", self.message("GET", f"/vnc/index.html{ending}"), OK, UNAUTHORIZED, opened=OK | second)
            yield Row(group, f"POST /tickets{ending}", self.message("POST", f"/tickets{ending}"), OK, UNAUTHORIZED)
            for path in ("/v1/shell/exec", "/v1/ping", "/json/version", "/"):
                yield self.denied(group, path + ending)
        for page in ("vnc.html", "vnc_lite.html", "vnc_auto.html"):
            there = frozenset({"200", "403"})  # Not every noVNC has them.
            yield Row(group, f"GET /vnc/{page}?x=.js", self.message("GET", f"/vnc/{page}?x=.js"), there, UNAUTHORIZED)

    def hosts(self) -> Iterator[Row]:
        group = "hosts"
        ports = ("8091-x", "8091-x:8080", "9222-a.b", "9223-x", "8081-x", "8079-x", "8100-localhost", "8091-", "8091-X.example.", "08091-x", "1-2", f"8091-{self.host}", "6080-127.0.0.1:80")
        for host in ports:
            for path in ("/", "/v1/shell/exec", "/mcp", "/vnc/", "/vnc/core/rfb.js", "/json/version"):
                yield Row(group, f"GET {path}, Host: {host}", self.message("GET", path, host=host), DENIED, DENIED, direct=True, with_credentials=True)
            yield Row(group, f"POST /mcp, Host: {host}", self.call(host=host), DENIED, DENIED, direct=True, with_credentials=True)
            yield Row(group, f"POST /tickets, Host: {host}", self.message("POST", "/tickets", host=host), DENIED, DENIED, direct=True, with_credentials=True)
            yield Row(group, f"WebSocket /websockify, Host: {host}", self.websocket("/websockify", host=host), DENIED, DENIED, direct=True, with_credentials=True)
        for prefix in ("http://8091-x", "http://8091-x:8080", "http://9222-a.b", "http://9223-a.b", "HTTP://8091-X", "https://8091-x", "http://x@8091-x", f"http://{self.host}", "http://127.0.0.1:8091", "//8091-x"):
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
                    allowed = UNREADABLE | OK | UNAUTHORIZED  # An older nginx drops an invalid line, and the rest is valid.
                yield Row(group, f"POST {path}, {name}", request, allowed, allowed, direct=True)

    def routes(self, host: str, headers: Iterable[str] = ()) -> Iterator[tuple[str, bytes, frozenset[str], frozenset[str]]]:
        """A request for every route: its name, the request, its statuses without authentication, and with it but without credentials."""
        yield "POST /mcp", self.call(headers=headers, host=host), OK, UNAUTHORIZED
        yield "WebSocket /websockify", self.websocket("/websockify", headers, host=host), UPGRADED, UNAUTHORIZED
        yield "POST /tickets", self.message("POST", "/tickets", headers, host=host), OK, UNAUTHORIZED
        for path in ("/vnc/", "/vnc/index.html"):
            yield f"GET {path}", self.message("GET", path, headers, host=host), OK, UNAUTHORIZED
        yield "GET /vnc", self.message("GET", "/vnc", headers, host=host), frozenset({"302"}), UNAUTHORIZED
        yield "GET /vnc/core/rfb.js", self.message("GET", "/vnc/core/rfb.js", headers, host=host), OK, OK

    def own_hosts(self) -> Iterator[Row]:
        group = "hosts that no page can take over"
        for host in OWN_HOSTS:
            for name, request, off, on in self.routes(host):
                yield Row(group, f"{name}, Host: {host}", request, off, on, direct=True)
            for name, request, off, on in self.routes(host, (f"Origin: http://{host}",)):
                yield Row(group, f"{name}, Host and Origin: {host}", request, off, on, direct=True)

    def foreign_hosts(self) -> Iterator[Row]:
        # Credentials protect from these hosts, because a page has none.
        group = "hosts that a page can take over"
        for host in FOREIGN_HOSTS:
            for name, request, off, on in self.routes(host):
                yield Row(group, f"{name}, Host: {host}", request, DENIED, on, direct=True, opened=off)
        for host in ("evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.nip.io"):
            for scheme in ("http", "https"):
                for name, request, off, on in self.routes(host, (f"Origin: {scheme}://{host}",)):
                    yield Row(group, f"{name}, Host: {host}, Origin: {scheme}", request, DENIED, on, direct=True, opened=off)
        for host in MALFORMED_HOSTS:
            for name, request, _, on in self.routes(host):
                # A server may ignore the blank at the end of a host, and the rest is valid.
                allowed = UNREADABLE | (OK | UPGRADED | {"302"} if host.strip() != host else frozenset())
                yield Row(group, f"{name}, Host: {printable(host)}", request, allowed, allowed | on, direct=True)

    def methods(self) -> Iterator[Row]:
        group = "methods"
        refused, refused_on = frozenset({"403", "405"}), frozenset({"401", "403", "405"})
        for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "HEAD", "PROPFIND", "FOO", "post", "Post", "POSTX"):
            yield Row(group, f"{method} /mcp", self.message(method, "/mcp", MCP_HEADERS), refused | {"400"}, refused_on | {"400"})
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"):
            yield Row(group, f"{method} /tickets", self.message(method, "/tickets"), DENIED, DENIED, with_credentials=True)
        for path in ("/vnc", "/vnc/", "/vnc/core/rfb.js", "/vnc/nothing.js"):
            for method in ("POST", "PUT", "DELETE", "OPTIONS", "PROPFIND", "MKCOL", "SEARCH"):
                yield Row(group, f"{method} {path}", self.message(method, path), refused, refused, with_credentials=True)
        yield Row(group, "POST /websockify", self.message("POST", "/websockify"), refused, refused, with_credentials=True)
        yield Row(group, "GET /websockify without an upgrade", self.message("GET", "/websockify"), DENIED | {"400", "426"}, DENIED | UNAUTHORIZED)
        for path in ("/", "/mcp", "/vnc/", "/v1/shell/exec"):
            for method in ("TRACE", "TRACK"):
                yield Row(group, f"{method} {path}", self.message(method, path), UNREADABLE, UNREADABLE, with_credentials=True)
        for target in ("127.0.0.1:8091", "localhost:9222", "localhost:9223", "8091-x:8080", "/mcp", self.host):
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
        yield Row(group, "a TLS hello in plain HTTP, or the reverse", b"\x16\x03\x01\x00\x05hello\r\n\r\n" + host + b"\r\n", odd, odd, direct=True)

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
            ("pipelining with a refused path", length(LIST_TOOLS), LIST_TOOLS + inner),
        ]
        for name, headers, body in pairs:
            for path in (b"/mcp", b"/v1/shell/exec"):
                request = b"POST " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
                request += headers + b"\r\n" + body + last
                first = UNDERSTOOD if path == b"/mcp" else UNREADABLE | {"413", "501"}
                yield Row(group, f"POST {path.decode()}, {name}", request, first | {"413"}, first | UNAUTHORIZED | {"413"}, further=further | {"401", "timeout"}, direct=True)
        bare = b"GET /v1/shell/exec HTTP/1.1\nHost: " + host + b"\n\n" + last
        yield Row(group, "GET /v1/shell/exec, line ends are bare LF", bare, UNREADABLE, UNREADABLE, further=further, direct=True)
        yield Row(group, "GET with a body that is a request", self.message("GET", "/vnc/core/rfb.js", (f"Content-Length: {len(inner)}",), connection="keep-alive").replace(CREDENTIALS, b"") + inner + last,
                  OK | {"400", "403", "413"}, OK | {"400", "403", "413"}, further=further, direct=True)
        yield Row(group, "a failed upgrade and a second request", self.message("GET", "/websockify", ("Upgrade: websocket", "Sec-WebSocket-Version: 777"), connection="Upgrade").replace(CREDENTIALS, b"") + inner + last,
                  UNREADABLE | {"426", "501"}, UNAUTHORIZED, further=further | {"timeout"}, direct=True)

    def websockets(self) -> Iterator[Row]:
        group = "WebSockets elsewhere"
        for path in (*BASE_PATHS, "/websockify/", "/websockify/../v1/shell/ws", "//websockify", "/websockify%2f", "/Websockify", "/%77ebsockify", "/websockify;x", "/vnc/websockify", "/devtools/browser/x", "/devtools/page/x", "/v1/shell/ws", "/terminal/ws"):
            yield self.with_metadata(Row(group, f"WebSocket {path}", self.websocket(path), DENIED, DENIED, with_credentials=True), path)
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
                continue  # Two Connection headers are tested below.
            yield Row(group, f"POST /mcp, {header}", self.call(headers=(header,)), OK, UNAUTHORIZED, one_tool)
            yield Row(group, f"WebSocket /websockify, {header}", self.websocket("/websockify", (header,)), frozenset({"101"}), UNAUTHORIZED)
        for name in ("X-Original-URI", "Authorization", "Host", "Content-Length", "X-AIO-API-Key"):
            yield Row(group, f"POST /mcp, Connection: close, {name}", self.call(connection=f"close, {name}"), OK | {"400"}, UNAUTHORIZED | {"400"}, direct=True)
            yield Row(group, f"GET /v1/shell/exec, Connection: close, {name}", self.message("GET", "/v1/shell/exec", connection=f"close, {name}"), DENIED, DENIED, with_credentials=True)

    def web_pages(self) -> Iterator[Row]:
        group = "foreign origins"
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

    def two_origins(self) -> Iterator[Row]:
        group = "two Origin headers"
        own, foreign = f"Origin: http://{self.host}", "Origin: http://evil.example"
        for name, headers in (
            ("the own and a foreign one", (own, foreign)), ("the own one twice", (own, own)), ("an empty and a foreign one", ("Origin:", foreign)),
            ("a foreign and the own one", (foreign, own)), ("two foreign ones", (foreign, foreign)), ("an empty and the own one", ("Origin:", own)),
        ):
            for route, request, off, on in self.routes(self.host, headers):
                if route == "GET /vnc/core/rfb.js":
                    continue  # A public file, for which only the first Origin is checked.
                # With credentials, an older nginx decides by the first one.
                refused = headers[0] == foreign
                yield Row(group, f"{route}, {name}", request, DENIED, DENIED if refused else DENIED | on, direct=True, opened=DENIED if refused else DENIED | off)

    def limits(self) -> Iterator[Row]:
        group = "limits"
        large = frozenset({"400", "403", "413", "414", "431", "closed"})
        # The header is enough; the body is never sent.
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

    # -- credentials --

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
            "an internal X-Forwarded-For": "X-Forwarded-For: 127.0.0.1",
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
            # Two tickets are two credentials.
            refused = UNAUTHORIZED | {"400"} if self.serve and query.count("ticket=") > 1 else UNAUTHORIZED
            for path in ("/mcp", "/vnc/", "/vnc/index.html"):
                yield Row(group, f"GET {path}?{query}", self.message("GET", f"{path}?{query}"), OK, refused)
            yield Row(group, f"WebSocket /websockify?{query}", self.websocket(f"/websockify?{query}"), OK, refused)

    def ticket(self, ticket: str) -> Iterator[Row]:
        group = "a ticket"
        page = has_text(b"noVNC")
        for _ in range(0 if self.serve else 2):  # A ticket is reusable: for the page, its WebSocket, and a reload.
            yield Row(group, "GET /vnc/?ticket=", self.message("GET", f"/vnc/?ticket={ticket}"), OK, OK, page)
            link = f"/vnc/index.html?ticket={ticket}&path=websockify%3Fticket%3D{ticket}"
            yield Row(group, "GET /vnc/index.html?ticket=&path=", self.message("GET", link), OK, OK, page)
            yield Row(group, "WebSocket /websockify?ticket=", self.websocket(f"/websockify?ticket={ticket}"), frozenset({"101"}), frozenset({"101"}), accepted)
        yield Row(group, "POST /tickets?ticket=: a ticket does not open /tickets", self.message("POST", f"/tickets?ticket={ticket}"), UNAUTHORIZED, UNAUTHORIZED)
        yield Row(group, "GET /v1/shell/exec?ticket=", self.message("GET", f"/v1/shell/exec?ticket={ticket}"), DENIED, DENIED)
        yield Row(group, "GET /vnc/?ticket= with another ending", self.message("GET", f"/vnc/?ticket={ticket[:-1]}"), UNAUTHORIZED, UNAUTHORIZED)

    def ticket_uses(self) -> list[Callable[[str], list[Row]]]:
        """Returns the uses of a single-use ticket: rows to send one after the other, each list with a new ticket."""
        group = "with credentials: a ticket counts once"

        def page(ticket: str) -> list[Row]:
            link = self.message("GET", f"/vnc/?ticket={ticket}")
            there = Row(group, "GET /vnc/?ticket=", link, OK, OK, has_text(b"noVNC"))
            return [there, Row(group, "GET /vnc/?ticket=, again", link, UNAUTHORIZED, UNAUTHORIZED)]

        def screen(ticket: str) -> list[Row]:
            link = self.websocket(f"/websockify?ticket={ticket}")
            there = Row(group, "WebSocket /websockify?ticket=", link, UPGRADED, UPGRADED, accepted)
            return [there, Row(group, "WebSocket /websockify?ticket=, again", link, UNAUTHORIZED, UNAUTHORIZED)]

        def elsewhere(ticket: str) -> list[Row]:
            link = self.message("GET", f"/mcp?ticket={ticket}", MCP_HEADERS)
            return [Row(group, "GET /mcp?ticket=: a ticket opens the viewer only", link, UNAUTHORIZED, UNAUTHORIZED)]

        return [page, screen, elsewhere]
