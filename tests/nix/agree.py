#!/usr/bin/env python3
"""Checks that the Nix files, their lock file, the pages and the deployments agree.

It reads text only and evaluates, builds and fetches nothing. It needs PyYAML (Debian: python3-yaml).
"""

from __future__ import annotations

import ipaddress
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "docs/deploy.md", "docs/release.md", "docs/how-to/nixos.md", "docs/nix-verification.md"]
RELEASE = "deploy/release/release.env"
NO_DIGEST = "sha256:" + "0" * 64
failures: list[str] = []


def check(condition: object, what: str) -> None:
    if not condition:
        failures.append(what)


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def inputs() -> None:
    """Checks that the lock file contains exactly the inputs, each with revision and hash."""
    flake, lock = text("flake.nix"), json.loads(text("flake.lock"))
    block = flake[flake.index("inputs = {") : flake.index("outputs =")]
    wanted: dict[str, tuple[str, str, str | None]] = {}
    for name, owner, repo, ref in re.findall(r'([\w-]+)(?:\.url| = \{\s*url) = "github:([\w-]+)/([\w-]+)(?:/([\w.-]+))?"', block):
        wanted[name] = (owner, repo, ref or None)
    check(len(wanted) == block.count("github:"), f"cannot parse every input of flake.nix: {wanted}")
    nodes = lock["nodes"]
    check(lock["version"] == 7 and lock["root"] == "root", "flake.lock has another version")
    check(set(nodes) == set(wanted) | {"root"}, f"flake.lock has {sorted(nodes)}, flake.nix {sorted(wanted)}")
    check(nodes["root"]["inputs"] == {name: name for name in wanted}, "flake.lock names other inputs of the root")
    for name, (owner, repo, ref) in wanted.items():
        node = nodes.get(name, {"locked": {}, "original": {}})
        original = {"owner": owner, "repo": repo, "type": "github"} | ({"ref": ref} if ref else {})
        check(node["original"] == original, f"flake.lock: {name} has the original {node['original']}")
        locked = node["locked"]
        check(set(locked) == {"lastModified", "narHash", "owner", "repo", "rev", "type"}, f"flake.lock: {name} has {sorted(locked)}")
        check(re.fullmatch(r"[0-9a-f]{40}", locked.get("rev", "")), f"flake.lock: {name} has no revision")
        check(re.fullmatch(r"sha256-[A-Za-z0-9+/]{43}=", locked.get("narHash", "")), f"flake.lock: {name} has no hash")
    for name in set(nodes) - {"root"}:
        check(nodes[name].get("inputs", {}) in ({}, {"nixpkgs": ["nixpkgs"]}), f"{name} has inputs of its own")
    check("inputs" in nodes["nix2container"] and "inputs" in nodes["rust-overlay"], "an input does not follow nixpkgs")


def bases() -> None:
    current = re.search(r'current = "([^"]+)"', text("nix/base/default.nix"))
    folders = [path.name for path in (ROOT / "nix/base").iterdir() if path.is_dir()]
    check(current and current[1] in folders, "nix/base/default.nix names a base without a folder")
    for folder in folders:
        base = json.loads(text(f"nix/base/{folder}/base.json"))
        check(base["tag"] == folder, f"nix/base/{folder}: the tag is {base['tag']}")
        check(base["generation"] in ("direct", "hub"), f"nix/base/{folder}: {base['generation']}")
        for name in "index", "amd64", "arm64":
            check(re.fullmatch(r"sha256:[0-9a-f]{64}", base[name]), f"nix/base/{folder}: {name} is {base[name]}")
        if current and folder == current[1]:
            found = re.search(r"^BROWSER_SHELL_BASE_GENERATION=(\w+)$", text("rootfs/image.env"), re.M)
            check(found and found[1] == base["generation"], "rootfs/image.env is for another generation than the base")


def commands() -> None:
    """Checks that every attribute in the pages exists."""
    stem = lambda folder: {path.stem for path in (ROOT / folder).glob("*.nix")}
    apps, checks = stem("nix/apps"), stem("nix/checks")
    crate = re.findall(r"^    ([\w-]+) = craneLib\.cargo", text("nix/crate.nix"), re.M)
    checks |= set(crate) | {"static-amd64", "static-arm64"}
    packages = {"image", "image-native", "default", "digests", "oci-layout", "rootfs", "checks-without-base"}
    packages |= {"image-slim", "browser-shell", "agent-browser", "native-oci-layout", "runtime-image", "runtime-oci-layout", "slim-oci-layout"}
    images = ("image", "image-native", "image-slim", "browser-shell", "agent-browser", "runtime-image")
    for prefix in *images, "browser-shell", "agent-browser", "sbom", "native-sbom", "runtime-sbom", "slim-sbom", "archive":
        check(f'"{prefix}"' in text("nix/default.nix"), f"nix/default.nix has no `{prefix}`")
        packages |= {f"{prefix}-amd64", f"{prefix}-arm64"}
    count = 0
    for page in PAGES:
        content = text(page)
        for verb, name in re.findall(r"nix (run|build|eval) (?:--[\w-]+ )*\.#([\w.-]+)", content):
            name = re.sub(r"\.(drvPath|outPath)$", "", name)
            parts = name.split(".")
            known = {"packages": packages, "checks": checks}.get(parts[0])
            found = parts[-1] in known if known else name in (apps if verb == "run" else packages)
            check(found, f"{page}: there is no `nix {verb} .#{name}`")
            count += 1
        for name in re.findall(r"nix run \"?github:[\w$/-]+#([\w-]+)", content):
            check(name in apps, f"{page}: there is no app `{name}`")
        for app in re.findall(r"`\.#([\w-]+)`", content):
            check(app in apps | packages, f"{page}: there is no `.#{app}`")
    check(count > 5, "the commands were not found")
    for name in apps | stem("nix/checks"):
        check(any(name in text(page) for page in PAGES), f"no page describes `{name}`")


def documents(path: str) -> list[Any]:
    return [document for document in yaml.safe_load_all(text(path)) if document]


def deployments() -> None:
    flags = read_flags("deploy/flags")
    [compose] = documents("deploy/compose.yaml")
    service = compose["services"]["browser-shell"]
    for mine, theirs in (
        ("ports", "publish"), ("shm_size", "shm-size"), ("mem_limit", "memory"), ("pids_limit", "pids-limit"),
        ("cap_drop", "cap-drop"), ("cap_add", "cap-add"), ("security_opt", "security-opt"),
    ):  # fmt: skip
        value = service[mine] if isinstance(service[mine], list) else [str(service[mine])]
        check(value == flags[theirs], f"deploy/compose.yaml: {mine} is {value}, deploy/flags says {flags[theirs]}")
    check(set(flags) == {"publish", "shm-size", "memory", "pids-limit", "cap-drop", "cap-add", "security-opt"}, f"flags: {set(flags)}")
    check(all(port.startswith("127.0.0.1:") for port in service["ports"]), "compose publishes a port beyond loopback")
    check("privileged" not in service and "network_mode" not in service, "compose runs privileged or with the host's network")

    [deployment] = documents("deploy/kubernetes/one/deployment.yaml")
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    capabilities = container["securityContext"]["capabilities"]
    check(capabilities == {"drop": flags["cap-drop"], "add": flags["cap-add"]}, f"the pod has {capabilities}")
    check(pod["automountServiceAccountToken"] is False, "the pod has a service account token")
    check(not any(pod.get(name) for name in ("hostNetwork", "hostPID", "hostIPC")), "the pod shares a namespace with its host")
    probe = service["healthcheck"]["test"][-1].replace("$$", "$")
    for name in "startupProbe", "readinessProbe", "livenessProbe":
        check(container[name]["exec"]["command"] == ["bash", "-c", probe], f"{name} differs from compose's")
    check(subprocess.run(["bash", "-n", "-c", probe]).returncode == 0, "the probe is not valid bash")

    labels = deployment["spec"]["template"]["metadata"]["labels"]
    [network] = documents("deploy/kubernetes/one/network-policy.yaml")
    [front] = documents("deploy/kubernetes/one/service.yaml")
    for selector in network["spec"]["podSelector"]["matchLabels"], front["spec"]["selector"]:
        check(selector == labels, f"{selector} is not the pod, which has {labels}")
    check(sorted(network["spec"]["policyTypes"]) == ["Egress", "Ingress"], "the network policy must cover both directions")
    web = [block["ipBlock"] for rule in network["spec"]["egress"] for block in rule["to"] if "ipBlock" in block]
    for address, reached in {
        "93.184.215.14": True, "8.8.8.8": True, "2606:2800:21f::20": True, "10.1.2.3": False, "172.20.0.1": False,
        "192.168.0.1": False, "169.254.169.254": False, "127.0.0.1": False, "100.64.0.1": False, "fd00::1": False,
        "fe80::1": False, "::1": False, "2001:db8::1": False, "2002:a00:1::1": False, "::ffff:10.0.0.1": False,
    }.items():  # fmt: skip
        ip = ipaddress.ip_address(address)
        inside = lambda networks: any(ip in ipaddress.ip_network(net) for net in networks)
        got = any(inside([block["cidr"]]) and not inside(block["except"]) for block in web)
        check(got == reached, f"the network policy has the wrong rule for {address}")

    [kustomization] = documents("deploy/kubernetes/one/kustomization.yaml")
    kustomized("deploy/kubernetes/one", "BROWSER_SHELL_IMAGE", deployment, container)
    check(service["image"] == image_of("BROWSER_SHELL_IMAGE"), f"compose: the image is {service['image']}")
    made = {item["name"] for kind in ("secretGenerator", "configMapGenerator") for item in kustomization[kind]}
    used = {container["envFrom"][0]["secretRef"]["name"]} | {v["configMap"]["name"] for v in pod["volumes"] if "configMap" in v}
    check(made == used, f"the pod uses {used}, but {made} exist")
    ignored = subprocess.run(["git", "check-ignore", "-q", "deploy/kubernetes/one/key.env"], cwd=ROOT)
    check(ignored.returncode in (0, 128), "key.env could be committed")


def image_of(variable: str) -> str:
    """Returns the image of a compose file."""
    return f"${{{variable}:?give --env-file {RELEASE}}}"


def kustomized(folder: str, variable: str, owner: Any, container: Any) -> None:
    """Checks that what a kustomization names exists, and that it puts the image of release.env into the pods of an object."""
    [kustomization] = documents(f"{folder}/kustomization.yaml")
    for resource in kustomization["resources"]:
        check((ROOT / folder / resource).exists(), f"{folder}: {resource} is missing")
    check([(ROOT / folder / part).resolve() for part in kustomization["components"]] == [(ROOT / RELEASE).parent], f"{folder}: another release")
    [replacement] = kustomization["replacements"]
    check(replacement["source"]["fieldPath"] == f"data.{variable}", f"{folder}: takes {replacement['source']}")
    [target] = replacement["targets"]
    [path] = target["fieldPaths"]
    place = {"Pod": "spec", "Deployment": "spec.template.spec", "SandboxTemplate": "spec.podTemplate.spec"}[owner["kind"]]
    check(target["select"] == {"kind": owner["kind"]} and path == f"{place}.containers.[name={container['name']}].image", f"{folder}: {target}")
    check(re.fullmatch(r"[\w-]+", container["image"]), f"{folder}: the image is {container['image']}")


def release() -> None:
    """Checks that placeholders of releases are in one file, that all images are in it, and that its kustomization has it."""
    values = dict(line.split("=", 1) for line in text(RELEASE).splitlines() if not line.startswith("#"))
    [component] = documents("deploy/release/kustomization.yaml")
    [generator] = component["configMapGenerator"]
    check(generator["envs"] == [Path(RELEASE).name], f"deploy/release reads {generator['envs']}")
    check(generator["options"]["annotations"] == {"config.kubernetes.io/local-config": "true"}, "deploy/release creates an object in the cluster")
    suffixes = {app.stem.removesuffix("push") for app in (ROOT / "nix/apps").glob("*push.nix")}
    wanted = {"BROWSER_SHELL_REPOSITORY": "OWNER/browser-shell", "BROWSER_SHELL_TAG": "v0.0.0"}
    for name in suffixes:
        variable = f"BROWSER_SHELL_{name.upper().replace('-', '_')}IMAGE"
        image = f"ghcr.io/OWNER/browser-shell-{name}".rstrip("-") + f"@{NO_DIGEST}"
        wanted |= {variable + end: image for end in ("", "_AMD64", "_ARM64")}
    check(values == wanted, f"{RELEASE} has {sorted(values.items() ^ wanted.items())}")
    # Where a literal must stand: the input of a flake is no expression, and the README is read before anything is downloaded.
    # .github/scripts/fill-pages fills these in, all at once.
    others = ["nix/template/flake.nix", "README.md", "README.zh-CN.md"]
    filled = {path: "OWNER" not in text(path) for path in others}
    check(len(set(filled.values())) == 1, f"some pages show a release, and others placeholders: {filled}")
    for path in others[1:]:
        words = {word for word in ("@sha256:INDEX", "<!-- before the first release -->") if word in text(path)}
        check(len(words) == (0 if filled[path] else 2), f"{path}: has {words}, although it {'shows' if filled[path] else 'does not show'} a release")
        references = set(re.findall(r"ghcr\.io/\S+?@sha256:\w+", text(path)))
        check(len(references) == 1, f"{path}: shows {references}; .github/scripts/fill-pages knows one digest")
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True, stdout=subprocess.PIPE)
    # Nix builds from a folder without git.
    for path in listed.stdout.splitlines() or PAGES:
        if path.startswith((".github/", "deploy/", "docs/", "nix/", "skills/")) or "/" not in path:
            content = (ROOT / path).read_bytes() if (ROOT / path).is_file() else b""
            check(path in (RELEASE, *others) or b"OWNER/browser-shell" not in content, f"{path}: a placeholder for the owner; use {RELEASE}")
            check(path == RELEASE or NO_DIGEST.encode() not in content, f"{path}: a placeholder for a digest; use {RELEASE}")


def pool() -> None:
    """Checks that the pool's browsers are those of the slim image's deployment, and that a claim gets one of them."""
    folder = "deploy/slim/kubernetes"
    [deployment] = documents(f"{folder}/deployment.yaml")
    [template] = documents(f"{folder}/pool/template.yaml")
    wanted, pod = deployment["spec"]["template"], template["spec"]["podTemplate"]
    check(pod["spec"] == wanted["spec"], f"{folder}: the pods of the deployment and of the pool differ")
    # A service in front of both would lead one user to the browser of another.
    [front] = documents(f"{folder}/service.yaml")
    [network] = documents(f"{folder}/common/network-policy.yaml")
    for labels, is_in_front in (wanted["metadata"]["labels"], True), (pod["metadata"]["labels"], False):
        check((front["spec"]["selector"].items() <= labels.items()) == is_in_front, f"{folder}: the service selects other pods: {labels}")
        check(network["spec"]["podSelector"]["matchLabels"].items() <= labels.items(), f"{folder}: the network policy leaves out {labels}")
    [pool] = documents(f"{folder}/pool/warm-pool.yaml")
    [claim] = documents(f"{folder}/pool/claim.yaml")
    versions = {document["apiVersion"] for document in (template, pool, claim)}
    check(versions == {"extensions.agents.x-k8s.io/v1beta1"}, f"the pool's objects have the versions {versions}")
    check(pool["spec"]["sandboxTemplateRef"] == {"name": template["metadata"]["name"]}, "the pool refers to another template")
    # A claim of v1beta1 names the pool, not the template. With environment or volumes, no running browser would fit it.
    check(claim["spec"] == {"warmPoolRef": {"name": pool["metadata"]["name"]}}, f"the claim has {claim['spec']}")
    [namespace] = documents(f"{folder}/common/namespace.yaml")
    check(claim["metadata"]["namespace"] == namespace["metadata"]["name"], "the claim is in another namespace than its pool")
    kustomized(f"{folder}/pool", "BROWSER_SHELL_SLIM_IMAGE", template, pod["spec"]["containers"][0])


def read_flags(path: str) -> dict[str, list[str]]:
    flags: dict[str, list[str]] = {}
    for line in text(path).split():
        name, _, value = line.removeprefix("--").partition("=")
        flags.setdefault(name, []).append(value)
    return flags


def runtime() -> None:
    """Checks that the runtime's compose file, pod and image match deploy/runtime/flags."""
    flags = read_flags("deploy/runtime/flags")
    known = {"publish", "read-only", "tmpfs", "volume", "memory", "pids-limit", "cap-drop", "security-opt"}
    check(set(flags) == known, f"deploy/runtime/flags: {set(flags)}")
    check(flags["read-only"] == [""] and flags["cap-drop"] == ["ALL"], "deploy/runtime/flags: the image can be written to, or has capabilities")
    # The profile is next to both files, which are read from different folders.
    options = [option.replace("=deploy/runtime/", "=") for option in flags["security-opt"]]
    check(options == ["no-new-privileges", "seccomp=seccomp.json"], f"deploy/runtime/flags: {options}")

    [compose] = documents("deploy/runtime/compose.yaml")
    service = compose["services"]["browser-runtime"]
    for mine, wanted in (
        ("ports", flags["publish"]), ("read_only", True), ("tmpfs", flags["tmpfs"]), ("mem_limit", *flags["memory"]),
        ("pids_limit", int(*flags["pids-limit"])), ("cap_drop", flags["cap-drop"]), ("security_opt", options),
    ):  # fmt: skip
        check(service[mine] == wanted, f"deploy/runtime/compose.yaml: {mine} is {service[mine]}, deploy/runtime/flags says {wanted}")
    check(service["volumes"][:1] == flags["volume"], f"deploy/runtime/compose.yaml: the volumes are {service['volumes']}")
    check([f"{volume['name']}:/workspace" for volume in compose["volumes"].values()] == flags["volume"], "compose: another volume")
    check(all(port.startswith("127.0.0.1:") for port in service["ports"]), "compose publishes the runtime's port beyond loopback")
    check(not {"privileged", "network_mode", "cap_add", "user"} & set(service), "compose gives the runtime more than the flags")

    [pod] = documents("deploy/runtime/pod.yaml")
    spec = pod["spec"]
    [container] = spec["containers"]
    rights = container["securityContext"]
    wanted = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": flags["cap-drop"]}}
    check(rights == wanted, f"deploy/runtime/pod.yaml: {rights}")
    check(spec["securityContext"]["seccompProfile"]["type"] == "Localhost", "deploy/runtime/pod.yaml: another filter than the flags'")
    check(spec["securityContext"]["runAsNonRoot"] is True, "deploy/runtime/pod.yaml: it may be root")
    check(spec["automountServiceAccountToken"] is False and spec["enableServiceLinks"] is False, "the runtime's pod has information about the cluster")
    check(not any(spec.get(name) for name in ("hostNetwork", "hostPID", "hostIPC")), "the runtime's pod shares a namespace with its host")
    kubernetes_size = lambda size: size[:-1] + {"m": "Mi", "g": "Gi"}[size[-1]]
    check(container["resources"]["limits"]["memory"] == kubernetes_size(*flags["memory"]), "deploy/runtime/pod.yaml: another memory")
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    for tmpfs in flags["tmpfs"]:
        path, _, rest = tmpfs.partition(":")
        actual = volumes[mounts[path]]["emptyDir"]
        check(actual == {"medium": "Memory", "sizeLimit": kubernetes_size(rest.partition("size=")[2])}, f"deploy/runtime/pod.yaml: {path} is {actual}")
    check("/workspace" in mounts, "deploy/runtime/pod.yaml: there is no workspace")
    for name in "startupProbe", "readinessProbe", "livenessProbe":
        check(container[name]["httpGet"] == {"path": "/health", "port": "http"}, f"deploy/runtime/pod.yaml: {name}")
    check(service["image"] == image_of("BROWSER_SHELL_RUNTIME_IMAGE"), f"deploy/runtime/compose.yaml: the image is {service['image']}")
    kustomized("deploy/runtime", "BROWSER_SHELL_RUNTIME_IMAGE", pod, container)

    profile = json.loads(text("deploy/runtime/seccomp.json"))
    refused = {name for rule in profile["syscalls"] for name in rule["names"] if rule["action"] == "SCMP_ACT_ERRNO"}
    check(profile["defaultAction"] == "SCMP_ACT_ALLOW" and len(profile["syscalls"]) > 1, "seccomp.json has another structure")
    # Chromium's own sandbox needs these.
    check(not refused & {"clone", "clone3", "unshare", "chroot", "seccomp", "prctl", "ptrace"}, "seccomp.json blocks Chromium's sandbox")
    check({"mount", "bpf", "io_uring_setup", "userfaultfd", "keyctl", "setns", "init_module"} <= refused, "seccomp.json refuses too little")

    [uid] = re.findall(r"^browser:x:(\d+):\1:", text("nix/standalone/root/etc/passwd"), re.M)
    check(spec["securityContext"]["runAsUser"] == int(uid), "the pod's user is not the image's")


def standalone() -> None:
    """Checks that the images without a base match their flags."""
    image, rootfs = text("nix/standalone/image.nix"), text("nix/standalone/rootfs.nix")
    check('Volumes."/workspace"' in image, "the standalone images have another volume")
    [uid] = re.findall(r"^browser:x:(\d+):\1:", text("nix/standalone/root/etc/passwd"), re.M)
    known = f"uid = {uid};" in rootfs and f"browser:x:{uid}:" in text("nix/standalone/root/etc/group")
    check(known, "the user id differs between the files of the standalone images")
    runtime_flags = read_flags("deploy/runtime/flags")
    for kind in "runtime", "slim":
        flags, own = read_flags(f"deploy/{kind}/flags"), text(f"nix/{kind}/default.nix")
        [host, port, published] = flags["publish"][0].split(":")
        check(host == "127.0.0.1" and port == published, f"deploy/{kind}/flags: {flags['publish']}")
        check(f"port = {published};" in own, f"nix/{kind} has another port than deploy/{kind}/flags")
        check(flags["volume"] == [f"browser-shell-{kind}:/workspace"], f"deploy/{kind}/flags: {flags['volume']}")
        for tmpfs in flags["tmpfs"]:
            check(f'"{tmpfs.partition(":")[0]}" =' in rootfs, f"nix/standalone/rootfs.nix does not create {tmpfs}")
        # Only what each needs to run differs.
        for name in set(flags) | set(runtime_flags):
            same = name in ("publish", "volume", "pids-limit") or flags.get(name) == runtime_flags.get(name)
            check(same, f"deploy/{kind}/flags: {name} is {flags.get(name)}")


def slim() -> None:
    """Checks that the slim image's compose file and deployment match deploy/slim/flags, and its other objects each other."""
    flags = read_flags("deploy/slim/flags")
    runtime_flags = read_flags("deploy/runtime/flags")
    for same in "read-only", "cap-drop", "security-opt":
        check(flags[same] == runtime_flags[same], f"deploy/slim/flags: {same} is {flags[same]}, the runtime has {runtime_flags[same]}")
    check(set(flags) == set(runtime_flags), f"deploy/slim/flags: {set(flags)}")

    [compose] = documents("deploy/slim/compose.yaml")
    service = compose["services"]["browser-shell"]
    options = [option.replace("=deploy/", "=../") for option in flags["security-opt"]]
    for mine, wanted in (
        ("ports", flags["publish"]), ("read_only", True), ("tmpfs", flags["tmpfs"]), ("mem_limit", *flags["memory"]),
        ("pids_limit", int(*flags["pids-limit"])), ("cap_drop", flags["cap-drop"]), ("security_opt", options),
    ):  # fmt: skip
        check(service[mine] == wanted, f"deploy/slim/compose.yaml: {mine} is {service[mine]}, deploy/slim/flags says {wanted}")
    check((ROOT / "deploy/slim" / options[-1].partition("=")[2]).exists(), "deploy/slim/compose.yaml: there is no seccomp profile")
    check(service["volumes"][:1] == flags["volume"], f"deploy/slim/compose.yaml: the volumes are {service['volumes']}")
    check([f"{volume['name']}:/workspace" for volume in compose["volumes"].values()] == flags["volume"], "deploy/slim: another volume")
    check(all(port.startswith("127.0.0.1:") for port in service["ports"]), "deploy/slim/compose.yaml publishes a port beyond loopback")
    check(not {"privileged", "network_mode", "cap_add", "user"} & set(service), "deploy/slim/compose.yaml gives more than the flags")

    [deployment] = documents("deploy/slim/kubernetes/deployment.yaml")
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    check(pod["automountServiceAccountToken"] is False and pod["enableServiceLinks"] is False, "deploy/slim: the pod has information about the cluster")
    check(pod["securityContext"]["seccompProfile"]["type"] == "Localhost", "deploy/slim: another filter than the flags'")
    wanted = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": flags["cap-drop"]}}
    check(container["securityContext"] == wanted, f"deploy/slim: the container has {container['securityContext']}")
    kubernetes_size = lambda size: size[:-1] + {"m": "Mi", "g": "Gi"}[size[-1]]
    check(container["resources"]["limits"]["memory"] == kubernetes_size(*flags["memory"]), "deploy/slim: another memory")
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    check(set(mounts.values()) == set(volumes), "deploy/slim: a volume is not mounted, or missing")
    for tmpfs in flags["tmpfs"]:
        path, _, rest = tmpfs.partition(":")
        actual = volumes[mounts[path]]["emptyDir"]
        check(actual == {"medium": "Memory", "sizeLimit": kubernetes_size(rest.partition("size=")[2])}, f"deploy/slim: {path} is {actual}")
    # Variables and files are those of the program.
    environment = {variable["name"]: variable["value"] for variable in container["env"]}
    check(service["environment"].items() <= environment.items(), f"deploy/slim: compose and the pod have other variables: {environment}")
    arguments = text("src/cli/serve/mod.rs") + text("src/cli/server_arguments.rs")
    for name in environment:
        check(f'env = "{name}"' in arguments, f"deploy/slim: `serve` has no variable {name}")
    keys = Path(environment["BROWSER_SHELL_API_KEYS"])
    check(str(keys.parent) in mounts and f"./credentials:{keys.parent}:ro" in service["volumes"], f"deploy/slim: {keys} is not mounted")
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    check(environment["BROWSER_SHELL_LISTEN"] == f"0.0.0.0:{ports['http']}", "deploy/slim: another port")
    check(environment["BROWSER_SHELL_HEALTH"] == f"0.0.0.0:{ports['health']}", "deploy/slim: another port for probes")
    for name, path in ("startupProbe", "/healthz"), ("readinessProbe", "/healthz"), ("livenessProbe", "/livez"):
        check(container[name]["httpGet"] == {"path": path, "port": "health"}, f"deploy/slim: {name}")

    [namespace] = documents("deploy/slim/kubernetes/common/namespace.yaml")
    check(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted", "deploy/slim: the namespace is not restricted")
    [network] = documents("deploy/slim/kubernetes/common/network-policy.yaml")
    [same] = documents("deploy/kubernetes/one/network-policy.yaml")
    check(network == same, "deploy/slim: the network policy is another one than the other image's")
    [front] = documents("deploy/slim/kubernetes/service.yaml")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    check(deployment["spec"]["selector"]["matchLabels"] == labels == front["spec"]["selector"], "deploy/slim: a selector is not the pod")
    kustomized("deploy/slim/kubernetes", "BROWSER_SHELL_SLIM_IMAGE", deployment, container)
    [common] = documents("deploy/slim/kubernetes/common/kustomization.yaml")
    for resource in common["resources"]:
        check((ROOT / "deploy/slim/kubernetes/common" / resource).exists(), f"deploy/slim: {resource} is missing")
    made = {item["name"] for kind in ("secretGenerator", "configMapGenerator") for item in common[kind]}
    used = {volume["secret"]["secretName"] for volume in volumes.values() if "secret" in volume}
    used |= {volume["configMap"]["name"] for volume in volumes.values() if "configMap" in volume}
    check(made == used, f"deploy/slim: the pod uses {used}, but {made} exist")
    check(service["image"] == image_of("BROWSER_SHELL_SLIM_IMAGE"), f"deploy/slim/compose.yaml: the image is {service['image']}")
    for secret in "deploy/slim/kubernetes/common/api-keys.txt", "deploy/slim/credentials/api-keys.txt":
        ignored = subprocess.run(["git", "check-ignore", "-q", secret], cwd=ROOT)
        check(ignored.returncode in (0, 128), f"{secret} could be committed")


def policies() -> None:
    """Checks that the deployments of `serve` ship the recommended policy, the others the safe defaults, and that each uses its own."""
    name, recommended = "browser-shell.policy.json", (ROOT / "examples/policy.recommended.json").read_bytes()
    for folder in "deploy/slim/policy", "deploy/slim/kubernetes/common":
        same = (ROOT / folder / name).read_bytes() == recommended
        check(same, f"{folder}/{name} differs from examples/policy.recommended.json; copy that file to it")
    for folder in "deploy/policy", "deploy/kubernetes/one":
        check(json.loads(text(f"{folder}/{name}")) == {}, f"{folder}/{name} differs from the safe defaults, `{{}}`")
    for folder, policy in ("deploy", "./policy"), ("deploy/runtime", "../policy"), ("deploy/slim", "./policy"):
        [compose] = documents(f"{folder}/compose.yaml")
        [service] = compose["services"].values()
        mounted = [volume for volume in service["volumes"] if volume.endswith(":/etc/agent-browser:ro")]
        check(mounted == [f"{policy}:/etc/agent-browser:ro"], f"{folder}/compose.yaml mounts {mounted}")
    for folder in "deploy/kubernetes/one", "deploy/slim/kubernetes/common":
        [kustomization] = documents(f"{folder}/kustomization.yaml")
        [generator] = kustomization["configMapGenerator"]
        check(generator["files"] == [name], f"{folder}: the policy is {generator['files']}")


def unit() -> None:
    """Checks that the unit keeps what Chromium and our sandbox need, and that the pages name its files."""
    lines = [line for line in text("deploy/systemd/browser-shell.service").splitlines() if "=" in line and not line.startswith("#")]
    settings = dict(line.split("=", 1) for line in lines)
    check(len(settings) == len(lines), "the unit has a setting twice, which the NixOS module would lose")
    check("MemoryDenyWriteExecute" not in settings, "the unit breaks JavaScript")
    check({"user", "pid", "net"} <= set(settings["RestrictNamespaces"].split()), "the unit breaks Chromium's renderer sandbox")
    calls = set(settings["SystemCallFilter"].split())
    check({"chroot", "seccomp", "landlock_restrict_self"} <= calls, "the unit breaks a sandbox")
    # The server itself ends Chromium, then the display.
    check(settings["KillMode"] == "mixed" and settings["NoNewPrivileges"] == "yes", "the unit has another way to stop, or privileges")
    program, verb, *flags = settings["ExecStart"].split()
    check((program, verb) == ("/usr/local/bin/browser-shell", "serve"), f"the unit starts {program} {verb}")
    reload = "kill\"} -HUP $MAINPID" in text("nix/nixos/native.nix") and settings["ExecReload"].endswith("kill -HUP $MAINPID")
    check(reload, "a reload of the service does not open the audit file again")
    folders = {"%S/browser-shell": settings["StateDirectory"], "%t/browser-shell": settings["RuntimeDirectory"]}
    check(set(folders.values()) == {"browser-shell"} and set(folders) <= set(flags), f"the unit has other folders: {flags}")
    page = text("docs/how-to/serve.md")
    for file in (ROOT / "deploy/systemd").iterdir():
        check(f"systemd/{file.name}" in page, f"docs/how-to/serve.md does not name {file.name}")
    credentials = text("deploy/systemd/credentials.conf")
    for name in re.findall(r"BROWSER_SHELL_\w+", credentials):
        check(f'env = "{name}"' in text("src/cli/serve/mod.rs") + text("src/cli/server_arguments.rs"), f"credentials.conf: {name}")
    check("LoadCredential=api-keys:" in credentials and "%d/api-keys" in credentials, "credentials.conf loads another credential")


def sources() -> None:
    """Checks that the source of the program in Nix has every file that the program includes."""
    listed = text("nix/sources.nix").partition("program = ")[2].partition(");\n")[0]
    found = 0
    for path in (*(ROOT / "src").rglob("*.rs"), *(ROOT / "crates").rglob("*.rs")):
        for name in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', path.read_text(encoding="utf-8")):
            file = (path.parent / name).resolve().relative_to(ROOT)
            found += 1
            if file.parts[0] in ("src", "crates"):
                check(file.suffix not in (".md", ".snap"), f"nix/sources.nix leaves out {file}, which {path.relative_to(ROOT)} includes")
            else:
                check(f"../{file}\n" in listed, f"nix/sources.nix lacks {file}, which {path.relative_to(ROOT)} includes")
    check(found > 5, "the included files were not found")


def toolchain() -> None:
    """Checks that one pinned Rust, that of the crate, compiles and reads our source in Nix, and none of nixpkgs."""
    [version] = re.findall(r'^rustBin\.stable\."([\d.]+)"', text("nix/toolchain.nix"), re.M)
    [least] = re.findall(r'^rust-version = "([\d.]+)"', text("Cargo.toml"), re.M)
    check(version.startswith(f"{least}."), f"nix/toolchain.nix has Rust {version}, Cargo.toml {least}")
    for part in "clippy", "rustfmt":
        check(f'"{part}"' in text("nix/toolchain.nix"), f"nix/toolchain.nix has no {part}, so the checks would take that of nixpkgs")
    for path in sorted((ROOT / "nix").rglob("*.nix")):
        content, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT)
        taken = re.findall(r"^  (cargo|clippy|rustPlatform|rustc|rustfmt),$|\bpkgs\.(cargo|clippy|rustPlatform|rustc|rustfmt)\b", content, re.M)
        check(not taken, f"{name} takes a Rust of nixpkgs: {taken}")
        # The one of nix/default.nix has the toolchain.
        is_made = re.findall(r"\bmkCraneLib\b.*", content)
        wanted = ["mkCraneLib,", "mkCraneLib pkgs).overrideToolchain (_: self.toolchain);"] if str(name) == "nix/default.nix" else []
        check(is_made == wanted, f"{name} makes a crane of its own: {is_made}")


for part in inputs, bases, commands, deployments, release, runtime, standalone, slim, pool, policies, unit, sources, toolchain:
    part()
if failures:
    sys.exit("agree: " + "\nagree: ".join(failures))
print("ok inputs, lock, pages, deployments and toolchain agree")
