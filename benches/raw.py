"""The floor of `benches/compare --fast`: a client of the debugging protocol that sends the input of a step and waits for nothing else.

It finds an element by one script, checks nothing, reads nothing back and hides nothing. What a tool takes above it is the price of
its checks and of its answer.
"""

import json

import fast
from gate import DebugSocket

POINT = """(() => { const box = document.querySelector(%s).getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2] })()"""
FOCUS = "document.querySelector(%s).focus()"
SELECT = """(() => { const list = document.querySelector(%s); list.value = %s;
  for (const kind of ['input', 'change']) list.dispatchEvent(new Event(kind, {bubbles: true})) })()"""
END_KEY = {"key": "End", "code": "End", "windowsVirtualKeyCode": 35}


class Raw:
    """One tab of its own on Chromium's port."""

    def __init__(self, page, port=9222):
        self.page, self.socket = page, DebugSocket(port)
        self.target = self.socket.ask("Target.createTarget", url="about:blank")[1]["targetId"]
        self.socket.attach(self.target)
        self.socket.ask("Page.enable")

    def run(self, step):
        if step not in self.STEPS:
            return None
        words = [self.page if word == "PAGE" else word for word in fast.STEPS[step]]
        return self.STEPS[step](self, *words[1:])

    def open(self, page):
        return self.socket.ask("Page.navigate", url=page)[0] + self.socket.event("Page.loadEventFired")

    def snapshot(self, _):
        return self.socket.ask("Accessibility.getFullAXTree")[0]

    def evaluate(self, script, *values):
        took, answer = self.socket.ask("Runtime.evaluate", expression=script % tuple(map(json.dumps, values)), returnByValue=True)
        if "exceptionDetails" in answer:
            raise fast.Failed(answer)
        return took, answer["result"].get("value")

    def hover(self, selector):
        return self.mouse(selector)

    def click(self, selector):
        return self.mouse(selector, 1)

    def dblclick(self, selector):
        return self.mouse(selector, 1, 2)

    def mouse(self, selector, *presses):
        found, (x, y) = self.evaluate(POINT, selector)
        point = {"x": x, "y": y, "button": "left"}
        input = [{**point, "type": "mouseMoved", "button": "none"}]
        for count in presses:
            input += [{**point, "type": kind, "clickCount": count} for kind in ("mousePressed", "mouseReleased")]
        return found + self.socket.ask_all([("Input.dispatchMouseEvent", part) for part in input])

    def focus(self, selector):
        return self.evaluate(FOCUS, selector)[0]

    def fill(self, selector, text):
        return self.evaluate(FOCUS.replace("focus()", "select()"), selector)[0] + self.socket.ask("Input.insertText", text=text)[0]

    def type(self, selector, text):
        keys = []
        for sign in text:
            key = {"key": sign, "code": f"Key{sign.upper()}", "windowsVirtualKeyCode": ord(sign.upper())}
            keys += [{**key, "type": "keyDown", "text": sign}, {**key, "type": "keyUp"}]
        return self.focus(selector) + self.socket.ask_all([("Input.dispatchKeyEvent", key) for key in keys])

    def press(self, _):
        return self.socket.ask_all([("Input.dispatchKeyEvent", {**END_KEY, "type": kind}) for kind in ("rawKeyDown", "keyUp")])

    def select(self, selector, value):
        return self.evaluate(SELECT, selector, value)[0]

    def wait(self, selector):
        return self.evaluate("document.querySelector(%s) !== null", selector)[0]

    def screenshot(self):
        return self.socket.ask("Page.captureScreenshot")[0]

    STEPS = {
        "open": open,
        "snapshot -i": snapshot,
        "snapshot -i, again": snapshot,
        "click": click,
        "dblclick": dblclick,
        "hover": hover,
        "focus": focus,
        "fill": fill,
        "type": type,
        "press": press,
        "check": click,
        "uncheck": click,
        "select": select,
        "wait SEL": wait,
        "screenshot": screenshot,
    }

    def stop(self):
        self.socket.ask("Page.close")
        self.socket.close()
