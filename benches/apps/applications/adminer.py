"""Adminer of Debian, over MariaDB."""

from application import Debian, Task
from applications.mariadb import PASSWORD, MariaDb
from words import check, click, fill, see, type_in

SEED = """
create database yard character set utf8mb4;
use yard;
create table boats (id int auto_increment primary key, name varchar(60), length decimal(5,2), built date, notes text);
insert into boats (name, length, built, notes) values ('Petrel', 9.5, '1998-04-02', ''), ('Curlew', 12, '2004-09-17', 'needs paint'),
  ('Avocet', 7.25, '2011-06-30', ''), ('Osprey', 15.8, '1987-01-12', 'sold'), ('Bittern', 6, '2019-03-05', '');
"""


class Database(MariaDb, Debian):
    def prepare(self):
        self.start_database()
        self.sql(SEED)

    def boats(self, where, columns="name"):
        return self.sql(f"select {columns} from boats where {where}", "yard")


class Adminer(Database):
    root = "/usr/share/adminer"
    path = "/adminer.php"

    def url(self, task):
        return f"{self.address}{self.path}"

    def prepare(self):
        super().prepare()
        # The form asks for the server, and its default is a socket.
        for task in self.tasks:
            for step in task.steps:
                if step.get("with") == "SERVER":
                    step["with"] = f"127.0.0.1:{self.database_port}"

    def login(password=PASSWORD):
        return [fill("Server", "SERVER"), fill("Username", "warden"), fill("Password", password), click("Login", role="button")]

    tasks = [
        Task(
            "login-wrong-then-right",
            "Log in with a wrong password, then with the right one, and open the database yard.",
            [
                *login("pebble"),
                see("Access denied"),
                fill("Password", PASSWORD),
                click("Login", role="button"),
                click("yard", role="link"),
                click("Create table", role="link"),
                fill("Table name", "opened"),
                fill("Column name", "a", role="textbox"),
                click("Save", role="button"),
                see("Table has been created"),
            ],
            lambda app: (app.sql("show tables like 'opened'", "yard"), [["opened"]]),
        ),
        Task(
            "insert-row",
            "Add the boat Dunlin, 8.40 long, built on 2022-05-01.",
            [
                *login(),
                click("yard", role="link"),
                click("boats", role="link"),
                click("New item", role="link"),
                fill("name", "Dunlin", role="textbox"),
                fill("length", "8.40", role="textbox"),
                fill("built", "2022-05-01", role="textbox"),
                click("Save", role="button"),
                see("Item"),
            ],
            lambda app: (app.boats("name = 'Dunlin'", "length, built"), [["8.40", "2022-05-01"]]),
        ),
        Task(
            "edit-row",
            "Change the notes of the boat Curlew to `painted in May`.",
            [
                *login(),
                click("yard", role="link"),
                click("boats", role="link"),
                click("Select data", role="link"),
                click("edit", role="link", row="Curlew"),
                fill("notes", "painted in May", role="textbox"),
                click("Save", role="button"),
                see("Item has been updated"),
            ],
            lambda app: (app.boats("name = 'Curlew'", "notes"), [["painted in May"]]),
        ),
        Task(
            "delete-row",
            "Delete the boat Osprey.",
            [
                *login(),
                click("yard", role="link"),
                click("boats", role="link"),
                click("Select data", role="link"),
                check("", row="Osprey"),
                click("Delete", role="button"),
                {"dialog": "accept", "optional": True},
                see("has been affected"),
            ],
            lambda app: (app.boats("name = 'Osprey'"), []),
        ),
        Task(
            "sql-command",
            "Run the SQL command that gives the boat Bittern the length 6.10.",
            [
                *login(),
                click("yard", role="link"),
                click("SQL command", role="link"),
                type_in("SQL command", "update boats set length = 6.10 where name = 'Bittern'", role="textbox"),
                click("Execute", role="button"),
                see("Query executed OK"),
            ],
            lambda app: (app.boats("name = 'Bittern'", "length"), [["6.10"]]),
        ),
    ]
    del login
