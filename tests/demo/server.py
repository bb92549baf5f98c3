"""HTTP server of the demo site.

    python3 server.py PARENT ADDRESS FOLDER

Serves the files of FOLDER on port 80 of ADDRESS, and answers the form of `form.html`. It reads all files at the start, and then
gives up root's rights. It ends when the process PARENT, which started it, does.
"""

import ctypes
import html
import os
import signal
import socket
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from urllib.parse import parse_qs, urlsplit

PORT = 80
# The largest body of a form.
MAX_BODY = 64 * 1024
# Seconds after which a silent client is disconnected.
TIMEOUT = 20
# nobody and nogroup
USER = 65534
# Of prctl(2).
PR_SET_PDEATHSIG = 1

RESULT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Order received</title>
<link rel="stylesheet" href="/style.css">
<h1>Order received</h1>
<dl id="order">
{rows}
</dl>
<p><a href="/">Back to the start</a></p>
</html>
"""


def load(folder):
    """Returns the pages by path."""
    kinds = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8"}
    pages = {f"/{file.name}": (kinds[file.suffix], file.read_bytes()) for file in folder.iterdir() if file.suffix in kinds}
    return pages | {"/": pages["/index.html"]}


class Handler(BaseHTTPRequestHandler):
    timeout = TIMEOUT
    pages = {}

    def do_GET(self):
        page = self.pages.get(urlsplit(self.path).path)
        if page is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            self.reply(*page)

    do_HEAD = do_GET

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if urlsplit(self.path).path != "/order":
            self.send_error(HTTPStatus.NOT_FOUND)
        elif not (length.isascii() and length.isdigit()):
            self.send_error(HTTPStatus.LENGTH_REQUIRED)
        elif int(length) > MAX_BODY:
            self.send_error(HTTPStatus.CONTENT_TOO_LARGE if hasattr(HTTPStatus, "CONTENT_TOO_LARGE") else 413)
        else:
            fields = parse_qs(self.rfile.read(int(length)).decode("utf-8", "replace"))
            rows = [f"<dt>{html.escape(name)}</dt><dd>{html.escape(', '.join(values))}</dd>" for name, values in fields.items()]
            self.reply("text/html; charset=utf-8", RESULT.format(rows="\n".join(rows)).encode())

    def reply(self, kind, body):
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self):
        # The address belongs to no interface.
        self.socket.setsockopt(socket.SOL_IP, getattr(socket, "IP_TRANSPARENT", 19), 1)
        # Not the method of HTTPServer, which would look up the address's name.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address


def main():
    parent, address, folder = sys.argv[1:]
    Handler.pages = load(Path(folder))
    server = Server((address, PORT), Handler)
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)
    # After the change of the user, which clears it.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        sys.exit("the parent has ended")
    print("ready", flush=True)
    # The pipe and the caller's streams are not needed any more.
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    server.serve_forever()


main()
