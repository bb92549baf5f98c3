"""Validates files against the schemas that check-jsonschema has: compose's and GitHub's. Called by tests/nix/schemas.

One process for all files, because the start of check-jsonschema takes longer than its checks.
"""

import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path

from check_jsonschema import main

# Schema, a key that each of its files has, and the files.
FILES = [
    ("compose-spec", "cap_drop", ["deploy/compose.yaml", "deploy/runtime/compose.yaml", "deploy/slim/compose.yaml"]),
    ("github-workflows", "runs-on", sorted(map(str, Path(".github/workflows").glob("*.yml")))),
    ("github-actions", "runs", [".github/actions/image/action.yml"]),
    ("dependabot", "package-ecosystem", [".github/dependabot.yml"]),
    ("github-issue-forms", "description", [".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/feature.yml"]),
    ("github-issue-config", "blank_issues_enabled", [".github/ISSUE_TEMPLATE/config.yml"]),
]


def errors_of(schema, file):
    """Returns what is wrong with a file, and an empty text if it is valid."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = main(["--builtin-schema", f"vendor.{schema}", "--", file], standalone_mode=False)
    return output.getvalue() if code else ""


with tempfile.TemporaryDirectory() as folder:
    for schema, key, files in FILES:
        for file in files:
            if errors := errors_of(schema, file):
                sys.exit(f"schemas: {errors}")
            # Control: a copy with the key misspelled.
            copy = Path(folder, Path(file).name)
            copy.write_text(re.sub(f"(?m)^([ -]*){key}:", rf"\1{key}x:", Path(file).read_text()))
            if f"{key}x" not in errors_of(schema, str(copy)):
                sys.exit(f"schemas: `{key}x` is accepted in {file}")
