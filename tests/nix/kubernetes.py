"""Validates the objects in deploy/ strictly against Kubernetes' own schemas. Called by tests/nix/schemas.

With the folder `k8s/crds` of a checkout of agent-sandbox, it validates the objects of that project too.
"""

import copy
import sys
from pathlib import Path

import jsonschema
import kubernetes_validate
import yaml

FOLDER = Path(__file__).parents[2] / "deploy"
VERSION = kubernetes_validate.latest_version()

# Kinds without a packaged schema: kustomize's files and the agent-sandbox's objects.
WITHOUT_SCHEMA = {"Component", "Kustomization", "SandboxClaim", "SandboxWarmPool"}


def validate(value):
    try:
        kubernetes_validate.validate(value, VERSION, strict=True)
    except kubernetes_validate.ValidationError as error:
        return error
    return True


def schemas_of(folder):
    """Returns the schema of each kind and version that the custom resource definitions of a folder have."""
    schemas = {}
    for file in sorted(Path(folder).glob("*.yaml")):
        for definition in yaml.safe_load_all(file.read_text()):
            if (definition or {}).get("kind") != "CustomResourceDefinition":
                continue
            spec = definition["spec"]
            for version in spec["versions"]:
                name = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
                schemas[name] = strict(version["schema"]["openAPIV3Schema"])
    return schemas


def strict(schema):
    """Returns a schema that refuses members that it does not know, as `kubectl --validate=strict` does."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict(value) for name, value in schema.items()}
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if isinstance(schema.get("properties"), dict) and not is_open:
        made["additionalProperties"] = False
    return made


def custom_objects(folder):
    """Validates the objects of agent-sandbox against its definitions."""
    schemas, count = schemas_of(folder), 0
    for file in sorted(FOLDER.rglob("*.yaml")):
        for value in yaml.safe_load_all(file.read_text()):
            if value.get("kind") not in ("SandboxTemplate", "SandboxWarmPool", "SandboxClaim"):
                continue
            schema = schemas[value["apiVersion"], value["kind"]]
            # The server adds these members to each object.
            schema["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {}}
            jsonschema.validate(value, schema)
            wrong = copy.deepcopy(value)
            wrong["spec"]["misspelt"] = 1
            if jsonschema.Draft202012Validator(schema).is_valid(wrong):
                sys.exit(f"schemas: {file.relative_to(FOLDER)}: an unknown member is accepted")
            count += 1
    if count != 3:
        sys.exit(f"schemas: {count} objects of agent-sandbox")
    print(f"ok {count} objects match the definitions of agent-sandbox")


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
    for file in ["slim/kubernetes/deployment.yaml", "slim/kubernetes/pool/template.yaml"]:
        [made] = yaml.safe_load_all((FOLDER / file).read_text())
        pod = pod_of(made) if made["kind"] == "SandboxTemplate" else made["spec"]["template"]
        if wrong := beyond_restricted(pod["spec"]):
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
if sys.argv[1:]:
    custom_objects(sys.argv[1])
