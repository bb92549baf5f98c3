"""Pages with one component library each. The page reports the state that the library's own interface gives."""

import json
import mimetypes
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from application import DEBIAN, HERE, NPM, Application

PRELUDE = """<script>
// Sends the state of the page whenever it differs from what was sent last.
function report(state) {
  let last;
  setInterval(() => {
    const now = JSON.stringify(state());
    if (now !== last) fetch("/state", {method: "POST", body: last = now});
  }, 250);
}
</script>
"""
# What pages may load, by the first part of the path.
FOLDERS = {"npm": NPM, "debian": DEBIAN / "usr/share"}
ROWS_PER_PAGE = 25


class Component(Application):
    page = None

    def start(self):
        self.folder.mkdir(parents=True)
        self.state = None
        self.http = ThreadingHTTPServer(("", self.port), handler(self))
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
        super().stop()

    def now(self, *keys):
        """Returns members of the state that the page sent last."""
        state = self.state or {}
        return [state.get(key) for key in keys]


def handler(app):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            address = urlsplit(self.path)
            path = unquote(address.path)
            first, _, rest = path.strip("/").partition("/")
            if path == "/":
                # A new page begins anew.
                app.state = None
                text = (HERE / "pages" / f"{app.page}.html").read_text()
                self.answer(200, text.replace("<!doctype html>", "<!doctype html>" + PRELUDE, 1).encode(), "text/html; charset=utf-8")
            elif path == "/files/pilot.pdf":
                self.answer(200, pilot_pdf(), "application/pdf")
            elif first == "rows":
                begin = int(parse_qs(address.query).get("page", ["1"])[0]) * ROWS_PER_PAGE - ROWS_PER_PAGE
                rows = [{"id": number, "name": f"Buoy {number}", "color": ["red", "green", "yellow"][number % 3]} for number in range(begin + 1, begin + ROWS_PER_PAGE + 1)]
                self.answer(200, json.dumps(rows if begin < 200 else []).encode(), "application/json")
            else:
                base = FOLDERS.get(first)
                file = (base / rest).resolve() if base else None
                # Files that packages link to are in the same folder of packages.
                if file is None or not file.is_file() or HERE.parent.parent.resolve() not in file.parents:
                    self.answer(404, b"Not Found", "text/plain")
                    return
                self.answer(200, file.read_bytes(), mimetypes.guess_type(file.name)[0] or "application/octet-stream")

        def do_POST(self):
            app.state = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer(200, b"", "text/plain")

        def answer(self, status, body, kind):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


def pilot_pdf():
    """Returns a PDF of nine pages, the last of which has a number."""
    texts = [f"Page {number} of the pilot book" for number in range(1, 9)] + ["The last page. The number is 4417."]
    texts[4] = "Anchorage off Skagen: mud, eight fathoms"
    pages = " ".join(f"{4 + 2 * place} 0 R" for place in range(len(texts)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{pages}] /Count {len(texts)} >>"]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for place, text in enumerate(texts):
        stream = f"BT /F1 20 Tf 60 700 Td ({text}) Tj ET"
        resources = "<< /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources {resources} /Contents {5 + 2 * place} 0 R >>")
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    file, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(file))
        file += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n"
    return file + f"{head}startxref\n{len(file)}\n%%EOF\n".encode()
