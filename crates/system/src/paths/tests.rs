use std::os::unix::fs::MetadataExt;

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
}

fn settings(root: &Path) -> Settings {
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
fn mode_of_a_folder_of_others_is_not_changed() {
    let root = tempfile::tempdir().expect("a folder");
    let (settings, runtime) = (settings(root.path()), root.path().join("r"));
    let set_mode = |mode| fs::set_permissions(&runtime, fs::Permissions::from_mode(mode)).expect("set");
    let mode = || fs::metadata(&runtime).expect("there").mode() & 0o7777;
    fs::create_dir(&runtime).expect("made");
    for shared in [0o1777, 0o755, 0o710] {
        set_mode(shared);
        assert!(matches!(Paths::inspect(&settings, Profile::Tool), Err(PathError::NotPrivate(_))), "{shared:o}");
        assert!(matches!(Paths::open(&settings, Profile::Tool), Err(PathError::NotPrivate(_))), "{shared:o}");
        assert!(matches!(Instance::take(&settings), Err(PathError::NotPrivate(_))), "{shared:o}");
        assert_eq!(mode(), shared);
    }
    set_mode(0o700);
    Paths::open(&settings, Profile::Tool).expect("control: a private folder");
    // It is ours now.
    set_mode(0o755);
    Paths::open(&settings, Profile::Tool).expect("used before");
    assert_eq!(mode(), 0o700);
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

#[test]
fn runtime_folder_is_of_one_server_at_a_time() {
    let dir = tempfile::tempdir().expect("a folder");
    let open = |profile| Paths::open(&settings(dir.path()), profile).expect("opened");
    let held = open(Profile::Tool).lock_for_server().expect("free");
    let other = open(Profile::Strict);
    let error = other.lock_for_server().expect_err("in use").to_string();
    let folder = other.runtime().display();
    assert_eq!(error, format!("another server uses `{folder}`; give each one its own with --runtime-dir"));
    drop(held);
    assert!(other.lock_for_server().is_ok(), "control");
}

#[test]
fn each_process_has_a_folder_that_ends_with_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = settings(dir.path());
    let runtime = settings.runtime_dir.clone().expect("named");
    let [first, second] = [(); 2].map(|()| Instance::take(&settings).expect("free"));
    assert_ne!(first.folder, second.folder);
    assert!(first.folder.starts_with(&runtime) && first.folder.is_dir() && second.folder.is_dir());

    let left = second.folder.join("left");
    fs::write(&left, "").expect("written");
    drop(first);
    let third = Instance::take(&settings).expect("free");
    assert!(left.exists(), "a living process keeps its folder");
    let path = second.folder.clone();
    drop(second);
    assert!(!path.exists() && third.folder.is_dir());

    // A process that was killed.
    fs::create_dir_all(path.join("left")).expect("created");
    let fourth = Instance::take(&settings).expect("free");
    assert_eq!(fourth.folder, path);
    assert!(!path.join("left").exists());
}

#[test]
fn folder_that_is_written_to_for_a_moment_longer_is_removed() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = settings(dir.path());
    let path = Instance::take(&settings).expect("free").folder.clone();
    fs::create_dir_all(&path).expect("created");
    let (started, has_started) = std::sync::mpsc::channel();
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            for number in 0..2000 {
                // Its folder may be gone at any time.
                let _ = fs::create_dir_all(path.join(number.to_string()));
                if number == 100 {
                    let _ = started.send(());
                }
            }
        }
    });
    has_started.recv().expect("started");
    let taken = Instance::take(&settings).expect("a folder");
    writer.join().expect("ended");
    assert_eq!(taken.folder, path);
}

#[test]
fn workspace_is_in_the_folder_unless_it_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut named = settings(dir.path());
    let instance = Instance::take(&named).expect("free");
    assert_eq!(instance.settings(&named).workspace, named.workspace);
    named.workspace = DEFAULT_WORKSPACE.into();
    let own = instance.settings(&named);
    assert!(own.workspace.starts_with(&instance.folder));
    assert_eq!(own.runtime_dir, Some(instance.folder.clone()));
}
