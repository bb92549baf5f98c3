use super::*;
use crate::sandbox::backend;

fn sandbox(root: &Path, name: BackendName, template: Option<PathBuf>) -> SessionSandbox {
    let paths = SessionPaths::below(root);
    paths.make().expect("made");
    SessionSandbox {
        backend: backend(name).expect("there"),
        host: SandboxHost::detect(),
        policy: SandboxPolicy::default(),
        plan: Plan::default(),
        paths,
        template,
        status: String::new(),
        is_started: AtomicBool::new(false),
        init_start: tokio::sync::Mutex::default(),
    }
}

fn program(path: &str) -> Program {
    Program { path: path.into(), arguments: Vec::new(), environment: Vec::new(), directory: "/".into() }
}

// Requirement 5.2.
#[tokio::test]
async fn sandbox_runs_nothing_before_start_and_reports_missing_parts() {
    let root = tempfile::tempdir().expect("a folder");
    let sandbox = sandbox(root.path(), BackendName::None, None);
    let (cancel, minute) = (CancellationToken::new(), Duration::from_mins(1));
    let program = program("/bin/sh");
    let refused = sandbox.execute(&program, minute, &cancel).await;
    assert!(matches!(refused, Err(SandboxError::NotStarted)));
    sandbox.start().expect("started");
    assert_eq!(sandbox.execute(&program, minute, &cancel).await.expect("control: ran").exit_code, 0);
    assert!(sandbox.paths.files.is_dir());
    assert!(sandbox.stop().await);
    assert!(!sandbox.paths.files.exists());
    let refused = sandbox.execute(&program, minute, &cancel).await;
    assert!(matches!(refused, Err(SandboxError::NotStarted)), "after its end: {refused:?}");
    let confined = self::sandbox(root.path(), BackendName::Landlock, None);
    confined.start().expect("started");
    let error = confined.execute(&self::program("/nowhere/ab"), minute, &cancel).await.expect_err("refused");
    assert!(error.to_string().starts_with("cannot start `/nowhere/ab`"), "{error}");
}

// Requirement 5.2.
#[test]
fn sandbox_workspace_starts_as_copy_of_template() {
    let root = tempfile::tempdir().expect("a folder");
    let template = root.path().join("template");
    fs::create_dir_all(template.join("a/b")).expect("made");
    fs::write(template.join("a/b/file"), "text").expect("written");
    let sandbox = sandbox(root.path(), BackendName::None, Some(template.clone()));
    sandbox.start().expect("started");
    let copied = sandbox.paths.files.join("a/b/file");
    assert_eq!(fs::read_to_string(&copied).expect("copied"), "text");
    fs::write(&copied, "changed").expect("written");
    sandbox.start().expect("started again");
    assert_eq!(fs::read_to_string(&copied).expect("there"), "changed", "it is copied once");
    assert_eq!(fs::read_to_string(template.join("a/b/file")).expect("there"), "text");
}

// Requirement 5.2.
#[test]
fn template_with_link_or_too_many_files_is_refused() {
    for make in [
        (|template: &Path| std::os::unix::fs::symlink("/etc/passwd", template.join("x")).expect("linked")) as fn(&Path),
        |template| {
            for number in 0..=MAX_FILES {
                fs::write(template.join(number.to_string()), "").expect("written");
            }
        },
    ] {
        let root = tempfile::tempdir().expect("a folder");
        let template = root.path().join("template");
        fs::create_dir(&template).expect("made");
        make(&template);
        let sandbox = sandbox(root.path(), BackendName::None, Some(template));
        assert!(sandbox.start().is_err());
    }
}
