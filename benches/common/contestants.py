"""Adapters of the benchmark of tasks that translate the solver's steps into tool calls: those for agent-browser and browser-shell.

Every adapter has the same methods. A method makes one tool call, or the calls that an agent would need, and returns an `Answer`. All
answers are kept, because their number, size and time are what is counted. An adapter adds no knowledge of its own: it waits for
nothing and repeats nothing.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import trees

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import fast  # after the line that makes it visible


class Answer:
    """The text that an agent reads after a tool call."""

    def __init__(self, ok, text, took, call):
        self.ok, self.text, self.took, self.call = ok, text, took, call


class Contestant:
    """A tool, or a set of tools, on a browser of its own."""

    # Size of the list of tools, which a model reads before it begins. A command line has none.
    list_bytes = None
    # Time that an agent needs before its next call. It is not counted.
    thinks_s = 0

    def __init__(self):
        self.answers = []

    def keep(self, answer):
        self.answers.append(answer)
        time.sleep(self.thinks_s)
        return answer

    def tree(self, answer):
        """Returns the tree in an answer, if it has one."""
        return trees.parse(answer.text)

    def last_address(self):
        """Returns the last address that an answer had."""
        texts = (answer.text for answer in reversed(self.answers))
        return next(found[-1] for text in texts if (found := re.findall(r"https?://[^\s\"\\)\]]+", text)))

    def type_focused(self, _text):
        """Returns None: a contestant without a tool for it needs the element."""
        return None

    def click_with(self, _target, _keys):
        return self.refuse("a click with keys held")

    def select_words(self, _target, _words):
        return self.refuse("a part of a text")

    def scroll_inside(self, _target, last):
        """Scrolls a list on. Where there is no tool for it, pointing at the last row brings that into view."""
        return self.hover(last)

    def refuse(self, call):
        """Returns a failure without a call, for a step that the contestant has no tool for."""
        return Answer(False, f"no tool for `{call}`", 0, call)


def tab_numbers(text):
    """Returns the numbers of the tabs in a list of tabs, as texts."""
    return [next(filter(None, found)) for found in re.findall(r'index\\?": ?(\d+)|\[(t?\d+)\]|^- (\d+):', text, re.MULTILINE)]


def tool_list(server):
    """Returns the list of tools of an MCP server as compact JSON."""
    _, message = server.ask("tools/list", {})
    return json.dumps(message["result"], separators=(",", ":"), ensure_ascii=False)


class AgentBrowser(Contestant):
    """What browser-shell and the bare agent-browser have in common: the words of a command."""

    full_looks = True

    def open(self, url):
        return self.run("open", url)

    def look(self, full):
        return self.run("snapshot", *([] if full else ["-i"]))

    def click(self, target):
        return self.run("click", target)

    def dblclick(self, target):
        return self.run("dblclick", target)

    def hover(self, target):
        return self.run("hover", target)

    def fill(self, target, text):
        return self.run("fill", target, text)

    def type(self, target, text):
        return self.run("type", target, text)

    def press(self, key):
        return self.run("press", key)

    def select(self, target, options):
        return self.run("select", target, *options)

    def check(self, target, on):
        return self.run("check" if on else "uncheck", target)

    def drag(self, source, target):
        return self.run("drag", source, target)

    def back(self):
        return self.run("back")

    def reload(self):
        answer = self.run("reload")
        return answer if answer.ok else self.open(self.last_address())

    def wait_text(self, text):
        return self.run("wait", "--text", text)

    def pause(self, seconds):
        return self.run("wait", str(int(seconds * 1000)))

    def dialog(self, accept, text):
        return self.run("dialog", *(["accept", *([text] if text else [])] if accept else ["dismiss"]))

    def newest_tab(self):
        numbers = tab_numbers(self.run("tab", "list").text)
        return self.run("tab", numbers[-1]) if len(numbers) > 1 else self.answers[-1]

    def first_tab(self):
        return self.run("tab", "0")

    def leave_tab(self):
        closed = self.run("tab", "close")
        # Where a tab cannot be closed, the first one may still be chosen.
        return closed if closed.ok else self.run("tab", "0")

    def reference(self, ref):
        return f"@{ref}"

    def selector(self, role, name):
        """Returns the selectors that an agent would try without a reference."""
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        return [*([f'role={role}[name="{quoted}"]'] if role else []), f"text={name}"]


class BrowserShell(AgentBrowser):
    """browser-shell over MCP on stdio."""

    def __init__(self, program, agent_browser, policy, port, folder):
        super().__init__()
        folder = Path(folder)
        (folder / "w").mkdir(parents=True)
        (folder / "policy.json").write_text(json.dumps(policy))
        environment = {
            "PATH": os.environ["PATH"],
            "BROWSER_SHELL_AGENT_BROWSER": str(agent_browser),
            "BROWSER_SHELL_POLICY": f"{folder}/policy.json",
            "BROWSER_SHELL_RUNTIME_DIR": f"{folder}/r",
            "BROWSER_SHELL_WORKSPACE": f"{folder}/w",
            "BROWSER_SHELL_AUDIT": f"{folder}/audit.jsonl",
            "BROWSER_SHELL_CDP_PORT": str(port),
        }
        self.server = fast.Server([program, "mcp"], environment, folder)
        tools = tool_list(self.server)
        self.list_bytes = len(tools.encode())
        self.has_select_text = "select-text" in tools

    def run(self, *argv):
        took, message = self.server.ask("tools/call", {"name": "browser-shell", "arguments": {"session_id": "task", "argv": argv}})
        result = message.get("result") or {"isError": True, "content": [{"type": "text", "text": json.dumps(message)}]}
        text = fast.text_of(result)
        given = result.get("structuredContent")
        ok = given["exit_code"] == 0 if given else not result.get("isError")
        return self.keep(Answer(ok, text, took, " ".join(argv)))

    def tree(self, answer):
        if answer.text.startswith("{"):
            # The style `data`: JSON in the member `stdout` of JSON.
            try:
                data = json.loads(json.loads(answer.text).get("stdout") or "null")
            except (ValueError, AttributeError):
                return None
            return trees.parse(data["snapshot"]) if isinstance(data, dict) and "snapshot" in data else None
        return trees.parse(answer.text)

    def select_text(self, target):
        if self.has_select_text:
            return self.run("select-text", target)
        clicked = self.click(target)
        return self.press("Control+a") if clicked.ok else clicked

    def point(self, target, x, y):
        return self.run("click", target, "--at", f"{x},{y}")

    def click_with(self, target, keys):
        return self.run("click", target, "--modifiers", keys)

    def select_words(self, target, words):
        return self.run("select-text", target, words)

    def scroll_inside(self, target, _last):
        return self.run("scroll", "-s", target, "down", "1000")

    def right_click(self, target):
        return self.run("click", target, "--button", "right")

    def stop(self):
        try:
            self.server.tool("browser-shell", session_id="task", argv=["close"])
        except fast.Failed:
            pass
        self.server.stop()


class Bare(AgentBrowser):
    """agent-browser's own CLI, with the output that it prints for agents."""

    def __init__(self, agent_browser, port, folder):
        super().__init__()
        self.bare = fast.Bare(agent_browser, "", folder, port)

    def run(self, *argv):
        command = [self.bare.program, "--session", "bare", "--cdp", str(self.bare.port), *argv]
        start = time.perf_counter()
        try:
            done = subprocess.run(
                command,
                env=self.bare.environment,
                cwd=self.bare.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=fast.CALL_TIMEOUT_S,
            )
            ok, text = done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")
        except subprocess.TimeoutExpired:
            ok, text = False, "the command did not end"
        return self.keep(Answer(ok, text, time.perf_counter() - start, " ".join(argv)))

    def select_text(self, target):
        clicked = self.click(target)
        return self.press("Control+a") if clicked.ok else clicked

    def right_click(self, _target):
        return self.refuse("the right button")

    def point(self, target, x, y):
        box = self.run("get", "box", target)
        sides = {key: float(value) for key, value in re.findall(r'"?(x|y)"?\s*[:=]\s*(-?[\d.]+)', box.text)}
        if not box.ok or len(sides) != 2:
            return Answer(False, box.text, 0, "point")
        self.run("mouse", "move", str(round(sides["x"] + x)), str(round(sides["y"] + y)))
        self.run("mouse", "down")
        return self.run("mouse", "up")

    def stop(self):
        try:
            self.bare.command(["close"])
        except (fast.Failed, subprocess.TimeoutExpired):
            pass
