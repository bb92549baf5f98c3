//! A container engine of a test's own: podman's service on a socket in a temporary folder, with one image that holds nothing.
//!
//! What runs in a container of it can only be what was mounted. It must never use the machine's own containers and images.

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::processes::until;

const IMAGE: &str = "localhost/nothing:1";

#[derive(Debug)]
pub(crate) struct Engine {
    service: Child,
    folder: TempDir,
}

impl Engine {
    /// Starts one and waits until it answers.
    pub(crate) fn start() -> Self {
        let folder = TempDir::with_prefix("engine").unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("image")).unwrap();
        let run = |program: &str, arguments: &[&std::ffi::OsStr]| {
            let ran = Command::new(program).args(arguments).output().unwrap();
            assert!(ran.status.success(), "{program}: {ran:?}");
        };
        run("tar", &["-C".as_ref(), path("image").as_ref(), "-cf".as_ref(), path("image.tar").as_ref(), ".".as_ref()]);
        let imported = podman(folder.path()).arg("import").arg("--quiet").arg(path("image.tar")).arg(IMAGE).output();
        let imported = imported.expect("podman is there: run tests/e2e/setup");
        assert!(imported.status.success(), "{imported:?}");
        let service = podman(folder.path())
            .args(["system", "service", "--time=0"])
            .arg(format!("unix://{}", path("e").display()))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let engine = Self { service, folder };
        until("the engine", || UnixStream::connect(engine.socket()).ok());
        engine
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("e")
    }

    /// What the policy file says about it, below `docker`.
    pub(crate) fn policy(&self) -> Value {
        json!({"socket": self.socket(), "image": IMAGE})
    }

    /// How many containers it has, ended ones too.
    pub(crate) fn containers(&self) -> usize {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.write_all(b"GET /containers/json?all=true HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("200 OK"), "{answer}");
        serde_json::from_str::<Vec<Value>>(body.trim()).unwrap().len()
    }

    /// Waits until it has none any more: it removes them by itself after their end.
    pub(crate) fn until_empty(&self) {
        until("the end of all containers", || (self.containers() == 0).then_some(()));
    }
}

/// podman with storage of its own, and with the runtime that knows every kind of control groups.
fn podman(folder: &Path) -> Command {
    let mut command = Command::new("podman");
    for (flag, name) in [("--root", "root"), ("--runroot", "run"), ("--tmpdir", "tmp")] {
        command.arg(flag).arg(folder.join(name));
    }
    command.args(["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none"]);
    command.args(["--runtime", "runc"]);
    command
}

impl Drop for Engine {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.until_empty();
        }
        drop(self.service.kill());
        drop(self.service.wait());
        // The folders of its control groups are the machine's; one that is in use cannot be removed.
        for controller in fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten() {
            let parent = controller.path().join("libpod_parent");
            for child in fs::read_dir(&parent).into_iter().flatten().flatten() {
                drop(fs::remove_dir(child.path()));
            }
            drop(fs::remove_dir(parent));
        }
    }
}
