"""Tasks on pages of component libraries."""

from application import Task
from applications.component import Component
from words import check, choose, click, dblclick, dialog, drag, fill, press, read, right_click, scroll_to, see, select_text


def component(page, *tasks):
    return type(page, (Component,), {"page": page, "tasks": list(tasks)})


GRIDS = {
    "ag-grid": component(
        "ag-grid",
        Task(
            "sort-and-select",
            "Sort the boats by price, the most expensive first, and tick the first one.",
            [
                see("Boat 1"),
                click("Price", role="columnheader"),
                {"pause": 0.5},
                click("Price", role="columnheader"),
                {"pause": 0.5},
                read(r"(Boat \d+)", "first"),
                check("", row="$first"),
            ],
            lambda app: (app.now("sorted", "selected"), [[["price", "desc"]], [max(range(1, 5001), key=lambda number: (number - 1) * 7919 % 100003)]]),
        ),
        Task(
            "filter",
            "Show only the boats of the port Cork, with the field below the head of the column.",
            [see("Boat 1"), fill("Port Filter Input", "Cork"), {"pause": 1}],
            lambda app: (app.now("shown"), [1000]),
        ),
        Task(
            "edit-cell",
            "Change the price of Boat 7 to 777.",
            [see("Boat 7"), dblclick("", row="Boat 7", column="Price"), press("Control+a"), {"keys": "777"}, press("Enter")],
            lambda app: ((app.state or {}).get("boats", [{}])[0].get("price"), 777),
        ),
        Task(
            "choose-in-cell",
            "Change the port of Boat 12 to Bergen with the list in its cell.",
            [
                see("Boat 12"),
                dblclick("", row="Boat 12", column="Port"),
                click("", row="Boat 12", column="Port"),
                click("Bergen", role="option"),
                press("Enter"),
            ],
            lambda app: ((app.state or {}).get("boats", [{}, {}])[1].get("port"), "Bergen"),
        ),
        Task(
            "row-5000",
            "Go to the last of the 5,000 rows and rename Boat 5000 to Leviathan.",
            [
                see("Boat 1"),
                click("", row="Boat 1", column="Name"),
                press("Control+End"),
                see("Boat 5000"),
                dblclick("", row="Boat 5000", column="Name"),
                press("Control+a"),
                {"keys": "Leviathan"},
                press("Enter"),
            ],
            lambda app: ((app.state or {}).get("boats", [{}] * 4)[3].get("name"), "Leviathan"),
        ),
    ),
    "tabulator": component(
        "tabulator",
        Task(
            "list-in-cell",
            "Make Mara Okafor a pilot, with the list in her row.",
            [click("", row="Mara Okafor", column="Rank"), click("pilot"), {"pause": 0.5}],
            lambda app: ([row["rank"] for row in (app.state or {}).get("crew", []) if row["name"] == "Mara Okafor"], ["pilot"]),
        ),
        Task(
            "edit-number",
            "Raise the pay of Bo Lindqvist to 1400.",
            [click("", row="Bo Lindqvist", column="Pay"), press("Control+a"), {"keys": "1400"}, press("Enter")],
            lambda app: ([row["pay"] for row in (app.state or {}).get("crew", []) if row["name"] == "Bo Lindqvist"], [1400]),
        ),
        Task(
            "sort",
            "Sort the crew by pay, the highest first.",
            [click("Pay", role="columnheader"), {"pause": 0.5}, click("Pay", role="columnheader"), {"pause": 0.5}],
            lambda app: (app.now("sorted"), [[["pay", "desc"]]]),
        ),
        Task(
            "scroll-for-more",
            "Scroll the table of buoys until Buoy 60 is there, and select it.",
            [{"scroll_inside": "Buoy 1", "until": "Buoy 60"}, click("Buoy 60"), {"pause": 0.5}],
            lambda app: (app.now("selected"), [[60]]),
        ),
    ),
    "handsontable": component(
        "handsontable",
        Task(
            "type-in-cells",
            "Set the amount of paint to 15, and that of the lamps to 9.",
            [
                click("", row="paint", column="Amount"),
                {"keys": "15"},
                press("Enter"),
                {"keys": "9"},
                press("Enter"),
            ],
            lambda app: ([row[1] for row in (app.state or {}).get("rows", [])], [12, 15, 9, 24]),
        ),
        Task(
            "dropdown-cell",
            "Set the place of the rope to hold, with the list of the cell.",
            [dblclick("", row="rope", column="Place"), click("hold"), {"pause": 0.5}],
            lambda app: ((app.state or {}).get("rows", [[None] * 3])[0][2], "hold"),
        ),
        Task(
            "context-menu",
            "Remove the row of the flares with the menu of the right mouse button.",
            [right_click("flares"), click("Remove row"), {"pause": 0.5}],
            lambda app: ([row[0] for row in (app.state or {}).get("rows", [])], ["rope", "paint", "lamps"]),
        ),
    ),
    "datatables": component(
        "datatables",
        Task(
            "search-and-press",
            "Search for `Ship 42`, and greet it.",
            [fill("Search", "Ship 42"), click("Greet", row="Ship 42")],
            lambda app: (app.now("greeted"), [42]),
        ),
        Task(
            "page-and-size",
            "Show 25 entries per page, and go to the third page.",
            [choose("entries per page", "25"), click("3", role="button")],
            lambda app: (app.now("size", "page"), [25, 2]),
        ),
    ),
}

FORMS = {
    "antd": component(
        "antd",
        Task(
            "select-and-multiple",
            "Send a request of Vera for the boat Avocet with the extras Kayak and Skipper.",
            [
                fill("Name", "Vera"),
                choose("Boat", "Avocet"),
                choose("Extras", "Kayak", "Skipper"),
                press("Escape"),
                click("Send request", role="button"),
                see("Your request was sent"),
            ],
            lambda app: ([((app.state or {}).get("sent") or {}).get(key) for key in ("name", "boat", "extras")], ["Vera", "Avocet", ["Kayak", "Skipper"]]),
        ),
        Task(
            "date-and-range",
            "Send a request of Omar, born on 1990-02-03, from 2031-05-06 to 2031-05-09.",
            [
                fill("Name", "Omar"),
                click("Day of birth"),
                {"keys": "1990-02-03"},
                press("Enter"),
                click("Start date"),
                {"keys": "2031-05-06"},
                press("Enter"),
                {"keys": "2031-05-09"},
                press("Enter"),
                click("Send request", role="button"),
                see("Your request was sent"),
            ],
            lambda app: (
                [
                    str(((app.state or {}).get("sent") or {}).get("born"))[:10],
                    [str(day)[:10] for day in ((app.state or {}).get("sent") or {}).get("range") or []],
                ],
                ["1990-02-03", ["2031-05-06", "2031-05-09"]],
            ),
        ),
        Task(
            "validation-and-number",
            "Send the request without a name, read the error, and send it as Lea with 5 guests and with insurance.",
            [
                click("Send request", role="button"),
                see("Please say your name"),
                fill("Name", "Lea"),
                fill("Guests", "5"),
                click("Insurance", role="switch"),
                click("Send request", role="button"),
                see("Your request was sent"),
            ],
            lambda app: ([((app.state or {}).get("sent") or {}).get(key) for key in ("name", "guests", "insurance")], ["Lea", 5, True]),
        ),
        Task(
            "tree-select",
            "Send a request of Nils for the harbour Cadiz, which is in the South.",
            [
                fill("Name", "Nils"),
                click("Harbour", role="combobox"),
                {"expand": "South"},
                click("Cadiz"),
                click("Send request", role="button"),
                see("Your request was sent"),
            ],
            lambda app: ([((app.state or {}).get("sent") or {}).get(key) for key in ("name", "harbour")], ["Nils", "cadiz"]),
        ),
        Task(
            "dialog-over-dialog",
            "Agree to the terms, in the dialog and in the second one above it.",
            [
                click("Terms", role="button"),
                click("Agree", role="button"),
                see("This cannot be undone."),
                click("Yes, I agree", role="button"),
                {"pause": 0.5},
            ],
            lambda app: (app.now("agreed"), [True]),
        ),
        Task(
            "table-pages",
            "Sort the fleet by berths, ascending, go to the second page and tick its first boat.",
            [
                click("Berths", role="columnheader"),
                click("2", role="listitem", near="Berths"),
                read(r"Berths.*?(Boat \d+)", "boat"),
                check("", row="$boat"),
            ],
            lambda app: (app.now("selected"), [[sorted(range(1, 25), key=lambda number: 2 + (number - 1) * 5 % 9)[5]]]),
        ),
        Task(
            "tree-check",
            "Tick the part Mast below Rig in the tree of parts.",
            [{"expand": "Rig"}, check("Mast"), {"pause": 0.5}],
            lambda app: (app.now("checked"), [["mast"]]),
        ),
    ),
    "element-plus": component(
        "element-plus",
        Task(
            "chinese-form",
            "Fill in the Chinese form: 王芳, 青岛, 3 guests, 双人间, and confirm it.",
            [
                fill("姓名", "王芳"),
                choose("城市", "青岛"),
                fill("人数", "3"),
                click("双人间", role="radio"),
                click("提交", role="button"),
                click("确定", role="button"),
                see("提交成功"),
            ],
            lambda app: ([((app.state or {}).get("sent") or {}).get(key) for key in ("name", "city", "guests", "room")], ["王芳", "青岛", 3, "double"]),
        ),
        Task(
            "cascader-and-date",
            "Choose the region 华东 / 浙江 and the date 2031-05-06, and send the form.",
            [
                click("地区"),
                click("华东"),
                click("浙江"),
                fill("日期", "2031-05-06"),
                press("Enter"),
                click("提交", role="button"),
                click("确定", role="button"),
                see("提交成功"),
            ],
            lambda app: ([((app.state or {}).get("sent") or {}).get(key) for key in ("region", "day")], [["华东", "浙江"], "2031-05-06"]),
        ),
        Task(
            "transfer",
            "Move 早餐 and 船票 to the list of what is chosen.",
            [check("早餐"), check("船票"), click("", near="早餐", nth=2)],
            lambda app: (app.now("chosen"), [[0, 2]]),
        ),
    ),
    "select2": component(
        "select2",
        Task(
            "search",
            "Choose the port Faro by typing `fa`.",
            [click("Port", role="combobox"), {"keys": "fa"}, click("Faro", role="option")],
            lambda app: (app.now("port"), ["Faro"]),
        ),
        Task(
            "multiple",
            "Take away the service Water, and add Crane and Sauna.",
            [
                click("×", near="Water"),
                press("Escape"),
                choose("Services", "Crane"),
                choose("Services", "Sauna"),
            ],
            lambda app: (app.now("services"), [["Crane", "Sauna"]]),
        ),
        Task(
            "remote",
            "Choose Buoy 37, which the server finds for `37`.",
            [click("Search a buoy"), {"keys": "37"}, click("Buoy 37", role="option")],
            lambda app: (app.now("buoy"), ["37"]),
        ),
    ),
    "tom-select": component(
        "tom-select",
        Task(
            "tags",
            "Remove the tag fog, and add the new tag swell.",
            [click("×", near="fog"), click("Tags", role="combobox"), {"keys": "swell"}, press("Enter")],
            lambda app: (app.now("tags"), ["engine,swell"]),
        ),
        Task("choose", "Choose the mate Ines Costa.", [choose("Mate", "Ines Costa")], lambda app: (app.now("mate"), ["ines"])),
    ),
    "choices": component(
        "choices",
        Task(
            "single-and-multiple",
            "Choose the wind West and the sails Main and Spinnaker.",
            [
                choose("Wind", "West"),
                choose("Sails", "Main", "Spinnaker"),
                press("Escape"),
            ],
            lambda app: (app.now("wind", "sails"), ["w", ["main", "spin"]]),
        ),
    ),
    "flatpickr": component(
        "dates",
        Task(
            "day",
            "Choose 17 July 2031 as the day, in the calendar.",
            [click("Day", role="textbox"), choose("Month", "July"), click("July 17, 2031"), {"pause": 0.5}],
            lambda app: (app.now("day"), [["2031-07-17"]]),
        ),
        Task(
            "range",
            "Choose the stay from 12 to 19 May 2031, in the calendar.",
            [click("Stay", role="textbox"), click("May 12, 2031"), click("May 19, 2031"), {"pause": 0.5}],
            lambda app: (app.now("stay"), [["2031-05-12", "2031-05-19"]]),
        ),
        Task(
            "time",
            "Set the departure to 14:35 on the same day.",
            [click("Departure", role="textbox"), fill("Hour", "14"), fill("Minute", "35"), press("Enter"), {"pause": 0.5}],
            lambda app: (app.now("departure"), [["2031-05-06 14:35"]]),
        ),
    ),
    "daterangepicker": component(
        "daterangepicker",
        Task(
            "preset",
            "Choose the period Spring 2030.",
            [click("Period", role="textbox"), click("Spring 2030")],
            lambda app: (app.now("start", "end"), ["2030-03-20", "2030-06-20"]),
        ),
        Task(
            "custom",
            "Choose the period from 12 to 22 May 2031 in the two calendars.",
            [
                click("Period", role="textbox"),
                click("Custom Range", optional=True),
                click("12", near="May 2031"),
                click("22", near="May 2031"),
                click("Apply", role="button"),
            ],
            lambda app: (app.now("start", "end"), ["2031-05-12", "2031-05-22"]),
        ),
    ),
    "shoelace": component(
        "shoelace",
        Task(
            "dialog-form",
            "Add the mooring Heron, a quay with a light, in the dialog.",
            [
                click("New mooring", role="button"),
                fill("Name", "Heron"),
                choose("Kind", "Quay"),
                check("With a light"),
                click("Save", role="button"),
                {"pause": 0.5},
            ],
            lambda app: (app.now("saved"), [["Heron", "quay", True]]),
        ),
        Task(
            "tabs-and-switch",
            "Turn on the night mode, on the page Rate.",
            [click("Rate", role="tab"), click("Night mode", role="switch"), {"pause": 0.5}],
            lambda app: (app.now("night"), [True]),
        ),
        Task(
            "tree",
            "Tick A2 below Pier A in the tree.",
            [{"expand": "Pier A"}, click("A2", role="treeitem"), {"pause": 0.5}],
            lambda app: (app.now("tree"), [["A2"]]),
        ),
    ),
    "bootstrap": component(
        "bootstrap",
        Task(
            "dialog-then-toast",
            "Pay the fee of berth 14 through both dialogs, and press Undo in the notice that appears.",
            [
                click("Pay a fee", role="button"),
                fill("Berth", "14"),
                click("Continue", role="button"),
                click("Pay now", role="button"),
                click("Undo", role="button"),
            ],
            lambda app: (app.now("paid", "undone"), ["14", True]),
        ),
        Task("dropdown", "Choose Norsk as the language.", [click("Language", role="button"), click("Norsk")], lambda app: (app.now("language"), ["nb"])),
        Task(
            "side-panel",
            "Turn on the night colors and set the volume to 7 in the settings at the side, then close them.",
            [
                click("Settings", role="button"),
                click("Night colors", role="switch"),
                fill("Volume", "7"),
                click("Close", role="button"),
                {"pause": 0.5},
            ],
            lambda app: (app.now("night", "volume", "open"), [True, "7", False]),
        ),
        Task(
            "accordion",
            "Report a loss, in the part about lost keys.",
            [click("Lost keys", role="button"), click("Report a loss", role="button")],
            lambda app: (app.now("reported"), [True]),
        ),
    ),
    "sweetalert": component(
        "sweetalert",
        Task(
            "confirm",
            "Stop the engine, and confirm it.",
            [click("Stop the engine", role="button"), click("Yes, stop it", role="button"), see("Engine stopped")],
            lambda app: (app.now("stopped"), [True]),
        ),
        Task(
            "prompt-with-error",
            "Rename the engine to Max, read what is wrong, and name it Maxim.",
            [
                click("Rename the engine", role="button"),
                fill("Name", "Max"),
                click("OK", role="button"),
                see("At least four letters"),
                fill("Name", "Maxim"),
                click("OK", role="button"),
            ],
            lambda app: (app.now("name"), ["Maxim"]),
        ),
    ),
    "nouislider": component(
        "nouislider",
        Task(
            "two-handles",
            "Set the depths from 35 to 80.",
            [
                click("least", role="slider"),
                press("ArrowRight", 3),
                click("most", role="slider"),
                press("ArrowRight", 4),
            ],
            lambda app: (app.now("values"), [[35, 80]]),
        ),
    ),
}

OTHERS = {
    "sortable": component(
        "sortable",
        Task(
            "reorder",
            "Move Write log to the place of Mend sails.",
            [drag("Write log", "Mend sails")],
            lambda app: ((app.state or {}).get("todo", [None])[0], "log"),
        ),
        Task(
            "other-list",
            "Move Trim lamp to the list of what is done, at the place of Weigh anchor.",
            [drag("Trim lamp", "Weigh anchor")],
            lambda app: (sorted((app.state or {}).get("done", [])), ["anchor", "lamp"]),
        ),
    ),
    "jstree": component(
        "jstree",
        Task(
            "check",
            "Tick Fisher below North Sea.",
            [{"expand": "North Sea"}, click("Fisher", role="treeitem")],
            lambda app: (app.now("checked"), [["fisher"]]),
        ),
        Task(
            "rename",
            "Rename Biscay to Gascony with the menu of the right mouse button.",
            [
                right_click("Biscay", role="treeitem"),
                click("Rename"),
                press("Control+a"),
                {"keys": "Gascony"},
                press("Enter"),
            ],
            lambda app: (["Gascony" in [name for name, _ in (app.state or {}).get("names", [])]], [True]),
        ),
        Task(
            "move",
            "Drag the sea area Dogger into Biscay.",
            [{"expand": "North Sea"}, drag("Dogger", "Biscay")],
            lambda app: ([parent for name, parent in (app.state or {}).get("names", []) if name == "Dogger"], ["biscay"]),
        ),
    ),
    "quill": component(
        "quill",
        Task(
            "bold-words",
            "Make the word `noon` of the notice bold.",
            [{"select_words": "noon", "of": "The bridge opens at noon."}, click("bold", role="button")],
            lambda app: ([op for op in (app.state or {}).get("contents", []) if op.get("attributes")], [{"insert": "noon", "attributes": {"bold": True}}]),
        ),
        Task(
            "list",
            "Replace the notice by a list of two bullets, fog and swell.",
            [
                select_text("The bridge opens at noon."),
                press("Delete"),
                click("list: bullet", role="button"),
                {"keys": "fog"},
                press("Enter"),
                {"keys": "swell"},
            ],
            lambda app: (
                (app.state or {}).get("contents"),
                [
                    {"insert": "fog"},
                    {"insert": "\n", "attributes": {"list": "bullet"}},
                    {"insert": "swell"},
                    {"insert": "\n", "attributes": {"list": "bullet"}},
                ],
            ),
        ),
    ),
    "tinymce": component(
        "tinymce",
        Task(
            "replace-all",
            "Replace the letter by `The bar is closed.`",
            [fill("Rich Text Area", "The bar is closed."), {"pause": 0.5}],
            lambda app: (app.now("html"), ["<p>The bar is closed.</p>"]),
        ),
        Task(
            "heading",
            "Make the line `Dear pilot` a heading of the first level, with the list of formats.",
            [click("Dear pilot"), click("Block", near="Bold"), click("Heading 1"), {"pause": 0.5}],
            lambda app: (app.now("html"), ["<h1>Dear pilot</h1>"]),
        ),
        Task(
            "link",
            "Link the word `pilot` to https://shop.example.com/pilots in the dialog of the toolbar.",
            [
                {"select_words": "pilot", "of": "Dear pilot"},
                click("Insert/edit link", role="button"),
                fill("URL", "https://shop.example.com/pilots"),
                click("Save", role="button"),
                {"pause": 0.5},
            ],
            lambda app: (app.now("html"), ['<p>Dear <a href="https://shop.example.com/pilots">pilot</a></p>']),
        ),
    ),
    "monaco": component(
        "monaco",
        Task(
            "write",
            "Replace the script by two lines: `let keel = 3;` and `let mast = 9;`",
            [
                see("depth"),
                click("let depth = 4;"),
                press("Control+a"),
                {"keys": "let keel = 3;"},
                press("Enter"),
                {"keys": "let mast = 9;"},
            ],
            lambda app: (app.now("text"), ["let keel = 3;\nlet mast = 9;"]),
        ),
        Task(
            "find-and-replace",
            "Rename `draft` to `trim` with the editor's dialog of Control+h.",
            [
                see("depth"),
                click("let depth = 4;"),
                press("Control+h"),
                fill("Find", "draft"),
                fill("Replace", "trim"),
                click("Replace All", role="button"),
                {"pause": 0.5},
            ],
            lambda app: (app.now("text"), ["let depth = 4;\nlet trim = 2;\n"]),
        ),
    ),
    "codemirror": component(
        "codemirror",
        Task(
            "write",
            "Replace the query by `select 1`.",
            [click("from boats"), press("Control+a"), {"keys": "select 1"}],
            lambda app: (app.now("text"), ["select 1"]),
        ),
    ),
    "easymde": component(
        "easymde",
        Task(
            "heading-and-line",
            "Make the entry a heading with the button of the toolbar, and write `Rain later` below it.",
            [
                click("Wind from the west"),
                click("Heading", role="button"),
                press("End"),
                press("Enter"),
                {"keys": "Rain later"},
            ],
            lambda app: ((app.now("text")[0] or "").replace("\n\n", "\n"), "# Wind from the west\nRain later"),
        ),
    ),
    "xterm": component(
        "xterm",
        Task(
            "command",
            "Run the command `open gate`, then `pin`, and then the number that it prints.",
            [
                click("harbour console"),
                {"keys": "open gate"},
                press("Enter"),
                {"keys": "pin"},
                press("Enter"),
                read(r"the pin is (\d+)", "pin"),
                {"keys": "$pin"},
                press("Enter"),
            ],
            lambda app: (app.now("lines"), [["open gate", "pin", "6082"]]),
        ),
    ),
    "pdf-viewer": component(
        "pdf",
        Task(
            "last-page",
            "Go to the last page of the document in the viewer, and write the number on it into the field below.",
            [
                fill("Page", "9", role="spinbutton"),
                press("Enter"),
                read(r"The number is (\d+)", "number"),
                fill("Number on the last page", "$number"),
            ],
            lambda app: (app.now("page", "number"), [9, "4417"]),
        ),
        Task(
            "find",
            "Find `Skagen` with the search of the viewer.",
            [
                click("Find", role="button"),
                fill("Find in document…", "Skagen", role="textbox"),
                press("Enter"),
                {"pause": 1},
            ],
            lambda app: (app.now("page", "found"), [5, "Skagen"]),
        ),
    ),
    "leaflet": component(
        "leaflet",
        Task(
            "zoom-and-layer",
            "Zoom in twice with the button, and show the depths.",
            [click("Zoom in", role="button"), {"pause": 0.5}, click("Zoom in", role="button"), check("Depths"), {"pause": 0.5}],
            lambda app: (app.now("zoom", "depths"), [8, True]),
        ),
        Task(
            "marker",
            "Report the wreck, in the bubble of its mark.",
            [click("Wreck", role="button"), click("Report", role="button")],
            lambda app: (app.now("popup"), ["reported"]),
        ),
    ),
    "fullcalendar": component(
        "fullcalendar",
        Task(
            "drag-event",
            "Move the hull wash to 8 May 2031.",
            [drag("Hull wash", "May 8, 2031")],
            lambda app: ([day for title, day in (app.state or {}).get("events", []) if title == "Hull wash"], ["2031-05-08"]),
        ),
        Task(
            "new-event",
            "Book 21 May 2031 with the title Rudder.",
            [click("May 21, 2031"), dialog("accept", "Rudder"), {"pause": 0.5}],
            lambda app: (["Rudder", "2031-05-21"] in (app.state or {}).get("events", []), True),
        ),
        Task(
            "next-month-as-list",
            "Show June 2031 as a list.",
            [click("next", role="button"), click("list", role="button"), {"pause": 0.5}],
            lambda app: (app.now("view", "at"), ["listMonth", "June 2031"]),
        ),
    ),
    "blockly": component(
        "blockly",
        Task(
            "join-blocks",
            "Put the print block in front of the loop: drag it onto the word `repeat`.",
            [drag("print", "repeat")],
            lambda app: (sorted((app.state or {}).get("blocks", []), key=str), [["controls_repeat_ext", "text_print"], ["text_print", None]]),
        ),
    ),
    "drawflow": component(
        "drawflow",
        Task(
            "wire",
            "Draw a wire from the tide gauge's output to the fog horn's input.",
            [drag("", "", near="Tide gauge", nth=1, to_near="Fog horn", to_nth=-1)],
            lambda app: (sorted(app.now("wires")[0] or []), ["2", "3"]),
        ),
        Task(
            "delete-node",
            "Delete the lamp.",
            [click("Lamp"), press("Delete"), {"pause": 0.5}],
            lambda app: (app.now("nodes"), [["1", "2"]]),
        ),
    ),
    "infinite-scroll": component(
        "infinite-scroll",
        Task(
            "buoy-130",
            "Check Buoy 130, for which you have to scroll.",
            [scroll_to("Buoy 130"), click("Check Buoy 130", role="button")],
            lambda app: (app.now("checked"), [[130]]),
        ),
    ),
}

ALL = GRIDS | FORMS | OTHERS
