"""Shaarli of Debian, which keeps bookmarks in a file."""

import base64
import urllib.parse
import urllib.request
import zlib

from application import HERE, PYTHON, Debian, Task
from words import click, dialog, fill, see

WORD = "Harbour-Lantern-58"
FRAME = '<!doctype html><html lang=en><title>Desk</title><h1>Desk</h1><p>Set up your bookmarks:</p><iframe title="Setup" src="%s" width="1100" height="600"></iframe>'


class Fresh(Debian):
    """Shaarli that was not yet installed, in a frame of another page."""

    root = "/usr/share/shaarli"
    options = ["error_reporting=8191", "display_errors=0"]
    ready = "/"

    def url(self, task):
        return f"{self.address.rsplit(':', 1)[0]}:{self.port + 1}/desk.html"

    def prepare(self):
        self.write("desk/desk.html", FRAME % f"{self.address}/")

    def commands(self):
        return [*super().commands(), [PYTHON / "python", "-m", "http.server", self.port + 1, "--directory", self.folder / "desk"]]

    def router(self):
        # What Apache's rewriting does.
        return [HERE / "sites/front_controller.php"]

    def file(self, name):
        return (self.upper / f"var/lib/shaarli/data/{name}").read_text()

    tasks = [
        Task(
            "install-in-a-frame",
            "Set up the bookmarks in the frame: login warden, password Harbour-Lantern-58, title Moorings.",
            [
                fill("Username", "warden"),
                fill("Password", WORD),
                fill("Shaarli title", "Moorings"),
                click("Install", role="button"),
                see("Shaarli is now configured"),
            ],
            lambda app: (["warden" in app.file("config.json.php"), "Moorings" in app.file("config.json.php")], [True, True]),
        ),
    ]


class Shaarli(Fresh):
    """Shaarli with two bookmarks."""

    path = "/login"
    before = [fill("Username", "warden"), fill("Password", WORD), click("Login", role="button"), see("Shaare")]

    def url(self, task):
        return self.address + self.path

    def commands(self):
        return Debian.commands(self)

    def filled(self):
        form = {"setlogin": "warden", "setpassword": WORD, "title": "Moorings", "continent": "Europe", "city": "Lisbon", "language": "en"}
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(f"{self.address}/install", timeout=60).close()
        opener.open(f"{self.address}/install", data=urllib.parse.urlencode(form).encode(), timeout=60).close()

    def bookmarks(self):
        """Returns the file of bookmarks as text: a serialized value of PHP, compressed."""
        packed = self.file("datastore.php").split("/*", 1)[-1]
        return zlib.decompress(base64.b64decode(packed.split("*/")[0].strip()), -15).decode()

    tasks = [
        Task(
            "add-bookmark",
            "Add the address http://intranet.example.com/tides with the title Tide tables, the description `For May` and the tag sea.",
            [
                click("Shaare", role="link"),
                fill("URL or leave empty to post a note", "http://intranet.example.com/tides"),
                click("Add link", role="button"),
                fill("Title", "Tide tables"),
                fill("Description", "For May"),
                fill("Tags", "sea"),
                click("Save", role="button"),
                see("Tide tables"),
            ],
            lambda app: ([word in app.bookmarks() for word in ("intranet.example.com/tides", "Tide tables", "For May")], [True] * 3),
        ),
        Task(
            "delete-bookmark",
            "Delete the note about Shaare descriptions, and confirm it.",
            [
                click("Delete", near="Note: Shaare descriptions"),
                dialog("accept"),
                see("Shaare"),
            ],
            lambda app: (["Shaare descriptions" in app.bookmarks(), "Calm Jazz" in app.bookmarks()], [False, True]),
        ),
    ]
