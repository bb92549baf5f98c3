#!/usr/bin/env python3
"""Checks that the tests run with the version of the agent-browser in a folder.

    tests/image/supported.py crates/core/src/agent_browser.rs FOLDER
"""

import json
import re
import sys
from pathlib import Path

source, folder = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])
tested = re.findall(r'=> "(\d+\.\d+\.\d+)"', source)
if not tested:
    sys.exit("supported: the list of versions was not found")

version = json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"]
if version not in tested:
    sys.exit(f"supported: agent-browser {version} is none of the tested versions: {tested}")
print(f"agent-browser {version} is tested")
