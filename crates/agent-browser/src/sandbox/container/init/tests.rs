use std::ffi::OsString;
use std::path::Path;

use super::*;
use crate::sandbox::confine::ConfineConfig;
use crate::sandbox::container::protocol;
use crate::sandbox::plan::Plan;
use browser_shell_system::confinement::KernelFeatures;
use browser_shell_system::os::exec::{ExecError, MAX_STREAM_BYTES};
use browser_shell_system::testing::{shell, write_script};

const MINUTE: Duration = Duration::from_mins(1);

/// Returns a configuration with a stand-in for `confine`, which drops its two arguments.
fn config(folder: &Path) -> InitConfig {
    let executable = folder.join("executable");
    write_script(&executable, "#!/bin/sh\nshift 2\nexec \"$@\"\n").expect("written");
    let kernel = KernelFeatures { landlock: 0, seccomp: false };
    let confine = ConfineConfig::new(Plan::default(), kernel);
    InitConfig { confine, executable, sockets: folder.to_owned(), port: 0, proxies: false }
}

async fn connect(folder: &Path) -> UnixStream {
    loop {
        if let Ok(stream) = UnixStream::connect(folder.join(REQUEST_SOCKET)).await {
            return stream;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn sandbox_init_runs_program_and_returns_capped_streams() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = tokio::spawn(serve(Arc::new(config(folder.path())), MINUTE));
    let cancel = CancellationToken::new();
    let output =
        protocol::run(connect(folder.path()).await, &shell("echo out; env >&2; exit 3"), MINUTE, &cancel).await;
    let output = output.expect("ran");
    assert_eq!((output.exit_code, output.stdout.to_text().as_str()), (3, "out\n"));
    let path = format!("PATH={}\n", std::env::var("PATH").expect("a path"));
    assert!(output.stderr.to_text().contains(&path), "{output:?}");
    assert!(!output.stderr.to_text().contains("CARGO"), "its environment and no other");
    let large = shell("head -c 20000000 /dev/zero");
    let output = protocol::run(connect(folder.path()).await, &large, MINUTE, &cancel).await.expect("ran");
    assert_eq!((output.stdout.bytes.len(), output.stdout.total), (MAX_STREAM_BYTES, 20_000_000));
    let nowhere = Program { directory: "/nowhere".into(), ..shell("") };
    let error = protocol::run(connect(folder.path()).await, &nowhere, MINUTE, &cancel).await.expect_err("refused");
    assert!(error.to_string().contains("cannot start"), "{error}");
    server.abort();
}

#[tokio::test]
async fn sandbox_init_ends_group_on_timeout_and_cancel() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = tokio::spawn(serve(Arc::new(config(folder.path())), MINUTE));
    for cancelled in [false, true] {
        let file = folder.path().join("pid");
        let script = format!("trap '' TERM; echo $$ > {}; while :; do sleep 1; done", file.display());
        let cancel = CancellationToken::new();
        let stream = connect(folder.path()).await;
        let running = tokio::spawn({
            let cancel = cancel.clone();
            let timeout = if cancelled { MINUTE } else { Duration::from_secs(5) };
            async move { protocol::run(stream, &shell(&script), timeout, &cancel).await.err() }
        });
        let pid = loop {
            match fs::read_to_string(&file) {
                Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        if cancelled {
            cancel.cancel();
        }
        let error = running.await.expect("joined");
        assert_eq!(matches!(error, Some(ExecError::Cancelled)), cancelled, "{error:?}");
        assert_eq!(matches!(error, Some(ExecError::TimedOut)), !cancelled, "{error:?}");
        assert!(!Path::new("/proc").join(pid).exists());
        fs::remove_file(file).expect("removed");
    }
    server.abort();
}

#[tokio::test]
async fn sandbox_init_exits_only_when_idle() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = tokio::spawn(serve(Arc::new(config(folder.path())), Duration::from_secs(2)));
    let output =
        protocol::run(connect(folder.path()).await, &shell("sleep 4"), MINUTE, &CancellationToken::new()).await;
    assert_eq!(output.expect("a request is waited for").exit_code, 0);
    assert!(server.await.expect("joined").is_ok());
}

#[tokio::test]
async fn sandbox_init_answer_above_cap_is_refused() {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let reply = br#"{"ended":{"code":0,"stdout":{"kept":99999999,"total":1},"stderr":{"kept":0,"total":0}}}"#;
    let (_read, mut write) = theirs.into_split();
    write.write_all(&[reply.as_slice(), b"\n"].concat()).await.expect("sent");
    let error = protocol::run(ours, &shell(""), MINUTE, &CancellationToken::new()).await.expect_err("refused");
    assert!(error.to_string().contains("too much"), "{error}");
}

#[test]
fn config_round_trips_through_its_argument() {
    let config = config(tempfile::tempdir().expect("a folder").path());
    let text = serde_json::to_string(&config).expect("JSON");
    assert_eq!(serde_json::from_str::<InitConfig>(&text).expect("parsed"), config);
    for line in [&[][..], &["{}"]] {
        let error = run(&mut line.iter().map(OsString::from)).expect_err("refused");
        assert!(matches!(error, InitError::Config(_)), "{error}");
    }
}
