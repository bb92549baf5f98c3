use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::roots::MAX_SOCKET_PATH;
use super::*;
use crate::config::Settings;
use browser_shell_core::grammar::Profile;
use browser_shell_core::session_id::SessionId;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
}

pub(super) fn settings(root: &Path) -> Settings {
    let (runtime, workspace) = (root.join("r"), root.join("w"));
    let arguments = [
        "x".into(),
        "--runtime-dir".into(),
        runtime.into_os_string(),
        "--workspace".into(),
        workspace.into_os_string(),
    ];
    Arguments::parse_from(arguments).settings
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).expect(text)
}

// Requirement 1.12.
#[test]
fn session_folders_are_private_and_cwd_is_read_only() {
    let root = tempfile::tempdir().expect("a folder");
    let session = Paths::open(&settings(root.path()), Profile::Tool).expect("opened").session(&id("s"));
    session.make().expect("made");
    session.make().expect("made again");
    let mode = |path: PathBuf| fs::metadata(path).expect("there").mode() & 0o777;
    assert_eq!(mode(session.home()), 0o700);
    assert_eq!(mode(session.tmp()), 0o700);
    assert_eq!(mode(session.cwd()), 0o500);
    assert_eq!(session.make_files().expect("made"), 0);
    assert_eq!(mode(session.files.clone()), 0o700);
    session.remove();
    assert!(!session.private.exists() && !session.files.exists());
}

// Requirement 1.2.
#[test]
fn no_session_id_escapes_the_root_folders() {
    let root = tempfile::tempdir().expect("a folder");
    let paths = Paths::open(&settings(root.path()), Profile::Tool).expect("opened");
    for text in ["...", ".x", "--json", "a.b", "..a"] {
        let session = paths.session(&id(text));
        assert_eq!(session.files.parent(), Some(root.path().join("w").as_path()), "{text}");
        assert!(session.socket().as_os_str().len() <= MAX_SOCKET_PATH);
    }
}

#[test]
fn links_and_folders_of_other_users_are_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let paths = Paths::open(&settings(root.path()), Profile::Tool).expect("opened");
    let session = paths.session(&id("s"));
    fs::create_dir(root.path().join("w")).expect("made");
    std::os::unix::fs::symlink("/etc", &session.files).expect("linked");
    assert!(matches!(session.make_files(), Err(PathError::NotAFolder(_))));
    session.remove();
    assert!(Path::new("/etc/passwd").exists(), "removing a session does not follow a link");
}

#[test]
fn runtime_folder_too_long_for_sockets_is_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let long = root.path().join("x".repeat(60));
    assert!(matches!(Paths::open(&settings(&long), Profile::Tool), Err(PathError::TooLong { .. })));
}

#[test]
fn non_utf8_paths_are_refused() {
    use std::os::unix::ffi::OsStringExt;
    let root = tempfile::tempdir().expect("a folder");
    for broken in ["runtime", "workspace"] {
        let mut settings = settings(root.path());
        let path = root.path().join(std::ffi::OsString::from_vec(b"\xff".to_vec()));
        *if broken == "runtime" { settings.runtime_dir.get_or_insert_default() } else { &mut settings.workspace } =
            path;
        assert!(matches!(Paths::open(&settings, Profile::Tool), Err(PathError::NotUtf8(_))), "{broken}");
    }
    assert!(Paths::open(&settings(root.path()), Profile::Tool).is_ok(), "control");
}

#[test]
fn action_policy_allows_only_grammar_table() {
    let root = tempfile::tempdir().expect("a folder");
    let paths = Paths::open(&settings(root.path()), Profile::Tool).expect("opened");
    insta::assert_snapshot!(fs::read_to_string(paths.action_policy()).expect("written"));
}

#[test]
fn each_profile_has_its_own_action_policy() {
    let root = tempfile::tempdir().expect("a folder");
    let read = |profile| {
        let paths = Paths::open(&settings(root.path()), profile).expect("opened");
        fs::read_to_string(paths.action_policy()).expect("written")
    };
    let tool = read(Profile::Tool);
    insta::assert_snapshot!(format!("{}\n{}", read(Profile::Strict), read(Profile::Compat)));
    assert_eq!(fs::read_to_string(root.path().join("r/action-policy.json")).expect("there"), tool, "as it was");
}
