//! Text of PDFs, which Chromium's viewer has.
//!
//! The viewer is a page of Chromium's own in a frame of the PDF. It has no interface for others: what is used here is how the viewer
//! itself talks to its plugin, and a later Chromium may change that. A test with the installed one sees it.

use std::time::{Duration, Instant};

use browser_shell_core::pdf::{Pdf, Unread};

use crate::gate::browser::Browser;
use crate::gate::page::Page;
use browser_shell_cdp::protocol::FrameId;
use browser_shell_cdp::protocol::runtime::Evaluate;

/// Timeout for a viewer to answer: somewhat longer than the time in which it waits for the document.
const TIMEOUT: Duration = Duration::from_secs(8);

/// Time for Chromium to show the viewer.
const VIEWER_TIME: Duration = Duration::from_secs(2);

/// Interval between two looks for the viewer.
const INTERVAL: Duration = Duration::from_millis(50);

/// Reads the document that a viewer shows.
///
/// Permissions are those of the PDF reference, table "user access permissions": bit 5 lets copy. The selection that the text is read by is
/// ended when the viewer changes its mode.
///
/// One read follows another, since the plugin answers one question of a kind at a time.
const READ: &str = r#"(globalThis.reading = Promise.resolve(globalThis.reading).catch(() => {}).then(async () => {
    const LOAD_TIME = 3000, INTERVAL = 50, MAX_BYTES = 32 * 1024 * 1024, MAX_TEXT = 2_000_000, MAY_COPY = 16;
    const { PluginController } = await import("./pdf_viewer_wrapper.js");
    const plugin = PluginController.getInstance();
    let viewer;
    const answer = (unread, text = "") =>
        ({ pages: viewer?.documentDimensions?.pageDimensions?.length ?? 0, text, unread });
    for (const end = Date.now() + LOAD_TIME; ; await new Promise(done => setTimeout(done, INTERVAL))) {
        viewer = document.querySelector("pdf-viewer");
        const state = viewer?.loadState_;
        if (state === "success" && plugin.isActive) break;
        if (state === "failed") return answer("damaged");
        if (viewer?.shadowRoot?.querySelector("viewer-password-dialog")) return answer("locked");
        if (Date.now() > end) return answer(viewer && state !== "loading" ? "unknown" : "loading");
    }
    const file = async () => {
        const parts = [];
        let [size, total] = [0, 0];
        do {
            const block = await plugin.getSaveDataBlock("ORIGINAL", size, size && MAX_BYTES);
            const bytes = new Uint8Array(block.dataToSave ?? 0);
            total = block.totalFileSize;
            if (total > MAX_BYTES || !bytes.length) break;
            parts.push(new TextDecoder("latin1").decode(bytes));
            size += bytes.length;
        } while (size < total);
        plugin.releaseSaveInBlockBuffers?.();
        return total > MAX_BYTES || size < total ? null : parts.join("");
    };
    const forbidsCopies = bytes => bytes.includes("/Encrypt") && [...bytes.matchAll(/\/Standard\b/g)].some(({ index }) => {
        const object = bytes.slice(Math.max(bytes.lastIndexOf("obj", index), index - 4096), index + 4096).split("endobj")[0];
        const permissions = object.match(/\/P\s+(-?\d+)(?!\d|\s+\d+\s+R)/);
        return permissions && (Number(permissions[1]) & MAY_COPY) === 0;
    });
    const bytes = await file();
    if (bytes === null) return answer("too-large");
    if (!bytes) return answer("unknown");
    plugin.selectAll();
    const { selectedText } = await plugin.getSelectedText();
    for (const mode of ["draw", "off"]) plugin.setAnnotationMode?.(mode);
    if (selectedText.length > MAX_TEXT) return answer("too-large");
    if (forbidsCopies(bytes)) return answer("copy-forbidden", selectedText);
    return answer(selectedText.trim() ? null : "no-text", selectedText);
}))"#;

/// Reads the PDF that a frame shows.
pub(super) async fn read_pdf(browser: &Browser, page: &Page, frame: &FrameId) -> Pdf {
    let until = Instant::now() + VIEWER_TIME;
    let read = Evaluate { expression: READ, return_by_value: true, await_promise: true, ..Evaluate::default() };
    loop {
        let reason = match page.viewer_of(frame) {
            Some(viewer) => match browser.connection.send_within(TIMEOUT, Some(&viewer), &read).await {
                Ok(answer) => match answer.value() {
                    Some(pdf) => return pdf,
                    // It may be there in parts yet.
                    None => Unread::Unknown,
                },
                Err(error) => {
                    tracing::debug!(%error, "a viewer did not tell the text of its PDF");
                    Unread::Loading
                }
            },
            None => Unread::Loading,
        };
        if Instant::now() >= until {
            return Pdf::unread(reason);
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
