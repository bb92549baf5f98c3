"""Holds the objects in deploy/ against Kubernetes' own schemas, strictly. Called by tests/nix/schemas."""

import copy
import sys
from pathlib import Path

import kubernetes_validate
import yaml

FOLDER = Path(__file__).parents[2] / "deploy"
VERSION = kubernetes_validate.latest_version()

# Whose schemas nobody packages: kustomize's own files, and the agent-sandbox's objects.
ELSEWHERE = {"Kustomization", "SandboxWarmPool"}


def is_well(value):
    try:
        kubernetes_validate.validate(value, VERSION, strict=True)
    except kubernetes_validate.ValidationError as error:
        return error
    return True


def pod_of(value):
    """The pod that a template of the agent-sandbox describes, as an object of its own."""
    template = value["spec"]["podTemplate"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"} | template.get("metadata", {}), "spec": template["spec"]}


def main():
    seen = set()
    for file in sorted(FOLDER.rglob("*.yaml")):
        for value in yaml.safe_load_all(file.read_text()):
            kind = value.get("kind")
            if kind is None or kind in ELSEWHERE:
                continue
            what = pod_of(value) if kind == "SandboxTemplate" else value
            if (said := is_well(what)) is not True:
                sys.exit(f"schemas: {file.relative_to(FOLDER)}: {said.message} at {'.'.join(map(str, said.path))}")
            if "spec" in what:
                # the control: a name that nothing has
                wrong = copy.deepcopy(what)
                wrong["spec"]["misspelt"] = 1
                if is_well(wrong) is True:
                    sys.exit(f"schemas: {file.relative_to(FOLDER)}: a misspelt name is taken for good")
            seen.add(kind)
    missing = {"Deployment", "NetworkPolicy", "Namespace", "Pod", "SandboxTemplate", "Service"} - seen
    if missing:
        sys.exit(f"schemas: no file has {', '.join(sorted(missing))}")
    print(f"ok compose, workflows and {', '.join(sorted(seen))} (Kubernetes {VERSION}) are as their schemas want them")


main()
