use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::browser::launch::LaunchConfig;
use crate::browser::supervisor::start::{StartError, prepare};

/// Returns a configuration whose folders are below `root`, with a free port.
fn config(root: &Path) -> LaunchConfig {
    fs::create_dir(root.join("r")).expect("created");
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
    LaunchConfig {
        chromium: root.join("chromium"),
        profile: root.join(".browser/profile"),
        private: root.join("r/browser"),
        cdp_port: port,
        guard: "127.0.0.1:1".parse().expect("an address"),
        user_agent: None,
    }
}

#[test]
fn linked_profile_and_used_port_are_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let config = config(root.path());
    assert!(prepare(&config).is_ok(), "control");
    fs::remove_dir_all(root.path().join(".browser")).expect("removed");
    fs::create_dir(root.path().join("elsewhere")).expect("created");
    symlink("elsewhere", root.path().join(".browser")).expect("linked");
    assert!(matches!(prepare(&config), Err(StartError::Link(_))));
    fs::remove_file(root.path().join(".browser")).expect("removed");
    let listener = TcpListener::bind(("127.0.0.1", config.cdp_port)).expect("bound");
    assert!(matches!(prepare(&config), Err(StartError::PortTaken(_))));
    drop(listener);
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
