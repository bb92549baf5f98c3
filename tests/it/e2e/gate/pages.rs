//! Pages below `/gate/`, which every host of the test network serves.

/// Content of every file that a page offers for download.
pub(crate) const DOWNLOAD: &str = "downloaded-bytes-7Qx";

/// Cookie that the page of requests is given, and no script sees.
pub(crate) const COOKIE: &str = "cookie-value-3Kd";

/// Header that a script of the page of requests sends.
pub(crate) const AUTHORIZATION: &str = "authorization-value-8Wz";

/// Body that the same script sends.
pub(crate) const BODY: &str = "body-value-5Np";

const HEADERS: &str = "Content-Type: text/html; charset=utf-8\r\nSet-Cookie: sid=cookie-value-3Kd; HttpOnly";

/// Returns status line, headers and body of a page; `None` if there is no such page.
pub(crate) fn response(route: &str) -> Option<String> {
    let (headers, body) = match route.strip_prefix("/gate/")? {
        "storage" => html(include_str!("../../../e2e/pages/gate/storage.html")),
        "headers" => (HEADERS, include_str!("../../../e2e/pages/gate/headers.html")),
        "controls" => html(include_str!("../../../e2e/pages/gate/controls.html")),
        "clipboard" => html(include_str!("../../../e2e/pages/gate/clipboard.html")),
        "leave" => html(include_str!("../../../e2e/pages/gate/leave.html")),
        "cut" => html(include_str!("../../../e2e/pages/gate/cut.html")),
        "offline" => html(include_str!("../../../e2e/pages/gate/offline.html")),
        "offline.js" => ("Content-Type: text/javascript", include_str!("../../../e2e/pages/gate/offline.js")),
        "edges" => html(include_str!("../../../e2e/pages/gate/edges.html")),
        "fetching" => html(include_str!("../../../e2e/pages/gate/fetching.html")),
        "elements" => html(include_str!("../../../e2e/pages/gate/elements.html")),
        "hands" => html(include_str!("../../../e2e/pages/gate/hands.html")),
        "handles" => html(include_str!("../../../e2e/pages/gate/handles.html")),
        "lists" => html(include_str!("../../../e2e/pages/gate/lists.html")),
        "input" => html(include_str!("../../../e2e/pages/gate/input.html")),
        "inner" => html(include_str!("../../../e2e/pages/gate/inner.html")),
        "passwords" => html(include_str!("../../../e2e/pages/gate/passwords.html")),
        "otp" => html(include_str!("../../../e2e/pages/gate/otp.html")),
        "mask-label" => html(include_str!("../../../e2e/pages/gate/mask-label.html")),
        "mask-word" => html(include_str!("../../../e2e/pages/gate/mask-word.html")),
        "forge" => html(include_str!("../../../e2e/pages/gate/forge.html")),
        "invisible" => html(include_str!("../../../e2e/pages/gate/invisible.html")),
        "oracle" => html(include_str!("../../../e2e/pages/gate/oracle.html")),
        "mask-names" => html(include_str!("../../../e2e/pages/gate/mask-names.html")),
        "mask-saved" => html(include_str!("../../../e2e/pages/gate/mask-saved.html")),
        "mask-latin" => {
            ("Content-Type: text/html; charset=iso-8859-1", include_str!("../../../e2e/pages/gate/mask-latin.html"))
        }
        "rest" => html(include_str!("../../../e2e/pages/gate/rest.html")),
        "password-frame" => html(include_str!("../../../e2e/pages/gate/password-frame.html")),
        "acting" => html(include_str!("../../../e2e/pages/gate/acting.html")),
        "takers" => html(include_str!("../../../e2e/pages/gate/takers.html")),
        "answers" => html(include_str!("../../../e2e/pages/gate/answers.html")),
        "alert" => html("<!doctype html><title>Alert</title><script>alert('in the load')</script><h1>After</h1>"),
        "dialog-loop" => html(
            "<!doctype html><title>Loop</title><h1>Loop</h1><button id=loop>Loop</button><script>document.getElementById('loop').onclick = () => { for (;;) alert('again'); };</script>",
        ),
        "alike" => html(include_str!("../../../e2e/pages/gate/alike.html")),
        "reading-modal" => html(include_str!("../../../e2e/pages/gate/reading-modal.html")),
        "reading-masks" => html(include_str!("../../../e2e/pages/gate/reading-masks.html")),
        "leaks" => html(include_str!("../../../e2e/pages/gate/leaks.html")),
        "lines" => html(include_str!("../../../e2e/pages/gate/lines.html")),
        "reading-tables" => html(include_str!("../../../e2e/pages/gate/reading-tables.html")),
        "reading-states" => html(include_str!("../../../e2e/pages/gate/reading-states.html")),
        "reading-texts" => html(include_str!("../../../e2e/pages/gate/reading-texts.html")),
        "reading-unseen" => html(include_str!("../../../e2e/pages/gate/reading-unseen.html")),
        "reading-names" => html(include_str!("../../../e2e/pages/gate/reading-names.html")),
        "reading-folded" => html(include_str!("../../../e2e/pages/gate/reading-folded.html")),
        "reading-widgets" => html(include_str!("../../../e2e/pages/gate/reading-widgets.html")),
        "reading-held" => html(include_str!("../../../e2e/pages/gate/reading-held.html")),
        "reading-sight" => html(include_str!("../../../e2e/pages/gate/reading-sight.html")),
        "reading-cut" => html(include_str!("../../../e2e/pages/gate/reading-cut.html")),
        "reading-framed" => html(include_str!("../../../e2e/pages/gate/reading-framed.html")),
        "reading-asked" => html(include_str!("../../../e2e/pages/gate/reading-asked.html")),
        "reading-leftward" => html(include_str!("../../../e2e/pages/gate/reading-leftward.html")),
        "reading-columns" => html(include_str!("../../../e2e/pages/gate/reading-columns.html")),
        "reading-grids" => html(include_str!("../../../e2e/pages/gate/reading-grids.html")),
        "dots-shown" => html(include_str!("../../../e2e/pages/gate/dots-shown.html")),
        "framed" => html(
            "<!doctype html><title>Framed</title><body style='margin:0;overflow:hidden'><iframe style='width:100%;height:90vh;border:0' srcdoc=\"<div style='height:5000px'>long</div>\"></iframe>",
        ),
        "locked" => html(
            "<!doctype html><title>Locked</title><body style='overflow:hidden'><div style='height:4000px'>behind</div><div role=dialog aria-modal=true style='position:fixed;inset:100px;background:#fff'><button>OK</button></div>",
        ),
        "scrolled" => html(include_str!("../../../e2e/pages/gate/scrolled.html")),
        "kinds" => html(include_str!("../../../e2e/pages/gate/kinds.html")),
        "marks" => html(include_str!("../../../e2e/pages/gate/marks.html")),
        "fades" => html(include_str!("../../../e2e/pages/gate/fades.html")),
        "random" => html(include_str!("../../../e2e/pages/gate/random.html")),
        "bars" => html(include_str!("../../../e2e/pages/gate/bars.html")),
        "boxes" => html(include_str!("../../../e2e/pages/gate/boxes.html")),
        "shapes" => html(include_str!("../../../e2e/pages/gate/shapes.html")),
        "image-map" => html(include_str!("../../../e2e/pages/gate/image-map.html")),
        "dragging" => html(include_str!("../../../e2e/pages/gate/dragging.html")),
        "drops" => html(include_str!("../../../e2e/pages/gate/drops.html")),
        "drops-frame" => html(include_str!("../../../e2e/pages/gate/drops-frame.html")),
        "sent" => ("Content-Type: text/plain", "sent"),
        "pdfs" => html(include_str!("../../../e2e/pages/gate/pdfs.html")),
        "invoice.pdf" => pdf(include_str!("../../../e2e/pages/gate/invoice.pdf")),
        "pdf-no-copies.pdf" => pdf(include_str!("../../../e2e/pages/gate/pdf-no-copies.pdf")),
        "pdf-locked.pdf" => pdf(include_str!("../../../e2e/pages/gate/pdf-locked.pdf")),
        "pdf-scanned.pdf" => pdf(include_str!("../../../e2e/pages/gate/pdf-scanned.pdf")),
        "pdf-damaged.pdf" => pdf(include_str!("../../../e2e/pages/gate/pdf-damaged.pdf")),
        "pdf-secret.pdf" => pdf(include_str!("../../../e2e/pages/gate/pdf-secret.pdf")),
        "pdf-secret" => html(include_str!("../../../e2e/pages/gate/pdf-secret.html")),
        "pictures" => html(include_str!("../../../e2e/pages/gate/pictures.html")),
        "pictures-frame" => html(include_str!("../../../e2e/pages/gate/pictures-frame.html")),
        "read-back" => html(include_str!("../../../e2e/pages/gate/read-back.html")),
        "acting-frame" => html(include_str!("../../../e2e/pages/gate/acting-frame.html")),
        "flood" => html(include_str!("../../../e2e/pages/gate/flood.html")),
        "kept" => html(include_str!("../../../e2e/pages/gate/kept.html")),
        "beside" => html(include_str!("../../../e2e/pages/gate/beside.html")),
        "parts" => html(include_str!("../../../e2e/pages/gate/parts.html")),
        "places" => html(include_str!("../../../e2e/pages/gate/places.html")),
        "rows" => html(include_str!("../../../e2e/pages/gate/rows.html")),
        "near" => html(include_str!("../../../e2e/pages/gate/near.html")),
        "near-fields" => html(include_str!("../../../e2e/pages/gate/near-fields.html")),
        "near-table" => html(include_str!("../../../e2e/pages/gate/near-table.html")),
        "dots" => html(include_str!("../../../e2e/pages/gate/dots.html")),
        "apart" => html(include_str!("../../../e2e/pages/gate/apart.html")),
        "card" => html(include_str!("../../../e2e/pages/gate/card.html")),
        "leftward" => html(include_str!("../../../e2e/pages/gate/leftward.html")),
        "screen" => html(include_str!("../../../e2e/pages/gate/screen.html")),
        "pinned" => html(include_str!("../../../e2e/pages/gate/pinned.html")),
        "pressing" => html(include_str!("../../../e2e/pages/gate/pressing.html")),
        "hung" => html(include_str!("../../../e2e/pages/gate/hung.html")),
        "hung-frame" => html(include_str!("../../../e2e/pages/gate/hung-frame.html")),
        "asked" => html(include_str!("../../../e2e/pages/gate/asked.html")),
        "programs" => html(include_str!("../../../e2e/pages/gate/programs.html")),
        "pressing-frame" => html(include_str!("../../../e2e/pages/gate/pressing-frame.html")),
        "pressing.js" => ("Content-Type: text/javascript", include_str!("../../../e2e/pages/gate/pressing.js")),
        "selectors" => html(include_str!("../../../e2e/pages/gate/selectors.html")),
        "dialogs" => html(include_str!("../../../e2e/pages/gate/dialogs.html")),
        "permissions" => html(include_str!("../../../e2e/pages/gate/permissions.html")),
        "tabs" => html(include_str!("../../../e2e/pages/gate/tabs.html")),
        "noise" => html(include_str!("../../../e2e/pages/gate/noise.html")),
        "empty" => html(include_str!("../../../e2e/pages/gate/empty.html")),
        "ends" => html(include_str!("../../../e2e/pages/gate/ends.html")),
        "held" => html(include_str!("../../../e2e/pages/gate/held.html")),
        "size" => html(include_str!("../../../e2e/pages/gate/size.html")),
        "wander" => html(include_str!("../../../e2e/pages/gate/wander.html")),
        "saved" => html(include_str!("../../../e2e/pages/gate/saved.html")),
        "saved-parts" => html(include_str!("../../../e2e/pages/gate/saved-parts.html")),
        "downloads" => html(include_str!("../../../e2e/pages/gate/downloads.html")),
        "workers" => html(include_str!("../../../e2e/pages/gate/workers.html")),
        "hints" => html(include_str!("../../../e2e/pages/gate/hints.html")),
        "words" => html(include_str!("../../../e2e/pages/gate/words.html")),
        "gaps" => html(include_str!("../../../e2e/pages/gate/gaps.html")),
        "prices" => html(include_str!("../../../e2e/pages/gate/prices.html")),
        "gaps-late" => html(include_str!("../../../e2e/pages/gate/gaps-late.html")),
        "worker-requests" => html(include_str!("../../../e2e/pages/gate/worker-requests.html")),
        "worker-echo.js" => ("Content-Type: text/javascript", "onmessage = event => postMessage(event.data);"),
        "worker-nested.js" => {
            ("Content-Type: text/javascript", include_str!("../../../e2e/pages/gate/worker-nested.js"))
        }
        "worker-service.js" => {
            ("Content-Type: text/javascript", "onmessage = event => event.ports[0].postMessage(event.data);")
        }
        "worker-part.js" => ("Content-Type: text/javascript\r\nAccess-Control-Allow-Origin: *", "const part = 1;"),
        "worker.js" => ("Content-Type: text/javascript", "onfetch = () => {};"),
        "cached" => ("Content-Type: text/plain\r\nCache-Control: max-age=3600", "cached"),
        "marker" => ("Content-Type: text/plain", DOWNLOAD),
        "attachment" => {
            ("Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=file.txt", DOWNLOAD)
        }
        _ => return None,
    };
    let length = body.len();
    Some(format!("HTTP/1.1 200 OK\r\n{headers}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"))
}

fn pdf(body: &'static str) -> (&'static str, &'static str) {
    ("Content-Type: application/pdf", body)
}

fn html(body: &'static str) -> (&'static str, &'static str) {
    ("Content-Type: text/html; charset=utf-8", body)
}
