//! The keeper: a second process that cleans up when the first one is killed (spec [1.10]).
//!
//! A server that gets KILL cannot end its sessions, and their daemons are detached. So the first session starts a keeper:
//! this program again, with a pipe as its standard input, which learns of every session. When the pipe closes, it ends and
//! removes what is left. It decides nothing, and must never touch a session that was taken off its list, or that another
//! process has taken over in the meantime.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::places::SessionPlaces;
use crate::processes::end_marked;
use crate::session_lock::SessionLock;

/// How long the server that is ending may still hold the locks of its sessions after its pipe has closed.
const LETTING_GO: Duration = Duration::from_secs(2);

/// The name of the hidden subcommand that is the keeper.
pub const SUBCOMMAND: &str = "keeper";

/// The server's end of the pipe.
#[derive(Debug, Default)]
pub struct Keeper {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    process: Option<Child>,
    sessions: HashMap<String, Value>,
}

impl Keeper {
    /// Puts a session on the list; starts the keeper if it does not run.
    pub fn add(&self, session: &SessionPlaces, keeps_files: bool) {
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

    /// Takes a session off the list.
    pub fn remove(&self, session: &SessionPlaces) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.sessions.remove(&session.key).is_some() && !state.send(&json!({ "remove": session.key })) {
            state.restart();
        }
    }
}

impl State {
    /// Whether the keeper took the line.
    fn send(&mut self, line: &Value) -> bool {
        let pipe = self.process.as_mut().and_then(|process| process.stdin.as_mut());
        pipe.is_some_and(|pipe| writeln!(pipe, "{line}").and_then(|()| pipe.flush()).is_ok())
    }

    /// Starts a keeper and tells it of all sessions.
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
            // A group of its own: an interrupt at the terminal is for the server, and the keeper cleans up after it.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(process) => self.process = Some(process),
            Err(error) => {
                tracing::warn!(%error, "cannot start the keeper: if this server is killed, agent-browser's daemons stay until they are idle");
                return;
            }
        }
        let lines: Vec<_> = self.sessions.values().cloned().collect();
        for line in lines {
            self.send(&line);
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            let _ = process.wait();
        }
    }
}

/// The keeper itself: reads its list until the pipe closes, then cleans up.
///
/// # Errors
///
/// When the pipe cannot be read.
pub async fn keep(input: impl BufRead) -> std::io::Result<()> {
    let mut sessions = HashMap::new();
    for line in input.lines() {
        // A line by half is one that the server did not finish writing; what it said before counts.
        let Ok(line) = serde_json::from_str::<Value>(&line?) else { continue };
        let text = |name: &str| line.get(name).and_then(Value::as_str).map(str::to_owned);
        if let (Some(key), Some(sockets), Some(private), Some(files)) =
            (text("add"), text("sockets"), text("private"), text("files"))
        {
            let session = SessionPlaces {
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
    let deadline = Instant::now() + LETTING_GO;
    futures::future::join_all(
        sessions.values().map(|(session, keeps_files)| clean_up(session, *keeps_files, deadline)),
    )
    .await;
    Ok(())
}

/// Ends and removes one session, unless another process has it by now: that one cleans up after itself.
async fn clean_up(session: &SessionPlaces, keeps_files: bool, deadline: Instant) {
    let lock = match SessionLock::take(&session.lock_file(), deadline).await {
        Ok(Some(lock)) => Some(lock),
        // Its folder is gone. What runs must end all the same.
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

    fn places(root: &Path, key: &str) -> SessionPlaces {
        SessionPlaces {
            key: key.to_owned(),
            sockets: root.join("s"),
            private: root.join("k").join(key),
            files: root.join("w").join(key),
        }
    }

    fn line(session: &SessionPlaces) -> String {
        json!({"add": session.key, "sockets": session.sockets, "private": session.private, "files": session.files})
            .to_string()
    }

    #[tokio::test]
    async fn a_session_that_another_server_has_taken_over_is_left_alone() {
        let root = tempfile::tempdir().expect("a folder");
        let (taken, free) = (places(root.path(), "taken"), places(root.path(), "free"));
        for session in [&taken, &free] {
            std::fs::create_dir_all(session.tmp()).expect("made");
        }
        let lock = SessionLock::take(&taken.lock_file(), Instant::now()).await.expect("asked").expect("free");
        keep(format!("{}\n{}\n", line(&taken), line(&free)).as_bytes()).await.expect("kept");
        assert!(taken.private.exists());
        assert!(!free.private.exists() && !free.lock_file().exists(), "control: the other one is cleaned up");
        drop(lock);
        keep(format!("{}\n", line(&taken)).as_bytes()).await.expect("kept");
        assert!(!taken.private.exists(), "control: when it is let go of, it is cleaned up too");
    }

    #[tokio::test]
    async fn spec_1_10_what_is_on_the_list_is_ended_and_removed() {
        let root = tempfile::tempdir().expect("a folder");
        let (mine, other) = (places(root.path(), "mine"), places(root.path(), "other"));
        let mut children = Vec::new();
        for session in [&mine, &other] {
            std::fs::create_dir_all(session.tmp()).expect("made");
            let mut command = Command::new("sleep");
            children.push(command.arg("600").env("TMPDIR", session.tmp()).spawn().expect("started"));
        }
        let script = format!("{}\n{}\n{}\n{{\"add\":\"half", line(&other), json!({"remove": "other"}), line(&mine));
        // The test is the parent: a child that has ended must be waited for before it is gone from /proc.
        let [mut first, mut second] = <[Child; 2]>::try_from(children).expect("two");
        let reaper = std::thread::spawn(move || first.wait());
        keep(script.as_bytes()).await.expect("kept");
        assert!(!reaper.join().expect("joined").expect("waited").success(), "ended by a signal");
        assert!(!mine.private.exists());
        assert!(second.try_wait().expect("asked").is_none(), "control: a session that was taken off runs on");
        assert!(other.private.exists());
        second.kill().expect("ended");
        second.wait().expect("waited");
    }
}
