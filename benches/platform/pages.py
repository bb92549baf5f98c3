"""Pages of a checkout of web-platform-tests, and those of our own."""

import re
from typing import NamedTuple

# Areas, and the most pages of each that a run takes: evenly spread over its list. The order is that of the table.
AREAS = {
    "workers": 200,
    "service-workers": 280,
    "websockets": 200,
    "streams": 240,
    "fetch": 200,
    "xhr": 160,
    "FileAPI": 44,
    "beacon": 20,
    "eventsource": 60,
    "cors": 20,
    "webmessaging": 110,
    "html/browsers/windows": 40,
    "html/browsers/the-window-object": 50,
    "html/browsers/the-windowproxy-exotic-object": 5,
    "html/browsers/origin": 10,
    "html/browsers/sandboxing": 5,
    "html/browsers/browsing-the-web": 110,
    "html/browsers/history": 100,
    "html/dom": 60,
    "html/editing": 20,
    "html/interaction": 20,
    "html/semantics/embedded-content": 200,
    "html/semantics/forms": 120,
    "html/semantics/interactive-elements": 20,
    "html/semantics/scripting-1": 120,
    "html/user-activation": 6,
    "html/webappapis": 120,
    "webstorage": 42,
    "storage": 10,
    "IndexedDB": 160,
    "cookies": 38,
    "custom-elements": 63,
    "shadow-dom": 93,
    "dom": 160,
    "domparsing": 20,
    "intersection-observer": 29,
    "resize-observer": 5,
    "performance-timeline": 15,
    "navigation-timing": 45,
    "resource-timing": 38,
    "user-timing": 25,
    "requestidlecallback": 13,
    "page-visibility": 9,
    "media-source": 40,
    "mediacapture-streams": 30,
    "webaudio": 40,
    "webrtc": 60,
    "webvtt": 30,
    "2dcontext": 60,
    "offscreen-canvas": 40,
    "imagebitmap-renderingcontext": 6,
    "webgl": 8,
    "wasm": 55,
    "content-security-policy": 240,
    "mixed-content": 30,
    "referrer-policy": 40,
    "feature-policy": 50,
    "upgrade-insecure-requests": 6,
    "subresource-integrity": 5,
    "x-frame-options": 5,
    "secure-contexts": 9,
    "clipboard-apis": 5,
    "pointerevents": 10,
    "pointerlock": 5,
    "touch-events": 5,
    "uievents": 12,
    "input-events": 5,
    "fullscreen": 12,
    "permissions": 5,
    "notifications": 10,
    "geolocation-API": 10,
    "credential-management": 5,
    "payment-request": 20,
    "WebCryptoAPI": 20,
    "encoding": 30,
    "url": 25,
    "selection": 20,
    "editing": 20,
    "web-animations": 30,
    "web-locks": 20,
    "css/cssom-view": 40,
    "css/mediaqueries": 20,
    "svg": 30,
    "visual-viewport": 12,
}

SCRIPT_META = re.compile(r"^//\s*META:\s*(\w*)=(.*?)\s*$", re.MULTILINE)
LONG = re.compile(r"""<meta\s+(?:name=["']?timeout["']?\s+content=["']?long|content=["']?long["']?\s+name=["']?timeout)""", re.IGNORECASE)
VARIANT = re.compile(r"""<meta\s+name=["']?variant["']?\s+content=["']([^"']*)["']""", re.IGNORECASE)
DOCUMENTS = {".html", ".htm", ".xhtml", ".xht", ".svg"}
KINDS = {"default": {"window", "dedicatedworker"}, "worker": {"dedicatedworker", "sharedworker", "serviceworker"}}
HELPERS = {"resources", "support", "tools", "reference", "manual"}


class Page(NamedTuple):
    """A page to run. Its name is the path of its address, and does not depend on the checkout's place."""

    name: str
    area: str
    is_secure: bool
    is_long: bool


def globals_of(meta):
    """Returns the kinds of global objects that an `.any.js` is for.

    In older checkouts the words add to the default, in newer ones they take its place. Only `!` tells them apart, so that a word takes its place
    where the default is not named.
    """
    words = [word for key, value in meta if key == "global" for word in re.split(r"[\s,]+", value) if word]
    found = set() if words and not any(word.startswith("!") for word in words) else set(KINDS["default"])
    for word in words:
        kinds = KINDS.get(word.lstrip("!"), {word.lstrip("!")})
        found = found - kinds if word.startswith("!") else found | kinds
    return found


def script_pages(path, text, area):
    meta = SCRIPT_META.findall(text)
    if any(value.endswith("testdriver.js") for _, value in meta):
        return []
    is_long = ("timeout", "long") in meta
    is_secure = ".https." in path
    if path.endswith(".any.js"):
        stem = path.removesuffix(".any.js")
        endings = {"window": "html", "dedicatedworker": "worker.html", "sharedworker": "sharedworker.html", "serviceworker": "serviceworker.html"}
        kinds = globals_of(meta)
        names = [(f"{stem}.any.{ending}", is_secure or kind == "serviceworker") for kind, ending in endings.items() if kind in kinds]
    else:
        names = [(path.removesuffix(".js") + ".html", is_secure)]
    variants = [value for key, value in meta if key == "variant"] or [""]
    return [Page(name + variant, area, secure, is_long) for name, secure in names for variant in variants]


def document_pages(path, text, area):
    if "testharness.js" not in text or "testdriver.js" in text:
        return []
    is_long, is_secure = bool(LONG.search(text)), ".https." in path
    return [Page(path + variant, area, is_secure, is_long) for variant in VARIANT.findall(text) or [""]]


def pages_of_file(root, file, area):
    path = f"/{file.relative_to(root).as_posix()}"
    if path.endswith((".any.js", ".window.js", ".worker.js")):
        return script_pages(path, file.read_text(errors="replace"), area)
    if file.suffix not in DOCUMENTS or "-manual." in path or "-ref." in path:
        return []
    return document_pages(path, file.read_text(errors="replace"), area)


def spread(items, most):
    """Returns at most so many items, evenly spread."""
    if most is None or len(items) <= most:
        return items
    return [items[number * len(items) // most] for number in range(most)]


def of_checkout(root, areas, share):
    """Returns the pages of a checkout: of each area at most its number, or `share` times that."""
    found = []
    for area, most in areas.items():
        folder = root / area
        files = [file for file in ([folder] if folder.is_file() else sorted(folder.rglob("*"))) if not HELPERS & set(file.relative_to(root).parts[:-1])]
        pages = [page for file in files for page in pages_of_file(root, file, area)]
        found += spread(pages, None if most is None else max(1, round(most * share)))
    return found


def of_own(folder):
    """Returns our own pages."""
    files = sorted(folder.glob("*.html"))
    return [Page(f"/own/{file.name}", "own", ".https." in file.name, True) for file in files]


def areas_of(names):
    """Returns the areas with one of these names, or below it; a path that is none of them is an area by itself, without a limit."""
    if not names:
        return AREAS
    found = {}
    for name in (name.strip("/") for name in names):
        below = {area: most for area, most in AREAS.items() if area == name or area.startswith(f"{name}/")}
        found |= below or {name: None}
    return found
