"""Contestants of the benchmarks of tasks, each with a new Chromium: what they need, and how they start."""

import http.client
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import contestants
import mcp_servers

ROOT = Path(__file__).resolve().parent.parent.parent
NETWORK = ROOT / "tests/e2e/in-test-network"
E2E, PEERS = ROOT / "tests/e2e/node_modules", ROOT / "benches/peers/node_modules"
RECOMMENDED = ROOT / "examples/policy.recommended.json"
OPTIONAL = {"subcommands": {"enable": ["back", "forward", "reload", "get", "is", "scroll", "tab", "dialog"]}}


def contestant_table(program, port):
    """Returns for each contestant how to start it: a function of a folder."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
    node = E2E / f"agent-browser/bin/agent-browser-linux-{machine}"
    native = E2E / f"agent-browser-native/bin/agent-browser-linux-{machine}"
    if program is not None and not (node.is_file() and native.is_file()):
        sys.exit("agent-browser is missing: run tests/e2e/setup first")
    recommended = json.loads(RECOMMENDED.read_text()) if RECOMMENDED.is_file() else OPTIONAL

    def ours(agent_browser, policy):
        return lambda folder: contestants.BrowserShell(program, agent_browser, policy, port, folder)

    return {
        "browser-shell cdp": ours(native, recommended | {"engine": "cdp"}),
        "browser-shell agent-browser 0.41.2": ours(native, recommended | {"engine": "agent-browser"}),
        "browser-shell agent-browser 0.19.0": ours(node, recommended | {"engine": "agent-browser"}),
        "browser-shell default, 0.41.2": ours(native, {}),
        "browser-shell default, 0.19.0": ours(node, {}),
        "playwright-mcp": lambda folder: mcp_servers.PlaywrightMcp(PEERS, port, folder),
        "chrome-devtools-mcp": lambda folder: mcp_servers.ChromeDevtoolsMcp(PEERS, port, folder),
        "bare agent-browser 0.41.2": lambda folder: contestants.Bare(native, port, folder),
        "bare agent-browser 0.19.0": lambda folder: contestants.Bare(node, port, folder),
    }


def build():
    """Builds a release and returns its path."""
    command = ["cargo", "build", "--release", "--locked", "--bin", "browser-shell", "--message-format", "json-render-diagnostics"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit("the build failed")
    return next(made for line in done.stdout.splitlines() if (made := json.loads(line).get("executable")))


def is_healthy(port):
    """Returns true if the server whose health is at this port can be used."""
    probe = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        probe.request("GET", "/healthz")
        return probe.getresponse().status == 200
    except OSError:
        return False
    finally:
        probe.close()


def install_peers():
    """Installs the other MCP servers by their lock file, without install scripts."""
    folder = PEERS.parent
    stamp, lock = PEERS / ".made-from", (folder / "package-lock.json").read_text()
    if stamp.is_file() and stamp.read_text() == lock:
        return
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(["npm", "ci", "--prefix", folder, *quiet], check=True, stdout=sys.stderr)
    # The package's binaries are not executable.
    for binary in (PEERS / "agent-browser/bin").glob("agent-browser-linux-*"):
        binary.chmod(0o755)
    stamp.write_text(lock)


class Stage:
    """A new browser, and a contestant that is connected to it."""

    def __init__(self, start, port, folder):
        self.port, self.tabs = port, None
        self.browser = start_chromium(port, f"{folder}/browser")
        try:
            self.contestant = start(f"{folder}/c")
        except BaseException:
            self.browser.kill()
            raise

    def has_more_tabs(self):
        """Returns true if there are more tabs than after the first episode."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/list", timeout=10) as answer:
            tabs = sum(target["type"] == "page" for target in json.load(answer))
        self.tabs = tabs if self.tabs is None else self.tabs
        return tabs > self.tabs

    def stop(self):
        try:
            self.contestant.stop()
        except (OSError, ValueError, contestants.fast.Failed):
            pass
        self.browser.terminate()
        self.browser.wait()


def start_chromium(port, folder):
    chromium = shutil.which("chromium") or sys.exit("Chromium is missing: run tests/e2e/setup first")
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-back-forward-cache", "--window-size=1280,800"]
    # New windows have the size of the screen, which has none of its own here.
    command.append("--screen-info={1280x800}")
    command += [f"--remote-debugging-port={port}", f"--user-data-dir={folder}", "about:blank"]
    browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/json/version", timeout=1).close()
            return browser
        except OSError:
            time.sleep(0.1)
    browser.kill()
    sys.exit("Chromium does not answer")
