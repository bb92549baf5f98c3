//! File of a picture that the control gate has taken.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use browser_shell_core::decision::{Code, Decision};
use browser_shell_core::grammar::Command;
use serde_json::{Value, json};

use crate::call::phases::ValidatedCall;
use crate::os::io_error::describe;

/// Returns true if a command asks for a picture of what is in view of the page.
pub(super) fn is_of_view(command: &Command) -> bool {
    command.row.name == "screenshot" && command.selectors().next().is_none() && !command.has_flag("--full")
}

/// Writes a picture, which is PNG in base64, to the file of its call, and returns the data of the answer.
///
/// # Errors
///
/// `workspace-full`, `workspace-unavailable`, or `page-unreadable` if there is no picture.
pub(super) fn write(call: &ValidatedCall, picture: &Value) -> Result<Value, Decision> {
    let path = call.output_file.as_ref().map(|file| &file.path);
    let png = picture.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
    let (Some(path), Some(png)) = (path, png) else {
        return Err(Decision::new(Code::PageUnreadable, "the browser took no picture"));
    };
    // A file of this name was removed before, and a link is not followed.
    let written = OpenOptions::new().write(true).create_new(true).open(path).and_then(|mut file| file.write_all(&png));
    written.map_err(|error| {
        call.remove_output_file();
        if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
            return Decision::new(Code::WorkspaceFull, "there is no room for the file");
        }
        tracing::warn!(error = describe(&error), "cannot write a picture");
        Decision::new(Code::WorkspaceUnavailable, "the file cannot be written")
    })?;
    Ok(json!({ "path": path }))
}
