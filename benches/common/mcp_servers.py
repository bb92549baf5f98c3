"""Adapters of the benchmark of tasks for other MCP servers."""

import json
import os
import re
from pathlib import Path

import trees
from contestants import Answer, Contestant, fast, tab_numbers, tool_list


class Mcp(Contestant):
    """Another MCP server."""

    full_looks = False

    def __init__(self, command, more, folder):
        super().__init__()
        Path(folder).mkdir(parents=True)
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
        self.server = fast.Server(["node", *command], environment | more, folder)
        self.list_bytes = len(tool_list(self.server).encode())

    def tool(self, name, **arguments):
        took, message = self.server.ask("tools/call", {"name": name, "arguments": arguments})
        result = message.get("result") or {"isError": True, "content": [{"type": "text", "text": json.dumps(message)}]}
        return self.keep(Answer(not result.get("isError"), fast.text_of(result), took, f"{name} {json.dumps(arguments)}"))

    def reference(self, ref):
        return ref

    def stop(self):
        self.server.stop()


class PlaywrightMcp(Mcp):
    def __init__(self, modules, port, folder):
        command = [f"{modules}/@playwright/mcp/cli.js", "--cdp-endpoint", f"http://127.0.0.1:{port}"]
        super().__init__([*command, "--output-dir", f"{folder}/output"], {}, folder)

    def tree(self, answer):
        block = re.search(r"```yaml\n(.*?)```", answer.text, re.DOTALL)
        return trees.parse(block[1]) if block else None

    def open(self, url):
        return self.tool("browser_navigate", url=url)

    def look(self, _full):
        return self.tool("browser_snapshot")

    def click(self, target):
        return self.tool("browser_click", target=target)

    def dblclick(self, target):
        return self.tool("browser_click", target=target, doubleClick=True)

    def click_with(self, target, keys):
        return self.tool("browser_click", target=target, modifiers=keys.split("+"))

    def right_click(self, target):
        return self.tool("browser_click", target=target, button="right")

    def hover(self, target):
        return self.tool("browser_hover", target=target)

    def fill(self, target, text):
        return self.tool("browser_type", target=target, text=text)

    def type(self, target, text):
        return self.tool("browser_type", target=target, text=text, slowly=True)

    def press(self, key):
        return self.tool("browser_press_key", key=key)

    def select(self, target, options):
        return self.tool("browser_select_option", target=target, values=options)

    def check(self, target, _on):
        return self.click(target)

    def drag(self, source, target):
        return self.tool("browser_drag", startTarget=source, endTarget=target)

    def back(self):
        return self.tool("browser_navigate_back")

    def reload(self):
        # It has no tool for this, but it tells the page's address.
        return self.open(self.last_address())

    def wait_text(self, text):
        return self.tool("browser_wait_for", text=text)

    def pause(self, seconds):
        return self.tool("browser_wait_for", time=seconds)

    def dialog(self, accept, text):
        return self.tool("browser_handle_dialog", accept=accept, **({"promptText": text} if text else {}))

    def newest_tab(self):
        numbers = tab_numbers(self.tool("browser_tabs", action="list").text)
        return self.tool("browser_tabs", action="select", index=int(numbers[-1])) if len(numbers) > 1 else self.answers[-1]

    def first_tab(self):
        return self.tool("browser_tabs", action="select", index=0)

    def leave_tab(self):
        return self.tool("browser_tabs", action="close")

    def select_text(self, target):
        clicked = self.click(target)
        return self.press("Control+a") if clicked.ok else clicked

    def point(self, _target, _x, _y):
        return self.refuse("a point of an element")

    def selector(self, role, name):
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        return [*([f'role={role}[name="{quoted}"]'] if role else []), f"text={name}"]


class ChromeDevtoolsMcp(Mcp):
    def __init__(self, modules, port, folder):
        command = [f"{modules}/chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js", "--browserUrl", f"http://127.0.0.1:{port}"]
        command += ["--no-usage-statistics", "--no-performance-crux"]
        quiet = {"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1", "CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS": "1"}
        super().__init__(command, quiet, folder)
        self.page = None

    def on_page(self, name, **arguments):
        if self.page is None:
            self.page = self.pages()[0]
        return self.tool(name, pageId=self.page, **arguments)

    def pages(self):
        listed = self.tool("list_pages")
        return [int(number) for number in re.findall(r"^(\d+):", listed.text, re.MULTILINE)] or [0]

    def open(self, url):
        return self.on_page("navigate_page", type="url", url=url)

    def look(self, _full):
        return self.on_page("take_snapshot")

    def click(self, target):
        return self.on_page("click", uid=target)

    def dblclick(self, target):
        return self.on_page("click", uid=target, dblClick=True)

    def right_click(self, _target):
        return self.refuse("the right button")

    def type_focused(self, text):
        return self.on_page("type_text", text=text)

    def hover(self, target):
        return self.on_page("hover", uid=target)

    def fill(self, target, text):
        return self.on_page("fill", uid=target, value=text)

    def type(self, target, text):
        clicked = self.click(target)
        return self.on_page("type_text", text=text) if clicked.ok else clicked

    def press(self, key):
        return self.on_page("press_key", key=key)

    def select(self, target, options):
        return self.on_page("fill", uid=target, value=options[0]) if len(options) == 1 else self.refuse("several options")

    def check(self, target, _on):
        return self.click(target)

    def drag(self, source, target):
        return self.on_page("drag", from_uid=source, to_uid=target)

    def back(self):
        return self.on_page("navigate_page", type="back")

    def reload(self):
        return self.on_page("navigate_page", type="reload")

    def wait_text(self, text):
        return self.on_page("wait_for", text=[text])

    def pause(self, seconds):
        # It has no tool that only waits. A text that never comes has the same effect.
        return self.on_page("wait_for", text=["\u2014 never \u2014"], timeout=int(seconds * 1000))

    def dialog(self, accept, text):
        return self.on_page("handle_dialog", action="accept" if accept else "dismiss", **({"promptText": text} if text else {}))

    def newest_tab(self):
        pages = self.pages()
        listed = self.answers[-1]
        if len(pages) > 1:
            self.page = pages[-1]
            return self.tool("select_page", pageId=self.page)
        return listed

    def first_tab(self):
        self.page = self.pages()[0]
        return self.tool("select_page", pageId=self.page)

    def leave_tab(self):
        closed = self.on_page("close_page")
        self.page = None
        return closed

    def select_text(self, target):
        clicked = self.click(target)
        return self.press("Control+a") if clicked.ok else clicked

    def point(self, _target, _x, _y):
        return self.refuse("a point of an element")

    def selector(self, _role, _name):
        return []
