//! Reaper: the helper process that cleans up after a killed server.
//!
//! A killed server cannot end its sessions, and their daemons are detached. So the first session starts a reaper: this program
//! again, with a pipe as its standard input on which the server lists its sessions. When the pipe closes, the reaper ends and
//! removes the listed sessions.
//!
//! Invariant: a session that was removed from the list, or that another process uses by then, is left alone.
//!
//! Requirement 1.10.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::session::lock::SessionLock;
use browser_shell_system::os::processes::end_marked;
use browser_shell_system::paths::SessionPaths;

/// Maximum time for which a server that is ending holds the locks of its sessions after its pipe has closed.
const LOCK_RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Name of the hidden subcommand that runs the reaper.
pub(crate) const SUBCOMMAND: &str = "reaper";

/// The server's side of the reaper.
#[derive(Debug, Default)]
pub(crate) struct Reaper {
    state: Mutex<ReaperState>,
}

#[derive(Debug, Default)]
struct ReaperState {
    process: Option<Child>,
    /// Line of each listed session.
    sessions: HashMap<String, Value>,
}

impl Reaper {
    /// Adds a session to the list, and starts the reaper if it does not run.
    pub(crate) fn add(&self, session: &SessionPaths, keeps_files: bool) {
        let line = json!({
            "add": session.key, "sockets": session.sockets, "private": session.private, "files": session.files,
            "keep": keeps_files,
        });
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.sessions.insert(session.key.clone(), line.clone());
        if !state.send(&line) {
            state.restart();
        }
    }

    /// Removes a session from the list.
    pub(crate) fn remove(&self, session: &SessionPaths) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.sessions.remove(&session.key).is_some() && !state.send(&json!({ "remove": session.key })) {
            state.restart();
        }
    }
}

impl ReaperState {
    /// Sends a line. Returns true if the reaper received it.
    fn send(&mut self, line: &Value) -> bool {
        let pipe = self.process.as_mut().and_then(|process| process.stdin.as_mut());
        pipe.is_some_and(|pipe| writeln!(pipe, "{line}").and_then(|()| pipe.flush()).is_ok())
    }

    /// Starts a reaper and sends it the list.
    fn restart(&mut self) {
        if let Some(mut old) = self.process.take() {
            let _ = old.kill();
            let _ = old.wait();
        }
        if self.sessions.is_empty() {
            return;
        }
        let started = Command::new("/proc/self/exe")
            .arg(SUBCOMMAND)
            .env_clear()
            .current_dir("/")
            // In its own process group, so that an interrupt at the terminal reaches the server only.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(process) => self.process = Some(process),
            Err(error) => {
                tracing::warn!(%error, "cannot start the reaper: if this server is killed, agent-browser's daemons run until they are idle");
                return;
            }
        }
        let lines: Vec<_> = self.sessions.values().cloned().collect();
        for line in lines {
            self.send(&line);
        }
    }
}

impl Drop for ReaperState {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            let _ = process.wait();
        }
    }
}

/// Runs the reaper: reads the list until the pipe closes, then cleans up.
///
/// # Errors
///
/// If the pipe cannot be read.
pub(crate) async fn run(input: impl BufRead) -> std::io::Result<()> {
    let mut sessions = HashMap::new();
    for line in input.lines() {
        // The last line is incomplete if the server was killed while it wrote.
        let Ok(line) = serde_json::from_str::<Value>(&line?) else { continue };
        let text = |name: &str| line.get(name).and_then(Value::as_str).map(str::to_owned);
        if let (Some(key), Some(sockets), Some(private), Some(files)) =
            (text("add"), text("sockets"), text("private"), text("files"))
        {
            let session = SessionPaths {
                key: key.clone(),
                sockets: PathBuf::from(sockets),
                private: PathBuf::from(private),
                files: PathBuf::from(files),
            };
            let keeps_files = line.get("keep").and_then(Value::as_bool).unwrap_or_default();
            sessions.insert(key, (session, keeps_files));
        } else if let Some(key) = text("remove") {
            sessions.remove(&key);
        }
    }
    let deadline = Instant::now() + LOCK_RELEASE_TIMEOUT;
    futures::future::join_all(
        sessions.values().map(|(session, keeps_files)| clean_up(session, *keeps_files, deadline)),
    )
    .await;
    Ok(())
}

/// Ends and removes one session, unless another process uses it by now and will clean up itself.
async fn clean_up(session: &SessionPaths, keeps_files: bool, deadline: Instant) {
    let lock = match SessionLock::take(&session.lock_file(), deadline).await {
        Ok(Some(lock)) => Some(lock),
        // The folder is already removed, but processes may still run.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Ok(None) | Err(_) => return,
    };
    end_marked(&session.tmp()).await;
    if keeps_files {
        session.remove_private();
    } else {
        session.remove();
    }
    if let Some(lock) = lock {
        lock.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn paths(root: &Path, key: &str) -> SessionPaths {
        SessionPaths {
            key: key.to_owned(),
            sockets: root.join("s"),
            private: root.join("k").join(key),
            files: root.join("w").join(key),
        }
    }

    fn line(session: &SessionPaths) -> String {
        json!({"add": session.key, "sockets": session.sockets, "private": session.private, "files": session.files})
            .to_string()
    }

    #[tokio::test]
    async fn reaper_spares_session_taken_over_by_another_server() {
        let root = tempfile::tempdir().expect("a folder");
        let (taken, free) = (paths(root.path(), "taken"), paths(root.path(), "free"));
        for session in [&taken, &free] {
            std::fs::create_dir_all(session.tmp()).expect("made");
        }
        let lock = SessionLock::take(&taken.lock_file(), Instant::now()).await.expect("no error").expect("free");
        run(format!("{}\n{}\n", line(&taken), line(&free)).as_bytes()).await.expect("cleaned up");
        assert!(taken.private.exists());
        assert!(!free.private.exists() && !free.lock_file().exists(), "control: the other session is cleaned up");
        drop(lock);
        run(format!("{}\n", line(&taken)).as_bytes()).await.expect("cleaned up");
        assert!(!taken.private.exists(), "control: it is cleaned up when its lock is free");
    }

    // Requirement 1.10.
    #[tokio::test]
    async fn reaper_ends_and_removes_listed_sessions() {
        let root = tempfile::tempdir().expect("a folder");
        let (mine, other) = (paths(root.path(), "mine"), paths(root.path(), "other"));
        let mut children = Vec::new();
        for session in [&mine, &other] {
            std::fs::create_dir_all(session.tmp()).expect("made");
            let mut command = Command::new("sleep");
            children.push(command.arg("600").env("TMPDIR", session.tmp()).spawn().expect("started"));
        }
        let script = format!("{}\n{}\n{}\n{{\"add\":\"half", line(&other), json!({"remove": "other"}), line(&mine));
        // This test is the parent, and has to wait for an ended child before it disappears from /proc.
        let [mut first, mut second] = <[Child; 2]>::try_from(children).expect("two");
        let reaper = std::thread::spawn(move || first.wait());
        run(script.as_bytes()).await.expect("cleaned up");
        assert!(!reaper.join().expect("joined").expect("waited").success(), "ended by a signal");
        assert!(!mine.private.exists());
        assert!(
            second.try_wait().expect("no error").is_none(),
            "control: a session that was removed from the list continues"
        );
        assert!(other.private.exists());
        second.kill().expect("ended");
        second.wait().expect("waited");
    }
}
