"""Django's administration, over a small library, and the pages of Django REST framework."""

import datetime

from application import HERE, PYTHON, Application, Task
from words import check, choose, click, fill, press, see, uncheck

WORD = "Harbour-Lantern-58"


class Django(Application):
    path, ready = "/admin/", "/admin/login/"
    before = [fill("Username", "warden"), fill("Password", WORD), click("Log in", role="button"), see("Site administration")]

    def environment(self):
        return super().environment() | {"PYTHONPATH": str(HERE / "sites"), "PYTHONDONTWRITEBYTECODE": "1"}

    def manage(self, *arguments, **more):
        return self.run(PYTHON / "python", HERE / "sites/manage.py", *arguments, **more)

    def prepare(self):
        self.manage("migrate", "--run-syncdb", "--verbosity=0")
        self.manage("shell", "--command", (HERE / "sites/library/seed.py").read_text())

    def commands(self):
        return [[PYTHON / "python", HERE / "sites/manage.py", "runserver", "--noreload", f"0.0.0.0:{self.port}"]]

    def rows(self, query):
        return self.sqlite("library.sqlite", query)

    def book(self, title, columns):
        return self.rows(f"select {columns} from library_book b where title = '{title}'")


class DjangoAdmin(Django):
    tasks = [
        Task(
            "login-wrong-then-right",
            "Log in with a wrong password, then with the right one, and add the genre Letters.",
            [
                fill("Username", "warden"),
                fill("Password", "sunshine"),
                click("Log in", role="button"),
                see("Please enter the correct username and password"),
                fill("Password", WORD),
                click("Log in", role="button"),
                see("Site administration"),
                click("Add", near="Genres", role="link"),
                fill("Name", "Letters"),
                click("Save", role="button"),
                see("was added successfully"),
            ],
            lambda app: (app.rows("select count(*) from library_genre where name = 'Letters'"), [[1]]),
            alone=True,
        ),
        Task(
            "date-picker",
            "Add the author Petra Holm, born on the 15th of this month, with the calendar.",
            [
                click("Add", near="Authors", role="link"),
                fill("Name", "Petra Holm"),
                click("Choose a Date", role="link"),
                click("15", role="link"),
                click("Save", role="button"),
                see("was added successfully"),
            ],
            lambda app: (app.rows("select born from library_author where name = 'Petra Holm'"), [[f"{datetime.datetime.now(datetime.UTC):%Y-%m}-15"]]),
        ),
        Task(
            "add-author-in-popup",
            "Add the book Tin whistles with the new author Joao Reis, whom you add in the popup window of the form.",
            [
                click("Add", near="Books", role="link"),
                fill("Title", "Tin whistles"),
                click("Add another author"),
                fill("Name", "Joao Reis"),
                click("Save", role="button"),
                {"first_tab": True},
                click("Save", role="button"),
                see("was added successfully"),
            ],
            lambda app: (app.rows("select a.name from library_book b join library_author a on a.id = b.author_id where title = 'Tin whistles'"), [["Joao Reis"]]),
        ),
        Task(
            "lookup-popup",
            "Choose the publisher Basalt Press for the book Salt roads in the popup window of the magnifying glass.",
            [
                {"go": "/admin/library/book/1/change/"},
                click("Lookup"),
                click("Basalt Press"),
                {"first_tab": True},
                click("Save", role="button"),
                see("was changed successfully"),
            ],
            lambda app: (app.book("Salt roads", "(select name from library_publisher p where p.id = b.publisher_id)"), [["Basalt Press"]]),
        ),
        Task(
            "two-lists",
            "Give the book Kites over Porto the genres Poetry and Travel, with the arrow between the two lists.",
            [
                {"go": "/admin/library/book/3/change/"},
                choose("Available genres", "Poetry", "Travel"),
                click("Choose selected genres"),
                click("Save", role="button"),
                see("was changed successfully"),
            ],
            lambda app: (
                app.rows("select name from library_genre g join library_book_genres b on b.genre_id = g.id where book_id = 3 order by 1"),
                [["Poetry"], ["Travel"]],
            ),
        ),
        Task(
            "edit-in-list",
            "Set the pages of A ledger of storms to 321 in the list of books.",
            [
                click("Books", role="link"),
                fill("", "321", row="A ledger of storms"),
                click("Save", role="button"),
                see("was changed successfully"),
            ],
            lambda app: (app.book("A ledger of storms", "pages"), [[321]]),
        ),
        Task(
            "filter-and-delete",
            "Show the books that are not in print, and delete The long ebb with the action of the list.",
            [
                click("Books", role="link"),
                click("No", near="By in print", role="link"),
                check("", row="The long ebb"),
                choose("Action", "Delete selected books"),
                click("Go", role="button"),
                see("Are you sure"),
                click("Yes", role="button"),
                see("Successfully deleted"),
            ],
            lambda app: (app.rows("select count(*) from library_book where in_print = 0 and title in ('The long ebb', 'Paper lanterns')"), [[1]]),
        ),
        Task(
            "error-then-right",
            "Set the date of publication of Winter harbour to 30 February 2003, read the error, and set it to 2003-02-28.",
            [
                {"go": "/admin/library/book/5/change/"},
                fill("Published", "2003-02-30"),
                click("Save", role="button"),
                see("Please correct the error below"),
                fill("Published", "2003-02-28"),
                uncheck("In print"),
                click("Save", role="button"),
                see("was changed successfully"),
            ],
            lambda app: (app.book("Winter harbour", "published, in_print"), [["2003-02-28", 0]]),
        ),
        Task(
            "inline-row",
            "Lend the book Paper lanterns to Yusuf until 2031-03-04 18:00, in the row below the book's form.",
            [
                {"go": "/admin/library/book/6/change/"},
                fill("Reader", "Yusuf", role="textbox"),
                fill("Date", "2031-03-04"),
                fill("Time", "18:00"),
                click("Save", role="button"),
                see("was changed successfully"),
            ],
            lambda app: (app.rows("select reader, substr(until, 1, 16) from library_loan where book_id = 6"), [["Yusuf", "2031-03-04 18:00"]]),
        ),
        Task(
            "autocomplete",
            "Add a desk loan of the book Salt roads to Vera, and find the book by typing `salt`.",
            [
                click("Add", near="Desk loans", role="link"),
                click("Book", role="combobox"),
                {"keys": "salt"},
                click("Salt roads", role="option"),
                fill("Reader", "Vera"),
                click("Save", role="button"),
                see("was added successfully"),
            ],
            lambda app: (app.rows("select book_id from library_loan where reader = 'Vera'"), [[1]]),
        ),
        Task(
            "server-answers-in-10-s",
            "Add the report `Tide gauge`. The server takes ten seconds. It must be added once.",
            [
                click("Add", near="Reports", role="link"),
                fill("Subject", "Tide gauge"),
                fill("Notes", "潮位计 \"read\" twice & logged"),
                click("Save", role="button"),
                see("was added successfully"),
            ],
            lambda app: (app.rows("select subject, notes from library_report"), [["Tide gauge", "潮位计 \"read\" twice & logged"]]),
        ),
        Task(
            "enter-in-search",
            "Search the books for `lanterns` with the Enter key, open the one that is found, and rename it to Paper lamps.",
            [
                click("Books", role="link"),
                fill("Search", "lanterns"),
                press("Enter"),
                see("1 result"),
                click("Paper lanterns", role="link"),
                fill("Title", "Paper lamps"),
                click("Save and continue editing", role="button"),
                see("was changed successfully"),
            ],
            lambda app: (app.rows("select id from library_book where title = 'Paper lamps'"), [[6]]),
        ),
    ]


class RestFramework(Django):
    path, ready = "/api/books/", "/api/books/?format=json"
    # Everybody may use it.
    before = []

    tasks = [
        Task(
            "html-form",
            "Add the book Green flash of Mara Okafor with 88 pages by the HTML form.",
            [
                click("HTML form", role="tab"),
                fill("Title", "Green flash"),
                choose("Author", "Mara Okafor"),
                fill("Pages", "88"),
                click("POST", role="button"),
                see("HTTP 201 Created"),
            ],
            lambda app: (app.rows("select author_id, pages from library_book where title = 'Green flash'"), [[3, 88]]),
        ),
        Task(
            "raw-data",
            "Change the pages of the book 2 to 222 by a PATCH request with raw data.",
            [
                {"go": "/api/books/2/"},
                click("Raw data", role="tab"),
                fill("Content", '{"pages": 222}', role="textbox"),
                click("PATCH", role="button"),
                see("HTTP 200 OK"),
            ],
            lambda app: (app.rows("select title, pages from library_book where id = 2"), [["The long ebb", 222]]),
        ),
        Task(
            "delete-in-dialog",
            "Delete the book 4, and confirm it in the dialog.",
            [
                {"go": "/api/books/4/"},
                click("DELETE", role="button"),
                see("Are you sure you want to delete"),
                click("Delete", role="button", near="Are you sure you want to delete"),
                see("HTTP 204 No Content"),
            ],
            lambda app: (app.rows("select count(*) from library_book where id = 4"), [[0]]),
        ),
    ]


class Portal(Django):
    """A page whose login is a window of its own."""

    path, ready = "/portal/", "/portal/"
    before = []
    tasks = [
        Task(
            "popup-login",
            "Sign in as warden in the window that the page opens, first with a wrong password, and send the genre Memoirs.",
            [
                click("Sign in", role="button"),
                fill("Username", "warden"),
                fill("Password", "sunshine"),
                click("Log in", role="button"),
                see("Please enter the correct username and password"),
                fill("Password", WORD),
                click("Log in", role="button"),
                {"first_tab": True},
                see("Signed in as warden"),
                fill("Genre that we miss", "Memoirs"),
                click("Send", role="button"),
                see("Thank you."),
            ],
            lambda app: (app.rows("select count(*) from library_genre where name = 'Memoirs'"), [[1]]),
        ),
    ]
