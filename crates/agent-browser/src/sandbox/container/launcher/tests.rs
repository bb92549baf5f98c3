use tokio::net::UnixListener;

use super::*;
use crate::sandbox::container::config::RelayStart;
use browser_shell_system::testing::write_script;

#[tokio::test]
async fn failed_sandbox_start_reports_reason() {
    let root = tempfile::tempdir().expect("a folder");
    let paths = SessionPaths::below(root.path());
    paths.make().expect("made");
    let config = || {
        Ok(RelayConfig {
            sockets: paths.sockets.clone(),
            port: 1,
            start: RelayStart::Program { line: Vec::new(), environment: Vec::new(), directory: "/".into() },
        })
    };
    let executable = root.path().join("executable");
    write_script(&executable, "#!/bin/sh\necho it broke >&2\n").expect("written");
    let cancel = CancellationToken::new();
    let error = connect(&executable, &paths, &Mutex::default(), config, &cancel).await.expect_err("refused");
    assert!(matches!(&error, SandboxError::Execution(_)) && error.to_string().ends_with(": it broke"), "{error}");
    cancel.cancel();
    let error = connect(&executable, &paths, &Mutex::default(), config, &cancel).await.expect_err("refused");
    assert!(matches!(error, SandboxError::Program(ExecError::Cancelled)), "{error}");
    let _init = UnixListener::bind(paths.sockets.join(REQUEST_SOCKET)).expect("bound");
    connect(&executable, &paths, &Mutex::default(), config, &CancellationToken::new())
        .await
        .expect("control: a running init needs no start");
}
