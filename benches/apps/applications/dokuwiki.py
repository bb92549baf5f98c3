"""DokuWiki of Debian, which keeps its pages in files."""

import hashlib

from application import Debian, Task
from words import choose, click, fill, see, select_text

WORD = "Harbour-Lantern-58"
PAGES = {
    "start": "====== Harbour ======\nWelcome.\n\n===== Tides =====\nHigh water at six.\n\n===== Pilots =====\nAsk for Ada.\n",
    "old": "====== Old ======\nTo be deleted.\n",
    "crew": "====== Crew ======\n^ Name ^ Watch ^\n| Ada | first |\n| Bo | second |\n",
}


class Fresh(Debian):
    """DokuWiki that was not yet installed."""

    root = "/usr/share/dokuwiki"
    path, ready = "/install.php", "/install.php"
    # PHP 8.2 has notices about code of this age.
    options = ["error_reporting=8191", "display_errors=0"]

    def prepare(self):
        # The installer looks for pages and settings where they are without Debian.
        folder = self.upper / "usr/share/dokuwiki"
        folder.mkdir(parents=True)
        (folder / "data").symlink_to("/var/lib/dokuwiki/data")
        (folder / "conf").symlink_to("/etc/dokuwiki")

    def file(self, name):
        return (self.upper / name).read_text()

    def page(self, name):
        path = self.upper / f"var/lib/dokuwiki/data/pages/{name}.txt"
        return path.read_text() if path.exists() else None

    tasks = [
        Task(
            "install-wizard",
            "Install the wiki: name Harbour Wiki, superuser warden (Ada Warden, warden@example.com), password Harbour-Lantern-58, a public wiki.",
            [
                fill("Wiki Name", "Harbour Wiki"),
                fill("Superuser", "warden"),
                fill("Real name", "Ada Warden"),
                fill("E-Mail", "warden@example.com"),
                fill("Password", WORD),
                fill("once again", WORD),
                choose("Initial ACL policy", "Public Wiki (read for everyone, write and upload for registered users)"),
                click("Save", role="button"),
                see("finished successfully"),
            ],
            lambda app: (["Harbour Wiki" in app.file("etc/dokuwiki/local.php"), "warden" in app.file("var/lib/dokuwiki/acl/users.auth.php")], [True, True]),
        ),
    ]


class DokuWiki(Fresh):
    path, ready = "/doku.php?id=start&do=login", "/doku.php"
    before = [fill("Username", "warden"), fill("Password", WORD), click("Log In", role="button"), see("Logged in as")]

    def prepare(self):
        conf = self.upper / "etc/dokuwiki"
        conf.mkdir(parents=True)
        (conf / "local.php").write_text("<?php\n$conf['title'] = 'Harbour Wiki';\n$conf['useacl'] = 1;\n$conf['superuser'] = '@admin';\n")
        acl = self.upper / "var/lib/dokuwiki/acl"
        acl.mkdir(parents=True)
        (acl / "acl.auth.php").write_text("# acl\n*\t@ALL\t1\n*\t@user\t8\n")
        # PHP reads this form of a hash, too.
        (acl / "users.auth.php").write_text(f"# users\nwarden:{hashlib.md5(WORD.encode()).hexdigest()}:Ada Warden:warden@example.com:admin,user\n")
        pages = self.upper / "var/lib/dokuwiki/data/pages"
        pages.mkdir(parents=True)
        for name, text in PAGES.items():
            (pages / f"{name}.txt").write_text(text)

    tasks = [
        Task(
            "login-wrong-then-right",
            "Log in with a wrong password, then with the right one, and create the page `first` with the text `One.`",
            [
                fill("Username", "warden"),
                fill("Password", "sunshine"),
                click("Log In", role="button"),
                see("username or password was wrong"),
                fill("Username", "warden"),
                fill("Password", WORD),
                click("Log In", role="button"),
                see("Logged in as"),
                {"go": "/doku.php?id=first&do=edit"},
                fill("Edit the page and hit", "One.", role="textbox"),
                click("Save", role="button"),
                see("One."),
            ],
            lambda app: ((app.page("first") or "").strip(), "One."),
            alone=True,
        ),
        Task(
            "edit-section",
            "Change the section Tides of the start page: high water at seven.",
            [
                {"go": "/doku.php?id=start"},
                click("Edit", near="High water at six.", role="button"),
                fill("Edit the page and hit", "===== Tides =====\nHigh water at seven.\n", role="textbox"),
                fill("Edit summary", "tide tables"),
                click("Save", role="button"),
                see("High water at seven."),
            ],
            lambda app: (["seven" in app.page("start"), "six" in app.page("start"), "Ask for Ada." in app.page("start")], [True, False, True]),
        ),
        Task(
            "toolbar",
            "Create the page `notes` with the text `buoy` in bold, with the button of the toolbar.",
            [
                {"go": "/doku.php?id=notes&do=edit"},
                fill("Edit the page and hit", "buoy", role="textbox"),
                select_text("Edit the page and hit", role="textbox"),
                click("Bold Text", role="button"),
                click("Save", role="button"),
                see("buoy"),
            ],
            lambda app: ((app.page("notes") or "").strip(), "**buoy**"),
        ),
        Task(
            "chinese-page",
            "Create the page 潮汐 with the text `高潮在六点。` and the summary 新页.",
            [
                {"go": "/doku.php?id=%E6%BD%AE%E6%B1%90&do=edit"},
                fill("Edit the page and hit", "高潮在六点。", role="textbox"),
                fill("Edit summary", "新页"),
                click("Save", role="button"),
                see("高潮在六点。"),
            ],
            lambda app: ((app.page("%E6%BD%AE%E6%B1%90") or "").strip(), "高潮在六点。"),
        ),
        Task(
            "settings",
            "Set the tagline in the configuration to `Ebb and flow` and the number of recent changes to 35.",
            [
                {"go": "/doku.php?id=start&do=admin&page=config"},
                fill("Tagline", "Ebb and flow"),
                fill("Number of entries per page in the recent changes", "35"),
                click("Save", role="button"),
                see("Settings updated successfully"),
            ],
            lambda app: (["'Ebb and flow'" in app.file("etc/dokuwiki/local.php"), "['recent'] = 35" in app.file("etc/dokuwiki/local.php")], [True, True]),
        ),
        Task(
            "add-user",
            "Add the user bo with the name Bo Lindqvist in the user manager.",
            [
                {"go": "/doku.php?id=start&do=admin&page=usermanager"},
                fill("User", "bo", near="Add user"),
                fill("Password", "Spindrift-22", near="Add user"),
                fill("once again", "Spindrift-22"),
                fill("Real name", "Bo Lindqvist", near="Add user"),
                fill("Email", "bo@example.com", near="Add user"),
                click("Add", role="button"),
                see("User added successfully"),
            ],
            lambda app: ("bo:" in app.file("var/lib/dokuwiki/acl/users.auth.php") and "Bo Lindqvist" in app.file("var/lib/dokuwiki/acl/users.auth.php"), True),
        ),
    ]
