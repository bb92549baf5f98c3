#!/usr/bin/env python3
"""Lists the contents of the image's own layers and fails on unexpected files.

    tests/image/contents.py FOLDER amd64|arm64 node|native ROOTFS

FOLDER is the image without its base in the form that a registry receives: written by nix/oci-image to an OCI layout, and from
there by `skopeo copy oci:... dir:FOLDER`. ROOTFS contains the files that it adds to the base, after `generation`. The checks use
path, mode, owner and the first bytes of every entry, and the sizes of files and of compressed layers.
"""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

# Limit of all files in bytes, with room for the next version.
LIMIT = {"node": 48_000_000, "native": 48_000_000}
# Limits of what is pushed and pulled, in bytes of compressed layers: all of them, and the layers that a change of our own code
# replaces.
COMPRESSED = {"node": 10_000_000, "native": 12_000_000}
# The program is 4.4 MB.
COMPRESSED_CODE = 5_000_000
ZSTD = "application/vnd.oci.image.layer.v1.tar+zstd"
PROGRAM, AGENT_BROWSER = "usr/local/bin/browser-shell", "opt/agent-browser/bin/agent-browser"
LINK = "usr/local/bin/agent-browser"
LICENSES = "usr/share/doc/browser-shell/licenses/"
MACHINE = {"amd64": 62, "arm64": 183}
# Browsers, toolchains and programs of other packages.
UNWANTED = ("chrome", "chromium", "headless_shell", "firefox", "webkit", "cargo", "rustc", "rustup", "gcc", "ld", "npm", "node")

failures: list[str] = []


def check(condition: object, what: str) -> None:
    if not condition:
        failures.append(what)


def main() -> None:
    folder, arch, flavor, rootfs = Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])
    manifest = json.loads((folder / "manifest.json").read_text())
    entries: dict[str, tuple[tarfile.TarInfo, bytes]] = {}
    compressed = code = 0
    for layer in manifest["layers"]:
        size = 0
        blob = folder / layer["digest"].partition(":")[2]
        if layer["mediaType"] != ZSTD:
            sys.exit(f"contents: {layer['digest']} is {layer['mediaType']}; nix/oci-image compresses it")
        pushed = blob.stat().st_size
        check(layer["size"] == pushed, f"{layer['digest']} has {pushed} bytes, not {layer['size']}")
        paths = set()
        with (
            subprocess.Popen(["zstd", "--decompress", "--stdout", "--quiet", "--", blob], stdout=subprocess.PIPE) as unpacked,
            tarfile.open(fileobj=unpacked.stdout, mode="r|") as archive,
        ):
            for entry in archive:
                path = entry.name.strip("/").removeprefix("./")
                head = b""
                if entry.isreg():
                    file = archive.extractfile(entry)
                    head = file.read(20) if file else b""
                    size += entry.size
                    paths.add(path)
                check(path not in entries or entry.isdir(), f"/{path} is in two layers")
                entries[path] = (entry, head)
        check(unpacked.returncode == 0, f"{layer['digest']} is not complete")
        compressed += pushed
        if PROGRAM in paths or "opt/skills/browser-shell/SKILL.md" in paths:
            code += pushed
        print(f"{arch} {flavor} {layer['digest']} {size} bytes, {pushed} compressed: {min(paths, default='')} ...")

    wanted = {PROGRAM: 0o755, AGENT_BROWSER: 0o755, "opt/skills/browser-shell/SKILL.md": 0o444}
    wanted |= {"etc/agent-browser/browser-shell.policy.example.json": 0o444, "usr/share/doc/browser-shell/LICENSE": 0o444}
    wanted |= {"opt/agent-browser/package.json": 0o444, "opt/agent-browser/LICENSE": 0o444}
    wanted |= {LICENSES + name: 0o444 for name in ("crates.txt", "musl.txt", "rust-std.html")}
    if flavor == "node":
        wanted |= {f"opt/agent-browser/dist/{name}.js": 0o444 for name in ("daemon", "actions", "browser")}
        for name in "playwright-core", "ws", "zod", "webdriverio", "node-simctl":
            wanted[f"opt/agent-browser/node_modules/{name}/package.json"] = 0o444
        for name in "playwright-core/LICENSE", "playwright-core/NOTICE", "playwright-core/ThirdPartyNotices.txt", "ws/LICENSE", "zod/LICENSE":
            wanted[f"opt/agent-browser/node_modules/{name}"] = 0o444
    for path in rootfs.rglob("*"):
        if path.is_file():
            mode = 0o555 if path.stat().st_mode & stat.S_IXUSR else 0o444
            wanted[str(path.relative_to(rootfs))] = mode
    for path, mode in wanted.items():
        entry = entries.get(path, (None, b""))[0]
        check(entry and entry.isreg(), f"/{path} is missing")
        check(not entry or entry.mode == mode, f"/{path} has mode {entry and oct(entry.mode)}, not {oct(mode)}")
    link = entries.get(LINK, (None, b""))[0]
    check(link and link.issym() and link.linkname == "/" + AGENT_BROWSER, f"/{LINK} is not a link to /{AGENT_BROWSER}")

    # File names below these come from npm.
    ours = ("opt/agent-browser/dist", "opt/agent-browser/node_modules")
    for path, (entry, head) in entries.items():
        check((entry.uid, entry.gid) == (0, 0), f"/{path} belongs to {entry.uid}:{entry.gid}")
        check(entry.isreg() or entry.isdir() or path == LINK, f"/{path} is not a file, folder or our link")
        check(entry.mode & 0o7022 == 0 or entry.issym(), f"/{path} has mode {oct(entry.mode)}")
        check(not path.startswith("nix"), f"/{path} is in the Nix store")
        check(entry.mtime == 1, f"/{path} has a modification time")
        if entry.isdir() and not path.startswith(ours):
            check(entry.mode == 0o755, f"/{path} has mode {oct(entry.mode)}: the base's folder would change")
        if entry.isreg():
            check(Path(path).name not in UNWANTED, f"/{path} does not belong there")
            check(head[:4] != b"\x7fELF" or path in (PROGRAM, AGENT_BROWSER), f"/{path} is a program")
            below = path.startswith(("opt/agent-browser/", "usr/local/bin/"))
            check(below or path in wanted, f"/{path} is not one of the files that the image adds")
    for path in PROGRAM, AGENT_BROWSER:
        head = entries.get(path, (None, b""))[1]
        check(head[:4] == b"\x7fELF" and int.from_bytes(head[18:20], "little") == MACHINE[arch], f"/{path} is not for {arch}")
    if flavor == "native":
        check(not any(path.startswith(ours) for path in entries), "the native flavor has a Node daemon")

    total = sum(entry.size for entry, _ in entries.values())
    print(f"{arch} {flavor}: {len(entries)} entries, {total} bytes of at most {LIMIT[flavor]}")
    check(total <= LIMIT[flavor], f"{total} bytes are more than {LIMIT[flavor]}")
    print(f"{arch} {flavor}: {compressed} bytes compressed of at most {COMPRESSED[flavor]}, {code} of our own code of at most {COMPRESSED_CODE}")
    check(compressed <= COMPRESSED[flavor], f"{compressed} bytes of compressed layers are more than {COMPRESSED[flavor]}")
    check(0 < code <= COMPRESSED_CODE, f"a change of our own code costs {code} bytes, more than {COMPRESSED_CODE}")
    if failures:
        sys.exit("contents: " + "\ncontents: ".join(failures))


main()
