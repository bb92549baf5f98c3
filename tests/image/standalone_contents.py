#!/usr/bin/env python3
"""Lists the contents and configuration of a standalone image and fails on unexpected files.

    tests/image/standalone_contents.py runtime|slim FOLDER amd64|arm64 OWN ENVIRONMENT

FOLDER is the image in the form that a registry receives: written by nix/oci-image to an OCI layout, and from there by
`skopeo copy oci:... dir:FOLDER`. OWN is the folder of its last layer, ENVIRONMENT the file with its variables. The checks use path,
mode, owner and content of every entry, and the sizes of files and of compressed layers. It needs zstd.
"""

from __future__ import annotations

import json
import posixpath
import re
import struct
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

# Limits in bytes of each image: the fonts, and the compressed layers that a change of our own code replaces.
LIMIT = {"fonts": 80_000_000, "code": 5_000_000}
ZSTD = "application/vnd.oci.image.layer.v1.tar+zstd"
MACHINE = {"amd64": 62, "arm64": 183}
PROGRAM = "usr/local/bin/browser-shell"


class Kind(NamedTuple):
    """What only one of the images has."""

    command: str
    port: str
    # Programs by their real paths, and variables with the paths of files that must exist.
    programs: tuple[str, ...]
    variables: tuple[str, ...]
    # Variables with the paths of programs.
    started: tuple[str, ...]
    skill: str
    # Files with licenses.
    licenses: tuple[str, ...]
    has_agent_browser: bool
    # Limits in bytes: all files, and all compressed layers.
    limit: dict[str, int]


KINDS = {
    "runtime": Kind(
        "runtime",
        "8115/tcp",
        (r"usr/local/bin/agent-browser",),
        ("BROWSER_SHELL_SKILLS",),
        ("BROWSER_SHELL_CHROMIUM", "BROWSER_SHELL_AGENT_BROWSER"),
        "app/skills/browser-runtime/SKILL.md",
        ("agent-browser/LICENSE",),
        True,
        {"all": 700_000_000, "compressed": 300_000_000},
    ),
    "slim": Kind(
        "serve",
        "8080/tcp",
        (r"usr/bin/Xvnc", r"opt/xk"),
        ("BROWSER_SHELL_NOVNC",),
        ("BROWSER_SHELL_CHROMIUM", "BROWSER_SHELL_XVNC"),
        "opt/skills/browser-shell/SKILL.md",
        ("novnc/AUTHORS", "novnc/LICENSE.CC-BY-SA-3.0", "novnc/LICENSE.MPL-2.0", "novnc/LICENSE.txt", "nixpkgs/GPL-2.0-or-later.txt"),
        False,
        # Less by agent-browser 0.41.2 for arm64, the smaller one.
        {"all": 684_000_000, "compressed": 294_000_000},
    ),
}
USER = (1000, 1000)
# Files with licenses in all images, below usr/share/doc.
LICENSES = (
    "browser-shell/LICENSE",
    "browser-shell/licenses/crates.txt",
    "browser-shell/licenses/musl.txt",
    "browser-shell/licenses/rust-std.html",
    "fonts/OFL-1.1.txt",
    "fonts/notices.txt",
    "nixpkgs/packages.txt",
    "nixpkgs/LGPL-2.0-or-later.txt",
)
# All executable programs of each image, by their real paths.
PROGRAMS = (
    PROGRAM,
    r"usr/bin/chromium",
    r"nix/store/[^/]+/bin/tini",
    r"nix/store/[^/]+/libexec/chromium/chromium",
    r"nix/store/[^/]+/libexec/chromium/chrome_crashpad_handler",
)
# Programs that must not contain the path of a shell, because they would start one.
NO_SHELL = (r"usr/bin/Xvnc", r"opt/xk")
LINKS = {"usr/bin/tini": r"/nix/store/[^/]+/bin/tini"}
# Folders that users other than root may write to.
WRITTEN = {"tmp": (0o1777, 0, 0), "workspace": (0o700, *USER), "run": (0o1777, 0, 0)}
# Checked by name too, because a script or applet may not be an ELF file.
UNWANTED = (
    "sh", "ash", "bash", "dash", "zsh", "ksh", "fish", "busybox", "toybox", "env", "sudo", "su", "doas", "newuidmap", "mount",
    "xkbcomp", "nginx", "websockify", "apt", "apt-get", "dpkg", "rpm", "dnf", "apk", "nix", "nix-store", "nix-env", "npm", "pip", "node", "python3", "perl", "curl", "wget",
    "chrome-sandbox", "__chromium-suid-sandbox",
)  # fmt: skip
failures: list[str] = []


def check(condition: object, what: str) -> None:
    if not condition:
        failures.append(what)


def is_program(data: bytes) -> bool:
    """Returns True if the kernel can execute this ELF file: it names an interpreter or needs none."""
    [kind] = struct.unpack_from("<H", data, 16)
    offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    kinds = {struct.unpack_from("<I", data, offset + size * number)[0] for number in range(count)}
    interpreted, dynamic = 3 in kinds, 2 in kinds
    return kind == 2 or interpreted or not dynamic


def main() -> None:
    kind, folder, arch, own, environment = KINDS[sys.argv[1]], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), Path(sys.argv[5])
    programs, limit = PROGRAMS + kind.programs, LIMIT | kind.limit
    entrypoint = ["/usr/bin/tini", "-g", "--", "/" + PROGRAM, kind.command]
    manifest = json.loads((folder / "manifest.json").read_text())
    entries: dict[str, tuple[tarfile.TarInfo, bytes]] = {}
    sizes = dict.fromkeys(limit, 0)
    for layer in manifest["layers"]:
        size = 0
        blob = folder / layer["digest"].partition(":")[2]
        if layer["mediaType"] != ZSTD:
            sys.exit(f"contents: {layer['digest']} is {layer['mediaType']}; nix/oci-image compresses it")
        is_code = False
        with (
            subprocess.Popen(["zstd", "--decompress", "--stdout", "--quiet", "--", blob], stdout=subprocess.PIPE) as unpacked,
            tarfile.open(fileobj=unpacked.stdout, mode="r|") as archive,
        ):
            for entry in archive:
                path = entry.name.strip("/").removeprefix("./").removeprefix(".")
                data = b""
                if entry.isreg():
                    file = archive.extractfile(entry)
                    whole = any(re.fullmatch(pattern, path) for pattern in NO_SHELL)
                    data = file.read(None if whole else 4096) if file else b""
                    size += entry.size
                    sizes["fonts"] += entry.size if path.startswith("usr/share/fonts/") else 0
                    is_code |= path in (PROGRAM, kind.skill)
                    check(not whole or b"/bin/sh" not in data, f"/{path} contains the path of a shell")
                check(path not in entries or entry.isdir(), f"/{path} is in two layers")
                entries[path] = (entry, data[:4096])
        check(unpacked.returncode == 0, f"{layer['digest']} is not complete")
        sizes["all"] += size
        sizes["compressed"] += blob.stat().st_size
        sizes["code"] += blob.stat().st_size if is_code else 0
        print(f"{arch} {layer['digest']} {size} bytes, {blob.stat().st_size} compressed")

    config = json.loads((folder / manifest["config"]["digest"].partition(":")[2]).read_text())
    started = config["config"]
    check((config["architecture"], config["os"]) == (arch, "linux"), f"it is for {config['os']}/{config['architecture']}")
    check(started.get("User") == "%d:%d" % USER, f"it starts as {started.get('User')!r}")
    check(started.get("Entrypoint") == entrypoint and not started.get("Cmd"), f"it starts {started.get('Entrypoint')} {started.get('Cmd')}")
    wanted = [line for line in environment.read_text().splitlines() if line and not line.startswith("#")]
    check(started.get("Env") == wanted, f"its environment is {started.get('Env')}")
    check(list(started.get("ExposedPorts", {})) == [kind.port], f"its ports are {started.get('ExposedPorts')}")
    check(list(started.get("Volumes", {})) == ["/workspace"], f"its volumes are {started.get('Volumes')}")
    variables = dict(entry.split("=", 1) for entry in wanted)
    is_labeled = "browser-shell.agent-browser.version" in started.get("Labels", {})
    check(is_labeled == kind.has_agent_browser, f"its labels are {started.get('Labels')}")

    def real(path: str) -> str | None:
        """Resolves links of a path in the image; None if the target does not exist."""
        for _ in range(10):
            entry = entries.get(path.strip("/"), (None, b""))[0]
            if entry is None or not entry.issym():
                return path.strip("/") if entry else None
            path = posixpath.normpath(posixpath.join(posixpath.dirname("/" + path.strip("/")), entry.linkname))
        return None

    for path in entrypoint[0], entrypoint[3], *(variables[name] for name in kind.started):
        entry = entries.get(real(path) or "", (None, b""))[0]
        check(entry and entry.isreg() and entry.mode & 0o111, f"{path} is not executable")
    for name in "FONTCONFIG_FILE", "SSL_CERT_FILE", *kind.variables:
        check(real(variables[name]), f"{name} does not exist")
    for path, leads in LINKS.items():
        entry = entries.get(path, (None, b""))[0]
        check(entry and entry.issym() and re.fullmatch(leads, entry.linkname), f"/{path} leads to {entry and entry.linkname}")

    # The folder of the policy has this name in both images.
    foreign = [path for path in entries if "agent-browser" in path and not path.startswith("etc/agent-browser")]
    check(bool(foreign) == kind.has_agent_browser, f"the files of agent-browser are {foreign}")
    policies = [path for path in entries if path.startswith("etc/chromium/policies/managed/")]
    check(len(policies) >= 2 and all(path.endswith(".json") for path in policies), f"Chromium's policies are {policies}")
    skills = [path for path in entries if path.endswith("/SKILL.md")]
    check(skills == [kind.skill], f"the skills are {skills}")
    for path in own.rglob("*"):
        check(not path.is_file() or str(path.relative_to(own)) in entries, f"{path} is missing")
    for name in LICENSES + kind.licenses:
        entry = entries.get(f"usr/share/doc/{name}", (None, b""))[0]
        check(entry and entry.isreg() and entry.size, f"/usr/share/doc/{name} is missing")
    fonts = [path for path in entries if path.startswith("usr/share/fonts/")]
    for family in "LiberationSans-Regular", "NotoSansCJK", "NotoColorEmoji", "NotoSansArabic":
        check(any(family in path for path in fonts), f"there is no {family} in /usr/share/fonts")

    started_by = {pattern: 0 for pattern in programs}
    for path, (entry, data) in entries.items():
        owner = (entry.mode & 0o7777, entry.uid, entry.gid)
        if path in WRITTEN:
            check(entry.isdir() and owner == WRITTEN[path], f"/{path} is {oct(owner[0])} of {owner[1]}:{owner[2]}")
        else:
            check((entry.uid, entry.gid) == (0, 0), f"/{path} belongs to {entry.uid}:{entry.gid}")
            check(entry.mode & 0o7022 == 0 or entry.issym(), f"/{path} has mode {oct(entry.mode)}")
        check(entry.isreg() or entry.isdir() or entry.issym(), f"/{path} is not a file, folder or link")
        check(entry.mtime == 1, f"/{path} has a modification time")
        check(not entry.issym() or real(path), f"/{path} links to {entry.linkname}, which does not exist")
        check(entry.isdir() or posixpath.basename(path) not in UNWANTED, f"/{path} does not belong there")
        if not entry.isreg():
            continue
        check(data[:2] != b"#!", f"/{path} is a script")
        if data[:4] == b"\x7fELF":
            check(int.from_bytes(data[18:20], "little") == MACHINE[arch], f"/{path} is not for {arch}")
            [pattern] = [pattern for pattern in programs if re.fullmatch(pattern, path)] or [None]
            if pattern:
                started_by[pattern] += 1
            # glibc's library is executable and prints its version.
            is_library = ".so" in posixpath.basename(path)
            check(pattern or is_library or not is_program(data), f"/{path} is an unexpected program")
        elif path.startswith("nix/store/"):
            check(not entry.mode & 0o111 or ".so" in path or path.endswith((".pak", ".bin", ".dat")), f"/{path} is executable")
    for pattern, count in started_by.items():
        check(count == 1, f"{pattern} exists {count} times")
    for path in WRITTEN:
        check(path in entries, f"/{path} is missing")

    for what, most in limit.items():
        print(f"{arch} {what}: {sizes[what]} bytes of at most {most}")
        check(sizes[what] <= most, f"{what}: {sizes[what]} bytes are more than {most}")
    if failures:
        sys.exit("contents: " + "\ncontents: ".join(failures))


main()
