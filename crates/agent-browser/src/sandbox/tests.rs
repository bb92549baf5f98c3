use std::path::Path;
use std::time::Duration;

use super::*;
use browser_shell_core::policy::file::parse;
use browser_shell_system::os::exec::Program;
use browser_shell_system::testing::write_script;

fn host(landlock: u8) -> SandboxHost {
    SandboxHost::with(landlock, "/browser-shell")
}

async fn select_with(landlock: u8, text: &str) -> Result<SelectedBackend, String> {
    // No `bwrap` there, whatever is installed.
    let text = text.replace('~', r#""backends":{"bubblewrap":{"program":"/nowhere/bwrap"}}"#);
    let policy = parse(&text).expect("valid").sandbox;
    select(&host(landlock), &policy, |_| Plan::default()).await.map_err(|error| error.to_string())
}

// Requirement 5.2.
#[tokio::test]
async fn best_backend_is_chosen_and_gaps_are_reported() {
    let status = async |landlock, text: &str| select_with(landlock, text).await.expect("selected").status();
    assert_eq!(status(6, r#"{"sandbox":{~}}"#).await, "landlock:full");
    assert_eq!(status(3, r#"{"sandbox":{~}}"#).await, "landlock:partial");
    assert_eq!(status(0, r#"{"sandbox":{~}}"#).await, "none", "and the status says so");
    for off in [r#""enabled":false"#, r#""mode":"disabled""#, r#""backend":"none""#] {
        assert_eq!(status(6, &format!(r#"{{"sandbox":{{{off}}}}}"#)).await, "off");
    }
}

// Requirement 5.2.
#[tokio::test]
async fn unavailable_required_sandbox_is_refused() {
    assert!(select_with(6, r#"{"sandbox":{"require":true,~}}"#).await.is_ok(), "control");
    for landlock in [0, 1, 3, 5] {
        let error = select_with(landlock, r#"{"sandbox":{"require":true,~}}"#).await.expect_err("refused");
        assert!(error.contains("full enforcement is required"), "{error}");
    }
    let error = select_with(0, r#"{"sandbox":{"backend":"landlock"}}"#).await.expect_err("refused");
    assert!(error.starts_with("the sandbox backend `landlock` cannot be used: the kernel has no Landlock"), "{error}");
    let error = select_with(6, r#"{"sandbox":{"backend":"bubblewrap",~}}"#).await.expect_err("refused");
    assert!(error.contains("cannot start `/nowhere/bwrap`"), "{error}");
    let error =
        select_with(6, r#"{"sandbox":{"backend":"docker","backends":{"docker":{"image":"x","socket":"/nowhere/s"}}}}"#)
            .await
            .expect_err("refused");
    assert!(error.contains("no engine at `/nowhere/s`"), "{error}");
    let required = SandboxPolicy { require: true, enabled: false, ..SandboxPolicy::default() };
    let refused = select(&host(6), &required, |_| Plan::default()).await;
    assert!(matches!(refused, Err(SandboxError::Disabled)));
}

async fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Runs on one thread: a blocking probe would stop everything.
#[tokio::test]
async fn hung_bubblewrap_probe_blocks_nothing_and_ends_when_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let (bwrap, pid) = (folder.path().join("bwrap"), folder.path().join("pid"));
    write_script(&bwrap, &format!("#!/bin/sh\necho $$ > {}\nexec sleep 600\n", pid.display())).expect("written");
    let text = format!(r#"{{"sandbox":{{"backends":{{"bubblewrap":{{"program":"{}"}}}}}}}}"#, bwrap.display());
    let policy = parse(&text).expect("valid").sandbox;
    let (host, plan) = (host(6), Plan::default());
    tokio::select! {
        biased;
        result = bubblewrap::probe(&host, &policy, &plan) => panic!("it did not wait: {result:?}"),
        () = wait_until(|| std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))) => {}
    }
    let id = std::fs::read_to_string(&pid).expect("read");
    let status = Path::new("/proc").join(id.trim()).join("status");
    wait_until(|| std::fs::read_to_string(&status).map_or(true, |text| text.contains("zombie"))).await;
}

#[test]
fn every_backend_name_has_one_backend() {
    for name in BackendName::ALL {
        assert_eq!(BACKENDS.iter().filter(|backend| backend.name == *name).count(), 1, "{name}");
    }
}

// Requirement 5.2.
#[tokio::test]
async fn denied_names_that_a_backend_cannot_apply_are_reported() {
    let plan = || Plan { write: vec!["/w".into()], ..Plan::default() };
    let text = |more: &str| {
        let bwrap = r#""backends":{"bubblewrap":{"program":"/nowhere/bwrap"}}"#;
        format!(r#"{{"sandbox":{{"filesystem":{{"denyWrite":[".env"]}},{bwrap}{more}}}}}"#)
    };
    let policy = |more: &str| parse(&text(more)).expect("valid").sandbox;
    let selected = select(&host(6), &policy(""), |_| plan()).await.expect("selected");
    assert_eq!(selected.status(), "landlock:partial");
    assert!(selected.enforcement.to_string().contains("filesystem.denyWrite of `.env`"), "{}", selected.enforcement);
    let required = select(&host(6), &policy(r#","require":true"#), |_| plan()).await.expect_err("refused");
    assert!(required.to_string().contains("full enforcement is required"), "{required}");
    let other = select(&host(6), &policy(""), |_| Plan::default()).await.expect("selected");
    assert_eq!(other.status(), "landlock:full", "control: nothing may be written");
}

#[test]
fn wrapped_program_keeps_arguments_environment_and_cwd() {
    let program = Program {
        path: "/ab".into(),
        arguments: vec!["--session".into(), "s".into()],
        environment: vec![("TMPDIR".into(), "/t".into())],
        directory: "/d".into(),
    };
    let wrapped = confine::wrap(&host(6), &Plan::default(), &program);
    assert_eq!((wrapped.path, wrapped.directory), ("/browser-shell".into(), program.directory.clone()));
    assert_eq!(SandboxHost::detect().reexec_path, PathBuf::from("/proc/self/exe"), "not a path that can be replaced");
    assert_eq!(wrapped.environment, program.environment);
    assert_eq!(wrapped.arguments.get(2..), Some(&["/ab".into(), "--session".into(), "s".into()][..]));
}
