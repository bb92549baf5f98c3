//! Failures of agent-browser whose reason is known: each is reported by its code.

use std::{fs, io::Write, path::PathBuf, process::Command};

use super::{
    hosts::SHOP,
    processes,
    test_env::{self, Browser},
};

/// A small volume that is mounted until this value is dropped.
struct SmallVolume(PathBuf);

impl SmallVolume {
    fn mount(folder: PathBuf) -> Self {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"]).arg(&folder).status();
        assert!(mounted.unwrap().success(), "a volume must be mounted at {}", folder.display());
        Self(folder)
    }

    /// Fills the rest of the volume with a file.
    fn fill(&self) -> PathBuf {
        let filler = self.0.join("filler");
        let mut file = fs::File::create(&filler).unwrap();
        for size in [4096, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
        filler
    }
}

impl Drop for SmallVolume {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(&self.0).status());
    }
}

// Requirement 1.9.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn full_workspace_is_reported_until_there_is_room() {
    let _browser = Browser::lock();
    for version in test_env::agent_browsers() {
        let env = test_env::env_with(&version);
        let volume = SmallVolume::mount(env.workspace());
        let server = env.serve();
        let screenshot = |name: &str| server.call("s", &["screenshot", name]);
        server.wait_until_open("s");
        server.call("s", &["open", &format!("http://{SHOP}/hello")]).ok();
        screenshot("before.png").ok();
        let filler = volume.fill();
        // By the CLI or by the daemon, whichever the calls before left ready.
        for _ in 0..2 {
            let reply = screenshot("full.png").fails_with(75);
            assert!(reply.stderr.starts_with("workspace-full: "), "{reply:?}");
            assert!(!volume.0.join("s/full.png").exists(), "a partial file must not remain");
        }
        server.call("s", &["snapshot"]).ok();
        // Control: with room, the same calls succeed.
        fs::remove_file(filler).unwrap();
        assert!(screenshot("full.png").ok().picture.is_some());
        drop(server);
    }
}

// Requirement 1.9.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_behind_http_authentication_reports_login() {
    let browser = Browser::lock();
    for version in test_env::agent_browsers() {
        let server = test_env::env_with(&version).serve();
        let open = |query: &str| server.call("s", &["open", &format!("http://{SHOP}/login-wall{query}")]);
        server.wait_until_open("s");
        // By the daemon if it is ready, and after the failure by the CLI.
        for _ in 0..2 {
            let reply = open("?Basic").fails_with(1);
            assert!(reply.stderr.starts_with("login-required: the site asks for a login"), "{reply:?}");
        }
        processes::wait_for("two audit lines with the code", || {
            (server.env().audit().matches(r#""code":"login-required""#).count() == 2).then_some(())
        });
        // Control: a page that only looks like it is shown, and so is any other page.
        assert_eq!(open("").ok().data()["title"], "Login");
        server.call("s", &["open", &format!("http://{SHOP}/hello")]).ok();
        assert_eq!(browser.address(), format!("http://{SHOP}/hello"));
    }
}
