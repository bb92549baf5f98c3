"""Server of the pages: `wptserve`, with the routes that the checkout's own `serve` adds, and `pywebsocket3`.

It runs as a process of its own, because it serves many slow connections at once:

    server.py CHECKOUT OWN FOLDER PATIENCE

CHECKOUT is the checkout of web-platform-tests, or `-` for none. OWN is the folder that is served below /own/. FOLDER gets the
certificates and the converted handlers. PATIENCE multiplies the timeouts of tests. It prints one line when it listens, and ends with its standard input.
"""

import json
import logging
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from wptserve import config, handlers, stash  # after the line that prevents a compiled copy
from wptserve.server import WebTestHttpd
from wptserve.utils import HTTPException

import python2
from pages import SCRIPT_META, globals_of

HERE = Path(__file__).resolve().parent
HOST = "web-platform.test"
ALTERNATE = "not-web-platform.test"
SUBDOMAINS = ["www", "www1", "www2", "天気の良い日", "élève"]
PORTS = {"http": [8000, 8001], "https": [8443], "ws": [8888], "wss": [8889]}
ADDRESS = "93.184.215.23"


def host_names():
    names = [name for host in (HOST, ALTERNATE) for name in (host, *(f"{sub}.{host}" for sub in SUBDOMAINS))]
    return [name.encode("idna").decode() for name in names]


HARNESS = '<script src="/resources/testharness.js"></script>\n<script src="/resources/testharnessreport.js"></script>\n'
SCOPE = "self.GLOBAL = {{ isWindow: () => {window}, isWorker: () => {worker}, isShadowRealm: () => false }};"
IN_WINDOW, IN_WORKER = SCOPE.format(window="true", worker="false"), SCOPE.format(window="false", worker="true")

# Endings of pages that a script makes: the script's own ending, the script that the page loads, the kind of its global object, and how
# the page runs it.
WRAPPED = {
    ".any.worker.html": (".any.js", ".any.worker.js", "dedicatedworker", 'fetch_tests_from_worker(new Worker("{script}"));'),
    ".worker.html": (".worker.js", ".worker.js", None, 'fetch_tests_from_worker(new Worker("{script}"));'),
    ".any.sharedworker.html": (".any.js", ".any.worker.js", "sharedworker", 'fetch_tests_from_worker(new SharedWorker("{script}"));'),
    ".any.serviceworker.html": (
        ".any.js",
        ".any.worker.js",
        "serviceworker",
        """(async () => {{
  const old = await navigator.serviceWorker.getRegistration("does/not/exist");
  if (old) await old.unregister();
  const one = await navigator.serviceWorker.register("{script}", {{ scope: "does/not/exist" }});
  fetch_tests_from_worker(one.installing);
}})();""",
    ),
    ".any.html": (".any.js", ".any.js", "window", None),
    ".window.html": (".window.js", ".window.js", None, None),
}


def metadata(file):
    try:
        return SCRIPT_META.findall(file.read_text(errors="replace"))
    except OSError:
        raise HTTPException(404) from None


def source_of(request, base, ending, own_ending):
    return Path(handlers.filesystem_path(base, request, "/").removesuffix(ending) + own_ending)


def wrapper_page(ending):
    own_ending, loaded, kind, how = WRAPPED[ending]

    @handlers.handler
    def serve(request, response):
        file = source_of(request, None, ending, own_ending)
        meta = metadata(file)
        if kind and kind not in globals_of(meta):
            raise HTTPException(404, f"not for {kind}")
        query = f"?{request.url_parts.query}" if request.url_parts.query else ""
        script = request.url_parts.path.removesuffix(ending) + loaded
        head = ['<meta name="timeout" content="long">' for key, value in meta if (key, value) == ("timeout", "long")]
        in_page = how is None
        head += [f"<script>{IN_WINDOW}</script>"] if kind == "window" else []
        head.append(HARNESS)
        head += [f'<script src="{value}"></script>' for key, value in meta if key == "script" and in_page]
        body = f'<script src="{script}"></script>' if in_page else f"<script>\n{how.format(script=script + query)}\n</script>"
        page = "\n".join(["<!doctype html>", "<meta charset=utf-8>", *head, "<div id=log></div>", body])
        response.headers.set("Content-Type", "text/html")
        response.content = page
        handlers.wrap_pipeline(str(file), request, response)

    return serve


@handlers.handler
def worker_script(request, response):
    ending, own_ending = ".any.worker.js", ".any.js"
    file = source_of(request, None, ending, own_ending)
    imports = [value for key, value in metadata(file) if key == "script"]
    lines = [IN_WORKER, 'importScripts("/resources/testharness.js");', *(f'importScripts("{one}");' for one in imports)]
    lines += [f'importScripts("{request.url_parts.path.removesuffix(ending) + own_ending}");', "done();"]
    response.headers.set("Content-Type", "text/javascript")
    response.content = "\n".join(lines)
    handlers.wrap_pipeline(str(file), request, response)


def routes(checkout, own, patience):
    """Returns the routes, first match first."""
    report = (HERE / "report.js").read_text().replace("TIMES", patience)
    script = python2.ScriptHandler() if python2.is_needed(checkout) else handlers.PythonScriptHandler()
    found = [("GET", "/resources/testharnessreport.js", handlers.StringHandler(report, "text/javascript", charset="utf-8"))]
    found.append(("*", "/own/*.py", handlers.PythonScriptHandler(base_path=str(own), url_base="/own/")))
    found.append(("GET", "/own/*", handlers.FileHandler(base_path=str(own), url_base="/own/")))
    found += [("GET", f"*{ending}", wrapper_page(ending)) for ending in WRAPPED]
    found.append(("GET", "*.any.worker.js", worker_script))
    found += [("GET", "*.asis", handlers.as_is_handler), ("*", "*.py", script), ("GET", "*", handlers.file_handler)]
    return found


def main():
    checkout, own, folder = (None if name == "-" else Path(name) for name in sys.argv[1:4])
    patience = sys.argv[4]
    logger = logging.getLogger("wptserve")
    logger.setLevel(logging.CRITICAL)
    ssl = {"type": "openssl", "openssl": {"base_path": str(folder / "certificates"), "duration": 30}}
    root = str(checkout or own)
    builder = config.ConfigBuilder(
        logger,
        subdomains=set(SUBDOMAINS),
        not_subdomains={"nonexistent"},
        browser_host=HOST,
        alternate_hosts={"alt": ALTERNATE},
        doc_root=root,
        ports=PORTS,
        ssl=ssl,
        logging={"level": "critical", "suppress_handler_traceback": False},
    )
    rewrites = [("GET", "/resources/WebIDLParser.js", "/resources/webidl2/lib/webidl2.js")]
    with stash.StashServer(None, authkey="platform"), builder as settings:
        files = settings.ssl_config
        sockets = []
        for scheme in ("http", "https"):
            for port in PORTS[scheme]:
                secure = {"use_ssl": True, "key_file": files["key_path"], "certificate": files["cert_path"]} if scheme == "https" else {}
                httpd = WebTestHttpd(
                    host=HOST, port=port, doc_root=root, routes=routes(checkout, own, patience), rewrites=rewrites, bind_address=ADDRESS, config=settings, **secure
                )
                httpd.start()
        with open(files["ca_cert_path"]) as authority:
            pem = authority.read()
        wsh = python2.websocket_handlers(checkout, own, folder / "handlers")
        for scheme in ("ws", "wss"):
            command = [sys.executable, "-m", "pywebsocket3.standalone", "-H", ADDRESS, "-p", str(PORTS[scheme][0]), "-d", root, "-w", str(wsh)]
            command += ["--log-level", "critical"]
            if scheme == "wss":
                command += ["--tls", "--private-key", files["key_path"], "--certificate", files["cert_path"]]
            sockets.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        try:
            print(json.dumps({"authority": pem}), flush=True)
            sys.stdin.read()
        finally:
            for one in sockets:
                one.kill()
                one.wait()


if __name__ == "__main__":
    main()
