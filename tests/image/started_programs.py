#!/usr/bin/env python3
"""Lists the programs that a container of the slim image started, and fails on any that is not the image's.

    tests/image/started_programs.py TRACE

TRACE is the output of `strace --follow-forks --seccomp-bpf --trace=execve,execveat --output=TRACE podman run ...`. Attempts count,
too: a program that looks for a shell is found even though there is none.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# The first program of the container. The lines before it are the engine's.
FIRST = "/usr/bin/tini"
CHROMIUM = r"(/nix/store/[^/]+/libexec|/usr/lib)/chromium/"
# Each must be there, so that an empty trace is not accepted.
NEEDED = (
    FIRST,
    "/usr/local/bin/browser-shell",
    "/usr/bin/Xvnc",
    "/opt/xk",
    "/usr/bin/chromium",
)
ALLOWED = (
    *map(re.escape, NEEDED),
    # The program's helpers, and Chromium's zygote and renderers.
    r"/proc/self/exe",
    CHROMIUM + r"(chromium|chrome_crashpad_handler)",
)


def main() -> None:
    started: dict[str, int] = {}
    for line in Path(sys.argv[1]).read_text(errors="replace").splitlines():
        call = re.match(r'\d+ +execve(?:at)?\((?:[^,"]+, )?"([^"]*)"', line)
        if call and (started or call[1] == FIRST):
            started[call[1]] = started.get(call[1], 0) + 1
    for path, count in sorted(started.items()):
        print(f"{count} {path}")
    missing = [path for path in NEEDED if path not in started]
    unexpected = [path for path in started if not any(re.fullmatch(allowed, path) for allowed in ALLOWED)]
    if missing or unexpected:
        sys.exit(f"started: unexpected programs {unexpected}, missing programs {missing}")


main()
