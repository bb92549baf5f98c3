"""Handlers of a checkout that was written for Python 2.

Its server gave them strings of bytes. Here the same handlers get strings whose characters are those bytes: their source is read as
Latin-1 and converted by `lib2to3`, what they ask of a request is decoded, and what they answer is encoded, both as Latin-1.
"""

import base64
import builtins
import hashlib
import io
import sys
import threading
import types
import zlib
from functools import cache
from pathlib import Path

from wptserve import handlers
from wptserve.response import ResponseWriter
from wptserve.utils import HTTPException

FIXES = ["dict", "except", "filter", "has_key", "map", "zip", "imports", "itertools", "long", "ne", "print", "raise", "unicode", "urllib", "xrange", "basestring"]
LOCK = threading.Lock()


def is_needed(checkout):
    """Returns true if the checkout's own server passes strings of Python 2."""
    own_server = checkout and checkout / "tools/wptserve/wptserve/request.py"
    return bool(own_server) and "isomorphic_encode" not in own_server.read_text()


@cache
def converter():
    # Not there in a Python that is newer than 3.12, which then needs a newer checkout.
    from lib2to3.refactor import RefactoringTool

    return RefactoringTool([f"lib2to3.fixes.fix_{name}" for name in FIXES])


def converted(source, name):
    source = source.expandtabs(8).rstrip() + "\n"
    # Its fixers keep a state.
    with LOCK:
        return str(converter().refactor_string(source, name))


def text(value):
    return value.decode("latin-1") if isinstance(value, bytes) else value


def data(value):
    return value.encode("latin-1", "replace") if isinstance(value, str) else value


class Values(dict):
    """A dictionary of several values for each key, in strings. As a plain one, it has the first of each."""

    def __init__(self, values):
        self.found = values
        super().__init__((text(key), text(values[key])) for key in values.keys())

    def __contains__(self, key):
        return data(key) in self.found

    def __getitem__(self, key):
        return text(self.found[data(key)])

    def iteritems(self):
        return iter(self.items())

    def get(self, key, default=None):
        return self[key] if key in self else default

    def first(self, key, *default):
        return text(self.found.first(data(key), *default))

    def last(self, key, *default):
        return text(self.found.last(data(key), *default))

    def get_list(self, key, *default):
        return [text(value) for value in self.found.get_list(data(key), *default)]


class Cookies(Values):
    """Cookies by their names."""

    def __getitem__(self, key):
        return self.found[data(key)]


class Request:
    """A request as handlers of Python 2 know it."""

    def __init__(self, request):
        self.request = request

    def __getattr__(self, name):
        return text(getattr(self.request, name))

    GET = property(lambda self: Values(self.request.GET))
    POST = property(lambda self: Values(self.request.POST))
    headers = property(lambda self: Values(self.request.headers))
    cookies = property(lambda self: Cookies(self.request.cookies))
    auth = property(lambda self: types.SimpleNamespace(username=text(self.request.auth.username), password=text(self.request.auth.password)))
    raw_input = property(lambda self: io.StringIO(text(self.request.body), newline=""))


def open_text(path, mode="r", *_):
    return io.open(path, mode.replace("b", "").replace("U", "") or "r", encoding="latin-1", newline="")


def on_text(function):
    def call(*values):
        return text(function(*map(data, values)))

    return call


def shim(module, **changes):
    one = types.SimpleNamespace(**vars(module))
    vars(one).update(changes)
    return one


def hash_of(name):
    def make(value=""):
        made = getattr(hashlib, name)(data(value))
        return types.SimpleNamespace(digest=lambda: text(made.digest()), hexdigest=made.hexdigest, update=lambda more: made.update(data(more)))

    return make


BASE64 = {name: on_text(getattr(base64, name)) for name in ("b64encode", "b64decode", "urlsafe_b64encode", "urlsafe_b64decode")}
MODULES = {
    "base64": shim(base64, **BASE64, decodestring=on_text(base64.decodebytes), encodestring=on_text(base64.encodebytes)),
    "hashlib": shim(hashlib, **{name: hash_of(name) for name in ("md5", "sha1", "sha256")}),
    "zlib": shim(zlib, compress=on_text(zlib.compress)),
}


def load_source(name, path):
    """Runs a module of the checkout, as `imp.load_source` does."""
    module = types.ModuleType(name)
    module.__file__ = path
    module.__dict__["__builtins__"] = BUILTINS
    exec(compiled(path, Path(path).stat().st_mtime), module.__dict__)
    return module


MODULES["imp"] = types.SimpleNamespace(load_source=load_source)


def import_module(name, *rest):
    if name in MODULES:
        return MODULES[name]
    # Handlers add the folders of their helpers to the path.
    found = next((path for folder in sys.path if (path := Path(folder, f"{name}.py")).is_file() and "site-packages" not in folder), None)
    if found is None or name in sys.stdlib_module_names or Path(__file__).parent in found.parents:
        return builtins.__import__(name, *rest)
    return load_source(name, str(found))


BUILTINS = {**vars(builtins), "__import__": import_module, "open": open_text, "file": open_text}


@cache
def compiled(path, _changed):
    return compile(converted(Path(path).read_text(encoding="latin-1"), path), path, "exec")


# What a handler writes is sent at once.
ResponseWriter.flush = lambda _: None


class ScriptHandler(handlers.PythonScriptHandler):
    """Runs the `.py` files of the checkout."""

    def __call__(self, request, response):
        path = handlers.filesystem_path(self.base_path, request, self.url_base)
        try:
            code = compiled(path, Path(path).stat().st_mtime)
        except OSError:
            raise HTTPException(404) from None
        environment = {"__file__": path, "__name__": "handler", "__builtins__": BUILTINS}
        exec(code, environment)
        if "main" not in environment:
            raise HTTPException(500, f"no function `main` in {path}")
        response.encoding = "latin-1"
        handlers.FunctionHandler(environment["main"])(Request(request), response)
        handlers.wrap_pipeline(path, request, response)


# `connection.write` takes bytes.
WRITE_TEXT = """def write_text(request, text):
    request.connection.write(text.encode("latin-1") if isinstance(text, str) else text)


"""


def websocket_handlers(checkout, own, folder):
    """Returns the folder of the handlers of WebSockets: that of the checkout, or a converted copy."""
    found = checkout / "websockets/handlers" if checkout else own / "handlers"
    if not is_needed(checkout):
        return found
    folder.mkdir(parents=True)
    for file in found.glob("*_wsh.py"):
        source = file.read_text(encoding="utf-8").replace("mod_pywebsocket", "pywebsocket3")
        source = source.replace("request.connection.write(", "write_text(request, ")
        try:
            source = converted(source, file.name)
        except Exception:
            continue
        (folder / file.name).write_text(WRITE_TEXT + source)
    return folder
