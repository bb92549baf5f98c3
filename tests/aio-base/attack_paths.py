"""Tables of paths, request lines and headers that the wall must refuse."""

from __future__ import annotations

import re

BASE_PATHS = (
    "/", "/v1", "/v1/", "/v1/mcp", "/v1/mcp/servers", "/v1/ping", "/v1/shell/exec", "/v1/shell/sessions", "/v1/bash/exec", "/v1/file/read",
    "/v1/file/download?path=/etc/hostname", "/v1/jupyter/info", "/v1/nodejs/info", "/v1/browser/info", "/v1/sandbox", "/v1/proxy/upstream",
    "/v1/docs", "/v1/openapi.json", "/openapi.json", "/docs", "/redoc", "/json", "/json/version", "/json/list", "/json/protocol", "/devtools/browser/",
    "/devtools/inspector.html", "/cdp", "/cdp/json/version", "/code-server", "/code-server/", "/proxy/8091/", "/proxy/9222/json/version", "/proxy/9223/json/version",
    "/absproxy/9222/", "/absproxy/9223/", "/absproxy/8091/v1/ping", "/jupyter", "/jupyter/lab", "/terminal", "/terminal/", "/screenshot", "/actions", "/api/", "/api/v1/x",
    "/sse", "/messages", "/messages/", "/auth", "/auth/", "/.wall/auth", "/tickets/x", "/ws", "/ws/", "/nginx_status", "/health", "/healthz", "/metrics",
    "/browser", "/index.html", "/static/app.js", "/favicon.ico", "/aio", "/opencode", "/.well-known/oauth-protected-resource", "/.git/config", "/server-status",
)  # fmt: skip

# Paths that a normalizing server, or the upstream server, could treat as an allowed path or as a path outside of it.
SPELLINGS = (
    "/mcp/", "/mcpx", "/mcp/x", "//mcp", "///mcp", "/mcp//", "/mcp/../v1", "/mcp/%2e%2e/v1", "/mcp/%2E%2E/v1", "/mcp/.%2e/v1/shell/exec", "/mcp%2f..%2fv1",
    "/mcp%2F..%2Fv1", "/mcp/..;/v1", "/mcp;/../v1", "/mcp/..%5cv1", "/mcp\\..\\v1", "/mcp/..\\v1", "/MCP", "/Mcp", "/mCP", "/./mcp", "/mcp/.", "/mcp/..",
    "/x/../mcp", "/v1/../mcp", "/vnc/../mcp", "/%6dcp", "/%6d%63%70", "/mc%70", "/%6Dcp", "/%256dcp", "/mcp%20", "/mcp%09", "/mcp%0a", "/mcp%0d%0a", "/mcp%23",
    "/mcp%3f", "/mcp%3Fx=.js", "/mcp.js", "/mcp.html", "/mcp.json", "/mcp;x", "/mcp;x=.js", "/mcp;jsessionid=1", "/mcp,x", "/mcp:8091", "/mcp@x", "/mcp&x", "/mcp=",
    "/mcp~", "/mcp.", "/mcp..", "/mcp*", "/mcp#", "/mcp#x", "/#/mcp", "/mcp%c0%af..%c0%afv1", "/mcp/%c0%ae%c0%ae/v1", "/%ef%bd%8dcp", "/\uff4dcp", "/mcp\u2215..\u2215v1",
    "/mcp%252f..%252fv1", "/mcp/%252e%252e/v1", "/mcp/%25%32%65%25%32%65/v1", "/mcp%e2%88%95", "/\u217ccp", "/.;/mcp", "/;/mcp", "/;mcp",
    "/x;/../mcp", "/mcp\x7f", "/\xe9", "/mcp|x", "/mcp\"", "/mcp'", "/mcp<x>", "/mcp`id`", "/mcp$(id)", "/mcp{}", "/{mcp}", "/mcp^",
    "/VNC", "/vnc;x", "/vnc%2f", "/vnc.", "/vncx", "/%76nc", "/./vnc", "//vnc", "/VNC/", "/vnc//", "//vnc/", "/vnc/.", "/vnc/./index.html", "/vnc/x/../index.html", "/vnc//index.html", "/vnc/index.html/", "/vnc/index.htm",
    "/vnc/Index.HTML", "/vnc/index.html%20", "/vnc/index.html;x=.js", "/vnc/index%2ehtml", "/vnc/%69ndex.html", "/vnc/index.html%3f.js", "/vnc/core", "/vnc/core/",
    "/vnc/..%2fgem/nginx.conf", "/vnc/%2e%2e/gem/nginx.conf.js", "/vnc../gem/nginx.conf",
    "/vnc../gem/x.js", "/vnc/..;/gem/x.js", "/vnc/....//gem/x.js", "/vnc/..\\gem\\x.js", "/vnc/..%5cgem%5cx.js", "/vnc/.hidden.js", "/vnc/.git/x.json", "/vnc/core/.x.js",
    "/vnc/nothing.js", "/vnc/x.txt", "/vnc/x.conf", "/vnc/x.sh", "/vnc/x.py", "/vnc/utils/websockify/run", "/vnc/utils/novnc_proxy", "/vnc/x.js%00.html", "/vnc/x.js/y",
    "/vnc/core/rfb.js/", "/vnc/core/rfb.js/..", "/vnc/core/%72fb.js", "/vnc/core//rfb.js", "/vnc/core/./rfb.js", "/vnc/core/RFB.JS", "/vnc/core/rfb.js%20", "/vnc/core/rfb.js;x",
    "/vnc/websockify", "/vnc/ws", "/vnc/mcp", "/vnc/v1/shell/exec.js", "/vnc/%2e%2e/v1/shell/exec.js", "/vnc/..%2f/v1/ping.js", "/vnc/x/%2e%2e/%2e%2e/mcp",
    "/tickets/", "//tickets", "/Tickets", "/tickets;x", "/tickets%2f", "/tickets/../auth", "/websockify/", "//websockify", "/Websockify", "/websockify;x", "/websockify%2f",
    "/websockify/../ws", "/.wall/auth", "/%2ewall/auth", "/.wall/../mcp", "/@refused", "/@unavailable", "@mcp", "/1", "/0", "/*", "/%", "/?", "/?x=.js", "/??",
)  # fmt: skip
SPELLINGS = tuple(path for path in SPELLINGS if path.startswith("/") and not re.search(r"%00|%$|[\x00-\x20\x7f]", path))
UNREADABLE_SPELLINGS = (
    "/%00", "/mcp%00", "/mcp%00.js", "/vnc/x%00.js", "/vnc/core/rfb.js%00", "/mcp%zz", "/mcp%", "/mcp%2", "/..", "/../", "/../mcp", "/%2e%2e/mcp", "/../../etc/passwd", "/vnc/../../x",
    "/mcp%u002f..%u002fv1", "/vnc/..%2f..%2f", "/vnc/..%2f..%2fetc/passwd", "/vnc/../../etc/passwd.js",
    "/mcp\x00", "/mcp\x01", "/mcp\x7f", "/mcp\tx", "/mcp\x0bx", "mcp", "?", "*", "\\mcp", "@8091", ":8091/", "mcp/../v1", "http:/mcp", "http:mcp", "http:///mcp", "http://", "ws://x/websockify",
    "file:///etc/passwd", "javascript:x", "unix:/run/x", "http://[::1]:8091/", "http://127.0.0.1:8091/v1/ping", "//127.0.0.1:8091/v1/ping",
)  # fmt: skip
ODD_LINES = (
    ("a line feed before the request line, a denied path", b"\r\n\r\nGET /v1/ping HTTP/1.1"),
    ("two spaces before the path", b"GET  /mcp HTTP/1.1"),
    ("two spaces before the version", b"GET /mcp  HTTP/1.1"),
    ("a tab before the path", b"GET\t/mcp HTTP/1.1"),
    ("a space at the end", b"GET /mcp HTTP/1.1 "),
    ("a space in the path", b"GET /mcp /v1/shell/exec HTTP/1.1"),
    ("a space in the query", b"GET /mcp?x y HTTP/1.1"),
    ("a space in front", b" GET /mcp HTTP/1.1"),
    ("a vertical tab", b"GET /mcp\x0bHTTP/1.1"),
    ("a bare CR in the path", b"GET /mcp\rX HTTP/1.1"),
    ("a NUL in the path", b"GET /mcp\x00/v1 HTTP/1.1"),
    ("a NUL in the query", b"GET /mcp?\x00 HTTP/1.1"),
    ("bytes above 127 in the query", b"GET /mcp?\xff\xfe HTTP/1.1"),
    ("an overlong slash as bytes", b"GET /mcp\xc0\xaf..\xc0\xafv1 HTTP/1.1"),
    ("a fragment in the query", b"GET /mcp?x#y HTTP/1.1"),
    ("no path", b"GET HTTP/1.1"),
    ("no method", b"/mcp HTTP/1.1"),
    ("an encoded line break and a second request line", b"GET /mcp%20HTTP/1.1%0d%0aHost:%208091-x HTTP/1.1"),
)  # fmt: skip

HEADERS = (
    "x-aio-proxy-port: 8091", "X-AIO-Proxy-Port: 9222", "X-AIO-Proxy-Port: 9223", "X_AIO_PROXY_PORT: 8091", "X-Forwarded-Host: 8091-x", "X-Forwarded-Host: 8091-x:8080",
    "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Port: 8091", "X-Forwarded-Proto: https", "X-Forwarded-Server: 8091-x", "X-Forwarded-Prefix: /v1", "X-Forwarded-Uri: /v1/ping",
    "Forwarded: for=127.0.0.1;host=8091-x", "X-Host: 8091-x", "X-HTTP-Host-Override: 8091-x", "X-Real-IP: 127.0.0.1", "X-Original-URL: /v1/shell/exec",
    "X-Original-URI: /vnc/app/ui.js", "X-Rewrite-URL: /mcp", "X-Override-URL: /v1/ping", "X-Accel-Redirect: /v1/ping", "X-Sendfile: /etc/hostname", "X-Original-Method: OPTIONS",
    "X-HTTP-Method-Override: PUT", "X-Client-IP: 127.0.0.1", "True-Client-IP: 127.0.0.1", "CF-Connecting-IP: 127.0.0.1", "X-Custom-IP-Authorization: 127.0.0.1", "X-Proxy-URL: http://127.0.0.1:8091",
    "Proxy: http://127.0.0.1:8091", "Proxy-Connection: keep-alive", "Connection: x-aio-proxy-port", "Connection: close, Host", "Upgrade-Insecure-Requests: 1", "Referer: http://8091-x/vnc/app/ui.js",
    "Via: 1.1 8091-x", "TE: trailers", "Expect: 100-continue",
)  # fmt: skip

# Hosts that no page can take over, and names that a page can make resolve to the container. Without credentials, the wall serves
# the former, and of the latter only those that its operator lists.
OWN_HOSTS = ("localhost", "LOCALHOST:8080", "localhost:1", "127.0.0.1", "192.0.2.7", "255.255.255.255:65535", "[::1]", "[2001:db8::7]:8080", "[::ffff:192.0.2.7]")
FOREIGN_HOSTS = (
    "evil.example", "EVIL.example:8080", "box", "my_box:8080", "dot.example.", "a-8091.example", "xn--bcher-kva.example", "localhost.", "localhost.:8080",
    "localhost.evil.example", "evil.localhost", "localhost-evil.example", "evil-localhost", "localhostx", "localhost.localdomain", "localhost6",
    "127.0.0.1.evil.example", "127.0.0.1.nip.io:8080", "evil.127.0.0.1", "127.0.0.1.", "127.0.0.1.2", "127.0.0.256", "127.0.0.01", "127.1", "2130706433", "0x7f000001",
    "0x7f.0.0.1", "0177.0.0.1", "1.2.3", "a127.0.0.1", "127.0.0.1a", "[127.0.0.1]", "[abcd]",
)  # fmt: skip
MALFORMED_HOSTS = (
    "[::1].evil.example", "[::1]evil.example:80", "x[::1]", "[::1", "::1", "[::1%25lo]", "[v1.x]", "[1]", "localhost:", "localhost:x", "localhost:123456", "localhost evil.example",
    "localhost,evil.example", "localhost/evil.example", "localhost\\evil.example", "evil.example@localhost", "localhost@evil.example", "localhost#evil.example", "localhost%2eevil.example", "localhost\t",
)  # fmt: skip

# None of these paths has an effect when requested with GET.
WORDS = (
    "mcp", "MCP", "vnc", "websockify", "tickets", "auth", "v1", "shell", "exec", "ping", "json", "version", "devtools", "page", "cdp", "proxy", "8091", "9222", "9223", "absproxy", "api",
    "ws", "sse", "messages", "index.html", "app", "ui.js", "core", "rfb.js", "x", "%6dcp", "vn%63", "static", "a.b", "etc", "passwd", ".wall",
)  # fmt: skip
JOINTS = (
    "/", "/", "/", "//", "/./", "/../", "/%2e%2e/", "%2f", "%2F", "/..;/", ";", ";x=y/", "\\", "%5c", "/..%2f", "..", ".", "%20", "%09", "%c0%af", "%252f", "%252e%252e", ":", "@", "~", "%00", "+", ",", "&", "%ef%bc%8f", "\u2044",
)  # fmt: skip
ENDINGS = ("", "", "", "/", "?x=.js", "?/vnc/app/ui.js", ".js", ".html", ".css?x", ";.js", "%3f.js", "#.js", "?ticket=x", "%23")
OPEN_PATHS = re.compile(r"/(?:mcp|tickets|websockify|vnc|vnc/(?:[\w.-]+/)*(?:[\w.-]+\.\w+)?)(?:\?.*)?", re.ASCII)


def printable(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")
