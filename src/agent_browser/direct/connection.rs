//! Connection to a session's daemon.
//!
//! Invariants: a connection is used only if the socket is private to this user and the listener is the session's own daemon.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::process::Pid;
use tokio::net::UnixStream;

use crate::agent_browser::direct::error::DaemonError;
use crate::agent_browser::direct::program::{DaemonProgram, Runs};
use crate::os::processes::has_marker;
use crate::paths::SessionPaths;

/// Connects to the session's socket, if only this user can have created it.
pub(super) async fn connect(session: &SessionPaths) -> Result<UnixStream, DaemonError> {
    let path = session.socket();
    let metadata =
        std::fs::symlink_metadata(&path).map_err(|error| DaemonError::NotSent(format!("no socket: {error}")))?;
    check_socket(metadata.file_type().is_socket(), metadata.uid(), metadata.mode())?;
    UnixStream::connect(&path).await.map_err(|error| DaemonError::NotSent(format!("cannot connect: {error}")))
}

/// Checks that a file is one that the session's daemon creates: a socket of this user, private to them.
fn check_socket(is_socket: bool, owner: u32, mode: u32) -> Result<(), DaemonError> {
    if !is_socket {
        return Err(foreign("the path of the socket is not a socket".to_owned()));
    }
    if owner != rustix::process::geteuid().as_raw() {
        return Err(foreign(format!("the socket belongs to user {owner}")));
    }
    if mode & 0o077 != 0 {
        return Err(foreign(format!("the socket's mode is {:o}", mode & 0o777)));
    }
    Ok(())
}

/// Checks that the listening process is this user's, has the session marker and runs the supported daemon.
pub(super) fn check_peer(stream: &UnixStream, tmpdir: &Path, program: &DaemonProgram) -> Result<(), DaemonError> {
    let peer = stream.peer_cred().map_err(|error| DaemonError::NotSent(format!("no credentials: {error}")))?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Err(foreign(format!("the listener is user {}", peer.uid())));
    }
    let Some(pid) = peer.pid().and_then(Pid::from_raw) else {
        // In a sandbox with its own PID namespace the listener cannot be checked.
        return Err(DaemonError::NotSent("the listener's process is not visible".to_owned()));
    };
    if !has_marker(pid, tmpdir) {
        return Err(foreign(format!("process {pid} is not of the session")));
    }
    match program.run_by(pid) {
        Runs::Program => Ok(()),
        // Its own CLI may use it.
        Runs::Replacement => Err(DaemonError::NotSent("agent-browser has been replaced".to_owned())),
        Runs::Other => Err(foreign(format!("process {pid} does not run the supported daemon"))),
    }
}

const fn foreign(cause: String) -> DaemonError {
    DaemonError::ForeignProcess(cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    #[tokio::test]
    async fn only_private_socket_is_connected() {
        let root = tempfile::tempdir().expect("a folder");
        let session = SessionPaths::below(root.path());
        std::fs::create_dir(&session.sockets).expect("made");
        let outcome = async || connect(&session).await.map(drop);
        let set_mode =
            |mode| std::fs::set_permissions(session.socket(), std::fs::Permissions::from_mode(mode)).expect("set");
        assert!(matches!(outcome().await, Err(DaemonError::NotSent(_))), "no socket");

        std::fs::write(session.socket(), "").expect("written");
        assert!(matches!(outcome().await, Err(DaemonError::ForeignProcess(_))), "a file");
        std::fs::remove_file(session.socket()).expect("removed");

        let listener = UnixListener::bind(session.socket()).expect("bound");
        for mode in [0o770, 0o707, 0o777, 0o740] {
            set_mode(mode);
            assert!(matches!(outcome().await, Err(DaemonError::ForeignProcess(_))), "{mode:o}");
        }
        set_mode(0o700);
        assert_eq!(outcome().await, Ok(()), "control");

        let real = root.path().join("real.sock");
        std::fs::rename(session.socket(), &real).expect("moved");
        std::os::unix::fs::symlink(&real, session.socket()).expect("linked");
        assert!(matches!(outcome().await, Err(DaemonError::ForeignProcess(_))), "a link");
        std::fs::remove_file(session.socket()).expect("removed");
        std::fs::rename(&real, session.socket()).expect("moved");

        drop(listener);
        // A process that another test starts at this moment has a copy of the socket until it executes its program.
        let mut stale = outcome().await;
        for _ in 0..500 {
            if stale.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            stale = outcome().await;
        }
        assert!(matches!(stale, Err(DaemonError::NotSent(_))), "stale");
    }

    #[test]
    fn socket_of_another_user_is_refused() {
        let user = rustix::process::geteuid().as_raw();
        assert_eq!(check_socket(true, user, 0o140_700), Ok(()), "control");
        assert!(matches!(check_socket(true, user + 1, 0o140_700), Err(DaemonError::ForeignProcess(_))));
        assert!(matches!(check_socket(false, user, 0o100_700), Err(DaemonError::ForeignProcess(_))));
    }
}
