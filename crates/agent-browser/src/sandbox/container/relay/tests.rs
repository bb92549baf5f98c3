use std::ffi::OsString;

use tokio::io::AsyncWriteExt;

use super::*;
use browser_shell_system::testing::write_script;

#[tokio::test]
async fn host_relay_forwards_to_browser_port() {
    let root = tempfile::tempdir().expect("a folder");
    let browser = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = browser.local_addr().expect("known").port();
    let socket = root.path().join(BROWSER_SOCKET);
    let forwarding = tokio::spawn(forward(UnixListener::bind(&socket).expect("bound"), port));
    let mut inside = UnixStream::connect(&socket).await.expect("connected");
    inside.write_all(b"ping").await.expect("sent");
    let (mut outside, _) = browser.accept().await.expect("accepted");
    let mut heard = [0; 4];
    outside.read_exact(&mut heard).await.expect("heard");
    assert_eq!(&heard, b"ping");
    drop(outside);
    assert_eq!(inside.read(&mut heard).await.expect("ended"), 0);
    forwarding.abort();
}

#[tokio::test]
async fn last_output_of_failed_program_is_the_error() {
    let line = ["/bin/sh", "-c", "echo no namespaces >&2; exit 3"].map(str::to_owned);
    let error = run_program(&line, &[], Path::new("/")).await.expect_err("ended").to_string();
    assert!(error.contains("exit status: 3") && error.ends_with("no namespaces"), "{error}");
}

#[test]
fn config_round_trips_through_its_argument() {
    let start = RelayStart::Container { engine: "/e".into(), create: serde_json::json!({"Image": "x"}) };
    let config = RelayConfig { sockets: "/s".into(), port: 9222, start };
    let text = serde_json::to_string(&config).expect("JSON");
    assert_eq!(serde_json::from_str::<RelayConfig>(&text).expect("parsed"), config);
    for line in [&[][..], &["{}"]] {
        let error = run(&mut line.iter().map(OsString::from)).expect_err("refused");
        assert!(matches!(error, RelayError::Config(_)), "{error}");
    }
}

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
