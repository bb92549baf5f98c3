"""Checks of response contents."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable

from attack_http import Answer

WEBSOCKET_KEY = "d2FsbC1hdHRhY2sta2V5IQ=="

Check = Callable[[Answer], str]


def no_check(_: Answer) -> str:
    return ""


def one_tool(answer: Answer) -> str:
    if answer.first != "200":
        return ""
    text = answer.body.decode("utf-8", "replace")
    try:
        value = json.loads(next((line[5:] for line in text.splitlines() if line.startswith("data:")), text))
        names = [tool["name"] for tool in value["result"]["tools"]]
    except (ValueError, KeyError, TypeError):
        return "the response lists no tools"
    return "" if names == ["browser-shell"] else f"other tools: {', '.join(map(str, names))[:80]}"


def has_text(text: bytes) -> Check:
    return lambda answer: "" if answer.first != "200" or text in answer.body else f"no `{text.decode()}` in the response"


def leads_to(path: str) -> Check:
    """Checks a redirect that keeps scheme, host and port, whatever a proxy in front made of them."""
    return lambda answer: "" if answer.first != "302" or answer.headers.get("location") == path else f"Location is not `{path}`"


def accepted(answer: Answer) -> str:
    proof = base64.b64encode(hashlib.sha1(WEBSOCKET_KEY.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
    return "" if answer.first != "101" or answer.headers.get("sec-websocket-accept") == proof else "wrong Sec-WebSocket-Accept"


def ticket_of(answer: Answer) -> str:
    try:
        value = json.loads(answer.body)["ticket"]
    except (ValueError, KeyError, TypeError):
        return ""
    return value if isinstance(value, str) else ""


def gives_ticket(answer: Answer) -> str:
    return "" if answer.first != "200" or ticket_of(answer) else "there is no ticket in the response"


def no_cors(answer: Answer) -> str:
    allowed = [name for name in answer.headers if name.startswith("access-control-allow")]
    return f"{', '.join(allowed)} in the response" if allowed else ""


def safe_headers(answer: Answer) -> str:
    headers = answer.headers
    problems = [no_cors(answer)]
    problems += [f"{name} names a version" for name in ("server", "x-powered-by", "via") if re.search(r"\d", headers.get(name, ""))]
    problems += [f"no {name}: {value}" for name, value in (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")) if headers.get(name) != value]
    problems += [] if "frame-ancestors" in headers.get("content-security-policy", "") else ["no frame-ancestors"]
    return "; ".join(filter(None, problems))
