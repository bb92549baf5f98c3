//! One command for a session's daemon.

use serde_json::{Map, Value};

use crate::agent_browser::direct::connection::{check_peer, connect};
use crate::agent_browser::direct::error::DaemonError;
use crate::agent_browser::direct::protocol::{DaemonReply, exchange};
use crate::agent_browser::direct::supported::SupportedDaemon;
use crate::paths::SessionPaths;

/// Name of this transport, for the audit line.
pub(crate) const NAME: &str = "daemon";

/// Runs a command in the session's daemon. If the future is dropped, the daemon continues; the caller ends it.
///
/// # Errors
///
/// See [`DaemonError`].
pub(crate) async fn call(
    session: &SessionPaths,
    daemon: &SupportedDaemon,
    cdp_port: u16,
    request: &Map<String, Value>,
) -> Result<DaemonReply, DaemonError> {
    let stream = connect(session).await?;
    check_peer(&stream, &session.tmp(), &daemon.program)?;
    exchange(stream, cdp_port, request).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_browser::direct::program::DaemonProgram;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    #[tokio::test]
    async fn listener_without_session_marker_is_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let session = SessionPaths::below(root.path());
        std::fs::create_dir(&session.sockets).expect("made");
        let _listener = UnixListener::bind(session.socket()).expect("bound");
        std::fs::set_permissions(session.socket(), std::fs::Permissions::from_mode(0o700)).expect("set");
        // The listener is this test, which is not a process of the session.
        let daemon = SupportedDaemon { version: "", program: DaemonProgram::Script(root.path().join("daemon.js")) };
        let request = json!({ "action": "click", "selector": "@e1" }).as_object().expect("an object").clone();
        let outcome = call(&session, &daemon, 9333, &request).await;
        assert!(
            matches!(&outcome, Err(DaemonError::ForeignProcess(cause)) if cause.contains("not of the session")),
            "{outcome:?}"
        );
    }
}
