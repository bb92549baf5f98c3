#!/usr/bin/env python3
"""Checks that the program can connect directly to the daemon of the agent-browser in a folder.

    tests/image/supported.py src/agent_browser/direct/supported.rs FOLDER

It computes the hash like `daemon_files` in that file and compares it with the table `SUPPORTED` there.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

source, folder = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])
supported = dict(re.findall(r'\("agent-browser ([^"]+)", "([0-9a-f]{64})"\)', source))
if not supported:
    sys.exit("supported: the table was not found")

digest = hashlib.sha256()
scripts = sorted((path for path in (folder / "dist").iterdir() if path.suffix == ".js"), key=lambda path: path.name.encode())
for path in scripts:
    for part in (path.name.encode(), path.read_bytes()):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)

version = json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"]
if supported.get(version) != digest.hexdigest():
    sys.exit(f"supported: agent-browser {version} with the hash {digest.hexdigest()} is not in the table: {supported}")
print(f"agent-browser {version} is supported: {digest.hexdigest()}")
