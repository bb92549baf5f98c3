"""Applications of PyPI that a short Python file sets up: Flask-Admin, Gradio, Streamlit, Dash, and Swagger UI over FastAPI."""

import json

from application import HERE, NPM, PYTHON, Application, Task
from words import check, choose, click, dblclick, dialog, fill, press, see


class PythonSite(Application):
    site = None

    def commands(self):
        return [[PYTHON / "python", HERE / "sites" / self.site, self.port]]

    def environment(self):
        return super().environment() | {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def kept(self, kind):
        """Returns what the site wrote down of one kind."""
        if not (self.folder / "kept.jsonl").exists():
            return []
        lines = map(json.loads, self.read("kept.jsonl").splitlines())
        return [values for first, *values in lines if first == kind]


class FlaskAdmin(PythonSite):
    site, path = "flask_site.py", "/admin/berth/"

    def rows(self, query):
        return self.sqlite("berths.sqlite", query)

    tasks = [
        Task(
            "create-with-owner-and-date",
            "Create the berth C01: a quay of 11 metres, paid until 2032-02-29, of the owner Ines Costa.",
            [
                click("Create", role="link"),
                choose("Owner", "Ines Costa"),
                fill("Code", "C01"),
                choose("Kind", "Quay"),
                fill("Length", "11"),
                fill("Paid Until", "2032-02-29"),
                press("Tab"),
                click("Save", role="button"),
                see("Record was successfully created"),
            ],
            lambda app: (
                app.rows("select kind, length, paid_until, name from berth join owner on owner.id = owner_id where code = 'C01'"),
                [["quay", 11, "2032-02-29", "Ines Costa"]],
            ),
        ),
        Task(
            "edit-in-list",
            "Change the length of the berth B03 to 19 in the list.",
            [
                click("9", row="B03"),
                press("Control+a"),
                {"keys": "19"},
                press("Enter"),
                {"pause": 1},
            ],
            lambda app: (app.rows("select length from berth where code = 'B03'"), [[19]]),
        ),
        Task(
            "search-and-delete",
            "Search for the berth B17 and delete it.",
            [
                fill("code", "B17", role="textbox"),
                press("Enter"),
                click("Delete Record", row="B17"),
                dialog("accept"),
                see("Record was successfully deleted"),
            ],
            lambda app: (app.rows("select count(*) from berth where code in ('B17', 'B18')"), [[1]]),
        ),
        Task(
            "second-page",
            "Delete the berth B25 with its box and the action of the list, on the second page.",
            [
                click("2", role="link"),
                check("", row="B25"),
                click("With selected"),
                click("Delete", role="link"),
                dialog("accept"),
                see("Record was successfully deleted"),
            ],
            lambda app: (app.rows("select count(*) from berth where code in ('B25', 'B26')"), [[1]]),
        ),
        Task(
            "create-in-dialog",
            "Add the owner 李华 in the dialog of the list of owners.",
            [
                click("Owner", role="link"),
                click("Create", role="link"),
                fill("Name", "李华"),
                click("Save", role="button"),
                see("李华"),
            ],
            lambda app: (app.rows("select count(*) from owner where name = '李华'"), [[1]]),
        ),
    ]


class Gradio(PythonSite):
    site = "gradio_site.py"

    tasks = [
        Task(
            "form",
            "Send an order of Vera: the boat Curlew, with Kayak and Linen, fresh wind, 7 guests, agreed.",
            [
                fill("Name", "Vera"),
                choose("Boat", "Curlew"),
                check("Kayak"),
                check("Linen"),
                click("Fresh", role="radio"),
                fill("Guests", "7", role="spinbutton"),
                press("Tab"),
                check("I agree"),
                click("Send order", role="button"),
                {"pause": 1},
            ],
            lambda app: (app.kept("order"), [["Vera", "Curlew", ["Kayak", "Linen"], "Fresh", 7, True]]),
        ),
        Task(
            "answer-in-10-s",
            "Ask for the forecast at Skagen once, and wait for the answer, which takes ten seconds.",
            [
                click("Forecast", role="tab"),
                fill("Place", "Skagen"),
                click("Ask for the forecast", role="button"),
                {"pause": 10},
                see("Calm at Skagen"),
            ],
            lambda app: (app.kept("forecast"), [["Skagen"]]),
        ),
        Task(
            "chat",
            "Say `Ahoy` and then `涨潮了吗？` in the chat.",
            [
                click("Chat", role="tab"),
                fill("Type a message...", "Ahoy"),
                press("Enter"),
                see("You said: Ahoy"),
                fill("Textbox", "涨潮了吗？"),
                press("Enter"),
                see("You said: 涨潮了吗？"),
            ],
            lambda app: (app.kept("chat"), [["Ahoy", 0], ["涨潮了吗？", 2]]),
        ),
        Task(
            "table-cell",
            "Set the amount of paint to 8 in the table of stores, and store it.",
            [
                click("Stores", role="tab"),
                dblclick("3", row="paint"),
                press("Control+a"),
                {"keys": "8"},
                press("Enter"),
                click("Store", role="button"),
                {"pause": 1},
            ],
            lambda app: ([[str(cell) for cell in row] for row in (app.kept("table") or [[[]]])[-1][0]], [["rope", "12"], ["paint", "8"]]),
        ),
    ]


class Streamlit(PythonSite):
    site = "streamlit_site.py"
    ready = "/_stcore/health"

    def commands(self):
        options = ["--server.headless=true", "--browser.gatherUsageStats=false", "--server.address=0.0.0.0", "--server.fileWatcherType=none"]
        return [[PYTHON / "streamlit", "run", HERE / "sites" / self.site, f"--server.port={self.port}", *options]]

    tasks = [
        Task(
            "form",
            "Send a request of the ship Merlin for Faro: a tug and a crane, on 2031-05-17, draft 8, with the note `at noon`.",
            [
                see("Pilot office"),
                fill("Ship", "Merlin"),
                choose("Port", "Faro"),
                choose("Needs", "Tug", "Crane"),
                press("Escape"),
                fill("day, Day", "17"),
                fill("Draft", "8"),
                fill("Notes", "at noon"),
                click("Send request", role="button"),
                see("Request of Merlin sent"),
            ],
            lambda app: (app.kept("request")[-1:], [[{"ship": "Merlin", "port": "Faro", "needs": ["Tug", "Crane"], "day": "2031-05-17", "draft": 8, "notes": "at noon"}]]),
        ),
        Task(
            "slider-and-switch",
            "Set the speed to 14 and the night mode on, on the page Settings, and keep them.",
            [
                see("Pilot office"),
                click("Settings", role="radio"),
                click("Speed", role="slider"),
                press("ArrowRight", 4),
                click("Night mode"),
                {"pause": 1},
                click("Keep settings", role="button"),
                see("Settings kept"),
            ],
            lambda app: (app.kept("settings")[-1:], [[{"speed": 14, "night": True}]]),
        ),
        Task(
            "dialog",
            "Close the office, which is behind Danger on the page Settings, and confirm it.",
            [
                see("Pilot office"),
                click("Settings", role="radio"),
                click("Danger"),
                click("Close the office", role="button"),
                see("Really close?"),
                click("Yes, close", role="button"),
                {"pause": 1},
            ],
            lambda app: (len(app.kept("closed")), 1),
        ),
    ]


class Dash(PythonSite):
    site = "dash_site.py"

    def state(self, *keys):
        state = json.loads(self.read("state.json"))
        return [state[key] for key in keys]

    tasks = [
        Task(
            "multiple-choice",
            "Choose the ports Vigo and Brest, and tick `Show sold boats`.",
            [
                see("Fleet report"),
                choose("Ports", "Vigo", "Brest"),
                press("Escape"),
                check("Show sold boats"),
                {"pause": 1},
            ],
            lambda app: (app.state("ports", "sold"), [["Vigo", "Brest"], ["Show sold boats"]]),
        ),
        Task(
            "edit-cell",
            "Set the price of Boat 2 to 500, and tick the row of Boat 3.",
            [
                see("Fleet report"),
                click("74", row="Boat 2"),
                {"keys": "500"},
                press("Enter"),
                check("", row="Boat 3"),
                {"pause": 1},
            ],
            lambda app: ([[row["price"] for row in app.state("changed")[0]], app.state("selected")], [[500], [[2]]]),
        ),
        Task(
            "filter",
            "Show only the boats with a price of more than 95, with the field below the head of the column.",
            [
                see("Fleet report"),
                fill("filter data...", ">95", near="Price"),
                press("Enter"),
                {"pause": 1},
            ],
            lambda app: ((app.state("query")[0] or "").replace(" ", ""), "{price}s>95"),
        ),
        Task(
            "range-picker",
            "Set the period from 2031-05-12 to 2031-05-19 in the calendar.",
            [
                see("Fleet report"),
                click("Start Date"),
                click("12", role="button"),
                click("19", role="button"),
                {"pause": 1},
            ],
            lambda app: (app.state("period"), [["2031-05-12", "2031-05-19"]]),
        ),
    ]


class SwaggerUi(PythonSite):
    site, path = "api.py", "/docs"

    def commands(self):
        return [[PYTHON / "python", HERE / "sites" / self.site, self.port, NPM / "swagger-ui-dist"]]

    def boats(self):
        return json.loads(self.read("boats.json"))

    tasks = [
        Task(
            "post",
            "Try the request that adds a boat: Dunlin, 8 long.",
            [
                click("Add a boat"),
                click("Try it out", role="button"),
                fill("Edit Value", '{"name": "Dunlin", "length": 8}', role="textbox"),
                click("Execute", role="button"),
                see("201"),
            ],
            lambda app: ([boat for boat in app.boats().values() if boat["name"] == "Dunlin"], [{"name": "Dunlin", "length": 8}]),
        ),
        Task(
            "key-then-delete",
            "Remove the boat 2: without a key it is refused, so authorize with the key brass-key-9.",
            [
                click("Remove a boat"),
                click("Try it out", role="button"),
                fill("number", "2", role="textbox"),
                click("Execute", role="button"),
                see("wrong key"),
                click("Authorize", role="button"),
                fill("Value:", "brass-key-9", role="textbox"),
                click("Apply credentials", role="button"),
                click("Close", role="button"),
                click("Execute", role="button"),
                see("removed"),
            ],
            lambda app: ("2" in app.boats(), False),
        ),
    ]
