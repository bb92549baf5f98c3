//! The commands of `docs/how-to/operate.md`, in the order of the page, at a real server whose service manager is this test.
//!
//! - `sh run` is executed, with the addresses and paths of the page replaced by those of the server. It must succeed, unless its
//!   last line ends with `# exit=N`, which may be followed by a code that the output must have. `systemctl` is this test.
//! - `json answer` is a part of what the block before it printed.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::{
    docs::page,
    e2e::test_env,
    harness::{
        processes::{self, wait_for},
        server::{PROGRAM, TestEnv, free_port},
    },
};
use super::server::{DRIVE_KEY, Server, key_file};

const PAGE: &str = "docs/how-to/operate.md";

/// A file system of a megabyte, which is unmounted at the end.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount() -> Self {
        let disk = Self(TempDir::with_prefix("log").unwrap());
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(disk.0.path());
        assert!(mount.status().unwrap().success());
        disk
    }

    fn audit_file(&self) -> PathBuf {
        self.0.path().join("audit.log")
    }

    /// Appends to the old audit file until no byte fits.
    fn fill(&self) {
        let mut file = File::options().append(true).open(self.0.path().join("audit.log.1")).unwrap();
        while file.write(&[b'\n'; 4096]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

/// The server as a service.
struct Service<'a> {
    server: Option<Server>,
    env: TestEnv,
    port: u16,
    disk: &'a SmallDisk,
}

impl<'a> Service<'a> {
    /// Starts a server with a key. Commands run in the folder `here`, which has the key and a new version of the program.
    fn start(disk: &'a SmallDisk) -> Self {
        let env = test_env::env_with(test_env::no_agent_browser());
        let folder = Path::new(env.folder());
        for name in ["etc", "bin", "here"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        for program in ["bin/browser-shell", "here/browser-shell"] {
            // Another process writes it: a file that this one has open for writing cannot be executed.
            assert!(Command::new("cp").arg(PROGRAM).arg(folder.join(program)).status().unwrap().success());
        }
        env.write_file("here/my.key", DRIVE_KEY);
        let keys = env.write_file("etc/api-keys.txt", &key_file(&[("ada", "drive", DRIVE_KEY)]));
        let env = env
            .with("BROWSER_SHELL_API_KEYS", keys)
            .with("BROWSER_SHELL_AUDIT", disk.audit_file())
            .with("BROWSER_SHELL_SCREEN", "cast");
        let mut service = Self { server: None, env, port: free_port(), disk };
        service.systemctl("start");
        service
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("a running server")
    }

    /// Does what systemd does by the unit of this repository.
    fn systemctl(&mut self, verb: &str) {
        match verb {
            "start" => self.server = Some(Server::start_on(self.port, self.env.shared())),
            "restart" => {
                drop(self.server.take());
                self.systemctl("start");
            }
            "reload" => {
                processes::signal(i32::try_from(self.server().id()).unwrap(), Signal::HUP);
                wait_for("the new audit file", || self.disk.audit_file().exists().then_some(()));
            }
            "status" => {}
            _ => panic!("`systemctl {verb}` is unknown to this test"),
        }
    }

    /// Returns lines of the page with the addresses and paths of this server.
    fn localized(&self, lines: &str) -> String {
        let folder = self.env.folder();
        let own = lines
            .replace("127.0.0.1:8080", &format!("127.0.0.1:{}", self.port))
            .replace("127.0.0.1:8081", &format!("127.0.0.1:{}", self.server().health_port()))
            .replace("/var/log/browser-shell", self.disk.0.path().to_str().unwrap())
            .replace("/etc/browser-shell", &format!("{folder}/etc"))
            .replace("/etc/agent-browser/browser-shell.policy.json", &format!("{folder}/policy.json"))
            .replace("/usr/local/bin/", &format!("{folder}/bin/"));
        let keys = format!("--token-file {folder}/here/my.key");
        own.replace("--token-file my.key", &keys)
    }

    /// Runs lines of the page in bash. Returns the exit code, and standard output with and without standard error.
    fn bash(&self, lines: &str) -> (i32, String, String) {
        let folder = self.env.folder();
        let path = format!("{folder}/bin:{}", std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", &self.localized(lines)]).current_dir(format!("{folder}/here"));
        let run = bash.env_clear().env("PATH", path).output().unwrap();
        let output = String::from_utf8(run.stdout).unwrap();
        let all = format!("{output}{}", String::from_utf8_lossy(&run.stderr));
        (run.status.code().expect("an exit code"), output, all)
    }

    /// Runs a block of the page, and returns what its last lines printed.
    fn run(&mut self, block: &str) -> String {
        let (mut lines, mut output) = (String::new(), String::new());
        for line in block.lines() {
            let Some(command) = line.strip_prefix("systemctl ") else {
                lines += line;
                lines.push('\n');
                continue;
            };
            let (code, _, all) = self.bash(&std::mem::take(&mut lines));
            assert_eq!(code, 0, "{block}\n{all}");
            self.systemctl(command.strip_suffix(" browser-shell").expect("the service"));
        }
        let wanted = block.split("# exit=").nth(1).unwrap_or("0").trim();
        let (exit, word) = wanted.split_once(' ').unwrap_or((wanted, ""));
        if !lines.is_empty() {
            let (code, printed, all) = self.bash(&lines);
            assert_eq!(code.to_string(), exit, "{block}\n{all}");
            assert!(all.contains(word), "no `{word}`: {block}\n{all}");
            output = printed;
        }
        output
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn commands_of_the_page_for_operators_work() {
    test_env::require_test_network();
    let disk = SmallDisk::mount();
    let mut service = Service::start(&disk);
    let (mut count, mut printed) = (0, String::new());
    for section in page(PAGE).split("\n## ").skip(1) {
        if section.starts_with("The disk is full") {
            service.env.write_policy(&json!({"audit": {"require": true}}).to_string());
            disk.fill();
        }
        for (info, body) in super::super::docs::blocks(section) {
            match info.as_str() {
                "sh run" => {
                    printed = service.run(&body);
                    count += 1;
                }
                "json answer" => {
                    let (wanted, found): (Value, Value) =
                        (serde_json::from_str(&body).unwrap(), serde_json::from_str(&printed).expect(&printed));
                    for (name, value) in wanted.as_object().unwrap() {
                        assert_eq!(&found[name], value, "{name}: {found}");
                    }
                }
                other => panic!("{other}: a block of another kind"),
            }
        }
        let health = service.server().health().unwrap();
        assert_eq!(health.0, 200, "after `{}`: {health:?}", section.lines().next().unwrap());
    }
    assert!(count >= 11, "the blocks were not found");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn health_returns_with_room_for_the_audit_log() {
    test_env::require_test_network();
    let disk = SmallDisk::mount();
    let service = Service::start(&disk);
    let call = || service.server().call_with(Some(DRIVE_KEY), "s", &["open", "about:blank"]).0;
    assert_eq!(call(), 0, "control");
    File::create(disk.0.path().join("audit.log.1")).unwrap();
    disk.fill();
    let audit = |wanted: &str| {
        let health = service.server().health().unwrap().1;
        assert_eq!(health["audit"], wanted, "{health}");
    };
    // The first line may fit into the last page of the file.
    wait_for("a lost line", || (call() == 0 && service.server().health()?.0 == 503).then_some(()));
    audit("unhealthy");
    fs::remove_file(disk.0.path().join("audit.log.1")).unwrap();
    // A probe that keeps calls away would otherwise keep the server unhealthy.
    audit("healthy");
    // Where lines are required, none is lost before the server says that it refuses calls.
    service.env.write_policy(&json!({"audit": {"require": true}}).to_string());
    assert_eq!(call(), 0, "control");
    audit("healthy");
    File::create(disk.0.path().join("audit.log.1")).unwrap();
    disk.fill();
    // The first lines may fit into the last page of the file.
    wait_for("a refused call", || (call() == 75).then_some(()));
    audit("unhealthy");
}
