//! Files of pictures and printed pages.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use browser_shell_core::decision::{Code, Decision};
use serde_json::{Value, json};

use browser_shell_system::os::io_error::describe;

/// Writes what Chromium made, in base64, to the file of an action, and returns the data of the answer.
///
/// # Errors
///
/// `workspace-full`, `workspace-unavailable`, or `page-unreadable` if Chromium made nothing.
pub(super) fn write(path: Option<&Path>, made: &Value) -> Result<Value, Decision> {
    let bytes = made.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
    let (Some(path), Some(bytes)) = (path, bytes) else {
        return Err(Decision::new(Code::PageUnreadable, "the browser took no picture"));
    };
    // A file of this name was removed before, and a link is not followed.
    let written =
        OpenOptions::new().write(true).create_new(true).open(path).and_then(|mut file| file.write_all(&bytes));
    written.map_err(|error| {
        // So that it takes no room and cannot be mistaken for a whole one.
        let _ = std::fs::remove_file(path);
        if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge) {
            return Decision::new(Code::WorkspaceFull, "there is no room for the file");
        }
        tracing::warn!(error = describe(&error), "cannot write the file of a call");
        Decision::new(Code::WorkspaceUnavailable, "the file cannot be written")
    })?;
    Ok(json!({ "path": path }))
}
