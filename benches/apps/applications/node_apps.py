"""Applications of npm with servers of their own: Node-RED and TiddlyWiki."""

import json

from application import NPM, Application, Task
from words import click, dblclick, dialog, drag, fill, press, see, type_in

INJECT = {"type": "inject", "z": "tab1", "props": [{"p": "payload"}], "repeat": "", "crontab": "", "once": False, "onceDelay": 0.1, "topic": "", "payload": ""}
FLOW = [
    {"id": "tab1", "type": "tab", "label": "Tides"},
    INJECT | {"id": "n1", "name": "every minute", "x": 160, "y": 100, "wires": [[]], "payloadType": "date"},
    {"id": "n2", "type": "debug", "z": "tab1", "name": "show tide", "x": 460, "y": 100, "wires": []},
    INJECT | {"id": "n3", "name": "at noon", "x": 160, "y": 220, "wires": [["n4"]], "payloadType": "date"},
    {"id": "n4", "type": "debug", "z": "tab1", "name": "show noon", "x": 460, "y": 220, "wires": []},
    {"id": "n5", "type": "function", "z": "tab1", "name": "halve", "x": 300, "y": 320, "wires": [[]], "func": "return msg;", "outputs": 1},
]
IMPORTED = json.dumps([{"id": "imp1", "type": "comment", "name": "imported note", "info": "", "x": 300, "y": 60, "wires": []}])


class NodeRed(Application):
    def prepare(self):
        self.write("home/flows.json", json.dumps(FLOW))
        settings = {"flowFile": "flows.json", "uiPort": self.port, "uiHost": "0.0.0.0", "editorTheme": {"tours": False, "palette": {"editable": False}}}
        self.write("home/settings.js", f"module.exports = {json.dumps(settings | {'credentialSecret': 'x', 'telemetry': {'enabled': False}})}\n")

    def commands(self):
        return [["node", NPM / "node-red/red.js", "--userDir", self.folder / "home"]]

    def nodes(self):
        """Returns the deployed nodes by their names."""
        return {node.get("name"): node for node in json.loads(self.ask("/flows")) if node.get("name")}

    tasks = [
        Task(
            "edit-node",
            "Rename the node `halve` to `halve it`, with a double click on it, and deploy.",
            [
                see("halve"),
                dblclick("halve"),
                fill("Name", "halve it"),
                click("Done", role="button"),
                click("Deploy"),
                {"pause": 2},
            ],
            lambda app: ("halve it" in app.nodes(), True),
        ),
        Task(
            "wire-by-actions",
            "Wire `every minute` to `show tide` by the list of actions, and deploy.",
            [
                see("halve"),
                click("every minute"),
                click("show tide", modifiers="Control"),
                press("Control+Shift+p"),
                {"keys": "wire series"},
                {"pause": 1},
                press("Enter"),
                click("Deploy"),
                {"pause": 2},
            ],
            lambda app: (app.nodes()["every minute"]["wires"], [["n2"]]),
        ),
        Task(
            "wire-by-mouse",
            "Draw a wire from the output of `halve` to the input of `show tide`, and deploy.",
            [
                see("halve"),
                drag("", "", near="halve", nth=2, to_near="show tide", to_nth=1, looks="port"),
                click("Deploy"),
                {"pause": 2},
            ],
            lambda app: ([node["wires"] for name, node in app.nodes().items() if name.startswith("halve")], [[["n2"]]]),
        ),
        Task(
            "delete-node",
            "Delete the node `show noon`, which cuts its wire, and deploy.",
            [
                see("halve"),
                click("show noon"),
                press("Delete"),
                click("Deploy"),
                {"pause": 2},
            ],
            lambda app: (["show noon" in app.nodes(), app.nodes()["at noon"]["wires"]], [False, [[]]]),
        ),
        Task(
            "import",
            "Import a note from its JSON into a new flow, in the dialog of Control+i, and deploy.",
            [
                see("halve"),
                click("halve"),
                press("Control+i"),
                type_in("Paste flow json", IMPORTED, role="textbox"),
                click("new flow"),
                click("Import", role="button"),
                {"pause": 1},
                click("imported note", optional=True),
                click("Deploy"),
                {"pause": 2},
            ],
            lambda app: ("imported note" in app.nodes(), True),
        ),
    ]


class TiddlyWiki(Application):
    ready = "/status"

    def prepare(self):
        info = {"plugins": ["tiddlywiki/tiddlyweb", "tiddlywiki/filesystem"], "themes": ["tiddlywiki/vanilla", "tiddlywiki/snowwhite"]}
        self.write("wiki/tiddlywiki.info", json.dumps(info))
        self.write("wiki/tiddlers/Pilots.tid", "title: Pilots\ntags: harbour\nmodified: 20260105120000000\n\nAsk for Ada.\n")
        self.write("wiki/tiddlers/Old chart.tid", "title: Old chart\nmodified: 20260104120000000\n\nOut of date.\n")

    def commands(self):
        return [["node", NPM / "tiddlywiki/tiddlywiki.js", self.folder / "wiki", "--listen", f"port={self.port}", "host=0.0.0.0"]]

    def tiddler(self, title):
        path = self.folder / f"wiki/tiddlers/{title}.tid"
        return path.read_text() if path.exists() else None

    tasks = [
        Task(
            "new-tiddler",
            "Write a new tiddler named Tide gauge with the text `Read at noon.` and the tag harbour.",
            [
                see("GettingStarted"),
                click("new tiddler", role="button"),
                fill("New Tiddler", "Tide gauge", role="textbox"),
                fill("tag name", "harbour"),
                click("add", role="button", near="tag name"),
                fill("Type the text for this tiddler", "Read at noon.", role="textbox"),
                click("Confirm changes to this tiddler"),
                see("Read at noon."),
                {"pause": 2},
            ],
            lambda app: ([word in (app.tiddler("Tide gauge") or "") for word in ("Read at noon.", "tags: harbour")], [True, True]),
        ),
        Task(
            "edit-tiddler",
            "Open Pilots, change its text to `Ask for 王芳.`, and close the editor with the mark.",
            [
                click("Recent", role="tab"),
                click("Pilots", role="link"),
                click("Edit this tiddler", near="Pilots"),
                fill("Ask for Ada.", "Ask for 王芳.", role="textbox"),
                click("Confirm changes to this tiddler"),
                see("Ask for 王芳."),
                {"pause": 2},
            ],
            lambda app: ("Ask for 王芳." in (app.tiddler("Pilots") or ""), True),
        ),
        Task(
            "delete-tiddler",
            "Delete the tiddler Old chart, and confirm it.",
            [
                click("Recent", role="tab"),
                click("Old chart", role="link"),
                click("Edit this tiddler", near="Old chart"),
                click("Delete this tiddler"),
                dialog("accept"),
                {"pause": 2},
            ],
            lambda app: (app.tiddler("Old chart"), None),
        ),
    ]
