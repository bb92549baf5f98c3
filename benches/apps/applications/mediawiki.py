"""MediaWiki of Debian, over SQLite."""

import json
import urllib.parse

from application import Debian, Task
from words import click, fill, press, see, type_in, uncheck

WORD = "Harbour-Lantern-58"

PAGES = {
    "Lighthouse": "The lighthouse was built in 1842.\n\n== Keeper ==\nThe keeper is Ada.\n\n== Light ==\nIt turns every ten seconds.\n",
    "Old pier": "The pier has burnt down.\n",
    "Ferry": "The ferry leaves at eight.\n",
}


class Fresh(Debian):
    """MediaWiki that was not yet installed."""

    root = "/var/lib/mediawiki"
    path, ready = "/index.php", "/mw-config/index.php"

    tasks = [
        Task(
            "install-wizard",
            "Install a wiki named Harbour with SQLite as its database, the administrator Warden and the password Harbour-Lantern-58.",
            [
                click("Continue", role="button"),
                see("Environmental checks"),
                click("Continue", role="button"),
                click("SQLite", role="radio"),
                fill("SQLite data directory", "/var/lib/mediawiki/data"),
                click("Continue", role="button"),
                fill("Name of wiki", "Harbour"),
                fill("Your username", "Warden"),
                fill("Password", WORD),
                fill("Password again", WORD),
                click("I'm bored already, just install the wiki.", role="radio"),
                click("Continue", role="button"),
                see("By pressing"),
                click("Continue", role="button"),
                see("done"),
                click("Continue", role="button"),
                see("Congratulations"),
            ],
            lambda app: (app.sqlite("debian/upper/var/lib/mediawiki/data/my_wiki.sqlite", "select cast(user_name as text) from user where user_id = 1"), [["Warden"]]),
            start="/mw-config/index.php",
        ),
    ]


class MediaWiki(Fresh):
    """A wiki with three pages."""

    ready = "/index.php"
    path = "/index.php?title=Special:UserLogin"
    before = [fill("Username", "Warden"), fill("Password", WORD), click("Log in", role="button"), see("Main Page")]

    def prepare(self):
        data = self.upper / "var/lib/mediawiki/data"
        data.mkdir(parents=True)
        script = "/usr/share/mediawiki/maintenance/install.php"
        command = self.php(script, "--dbtype=sqlite", "--dbpath=/var/lib/mediawiki/data", "--dbname=wiki", f"--pass={WORD}")
        command += [f"--server={self.address}", "--scriptpath=", "--confpath=/etc/mediawiki", "--with-extensions", "Harbour", "Warden"]
        self.run(*self.in_debian(*command))
        for title, text in PAGES.items():
            edit = self.php("/usr/share/mediawiki/maintenance/edit.php", "--user=Warden", title)
            self.run(*self.in_debian(*edit), input=text)

    def page(self, title):
        """Returns the source of a page, by the wiki's interface."""
        query = {"action": "query", "prop": "revisions", "rvprop": "content", "rvslots": "main", "format": "json", "formatversion": 2, "titles": title}
        page = json.loads(self.ask("/api.php?" + urllib.parse.urlencode(query)))["query"]["pages"][0]
        return page["revisions"][0]["slots"]["main"]["content"] if "revisions" in page else None

    def user(self, columns, name="Warden"):
        return self.sqlite("debian/upper/var/lib/mediawiki/data/wiki.sqlite", f"select {columns} from user where cast(user_name as text) = '{name}'")

    tasks = [
        Task(
            "login-wrong-then-right",
            "Log in with a wrong password, then with the right one, and put the page Ferry on the watchlist.",
            [
                fill("Username", "Warden"),
                fill("Password", "sunshine"),
                click("Log in", role="button"),
                see("Incorrect username or password"),
                fill("Password", WORD),
                click("Log in", role="button"),
                see("Main Page"),
                {"go": "/index.php?title=Ferry&action=watch"},
                click("OK", role="button"),
                see("watchlist"),
            ],
            lambda app: (
                app.sqlite("debian/upper/var/lib/mediawiki/data/wiki.sqlite", "select count(*) from watchlist where cast(wl_title as text) = 'Ferry' and wl_namespace = 0"),
                [[1]],
            ),
            alone=True,
        ),
        Task(
            "create-chinese-page",
            "Create the page 灯塔 with the text `灯塔建于1842年。` and the summary 新页面.",
            [
                {"go": "/index.php?title=%E7%81%AF%E5%A1%94&action=edit"},
                {"pause": 1},
                click("Start editing", role="button", optional=True),
                type_in("Creating 灯塔", "灯塔建于1842年。", role="textbox"),
                fill("Summary", "新页面"),
                click("Save page", role="button"),
                see("灯塔建于1842年。"),
            ],
            lambda app: (app.page("灯塔"), "灯塔建于1842年。"),
        ),
        Task(
            "edit-section",
            "Change the section Keeper of the page Lighthouse: the keeper is Grace.",
            [
                {"go": "/index.php?title=Lighthouse&action=edit&section=1"},
                {"pause": 1},
                click("Start editing", role="button", optional=True),
                fill("Editing Lighthouse", "== Keeper ==\nThe keeper is Grace.", role="textbox"),
                click("Save changes", role="button"),
                see("The keeper is Grace."),
            ],
            lambda app: (app.page("Lighthouse"), PAGES["Lighthouse"].replace("Ada", "Grace").strip()),
        ),
        Task(
            "visual-editor-bold",
            "Make the word `eight` of the page Ferry bold with the visual editor.",
            [
                {"go": "/index.php?title=Ferry&veaction=edit"},
                see("Save changes"),
                click("Start editing", role="button", optional=True),
                {"select_words": "eight", "of": "The ferry leaves at eight."},
                press("Control+b"),
                click("Save changes", role="button"),
                click("Save changes", role="button", near="Summary"),
                see("Your edit was saved"),
            ],
            lambda app: (app.page("Ferry"), "The ferry leaves at '''eight'''."),
        ),
        Task(
            "move-page",
            "Move the page Old pier to New pier without leaving a redirect.",
            [
                {"go": "/index.php?title=Special:MovePage/Old_pier"},
                fill("Old pier", "New pier"),
                uncheck("Leave a redirect behind"),
                click("Move page", role="button"),
                see("has been moved to"),
            ],
            lambda app: ([app.page("New pier"), app.page("Old pier")], ["The pier has burnt down.", None]),
        ),
        Task(
            "preferences",
            "Set the real name in the preferences to `Grace Warden`, and the skin to MonoBook on the page Appearance.",
            [
                {"go": "/index.php?title=Special:Preferences"},
                fill("Real name", "Grace Warden"),
                click("Appearance", role="tab"),
                click("MonoBook", role="radio"),
                click("Save", role="button"),
                see("Your preferences have been saved"),
            ],
            lambda app: (
                app.user("cast(user_real_name as text)")
                + app.sqlite("debian/upper/var/lib/mediawiki/data/wiki.sqlite", "select cast(up_value as text) from user_properties where cast(up_property as text) = 'skin'"),
                [["Grace Warden"], ["monobook"]],
            ),
        ),
    ]
