#!/usr/bin/env python3
"""Smoke test of a running container, from outside, as an agent and a person use it.

    tests/image/smoke.py URL PAGE [--key-file KEY.pem | --api-key KEY] [--text]

URL is the container's root, PAGE the address of tests/e2e/pages/shop.html for the browser. With the private key of the
container's JWT_PUBLIC_KEY, or an API key, requests have credentials, and requests without credentials must fail. With --text,
the answers must be plain text, as the recommended policy says, and else JSON.

tests/aio-base/attack.py tests the wall's refusals. This test does not depend on how the container is run: the NixOS test of the
image and the tests of the stand-in call it. It needs Python 3.10 or newer, and `openssl` for a key.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

WEBSOCKET_KEY = "c21va2Utc21va2Utc21vaw=="
# No proxy, because the container is on this machine.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def check(condition: object, what: str) -> None:
    if not condition:
        sys.exit(f"smoke: {what}")


def token(key_file: str) -> str:
    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    head = part(json.dumps({"alg": "RS256", "typ": "JWT"}).encode())
    body = part(json.dumps({"sub": "smoke", "exp": int(time.time()) + 600}).encode())
    signed = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", key_file], input=f"{head}.{body}".encode(), stdout=subprocess.PIPE, check=True
    )
    return f"{head}.{body}.{part(signed.stdout)}"


class Container:
    def __init__(self, url: str, bearer: str | None, is_text: bool) -> None:
        self.url = url.rstrip("/")
        self.bearer = bearer
        self.is_text = is_text
        self.number = 0

    def request(self, method: str, path: str, body: bytes | None = None, bearer: str | None = None, **headers: str) -> tuple[int, bytes]:
        request = urllib.request.Request(self.url + path, data=body, method=method)
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        if bearer:
            request.add_header("Authorization", f"Bearer {bearer}")
        try:
            with OPENER.open(request, timeout=150) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def rpc(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}
        status, body = self.request(
            "POST", "/mcp", json.dumps(message).encode(), self.bearer,
            Content_Type="application/json", Accept="application/json, text/event-stream",
        )
        check(status == 200, f"{method}: {status} {body[:300]!r}")
        text = body.decode()
        # An event stream has the response in its last `data:` line.
        if "data:" in text and not text.lstrip().startswith("{"):
            text = [line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()][-1]
        answer = json.loads(text)
        check(answer.get("id") == self.number and "result" in answer, f"{method}: {text[:300]}")
        return answer["result"]

    def call(self, *argv: str, code: int = 0) -> tuple[str, list[Any]]:
        result = self.rpc("tools/call", {"name": "browser-shell", "arguments": {"session_id": "smoke", "argv": argv, "timeout_sec": 60}})
        text = next(item["text"] for item in result["content"] if item["type"] == "text")
        check(("structuredContent" in result) != self.is_text, f"{argv}: another form of answer: {text[:300]!r}")
        if self.is_text:
            answer = {"exit_code": result["_meta"]["browser-shell/exit_code"], "stdout": text, "stderr": text}
        else:
            answer = json.loads(text)
            check(set(answer) == {"session_id", "exit_code", "stdout", "stderr"}, f"{argv}: the reply has {sorted(answer)}")
        check(answer["exit_code"] == code, f"{argv}: {answer['exit_code']} {answer['stderr']}")
        is_json = answer["stdout"].endswith("}\n")
        check(code != 0 or is_json != self.is_text, f"{argv}: stdout is not text or one line of JSON: {answer['stdout'][-100:]!r}")
        print(f"ok {' '.join(argv)}")
        return answer["stdout"], result["content"]

    def reference(self, snapshot: str, role: str, name: str) -> str:
        if self.is_text:
            found = re.findall(rf'^ *- {role} "{name}" \[ref=(\w+)\]', snapshot, re.M)
        else:
            found = [ref for ref, node in json.loads(snapshot)["refs"].items() if (node["role"], node["name"]) == (role, name)]
        check(found, f"no {role} `{name}` in {snapshot[:1000]}")
        return f"@{found[0]}"

    def ready(self) -> None:
        """Waits until the tool and the screen are ready."""
        end = time.monotonic() + 300
        while time.monotonic() < end:
            try:
                tool = self.request("POST", "/mcp", b"{}", self.bearer, Content_Type="application/json")[0]
                check(tool != 401, "POST /mcp: 401, invalid credentials")
                if tool not in (502, 503, 504) and self.websocket() == 101:
                    return
            except OSError:
                pass
            time.sleep(0.5)
        sys.exit("smoke: the container is not ready after 300 s")

    def ticket(self) -> str:
        status, body = self.request("POST", "/tickets", b"", self.bearer)
        check(status == 200, f"POST /tickets: {status}")
        return json.loads(body)["ticket"]

    def websocket(self, query: str | None = None) -> int:
        """Opens a WebSocket on /websockify, waits for the VNC protocol version, and returns the status."""
        if query is None:
            query = f"?ticket={self.ticket()}" if self.bearer else ""
        parts = urlsplit(self.url)
        with socket.create_connection((parts.hostname, parts.port or 80), timeout=20) as stream:
            stream.sendall(
                f"GET /websockify{query} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {WEBSOCKET_KEY}\r\nSec-WebSocket-Protocol: binary\r\n\r\n".encode()
            )
            data = b""
            while b"\r\n\r\n" not in data:
                more = stream.recv(4096)
                if not more:
                    return 0
                data += more
            status = int(data.split(b" ", 2)[1])
            if status == 101:
                while b"RFB 003." not in data:
                    more = stream.recv(4096)
                    check(more, "the screen sends nothing")
                    data += more
            return status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("page")
    parser.add_argument("--key-file")
    parser.add_argument("--api-key")
    parser.add_argument("--text", action="store_true")
    options = parser.parse_args()
    container = Container(options.url, token(options.key_file) if options.key_file else options.api_key, options.text)
    container.ready()
    print("ok ready")

    tools = container.rpc("tools/list", {})["tools"]
    check([tool["name"] for tool in tools] == ["browser-shell"], f"the tools are {tools}")
    print("ok exactly one tool")

    container.call("open", options.page)
    snapshot, _ = container.call("snapshot", "-i")
    container.call("fill", container.reference(snapshot, "textbox", "Name"), "Ada")
    container.call("click", container.reference(snapshot, "button", "Save"))
    after, _ = container.call("snapshot")
    check("Ada" in after, f"the page does not show what was typed: {after[:1000]}")
    _, content = container.call("screenshot")
    pictures = [item for item in content if item.get("mimeType") == "image/png"]
    check(pictures and base64.b64decode(pictures[0]["data"]).startswith(b"\x89PNG\r\n\x1a\n"), "no picture in the reply")

    # Refusals of the policy and of the grammar.
    container.call("open", "http://127.0.0.1:8091/", code=77)
    container.call("eval", "1", code=64)
    container.call("close")

    status, page = container.request("GET", f"/vnc/index.html?ticket={container.ticket()}" if container.bearer else "/vnc/index.html")
    check(status == 200 and re.search(rb"<html", page, re.I), f"/vnc/index.html: {status}")
    check(container.websocket() == 101, "the screen is not available")
    check(container.request("GET", "/v1/ping", None, container.bearer)[0] == 403, "/v1/ping is not 403")
    print("ok watching")
    if container.bearer:
        for method, path in ("POST", "/mcp"), ("POST", "/tickets"), ("GET", "/vnc/index.html"):
            status = container.request(method, path, b"" if method == "POST" else None)[0]
            check(status == 401, f"{method} {path} without credentials: {status}")
        check(container.websocket("") == 401, "the screen is available without a ticket")
        check(container.websocket("?ticket=x") == 401, "the screen is available with an invalid ticket")
        print("ok nothing without credentials")
    print("smoke: everything works")


main()
