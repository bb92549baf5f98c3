#!/usr/bin/env python3
"""Says whether a folder with agent-browser is one that the program's fast path believes.

    tests/image/proved.py src/transport/proof.rs FOLDER

The hash is made as `daemon_files` in that file makes it, and compared with the table `PROVED` there.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

source, folder = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])
proved = dict(re.findall(r'\("agent-browser ([^"]+)", "([0-9a-f]{64})"\)', source))
if not proved:
    sys.exit("proved: the table was not found")

digest = hashlib.sha256()
scripts = sorted((path for path in (folder / "dist").iterdir() if path.suffix == ".js"), key=lambda path: path.name.encode())
for path in scripts:
    for part in (path.name.encode(), path.read_bytes()):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)

version = json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"]
if proved.get(version) != digest.hexdigest():
    sys.exit(f"proved: {version} with {digest.hexdigest()} is not in the table: {proved}")
print(f"agent-browser {version} is proved: {digest.hexdigest()}")
