use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::*;

/// Folder with two workspaces, one of which is used, and a folder beside them.
struct TestEnv {
    root: tempfile::TempDir,
    workspace: Workspace,
}

impl TestEnv {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for name in ["cargos/bay-cargo-a", "cargos/bay-cargo-b", "outside"] {
            fs::create_dir_all(root.path().join(name)).expect("created");
        }
        fs::write(root.path().join("image"), "image").expect("written");
        let workspace = Workspace::below(root.path().join("cargos"), "bay-cargo-a".into(), "/workspace".into());
        Self { root, workspace }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn deliver(&self, to: &str) -> Result<String, WorkspaceError> {
        self.workspace.deliver(&self.path("image"), to)
    }

    fn link(&self, name: &str, to: &str) {
        symlink(to, self.path("cargos/bay-cargo-a").join(name)).expect("linked");
    }
}

// Requirement 4.1.
#[test]
fn delivered_file_and_its_folders_are_world_readable() {
    let env = TestEnv::new();
    assert_eq!(env.deliver("a.png").expect("delivered"), "/workspace/a.png");
    assert_eq!(env.deliver("shots/today/a.png").expect("delivered"), "/workspace/shots/today/a.png");
    assert_eq!(env.deliver("shots/today/a.png").expect("delivered again"), "/workspace/shots/today/a.png");
    let mode = |name: &str| fs::metadata(env.path(name)).expect("delivered").permissions().mode() & 0o777;
    assert_eq!(mode("cargos/bay-cargo-a/shots/today/a.png"), 0o644);
    assert_eq!(mode("cargos/bay-cargo-a/shots/today"), 0o755);
    assert_eq!(
        fs::read_dir(env.path("cargos/bay-cargo-a/shots/today")).expect("read").count(),
        1,
        "no temporary file is left"
    );
}

// Requirement 4.1.
#[test]
fn delivery_follows_only_links_within_workspace() {
    let env = TestEnv::new();
    fs::create_dir(env.path("cargos/bay-cargo-a/real")).expect("created");
    env.link("inside", "real");
    assert!(env.deliver("inside/a.png").is_ok(), "control");
    assert!(env.path("cargos/bay-cargo-a/real/a.png").exists());
    let outside = env.path("outside").display().to_string();
    for (name, to) in [
        ("absolute", outside.as_str()),
        ("relative", "../../outside"),
        ("neighbor", "../bay-cargo-b"),
        ("round", "../bay-cargo-a/real"),
        ("proc", "/proc/self/root"),
        ("self", "self"),
    ] {
        env.link(name, to);
        let result = env.deliver(&format!("{name}/a.png"));
        assert!(matches!(result, Err(WorkspaceError::Outside(_))), "{name}: {result:?}");
    }
    for folder in ["outside", "cargos/bay-cargo-b"] {
        assert_eq!(fs::read_dir(env.path(folder)).expect("read").count(), 0, "{folder}");
    }
}

#[test]
fn link_with_target_file_name_is_replaced() {
    let env = TestEnv::new();
    fs::write(env.path("outside/a.png"), "kept").expect("written");
    env.link("a.png", "../../outside/a.png");
    env.deliver("a.png").expect("delivered");
    assert_eq!(fs::read_to_string(env.path("outside/a.png")).expect("read"), "kept");
    let delivered = env.path("cargos/bay-cargo-a/a.png");
    assert!(fs::symlink_metadata(&delivered).expect("delivered").is_file());
    assert_eq!(fs::read_to_string(&delivered).expect("read"), "image");
}

#[test]
fn delivery_reports_obstacles_and_missing_folders() {
    let env = TestEnv::new();
    fs::create_dir(env.path("cargos/bay-cargo-a/a.png")).expect("created");
    fs::write(env.path("cargos/bay-cargo-a/file"), "").expect("written");
    assert!(matches!(env.deliver("a.png"), Err(WorkspaceError::Taken(_))));
    assert!(matches!(env.deliver("file/a.png"), Err(WorkspaceError::Taken(_))));
    let other = Workspace::below(env.path("cargos"), "bay-cargo-c".into(), "/workspace".into());
    let missing = other.deliver(&env.path("image"), "a.png");
    assert!(matches!(missing, Err(WorkspaceError::Root { .. })), "a workspace is never created");
    symlink("bay-cargo-a", env.path("cargos/bay-cargo-d")).expect("linked");
    let linked = Workspace::below(env.path("cargos"), "bay-cargo-d".into(), "/workspace".into());
    assert!(linked.deliver(&env.path("image"), "b.png").is_err(), "a workspace is no link to another one");
    assert!(env.deliver("b.png").is_ok(), "control");
}

#[test]
fn swapping_folders_for_links_never_escapes_workspace() {
    let env = TestEnv::new();
    let (folder, aside) = (env.path("cargos/bay-cargo-a/d"), env.path("cargos/bay-cargo-a/e"));
    fs::create_dir(&folder).expect("created");
    symlink(env.path("outside"), &aside).expect("linked");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut delivered = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    &folder,
                    rustix::fs::CWD,
                    &aside,
                    rustix::fs::RenameFlags::EXCHANGE,
                );
            }
        });
        for _ in 0..2000 {
            delivered += usize::from(env.deliver("d/a.png").is_ok());
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_dir(env.path("outside")).expect("read").count(), 0);
    assert!(delivered > 0, "control: some files were delivered");
}
