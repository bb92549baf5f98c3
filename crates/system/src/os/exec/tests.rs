use super::*;
use crate::testing::shell;

async fn run_script(script: &str, timeout: Duration) -> Result<RawOutput, ExecError> {
    run(&shell(script), timeout, &CancellationToken::new()).await
}

const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn exec_returns_exit_code_and_streams() {
    let output = run_script("echo out; echo err >&2; exit 3", LONG).await.expect("ran");
    assert_eq!(
        (output.exit_code, output.stdout.to_text().as_str(), output.stderr.to_text().as_str()),
        (3, "out\n", "err\n")
    );
    assert_eq!(run_script("kill -9 $$", LONG).await.expect("ran").exit_code, 137);
}

// Requirement 1.7.
#[tokio::test]
async fn exec_caps_and_counts_output() {
    let output = run_script("head -c 20000000 /dev/zero", LONG).await.expect("ran");
    assert_eq!((output.stdout.bytes.len(), output.stdout.total), (MAX_STREAM_BYTES, 20_000_000));
}

// Requirement 1.12.
#[tokio::test]
async fn exec_starts_child_with_empty_environment() {
    // Without a shell, which would add variables of its own.
    for (name, environment, expected) in
        [("env", vec![("A".into(), "b".into())], "A=b\n"), ("env", Vec::new(), ""), ("pwd", Vec::new(), "/\n")]
    {
        let path = find_on_path(name).expect("a program on PATH");
        let program = Program { path, arguments: Vec::new(), environment, directory: "/".into() };
        let output = run(&program, LONG, &CancellationToken::new()).await.expect("ran");
        assert_eq!(output.stdout.to_text(), expected, "{name}");
    }
}

#[tokio::test]
async fn missing_program_error_contains_its_name() {
    let mut program = shell("true");
    program.path = "/nowhere/agent-browser".into();
    let error = run(&program, LONG, &CancellationToken::new()).await.expect_err("refused").to_string();
    assert!(error.starts_with("cannot start `/nowhere/agent-browser`: "), "{error}");
}

/// Returns true if a process exists and is not a zombie.
fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

async fn ends_soon(pid: &str) -> bool {
    for _ in 0..3000 {
        if !is_alive(pid) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

async fn pid_in(file: &Path) -> String {
    for _ in 0..6000 {
        if let Ok(text) = std::fs::read_to_string(file)
            && text.ends_with('\n')
        {
            return text.trim().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the script did not write its pid");
}

// Requirement 1.10.
#[tokio::test]
async fn timeout_kills_process_group_that_ignores_term() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("pid");
    let script =
        format!("trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > {}; while :; do sleep 1; done' & wait", file.display());
    let error = run_script(&script, Duration::from_secs(5)).await.expect_err("timed out");
    assert!(matches!(error, ExecError::TimedOut));
    assert!(ends_soon(&pid_in(&file).await).await, "the grandchild is gone");
}

// Requirement 1.10.
#[tokio::test]
async fn cancel_and_drop_end_process_group() {
    for is_dropped in [false, true] {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("pid");
        let program = shell(&format!("echo $$ > {}; sleep 600", file.display()));
        let cancel = CancellationToken::new();
        let task = tokio::spawn({
            let cancel = cancel.clone();
            async move { run(&program, LONG, &cancel).await.err() }
        });
        let pid = pid_in(&file).await;
        assert!(is_alive(&pid), "control: it runs");
        if is_dropped {
            task.abort();
        } else {
            cancel.cancel();
            assert!(matches!(task.await.expect("joined"), Some(ExecError::Cancelled)));
        }
        assert!(ends_soon(&pid).await, "dropped: {is_dropped}");
    }
}

#[tokio::test]
async fn leftover_process_with_open_streams_does_not_delay_result() {
    let output = run_script("sleep 5 & echo done", LONG).await.expect("ran");
    assert_eq!(output.stdout.to_text(), "done\n");
}
