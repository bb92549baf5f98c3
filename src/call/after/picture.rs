//! Screenshot as a separate content item.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use futures::future::BoxFuture;
use rustix::fs::{Mode, OFlags};

use crate::call::options::FileTarget;
use crate::call::phases::{AnsweredCall, OutputFile};
use crate::call::reply::ReplyPicture;
use crate::call::step::AfterStep;
use browser_shell_system::os::io_error::describe;

/// Step that attaches the screenshot to the reply, or notes why it is not attached.
///
/// Requirement 1.5.
pub(crate) struct AttachPicture;

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

impl AfterStep for AttachPicture {
    fn after<'a>(&'a self, call: &'a mut AnsweredCall) -> BoxFuture<'a, ()> {
        attach(call);
        Box::pin(std::future::ready(()))
    }
}

fn attach(call: &mut AnsweredCall) {
    let Some(validated) = &call.validated else { return };
    let Some(OutputFile { path, .. }) = &validated.output_file else { return };
    let stays_in_session = matches!(call.context.options.file_target, FileTarget::Session);
    if !stays_in_session || validated.command.row.name != "screenshot" || call.reply.exit_code != 0 {
        return;
    }
    match read(path, call.context.limits().max_image_bytes) {
        Ok(png) => call.reply.picture = Some(ReplyPicture { png, path: path.clone() }),
        Err(note) => call.reply.note(&note),
    }
}

/// Returns the bytes of a picture that has at most `max_bytes`.
///
/// # Errors
///
/// A note for the reply.
fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: &io::Error| format!("the picture cannot be read back: {}", describe(error));
    let file =
        rustix::fs::open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
            .map_err(|error| unreadable(&error.into()))?;
    let file = File::from(file);
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err("the picture is not a file".to_owned());
    }
    let size = metadata.len();
    if size > max_bytes {
        return Err(format!(
            "the picture has {size} bytes and is not returned: the limit is {max_bytes}; it is in the session's folder"
        ));
    }
    let mut png = Vec::new();
    file.take(max_bytes).read_to_end(&mut png).map_err(|error| unreadable(&error))?;
    if png.starts_with(PNG_SIGNATURE) {
        Ok(png)
    } else {
        Err("the picture is not a PNG and is not returned".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use crate::call::testing::TestPipeline;
    use serde_json::json;

    // Requirement 1.5.
    #[tokio::test]
    async fn screenshot_is_returned_up_to_size_limit() {
        let pipeline = TestPipeline::new(r#"{"limits":{"max_image_bytes":100}}"#);
        let png = [super::PNG_SIGNATURE, &[0; 50]].concat();
        pipeline.write_pictures(png.clone());
        let call = || pipeline.call(json!({"session_id": "s", "argv": ["screenshot", "a.png"]}));
        let picture = call().await.picture.expect("a picture");
        assert_eq!(picture.png, png);
        assert_eq!(picture.path, pipeline.workspace().join("s/a.png"));
        pipeline.write_pictures([super::PNG_SIGNATURE, &[0; 100]].concat());
        let reply = call().await;
        assert_eq!((reply.exit_code, &reply.picture), (0, &None));
        assert!(reply.stderr.contains("108 bytes and is not returned: the limit is 100"), "{}", reply.stderr);
        std::fs::remove_file(pipeline.workspace().join("s/a.png")).expect("removed");
        pipeline.write_no_pictures();
        let reply = call().await;
        assert_eq!(reply.stderr, "the picture cannot be read back: no such file or folder");
        pipeline.write_pictures(b"GIF89a".to_vec());
        assert_eq!(call().await.picture, None, "only PNG files are attached");
    }
}
