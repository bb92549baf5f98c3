//! Step: what only we may say, such as where a picture goes (spec [1.5]).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;

use super::{Call, Files, Step};
use crate::argv::table::Kind;
use crate::decision::{Code, Decision};
use crate::places::{MAX_FILES, SessionPlaces};

/// Gives every command that writes a file an absolute path in the session's own folder.
pub(super) struct Inject;

impl Step for Inject {
    fn name(&self) -> &'static str {
        "inject"
    }

    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<(), Decision>> {
        Box::pin(std::future::ready(inject(call)))
    }
}

fn inject(call: &mut Call) -> Result<(), Decision> {
    let (Some(request), Some(command)) = (&call.request, &mut call.command) else { return Ok(()) };
    let Some((name, kind, ending)) = command.form.positionals.iter().find_map(|positional| match positional.kind {
        Kind::FileName(ending) => Some((positional.name, positional.kind, ending)),
        _ => None,
    }) else {
        return Ok(());
    };
    let fresh = default_name(command.row.name, ending);
    let given = command.value(|other| other == kind).map(str::to_owned);
    let file_name = match &call.ask.terms.files {
        Files::Session => given.unwrap_or(fresh),
        // agent-browser writes under a name of ours, and the path that was asked for is where the file is carried.
        Files::Workspace(_) => {
            call.destination = Some(given.unwrap_or_else(|| fresh.clone()));
            fresh
        }
        Files::Nowhere(why) => return Err(why.clone()),
    };
    let path = call.context.sessions.places().session(&request.session).files.join(file_name);
    let text =
        path.to_str().ok_or_else(|| Decision::new(Code::WorkspaceUnavailable, "the workspace's path is not UTF-8"))?;
    command.put(name, kind, text.to_owned());
    call.file = Some(path);
    Ok(())
}

/// A name that no earlier picture of this process has.
fn default_name(subcommand: &str, ending: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let now = chrono::Utc::now().format("%Y%m%d-%H%M%S");
    format!("{subcommand}-{now}-{}{ending}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Makes the session's folder and sees that a file more fits into it.
///
/// # Errors
///
/// `workspace-unavailable` or `workspace-full`.
pub(super) fn make_room(places: &SessionPlaces, file: &Path) -> Result<(), Decision> {
    let count = places.make_files()?;
    match std::fs::symlink_metadata(file) {
        // agent-browser follows links: one that somebody put there must not decide where a picture goes.
        Ok(metadata) if !metadata.is_file() => {
            Err(Decision::new(Code::WorkspaceUnavailable, "the file name is taken by something that is not a file"))
        }
        Ok(_) => std::fs::remove_file(file)
            .map_err(|source| crate::places::PlaceError::Io { path: PathBuf::from(file), source }.into()),
        Err(_) if count >= MAX_FILES => {
            Err(Decision::new(Code::WorkspaceFull, format!("the session's folder holds {MAX_FILES} files")))
        }
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use crate::decision::Code;
    use crate::places::MAX_FILES;
    use serde_json::json;

    #[tokio::test]
    async fn spec_1_5_a_picture_goes_to_the_sessions_own_folder() {
        let bench = Bench::new(r#"{"subcommands":{"enable":["pdf"]}}"#);
        let files = bench.workspace().join("s");
        for (argv, expected) in [
            (json!(["screenshot", "a.png"]), format!("screenshot {}/a.png", files.display())),
            (json!(["screenshot", "#main", "a.png"]), format!("screenshot #main {}/a.png", files.display())),
            (json!(["pdf", "a.pdf"]), format!("pdf {}/a.pdf", files.display())),
        ] {
            bench.call(json!({"session_id": "s", "argv": argv})).await;
            assert_eq!(bench.take_runs().first(), Some(&expected));
        }
        bench.call(json!({"session_id": "s", "argv": ["screenshot"]})).await;
        bench.call(json!({"session_id": "s", "argv": ["screenshot", "button"]})).await;
        let runs = bench.take_runs();
        assert!(runs[0].starts_with(&format!("screenshot {}/screenshot-", files.display())), "{runs:?}");
        let last = runs.iter().rfind(|run| run.starts_with("screenshot")).expect("ran");
        assert!(last.starts_with(&format!("screenshot button {}/screenshot-", files.display())), "{last}");
    }

    #[tokio::test]
    async fn links_and_full_folders_are_refused() {
        let bench = Bench::new("{}");
        let files = bench.workspace().join("s");
        std::fs::create_dir_all(&files).expect("made");
        std::os::unix::fs::symlink("/etc/passwd", files.join("a.png")).expect("linked");
        let call = |name: &str| bench.call(json!({"session_id": "s", "argv": ["screenshot", name]}));
        assert_eq!(call("a.png").await.decision.code, Code::WorkspaceUnavailable);
        assert!(bench.runs().is_empty());
        for number in 1..MAX_FILES {
            std::fs::write(files.join(format!("{number}.png")), "").expect("written");
        }
        assert_eq!(call("new.png").await.decision.code, Code::WorkspaceFull);
        assert_ne!(
            call("1.png").await.decision.code,
            Code::WorkspaceFull,
            "control: a name that is there can be used again"
        );
    }
}
