"""phpMyAdmin of Debian, over MariaDB."""

from application import Task
from applications.adminer import Database
from applications.mariadb import PASSWORD
from words import click, dblclick, fill, press, see, type_in

CONFIG = """<?php
$cfg['Servers'][1]['host'] = '127.0.0.1';
$cfg['Servers'][1]['port'] = %d;
$cfg['Servers'][1]['auth_type'] = 'cookie';
$cfg['blowfish_secret'] = 'three hundred and two blue stones';
$cfg['SendErrorReports'] = 'never';
"""


class PhpMyAdmin(Database):
    root = "/usr/share/phpmyadmin"
    path = "/index.php"
    # PHP 8.2 has notices about code of this age.
    options = ["error_reporting=8191"]

    before = [fill("Username:", "warden"), fill("Password:", PASSWORD), click("Log in", role="button"), see("General settings")]

    def prepare(self):
        super().prepare()
        path = self.upper / "etc/phpmyadmin/conf.d/bench.php"
        path.parent.mkdir(parents=True)
        path.write_text(CONFIG % self.database_port)
        (self.upper / "var/lib/phpmyadmin/tmp").mkdir(parents=True)

    tasks = [
        Task(
            "login-wrong-then-right",
            "Log in with a wrong password, then with the right one, and create the database quay.",
            [
                fill("Username:", "warden"),
                fill("Password:", "pebble"),
                click("Log in", role="button"),
                see("Access denied"),
                fill("Password:", PASSWORD),
                click("Log in", role="button"),
                click("Databases", role="link"),
                fill("Database name", "quay"),
                click("Create", role="button"),
                see("quay"),
            ],
            lambda app: (app.sql("show databases like 'quay'"), [["quay"]]),
            alone=True,
        ),
        Task(
            "inline-edit",
            "Change the name of the boat Avocet to Avocet II in the cell of the table.",
            [
                {"go": "/index.php?route=/sql&db=yard&table=boats&pos=0"},
                dblclick("Avocet"),
                press("Control+a"),
                {"keys": "Avocet II"},
                press("Enter"),
                see("Avocet II"),
            ],
            lambda app: (app.boats("built = '2011-06-30'"), [["Avocet II"]]),
        ),
        Task(
            "sql-editor",
            "Run the SQL query that adds the boat Merlin in the editor of the SQL page.",
            [
                {"go": "/index.php?route=/table/sql&db=yard&table=boats"},
                click("Clear", role="button"),
                type_in("Run SQL query", "insert into boats (name, length) values ('Merlin', 10.5)", role="textbox"),
                click("Go", role="button"),
                see("1 row inserted"),
            ],
            lambda app: (app.boats("name = 'Merlin'", "length"), [["10.50"]]),
        ),
        Task(
            "delete-row",
            "Delete the boat Osprey with the link in its row.",
            [
                {"go": "/index.php?route=/sql&db=yard&table=boats&pos=0"},
                click("Delete", row="Osprey", role="link"),
                click("OK", role="button", optional=True),
                see("1 row deleted"),
            ],
            lambda app: (app.boats("name = 'Osprey'"), []),
        ),
    ]
