"""Reads the workflows, evaluates their expressions, and runs their jobs on this machine with stand-ins for the programs and actions.

It knows the parts of GitHub's workflows that ours use, and fails on any other.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable

import yaml

ROOT = Path(__file__).resolve().parents[2]
Mapping = dict[str, Any]
TOKEN = re.compile(r"\s*(?:'((?:[^']|'')*)'|(==|!=|&&|\|\||!|\(|\))|([A-Za-z_][\w.-]*))")


def load(path: str, text: str | None = None) -> Mapping:
    """Reads a workflow or an action. The key `on`, which YAML reads as true, has its name."""
    [document] = yaml.safe_load_all((ROOT / path).read_text(encoding="utf-8") if text is None else text)
    if True in document:
        document["on"] = document.pop(True)
    return document


def evaluate(expression: str, contexts: Mapping) -> Any:
    """Returns the value of an expression, such as `github.event_name == 'push'`."""
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(expression.rstrip()):
        found = TOKEN.match(expression, position)
        if not found:
            raise ValueError(f"expression `{expression}` at {position}")
        text, operator, name = found.groups()
        tokens.append(("text", text.replace("''", "'")) if text is not None else ("operator", operator) if operator else ("name", name))
        position = found.end()

    def take(*operators: str) -> str | None:
        if tokens and tokens[0][0] == "operator" and tokens[0][1] in operators:
            return tokens.pop(0)[1]
        return None

    def value() -> Any:
        if take("!"):
            return not value()
        if take("("):
            inner = either()
            if not take(")"):
                raise ValueError(f"expression `{expression}`: no `)`")
            return inner
        kind, word = tokens.pop(0)
        if kind == "text":
            return word
        if word in ("true", "false"):
            return word == "true"
        place: Any = contexts
        for part in word.split("."):
            place = place.get(part, "") if isinstance(place, dict) else ""
        return place

    def compared() -> Any:
        left = value()
        while operator := take("==", "!="):
            left = (left == value()) == (operator == "==")
        return left

    def both() -> Any:
        left = compared()
        while take("&&"):
            right = compared()
            left = right if left else left
        return left

    def either() -> Any:
        left = both()
        while take("||"):
            right = both()
            left = left or right
        return left

    result = either()
    if tokens:
        raise ValueError(f"expression `{expression}`: {tokens} is left")
    return result


def expand(text: Any, contexts: Mapping) -> Any:
    """Replaces `${{ ... }}` in a value."""
    if not isinstance(text, str):
        return text
    whole = re.fullmatch(r"\$\{\{((?:(?!\}\}).)*)\}\}", text.strip())
    if whole:
        return evaluate(whole[1], contexts)
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(evaluate(found[1], contexts)), text)


def condition(text: Any, contexts: Mapping) -> bool:
    """Returns the value of an `if`, whose `${{ }}` may be left out."""
    if isinstance(text, bool):
        return text
    return bool(expand(text if "${{" in text else f"${{{{ {text} }}}}", contexts))


def needs(job: Mapping) -> list[str]:
    """Returns the jobs that a job waits for."""
    wanted = job.get("needs", [])
    return [wanted] if isinstance(wanted, str) else wanted


def all_needs(workflow: Mapping, name: str) -> set[str]:
    """Returns the jobs that a job waits for, directly or not."""
    direct = needs(workflow["jobs"][name])
    return set(direct).union(*(all_needs(workflow, other) for other in direct))


def matrix(job: Mapping) -> list[Mapping]:
    """Returns the combinations that a job runs for."""
    given = dict(job.get("strategy", {}).get("matrix", {}))
    included = given.pop("include", [])
    if given and included:
        raise ValueError("a matrix with `include` and other members")
    return included or [dict(zip(given, values)) for values in itertools.product(*given.values())]


class Failed(Exception):
    """A step that failed."""


class Run:
    """One run of a workflow: `folder` keeps the workspaces of its jobs and the artifacts."""

    def __init__(self, folder: Path, github: Mapping, environment: Mapping, action: Callable[[str, Mapping, Path], Mapping | None]):
        self.folder, self.github, self.environment, self.action = folder, github, environment, action
        self.artifacts = folder / "artifacts"
        self.artifacts.mkdir(parents=True)
        # What ran, in order, with the output of what failed.
        self.results: dict[str, str] = {}
        self.output = ""

    def workflow(self, workflow: Mapping) -> None:
        """Runs the jobs in an order that their needs allow. A job whose needs failed is skipped."""
        left = dict(workflow["jobs"])
        while left:
            name = next(name for name, job in left.items() if not set(needs(job)) & set(left))
            job = left.pop(name)
            if any(self.results[other] != "success" for other in needs(job)):
                self.results[name] = "skipped"
                continue
            contexts = {"github": self.github, "env": workflow.get("env", {})}
            if "if" in job and not condition(job["if"], contexts):
                self.results[name] = "skipped"
                continue
            self.results[name] = "success"
            for number, chosen in enumerate(matrix(job)):
                try:
                    self.job(f"{name}-{number}", job, contexts | {"matrix": chosen})
                except Failed:
                    self.results[name] = "failure"

    def job(self, name: str, job: Mapping, contexts: Mapping) -> None:
        workspace = self.folder / name
        workspace.mkdir()
        environment = {key: str(expand(value, contexts)) for key, value in job.get("env", {}).items()}
        self.steps(job["steps"], workspace, contexts | {"env": environment})

    def steps(self, steps: list[Mapping], workspace: Path, contexts: Mapping) -> None:
        outputs: Mapping = {}
        for step in steps:
            inside = contexts | {"steps": outputs}
            if "if" in step and not condition(step["if"], inside):
                continue
            given = {key: expand(value, inside) for key, value in step.get("with", {}).items()}
            if "uses" in step and step["uses"].startswith("./"):
                action = load(f"{step['uses']}/action.yml")
                self.steps(action["runs"]["steps"], workspace, contexts | {"inputs": given})
            elif "uses" in step:
                outputs[step.get("id", "")] = {"outputs": self.use(step["uses"].partition("@")[0], given, workspace)}
            else:
                environment = contexts["env"] | {key: str(expand(value, inside)) for key, value in step.get("env", {}).items()}
                outputs[step.get("id", "")] = {"outputs": self.script(step["run"], environment, workspace, step.get("shell"))}

    def script(self, script: str, environment: Mapping, workspace: Path, shell: str | None) -> Mapping:
        written = workspace.parent / f"{workspace.name}.outputs"
        written.write_text("")
        variables = {f"GITHUB_{name.upper()}": str(value) for name, value in self.github.items() if isinstance(value, str)}
        variables |= {"GITHUB_WORKSPACE": str(workspace), "GITHUB_OUTPUT": str(written)}
        result = subprocess.run(
            # Only a named shell has `pipefail`.
            ["bash", "--noprofile", "--norc", "-e", *(["-o", "pipefail"] if shell == "bash" else []), "-c", script],
            cwd=workspace,
            env=self.environment | variables | environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.output += result.stdout
        if result.returncode != 0:
            raise Failed(script)
        return dict(line.split("=", 1) for line in written.read_text().splitlines())

    def use(self, name: str, given: Mapping, workspace: Path) -> Mapping:
        """Returns the outputs of an action."""
        if name == "actions/checkout":
            # Links to the folders that no step writes to.
            for folder in ".github", "deploy":
                (workspace / folder).symlink_to(ROOT / folder)
            shutil.copytree(ROOT / "nix", workspace / "nix")
            for file in "Cargo.toml", "flake.lock", "flake.nix", "README.md", "README.zh-CN.md":
                shutil.copy2(ROOT / file, workspace)
        elif name == "actions/upload-artifact":
            files = [file for pattern in given["path"].split() for file in workspace.glob(pattern)]
            if not files:
                raise Failed(f"no files of {given['path']}")
            folder = self.artifacts / given["name"]
            folder.mkdir()
            for file in files:
                shutil.copy2(file, folder)
        elif name == "actions/download-artifact":
            into = workspace / given.get("path", ".")
            into.mkdir(parents=True, exist_ok=True)
            named = list(self.artifacts.glob(given.get("pattern", given.get("name", ""))))
            if not named or ("pattern" in given and not given.get("merge-multiple")):
                raise Failed(f"no artifacts of {json.dumps(given)}")
            for file in (file for folder in named for file in folder.iterdir()):
                shutil.copy2(file, into)
        elif name != "cachix/install-nix-action":
            return self.action(name, given, workspace) or {}
        return {}


class StandIns:
    """Stand-ins for the programs of a runner (tests/nix/stand-in), with what they did."""

    def __init__(self, folder: Path, failing: str, state: dict[str, str]):
        self.state = folder / "state"
        programs = folder / "programs"
        for made in self.state, programs, folder / "home":
            made.mkdir(parents=True)
        for name in "nix", "oci-layout", "skopeo", "cosign", "curl", "gh", "git", "sudo":
            (programs / name).symlink_to(ROOT / "tests/nix/stand-in")
        for name, text in {"failing": failing, **state}.items():
            (self.state / name).write_text(text)
        path = f"{programs}:/usr/bin:/bin:{os.environ['PATH']}"
        self.environment = {"PATH": path, "HOME": str(folder / "home"), "LC_ALL": "C.UTF-8", "STATE": str(self.state)}

    def record(self, *event: str) -> None:
        with open(self.state / "events", "a", encoding="utf-8") as file:
            print(json.dumps(event), file=file)

    def events(self, *kinds: str) -> list[list[str]]:
        """Returns what was done, in order: all of it, or events of these kinds."""
        file = self.state / "events"
        every = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
        return [event for event in every if not kinds or event[0] in kinds]

    def read(self, name: str) -> str:
        """Returns a file that the stand-ins made, such as the page of the release; empty if there is none."""
        file = self.state / name
        return file.read_text(encoding="utf-8") if file.exists() else ""
