"""Validates the objects in deploy/ strictly against Kubernetes' own schemas. Called by tests/nix/schemas."""

import copy
import sys
from pathlib import Path

import kubernetes_validate
import yaml

FOLDER = Path(__file__).parents[2] / "deploy"
VERSION = kubernetes_validate.latest_version()

# Kinds without a packaged schema: kustomize's files and the agent-sandbox's objects.
WITHOUT_SCHEMA = {"Kustomization", "SandboxClaim", "SandboxWarmPool"}


def validate(value):
    try:
        kubernetes_validate.validate(value, VERSION, strict=True)
    except kubernetes_validate.ValidationError as error:
        return error
    return True


def pod_of(value):
    """Returns the pod of an agent-sandbox template as an object."""
    template = value["spec"]["podTemplate"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"} | template.get("metadata", {}), "spec": template["spec"]}


def main():
    seen = set()
    for file in sorted(FOLDER.rglob("*.yaml")):
        for value in yaml.safe_load_all(file.read_text()):
            kind = value.get("kind")
            if kind is None or kind in WITHOUT_SCHEMA:
                continue
            what = pod_of(value) if kind == "SandboxTemplate" else value
            if (result := validate(what)) is not True:
                sys.exit(f"schemas: {file.relative_to(FOLDER)}: {result.message} at {'.'.join(map(str, result.path))}")
            if "spec" in what:
                # Control: an unknown member.
                wrong = copy.deepcopy(what)
                wrong["spec"]["misspelt"] = 1
                if validate(wrong) is True:
                    sys.exit(f"schemas: {file.relative_to(FOLDER)}: an unknown member is accepted")
            seen.add(kind)
    missing = {"Deployment", "NetworkPolicy", "Namespace", "Pod", "SandboxTemplate", "Service"} - seen
    if missing:
        sys.exit(f"schemas: no file has {', '.join(sorted(missing))}")
    print(f"ok compose, workflows and {', '.join(sorted(seen))} (Kubernetes {VERSION}) match their schemas")


main()
