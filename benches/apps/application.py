"""Applications and tasks of the benchmark: how one is started from a clean state, and how a task is checked."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
INSTALLED = HERE.parent.parent / "target/apps"
PYTHON, NPM, DEBIAN = INSTALLED / "python/bin", INSTALLED / "npm/node_modules", INSTALLED / "debian"
# Names of the test network for one machine, and therefore for two sites.
HOST, OTHER_HOST = "shop.example.com", "news.example.net"
# An application may have to make its database first, on a busy machine.
START_TIMEOUT_S = 600
# Time in which an application may store what it was sent last.
CHECK_TIMEOUT_S = 4


class Task:
    """Something that a person does in an application.

    `goal` says it in one sentence, `steps` in the words of the solver, and `check` compares what the application has in the end: it is a
    function of the application that returns a pair of what is there and what should be.
    """

    def __init__(self, name, goal, steps, check, start=None, alone=False):
        self.name, self.goal, self.steps, self.check, self.start = name, goal, steps, check, start
        # Without the steps that come before those of the other tasks.
        self.alone = alone


class Application:
    """One application in its delivered state, and the tasks in it. Subclasses say how to start it."""

    # Path of its first page, and of the page that answers when it can be used.
    path, ready = "/", None
    # Steps that come before those of each task, such as a login.
    before = []
    tasks = []

    def __init__(self, port, folder):
        self.port, self.folder, self.processes = port, Path(folder), []

    @property
    def address(self):
        return f"http://{HOST}:{self.port}"

    def url(self, task):
        return self.address + (self.path if task.start is None else task.start)

    # --- start and stop --------------------------------------------------------

    def prepare(self):
        """Writes the files that the application needs into its new folder."""

    def commands(self):
        """Returns the commands of its servers."""
        return []

    def filled(self):
        """Adds the records that its tasks need, once its servers answer."""

    def environment(self):
        return {"PATH": f"{PYTHON}:{os.environ['PATH']}", "HOME": str(self.folder), "TMPDIR": str(self.folder), "LANG": "C.UTF-8"}

    def start(self):
        self.folder.mkdir(parents=True)
        self.prepare()
        for command in self.commands():
            self.spawn(command)
        self.wait_for(self.address + (self.ready or self.path))
        self.filled()

    def spawn(self, command):
        with open(self.folder / "log", "ab") as log:
            # A group of its own, which ends as one.
            process = subprocess.Popen(
                list(map(str, command)),
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)

    def run(self, *command, **more):
        """Runs a command to its end and returns what it printed."""
        done = subprocess.run(
            list(map(str, command)), cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=START_TIMEOUT_S, **more
        )
        if done.returncode != 0:
            raise RuntimeError(f"`{' '.join(map(str, command))[:200]}` failed: {(done.stdout + done.stderr)[-1000:]}")
        return done.stdout

    def wait_for(self, url):
        until = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < until:
            if any(process.poll() is not None for process in self.processes):
                break
            try:
                urllib.request.urlopen(url, timeout=20).close()
                return
            except urllib.error.HTTPError as error:
                if error.code < 500:
                    return
            except OSError:
                pass
            time.sleep(0.3)
        raise RuntimeError(f"`{url}` does not answer: {self.log()[-1000:]}")

    def stop(self):
        for process in reversed(self.processes):
            try:
                os.killpg(process.pid, 15)
            except ProcessLookupError:
                continue
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
        self.processes = []
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- what checks use -------------------------------------------------------

    def complaint(self, task):
        """Returns None if the task is done, or what is there instead."""
        until = time.monotonic() + CHECK_TIMEOUT_S
        while True:
            try:
                there, wanted = task.check(self)
                if there == wanted:
                    return None
            except (OSError, RuntimeError, LookupError, ValueError, TypeError, sqlite3.Error) as error:
                there, wanted = f"{type(error).__name__}: {error}", "an answer"
            if time.monotonic() > until:
                return f"{json.dumps(there, ensure_ascii=False, default=str)[:400]} instead of {json.dumps(wanted, ensure_ascii=False, default=str)[:200]}"
            time.sleep(0.2)

    def log(self):
        """Returns what the application printed."""
        return (self.folder / "log").read_text(errors="replace")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def read(self, name):
        return (self.folder / name).read_text()

    def sqlite(self, name, query):
        """Returns the rows of a query as lists."""
        connection = sqlite3.connect(f"file:{self.folder / name}?mode=ro", uri=True, timeout=5)
        try:
            return [list(row) for row in connection.execute(query)]
        finally:
            connection.close()

    def ask(self, path, headers=None, data=None, method=None):
        """Returns what the application's own interface answers, as text."""
        request = urllib.request.Request(self.address + path, data=data, headers=headers or {}, method=method)
        with urllib.request.urlopen(request, timeout=START_TIMEOUT_S) as answer:
            return answer.read().decode()


class Debian(Application):
    """An application of Debian, on PHP's own web server."""

    root = None
    # Further options of PHP.
    options = []
    extra = []

    @property
    def upper(self):
        """Where the files are that it wrote."""
        return self.folder / "debian/upper"

    def in_debian(self, *command):
        return [HERE / "in-debian", self.folder / "debian", *command]

    def php(self, *arguments):
        return ["php8.2", "-d", "date.timezone=UTC", *[word for option in self.options for word in ("-d", option)], *arguments]

    def commands(self):
        return [*self.extra, self.in_debian(*self.php("-S", f"0.0.0.0:{self.port}", "-t", self.root, *self.router()))]

    def router(self):
        return []

    def environment(self):
        return super().environment() | {"PHP_CLI_SERVER_WORKERS": "4"}


def found(pattern, text):
    """Returns true if a text has a pattern."""
    return re.search(pattern, text, re.DOTALL) is not None
