"""Raw HTTP exchanges with the container under attack."""

from __future__ import annotations

import re
import socket
import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit

MAX_ANSWER = 1 << 20


@dataclass
class Answer:
    """The response: the status of every response on the connection, and headers and body of the first one."""

    statuses: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def first(self) -> str:
        return self.statuses[0] if self.statuses else "closed"


class Target:
    """Address and host name of the container."""

    def __init__(self, url: str, timeout: float, insecure: bool) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"`{url}` is not an http or https URL")
        if parts.path not in ("", "/") or parts.query or parts.username:
            raise ValueError(f"`{url}` has more than scheme, host and port: pass the root URL of the container")
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
        """Sends bytes and reads one response, or with `to_the_end` all until the server closes. Reads at most one event of a stream."""
        try:
            connection = self.connect()
        except OSError as error:
            return Answer([f"no connection ({error.__class__.__name__})"])
        with connection:
            try:
                connection.sendall(request)
            except OSError:
                pass  # The server may have responded and closed before it read everything.
            return Reader(connection, event).answer(request.startswith(b"HEAD "), to_the_end)


class Reader:
    """Reads responses from a connection, also malformed ones."""

    def __init__(self, connection: socket.socket, event: bool) -> None:
        self.connection = connection
        self.event = event
        self.data = b""
        self.end = ""

    def more(self) -> bool:
        """Reads more bytes and returns True; returns False at the end, with the reason in `end`."""
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
        """HTTP/0.9: there is only a body, so its text must show whether it is a refusal."""
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
        """Reads the first data line of an event stream, or nothing if `event` is False."""
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
