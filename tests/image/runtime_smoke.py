#!/usr/bin/env python3
"""Smoke test of a running container of the runtime, from outside, as an orchestrator uses it.

    tests/image/runtime_smoke.py URL PAGE

URL is the container's root, PAGE the address of tests/e2e/pages/shop.html for the browser. The test leaves one picture in the
workspace, smoke/page.png.

The program's own tests check the exact form of responses. The test does not depend on how the container is run and needs
Python 3.10 or newer.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import urllib.error
import urllib.request
from typing import Any

# No proxy, because the container is on this machine.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def check(condition: object, what: str) -> None:
    if not condition:
        sys.exit(f"smoke: {what}")


class Runtime:
    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with OPENER.open(request, timeout=150) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def ready(self) -> None:
        """Waits until the runtime is healthy, at most as long as an orchestrator waits."""
        end = time.monotonic() + 120
        last: Any = None
        while time.monotonic() < end:
            try:
                status, last = self.request("GET", "/health")
                if status == 200 and last["status"] == "healthy":
                    return
            except OSError as error:
                last = error
            time.sleep(0.2)
        sys.exit(f"smoke: the runtime is not healthy after 120 s: {last}")

    def exec(self, cmd: str, code: int = 0) -> str:
        status, answer = self.request("POST", "/exec", {"cmd": cmd, "timeout": 60})
        check(status == 200 and set(answer) == {"stdout", "stderr", "exit_code"}, f"{cmd}: {status} {answer}")
        check(answer["exit_code"] == code, f"{cmd}: {answer['exit_code']} {answer['stderr']}")
        check(code != 0 or answer["stdout"].endswith("}\n"), f"{cmd}: stdout is not one line of JSON: {answer['stdout'][-100:]!r}")
        print(f"ok {cmd}")
        return answer["stdout"]


def reference(snapshot: str, role: str, name: str) -> str:
    for ref, node in json.loads(snapshot)["refs"].items():
        if node["role"] == role and node["name"] == name:
            return f"@{ref}"
    sys.exit(f"smoke: no {role} `{name}` in {snapshot[:1000]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("page")
    options = parser.parse_args()
    runtime = Runtime(options.url)
    runtime.ready()
    print("ok healthy")

    status, meta = runtime.request("GET", "/meta")
    check(status == 200 and "browser" in meta["capabilities"], f"/meta: {status} {meta}")
    check(meta["workspace"]["mount_path"] == "/workspace", f"/meta: {meta}")
    check(any(skill["name"] == "browser-runtime" for skill in meta["built_in_skills"]), f"the skill is missing: {meta}")
    print("ok /meta")

    runtime.exec(f"open {options.page}")
    snapshot = runtime.exec("snapshot -i")
    runtime.exec(f"fill {reference(snapshot, 'textbox', 'Name')} Ada")
    runtime.exec(f"click {reference(snapshot, 'button', 'Save')}")
    after = runtime.exec("snapshot")
    check("Ada" in after, f"the page does not show what was typed: {after[:1000]}")
    check("/workspace/smoke/page.png" in runtime.exec("screenshot smoke/page.png"), "wrong path of the picture")

    # Refusals of the policy and of the grammar.
    runtime.exec("open http://127.0.0.1:8115/health", code=77)
    runtime.exec("open file:///etc/passwd", code=77)
    runtime.exec("--session other snapshot", code=64)
    runtime.exec("screenshot ../outside.png", code=64)

    steps = ["snapshot", "close"]
    status, batch = runtime.request("POST", "/exec_batch", {"commands": steps, "timeout": 60})
    check(status == 200 and batch["success"] and batch["completed_steps"] == len(steps), f"/exec_batch: {status} {batch}")
    print("ok /exec_batch")
    print("smoke: everything works")


main()
