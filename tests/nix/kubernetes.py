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


def beyond_restricted(pod):
    """Returns the rules of the Pod Security level `restricted` that a pod breaks (kubernetes.io, "Pod Security Standards")."""
    common = pod.get("securityContext", {})
    volumes = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
    wrong = [name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)]
    wrong += [f"volume {volume['name']}" for volume in pod.get("volumes", []) if not (set(volume) - {"name"}) <= volumes]
    for container in pod["containers"] + pod.get("initContainers", []):
        rights = common | container.get("securityContext", {})
        capabilities = rights.get("capabilities", {})
        rules = {
            "runAsNonRoot": rights.get("runAsNonRoot") is True and rights.get("runAsUser") != 0,
            "seccompProfile": rights.get("seccompProfile", {}).get("type") in ("RuntimeDefault", "Localhost"),
            "allowPrivilegeEscalation": rights.get("allowPrivilegeEscalation") is False,
            "capabilities": capabilities.get("drop") == ["ALL"] and set(capabilities.get("add", [])) <= {"NET_BIND_SERVICE"},
            "privileged": not rights.get("privileged"),
            "hostPort": not any(port.get("hostPort") for port in container.get("ports", [])),
            "procMount": rights.get("procMount", "Default") == "Default",
        }
        wrong += [name for name, kept in rules.items() if not kept]
    return wrong


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
    # The level of Pod Security that the namespace enforces.
    for file in ["slim/kubernetes/deployment.yaml"]:
        [deployment] = yaml.safe_load_all((FOLDER / file).read_text())
        if wrong := beyond_restricted(deployment["spec"]["template"]["spec"]):
            sys.exit(f"schemas: {file}: not `restricted`: {', '.join(wrong)}")
    # Control: a pod of the other image, which starts as root.
    [deployment] = yaml.safe_load_all((FOLDER / "kubernetes/one/deployment.yaml").read_text())
    wrong = beyond_restricted(deployment["spec"]["template"]["spec"])
    if not {"runAsNonRoot", "seccompProfile", "capabilities", "allowPrivilegeEscalation"} <= set(wrong):
        sys.exit(f"schemas: kubernetes/one/deployment.yaml is refused for {wrong} only")
    missing = {"Deployment", "NetworkPolicy", "Namespace", "Pod", "SandboxTemplate", "Service"} - seen
    if missing:
        sys.exit(f"schemas: no file has {', '.join(sorted(missing))}")
    print(f"ok compose, workflows and {', '.join(sorted(seen))} (Kubernetes {VERSION}) match their schemas")


main()
