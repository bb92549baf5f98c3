//! Step: the picture of a screenshot as content of its own (spec [1.5]).

use std::fs::File;
use std::io::Read;
use std::path::Path;

use futures::future::BoxFuture;
use rustix::fs::{Mode, OFlags};

use super::{Call, Files, Picture, Reply, Step};
use crate::policy::Policy;

/// Reads the picture back and attaches it, or says why not.
pub(super) struct AttachPicture;

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

impl Step for AttachPicture {
    fn name(&self) -> &'static str {
        "attach-picture"
    }

    fn after<'a>(&'a self, call: &'a mut Call, reply: &'a mut Reply) -> BoxFuture<'a, ()> {
        let stays = matches!(call.ask.terms.files, Files::Session);
        let is_screenshot = stays && call.command.as_ref().is_some_and(|command| command.row.name == "screenshot");
        if let (true, 0, Some(path)) = (is_screenshot, reply.exit_code, &call.file) {
            let most = call.policy.as_deref().map_or(Policy::default().limits, |policy| policy.limits).max_image_bytes;
            match read(path, most) {
                Ok(png) => reply.picture = Some(Picture { png, path: path.clone() }),
                Err(note) => reply.note(&note),
            }
        }
        Box::pin(std::future::ready(()))
    }
}

/// The bytes of a picture that is small enough.
fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("the picture cannot be read back: {error}");
    let file =
        rustix::fs::open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
            .map_err(|error| unreadable(&error))?;
    let file = File::from(file);
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err("the picture is not a file".to_owned());
    }
    let size = metadata.len();
    if size > most {
        return Err(format!(
            "the picture has {size} bytes and is not returned: the limit is {most}; it is in the session's folder"
        ));
    }
    let mut png = Vec::new();
    file.take(most).read_to_end(&mut png).map_err(|error| unreadable(&error))?;
    if png.starts_with(PNG_SIGNATURE) {
        Ok(png)
    } else {
        Err("the picture is not a PNG and is not returned".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use serde_json::json;

    #[tokio::test]
    async fn spec_1_5_the_picture_comes_back_up_to_the_limit() {
        let bench = Bench::new(r#"{"limits":{"max_image_bytes":100}}"#);
        let png = [super::PNG_SIGNATURE, &[0; 50]].concat();
        bench.write_pictures(png.clone());
        let call = || bench.call(json!({"session_id": "s", "argv": ["screenshot", "a.png"]}));
        let picture = call().await.picture.expect("a picture");
        assert_eq!(picture.png, png);
        assert_eq!(picture.path, bench.workspace().join("s/a.png"));
        bench.write_pictures([super::PNG_SIGNATURE, &[0; 100]].concat());
        let reply = call().await;
        assert_eq!((reply.exit_code, &reply.picture), (0, &None));
        assert!(reply.stderr.contains("108 bytes and is not returned: the limit is 100"), "{}", reply.stderr);
        bench.write_pictures(b"GIF89a".to_vec());
        assert_eq!(call().await.picture, None, "only pictures of the kind that was asked for");
    }
}
