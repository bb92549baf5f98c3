"""JupyterLab, with a notebook and two files."""

import json

from application import PYTHON, Application, Task
from words import click, press, right_click, see

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# Tides"]},
        {"cell_type": "code", "id": "b", "metadata": {}, "execution_count": None, "outputs": [], "source": ["depth = 6\n", "depth * 7007"]},
    ],
    "metadata": {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


class JupyterLab(Application):
    # The server remembers which files were open.
    path, ready = "/lab?reset", "/api"

    def prepare(self):
        for name in ("tides.ipynb", "rename.ipynb"):
            self.write(f"work/{name}", json.dumps(NOTEBOOK))
        self.write("work/log.txt", "first line\n")
        self.write("work/draft.txt", "a draft\n")
        self.write("work/waste.txt", "waste\n")

    def commands(self):
        options = ["--core-mode", "--no-browser", "--allow-root", "--ip=0.0.0.0", f"--port={self.port}", "--IdentityProvider.token=", "--ServerApp.allow_remote_access=True"]
        return [[PYTHON / "jupyter", "lab", *options, f"--ServerApp.root_dir={self.folder}/work"]]

    def environment(self):
        return super().environment() | {"JUPYTER_PLATFORM_DIRS": "1", "SHELL": "/bin/bash"}

    def cells(self, name):
        return json.loads(self.read(f"work/{name}"))["cells"]

    def outputs(self, name):
        """Returns the values that the cells of a notebook have."""
        return ["".join(output["data"]["text/plain"]) for cell in self.cells(name) for output in cell.get("outputs", []) if "data" in output]

    tasks = [
        Task(
            "run-cell",
            "Run the cell of tides.ipynb that multiplies the depth, and save the notebook.",
            [
                {"go": "/lab/tree/tides.ipynb?reset"},
                see("Python 3 (ipykernel) | Idle"),
                click("depth = 6"),
                press("Shift+Enter"),
                see("42042"),
                {"pause": 1},
                press("Control+s"),
                {"pause": 2},
            ],
            lambda app: (app.outputs("tides.ipynb"), ["42042"]),
        ),
        Task(
            "write-function",
            "Add a cell below the last one of rename.ipynb with a function of two lines, run it, and save.",
            [
                {"go": "/lab/tree/rename.ipynb?reset"},
                see("Python 3 (ipykernel) | Idle"),
                click("depth = 6"),
                press("Escape"),
                press("b"),
                press("Enter"),
                {"keys": "def ebb(x):"},
                press("Enter"),
                {"keys": "return x - 1"},
                press("Shift+Enter"),
                {"pause": 1},
                press("Control+s"),
                {"pause": 1},
            ],
            lambda app: (["".join(cell["source"]) for cell in app.cells("rename.ipynb")][2:3], ["def ebb(x):\n    return x - 1"]),
        ),
        Task(
            "rename-file",
            "Rename the file draft.txt to final.txt with the menu of the right mouse button.",
            [
                see("draft.txt"),
                right_click("draft.txt"),
                click("Rename", role="menuitem"),
                press("Control+a"),
                {"keys": "final.txt"},
                press("Enter"),
                see("final.txt"),
            ],
            lambda app: ([(app.folder / "work" / name).exists() for name in ("final.txt", "draft.txt")], [True, False]),
        ),
        Task(
            "delete-file",
            "Delete the file waste.txt, and confirm it.",
            [
                see("waste.txt"),
                click("waste.txt"),
                press("Delete"),
                click("Move to Trash", role="button", near="Are you sure"),
                {"pause": 1},
            ],
            lambda app: ((app.folder / "work/waste.txt").exists(), False),
        ),
        Task(
            "terminal",
            "Write the word tide into the file made.txt by a command in a terminal.",
            [
                click("Terminal", near="Other"),
                {"pause": 2},
                {"keys": "echo tide > made.txt"},
                press("Enter"),
                {"pause": 1},
            ],
            lambda app: ([path.read_text() for path in app.folder.rglob("made.txt")], ["tide\n"]),
        ),
        Task(
            "text-file",
            "Add the line `second line` to log.txt in the editor, and save it.",
            [
                {"go": "/lab/tree/log.txt?reset"},
                see("first line"),
                click("first line"),
                press("Control+End"),
                {"keys": "second line"},
                press("Control+s"),
                {"pause": 1},
            ],
            lambda app: (app.read("work/log.txt").rstrip("\n"), "first line\nsecond line"),
        ),
        Task(
            "new-folder",
            "Make a new folder named charts.",
            [
                see("log.txt"),
                click("New Folder", role="button"),
                {"pause": 1},
                press("Control+a"),
                {"keys": "charts"},
                press("Enter"),
                {"pause": 1},
            ],
            lambda app: ((app.folder / "work/charts").is_dir(), True),
        ),
    ]
