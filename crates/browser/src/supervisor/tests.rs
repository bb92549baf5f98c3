use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::launch::LaunchConfig;
use crate::supervisor::{BrowserStartError, prepare};

/// Returns a configuration whose folders are below `root`.
fn config(root: &Path) -> LaunchConfig {
    fs::create_dir(root.join("r")).expect("created");
    LaunchConfig {
        chromium: root.join("chromium"),
        profile: root.join(".browser/profile"),
        private: root.join("r/browser"),
        guard: "127.0.0.1:1".parse().expect("an address"),
        session_addresses: 0,
        user_agent: None,
        display: None,
        screen_size: (1280, 800),
    }
}

#[test]
fn linked_profile_is_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let config = config(root.path());
    assert!(prepare(&config).is_ok(), "control");
    fs::remove_dir_all(root.path().join(".browser")).expect("removed");
    fs::create_dir(root.path().join("elsewhere")).expect("created");
    symlink("elsewhere", root.path().join(".browser")).expect("linked");
    assert!(matches!(prepare(&config), Err(BrowserStartError::Link(_))));
}

#[test]
fn profile_locks_of_other_hosts_are_removed() {
    let root = tempfile::tempdir().expect("a folder");
    let config = config(root.path());
    prepare(&config).expect("prepared");
    let lock = config.profile.join("SingletonLock");
    symlink("another-machine-17", &lock).expect("linked");
    prepare(&config).expect("prepared");
    assert!(fs::symlink_metadata(&lock).is_err());
}
