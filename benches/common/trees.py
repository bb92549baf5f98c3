"""Trees of elements, read from the texts that contestants answer with.

Four formats are read: agent-browser's, the control gate's and playwright-mcp's, which have one `- role "name" [ref=e1]` a line, and
chrome-devtools-mcp's, which has one `uid=1_2 role "name"` a line.
"""

import json
import re

DASH_LINE = re.compile(r"^(\s*)- (.*)$")
# Texts have no role.
UID_LINE = re.compile(r'^(\s*)uid=(\S+) ([^\s"]*)(.*)$')
QUOTED = r'"(?:[^"\\]|\\.)*"'
# A state such as `[ref=e1]` or `[options=["A","B"]]`.
STATE = rf' \[(?:[^\[\]"]|{QUOTED}|\[(?:[^\[\]"]|{QUOTED})*\])*\]'
STRICT = re.compile(rf"^([\w-]+)(?: ({QUOTED}))?((?:{STATE})*)(?::? (.*)|:)?$")
# agent-browser does not escape quotes in names.
GREEDY = re.compile(r'^([\w-]+) "(.*)"((?: \[[^\]]*\])+)(?::? ?(.*))?$')
VALUE = re.compile(rf" \[value=({QUOTED})\]")
PLACEHOLDER = re.compile(rf'\[placeholder=({QUOTED})\]')
# A text beside an element that has no name.
NEAR = re.compile(rf"\[near=({QUOTED})\]")
PLACEHOLDER_LINE = re.compile(r"^\s*- /placeholder: (.*)$")
REFERENCE = re.compile(r"\bref=(\w+)")


class Node:
    """One element or text of a page."""

    def __init__(self, depth, role, name, ref, states="", text=""):
        self.depth, self.role, self.name, self.ref, self.states, self.text = depth, role, name, ref, states, text
        self.parent, self.children, self.place = None, [], 0
        found = PLACEHOLDER.search(states)
        self.placeholder = decoded(found[1]) if found else ""
        # The states without what pages say.
        self.flags = re.sub(QUOTED, "", states)
        found = NEAR.search(states)
        self.near = self.beside = decoded(found[1]) if found else ""

    def own(self):
        """Returns name and text of the element itself."""
        return self.name if self.name == self.text else f"{self.name} {self.text}".strip()

    def label(self):
        """Returns what a person would call the element: its name, else the text in it."""
        return self.own() or " ".join(filter(None, (child.label() for child in self.children)))

    def ancestors(self):
        node, found = self, []
        while node is not None:
            found.append(node)
            node = node.parent
        return found


class Tree:
    """All nodes of one answer, in the order of the document."""

    def __init__(self, nodes):
        self.nodes = nodes
        path = []
        beside = [node.near for node in nodes]
        for place, node in enumerate(nodes):
            node.place = place
            # A text beside several elements names none of them.
            node.beside = node.near if beside.count(node.near) == 1 else ""
            while path and path[-1].depth >= node.depth:
                path.pop()
            if path:
                node.parent = path[-1]
                path[-1].children.append(node)
            path.append(node)

    def text(self):
        """Returns all names and texts, separated by blanks."""
        return " ".join(filter(None, (node.own() for node in self.nodes)))


def parse(text):
    """Returns the tree in a text, or None if it contains none."""
    nodes = []
    for line in text.splitlines():
        shown = PLACEHOLDER_LINE.match(line)
        if shown and nodes:
            # playwright-mcp has it in a line below the field.
            nodes[-1].placeholder = decoded(shown[1].strip())
            continue
        node = parse_uid_line(line) if "uid=" in line else parse_dash_line(line)
        if node is not None:
            nodes.append(node)
    return Tree(nodes) if nodes else None


def parse_uid_line(line):
    found = UID_LINE.match(line)
    if found is None:
        return None
    indent, ref, role, rest = found.groups()
    rest = rest.strip()
    name = ""
    if rest.startswith('"'):
        # The name ends at the last quote before the states, which contain quotes only behind a `=`.
        quoted = re.match(r'"(.*?)"(?= [a-z]|$)', rest) or re.match(r'"(.*)"', rest)
        if quoted:
            name, rest = quoted[1].replace('\\"', '"'), rest[quoted.end() :].strip()
    value = re.search(r'\bvalue="([^"]*)"', rest)
    return Node(len(indent), role or "StaticText", name, ref, rest, value[1] if value else "")


def parse_dash_line(line):
    found = DASH_LINE.match(line)
    if found is None:
        return None
    depth, content = len(found[1]), found[2].strip()
    if content.startswith("/"):
        return None
    content = unquoted(content)
    found = STRICT.match(content) or GREEDY.match(content)
    if found is None:
        return None
    role, name, states, text = found.groups()
    if name is None and not states and text and role not in ("text", "paragraph", "heading", "cell", "listitem", "generic"):
        greedy = GREEDY.match(content)
        if greedy:
            role, name, states, text = greedy.groups()
    name, text = decoded(name or ""), decoded(text or "")
    value = VALUE.search(states)
    if value and not text:
        text = decoded(value[1])
    # A name without a closing state, as in `button "Save" [ref=e1] clickable [onclick]`.
    ref = REFERENCE.search(states) or REFERENCE.search(text if text.startswith("[") else "")
    return Node(depth, role, name, ref[1] if ref else None, states, "" if text.startswith("[") else text)


def unquoted(content):
    """Returns the content of a line without YAML's quotes, which playwright-mcp adds to odd lines."""
    quoted = re.match(r"^'((?:[^']|'')*)'(:.*)?$", content)
    if quoted:
        return quoted[1].replace("''", "'") + (quoted[2] or "")
    return content


def decoded(text):
    if len(text) > 1 and text[0] == '"' and text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text[1:-1]
    return text
