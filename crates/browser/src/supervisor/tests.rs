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
fn only_a_refused_sandbox_is_left_out() {
    let ended = |stderr: &str| {
        let (status, stderr) = ("exit status: 1".to_owned(), stderr.to_owned());
        BrowserStartError::Ended { status, stderr }.is_sandbox_refusal()
    };
    for refusal in [
        // Chromium 156, where no user namespace can be made.
        "[7:7:1129/082256.164142:ERROR:content/browser/zygote_host/zygote_host_impl_linux.cc:130] No usable sandbox! If this is a \
         Debian system, please install the chromium-sandbox package to solve this problem.",
        "Failed to move to new namespace: PID namespaces supported, Network namespace supported, but failed: errno = \
         Operation not permitted / [1129/082256.164142:ERROR:file_io_posix.cc:145] open scaling_cur_freq: No such file",
    ] {
        assert!(ended(refusal), "control: {refusal}");
    }
    for other in [
        "",
        "launch: cannot write the settings `/workspace/.browser/profile/Local State`: no space left on device",
        "launch: cannot restrict connections and files: failed to create a ruleset",
        "error while loading shared libraries: libnss3.so: cannot open shared object file",
        "[1129/082313.960712:ERROR:third_party/crashpad/crashpad/util/file/file_io_posix.cc:145] open scaling_cur_freq: No such file",
    ] {
        assert!(!ended(other), "{other}");
    }
    assert!(!BrowserStartError::TimedOut.is_sandbox_refusal());
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
