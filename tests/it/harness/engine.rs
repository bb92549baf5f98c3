//! A container engine for one test: podman's service on a socket in a temporary folder, with one empty image.
//!
//! Only mounted files can run in its containers. It never uses the machine's own containers and images.

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::processes::wait_for;

const IMAGE: &str = "localhost/nothing:1";

#[derive(Debug)]
pub(crate) struct ContainerEngine {
    service: Child,
    folder: TempDir,
}

impl ContainerEngine {
    /// Starts the service and waits until it accepts connections.
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
        let imported = imported.expect("podman is missing: run tests/e2e/setup");
        assert!(imported.status.success(), "{imported:?}");
        let service = podman(folder.path())
            .args(["system", "service", "--time=0"])
            .arg(format!("unix://{}", path("e").display()))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let engine = Self { service, folder };
        wait_for("the engine", || UnixStream::connect(engine.socket()).ok());
        engine
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("e")
    }

    /// Returns the `docker` section of a policy file that selects this engine.
    pub(crate) fn policy(&self) -> Value {
        json!({"socket": self.socket(), "image": IMAGE})
    }

    /// Returns the number of containers, including those that have exited.
    pub(crate) fn containers(&self) -> usize {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.write_all(b"GET /containers/json?all=true HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("200 OK"), "{answer}");
        serde_json::from_str::<Vec<Value>>(body.trim()).unwrap().len()
    }

    /// Waits until no container is left. The engine removes each container after it exits.
    pub(crate) fn wait_until_empty(&self) {
        wait_for("the end of all containers", || (self.containers() == 0).then_some(()));
    }
}

/// Returns a podman command with separate storage and `runc`, which supports every version of control groups.
fn podman(folder: &Path) -> Command {
    let mut command = Command::new("podman");
    for (flag, name) in [("--root", "root"), ("--runroot", "run"), ("--tmpdir", "tmp")] {
        command.arg(flag).arg(folder.join(name));
    }
    command.args(["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none"]);
    command.args(["--runtime", "runc"]);
    command
}

impl Drop for ContainerEngine {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.wait_until_empty();
        }
        drop(self.service.kill());
        drop(self.service.wait());
        // Podman creates control group folders on the host. A folder that is still in use cannot be removed.
        for controller in fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten() {
            let parent = controller.path().join("libpod_parent");
            for child in fs::read_dir(&parent).into_iter().flatten().flatten() {
                drop(fs::remove_dir(child.path()));
            }
            drop(fs::remove_dir(parent));
        }
    }
}
