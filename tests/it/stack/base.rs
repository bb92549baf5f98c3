//! The running container stack: starting it, using it, and checking its end.
//!
//! No function here touches a process that the stack did not start.

use std::{
    fs,
    io::Write,
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    super::{
        e2e::{chromium::spawn_from_permanent_thread, test_env},
        harness::{
            processes::{self, Process, children_of, is_alive, wait_for},
            server::{CallReply, PROGRAM, stand_in},
        },
    },
    key::Key,
    request::{HttpResponse, PORT, post, request, send},
};

/// Configurations of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StackKind {
    /// Without authentication.
    Open,
    /// With JWT authentication.
    Jwt,
    /// Exclusive use of the same two, for attacks and for tests that break and repair something. An attack also makes
    /// Xvnc reject new viewers for a while.
    OpenExclusive,
    JwtExclusive,
    /// The older generation of the base, with an MCP hub in front of the tool. With JWTs and exclusive.
    Hub,
    /// Without `rootfs/image.env`, to show the effect of the image's environment.
    WithoutImageEnv,
}

/// Host names that the wall of [`StackKind::OpenExclusive`] serves besides localhost and addresses.
pub(super) const LISTED_HOSTS: &str = "listed.example,Only.example:8443,default";

/// Ports that may be open inside the container only.
const INNER_PORTS: [u16; 8] = [5900, 6080, 8079, 8081, 8091, 8119, 9222, 9223];

/// A running container, with the operations that tests need.
#[derive(Debug)]
pub(super) struct Stack {
    pub(super) kind: StackKind,
    child: Mutex<Child>,
    state: TempDir,
    key: Option<Key>,
    // Held by the test that uses the tab, because all sessions share one tab.
    browser: Mutex<()>,
}

impl Stack {
    pub(super) fn start(kind: StackKind) -> Self {
        require_root();
        for port in [PORT].into_iter().chain(INNER_PORTS) {
            assert!(!is_open(port), "port {port} must be free: run the tests of `stack::` in a process of their own");
        }
        let state = TempDir::with_prefix("stack").unwrap();
        // Container services that are not root write below this folder.
        fs::set_permissions(state.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let policy = state.path().join("policy.json");
        fs::write(&policy, "{}\n").unwrap();
        let inner = state.path().join("container");
        fs::create_dir(&inner).unwrap();

        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let key = matches!(kind, StackKind::Jwt | StackKind::JwtExclusive | StackKind::Hub).then(Key::new);
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(root.join("tests/aio-base/run"));
        command.args(["--program", PROGRAM, "--agent-browser"]).arg(agent_browser());
        command.arg("--policy").arg(&policy).arg("--state").arg(&inner);
        // 50 clients, each with its own session.
        command.args(["--env", "BROWSER_SHELL_MAX_SESSIONS=64"]);
        if let Some(key) = &key {
            command.arg("--env").arg(format!("JWT_PUBLIC_KEY={}", key.public()));
        }
        match kind {
            StackKind::OpenExclusive => {
                command.arg("--env").arg(format!("BROWSER_SHELL_ALLOW_HOST={LISTED_HOSTS}"));
            }
            StackKind::WithoutImageEnv => {
                command.arg("--without-image-env");
            }
            StackKind::Hub => {
                command.arg("--hub");
            }
            _ => {}
        }
        let log = fs::File::create(state.path().join("run.log")).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let child = spawn_from_permanent_thread(command);
        let stack = Self { kind, child: Mutex::new(child), state, key, browser: Mutex::new(()) };
        stack.wait_until_healthy();
        stack
    }

    /// Waits until every service that tests use is available.
    fn wait_until_healthy(&self) {
        let startup = StartupGuard(self);
        let alive = |awaited: &str, probe: &dyn Fn() -> bool| {
            wait_for(awaited, || {
                let ended = self.child.lock().unwrap().try_wait().unwrap();
                assert!(ended.is_none(), "the stack exited during startup: {ended:?}");
                probe().then_some(())
            });
        };
        alive("noVNC's files through the wall", &|| request("GET /vnc/core/rfb.js").status == 200);
        alive("the screen behind the wall", &|| is_open(6080) && is_open(5900));
        let debugging = if self.kind == StackKind::WithoutImageEnv { 9222 } else { 9223 };
        alive("the debugging port", &|| send(debugging, "GET /json/version", &[], "").status == 200);
        // Without the image's environment, the tool does not start.
        if self.kind != StackKind::WithoutImageEnv {
            alive("the tool through the wall", &|| post("/mcp", &self.credentials(), &list()).status == 200);
        }
        std::mem::forget(startup);
    }

    /// Ends the container as a container engine does. The error describes what is left.
    pub(super) fn end(&self) -> Result<(), String> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let id = i32::try_from(child.id()).unwrap();
        let all = descendants(id);
        if thread::panicking() {
            // All descendants end with it.
            drop(child.kill());
            drop(child.wait());
            return wait_until_gone(&all);
        }
        if let Some(status) = child.try_wait().unwrap() {
            return Err(format!("none, but the stack had already exited with {status}"));
        }
        processes::signal(id, Signal::TERM);
        wait_for("the end of the stack after SIGTERM", || child.try_wait().unwrap());
        wait_until_gone(&all)
    }

    /// Prints the last lines of every log, for failed tests.
    pub(super) fn print_logs(&self) {
        let mut files = vec![self.state.path().join("run.log")];
        files.extend(fs::read_dir(self.log_folder()).into_iter().flatten().flatten().map(|entry| entry.path()));
        files.sort();
        let mut text = String::new();
        for file in files {
            let content = String::from_utf8_lossy(&fs::read(&file).unwrap_or_default()).into_owned();
            let lines: Vec<&str> = content.lines().collect();
            text += "--- ";
            text += &file.to_string_lossy();
            text += "\n";
            for line in lines.iter().skip(lines.len().saturating_sub(15)) {
                text += line;
                text += "\n";
            }
        }
        drop(std::io::stderr().write_all(text.as_bytes()));
    }

    // --- requests through the wall ---

    /// Returns a valid token, or an empty string if the stack needs none.
    pub(super) fn token(&self) -> String {
        self.key().token(3600)
    }

    pub(super) fn key(&self) -> &Key {
        self.key.as_ref().expect("this stack has no authentication")
    }

    /// Returns the Authorization header, if the stack needs one.
    pub(super) fn credentials(&self) -> Vec<String> {
        self.key.iter().map(|_| format!("Authorization: Bearer {}", self.token())).collect()
    }

    /// Calls the tool and returns the HTTP response.
    pub(super) fn try_call(&self, session: &str, argv: &[&str], seconds: u32) -> HttpResponse {
        let arguments = json!({"session_id": session, "argv": argv, "timeout_sec": seconds});
        let params = json!({"name": "browser-shell", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        post("/mcp", &self.credentials(), &call.to_string())
    }

    /// Calls the tool.
    #[track_caller]
    pub(super) fn call(&self, session: &str, argv: &[&str]) -> CallReply {
        self.call_within(60, session, argv)
    }

    /// Calls the tool with a timeout in seconds.
    #[track_caller]
    pub(super) fn call_within(&self, seconds: u32, session: &str, argv: &[&str]) -> CallReply {
        let reply = self.try_call(session, argv, seconds);
        assert_eq!(reply.status, 200, "{reply:?}");
        CallReply::read(&reply.json())
    }

    /// Opens a session. The first call starts a daemon of agent-browser, which gives up after 5 s. On a busy machine
    /// that is too short, so this retries.
    #[track_caller]
    pub(super) fn begin(&self, session: &str) {
        wait_for("the daemon of the session", || {
            let answer = self.call(session, &["open", "about:blank"]);
            if answer.stderr.contains("Daemon failed to start") {
                return None;
            }
            answer.ok();
            Some(())
        });
    }

    /// Returns a ticket for the screen.
    pub(super) fn ticket(&self) -> String {
        let reply = post("/tickets", &self.credentials(), "");
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["ticket"].as_str().unwrap().to_owned()
    }

    /// Waits for exclusive use of the only tab.
    pub(super) fn browser(&self) -> MutexGuard<'_, ()> {
        self.browser.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // --- inside the container ---

    /// Returns the processes of the container.
    pub(super) fn processes(&self) -> Vec<Process> {
        let id = self.child.lock().unwrap().id();
        descendants(i32::try_from(id).unwrap())
    }

    /// Returns the processes whose command line starts with `command`. A child with its parent's command line has not
    /// called `execve` yet and is left out.
    pub(super) fn processes_of(&self, command: &str) -> Vec<Process> {
        let mut found: Vec<Process> = Vec::new();
        // Parents come first.
        for process in self.processes() {
            let is_copy = || found.iter().any(|one| one.command == process.command && one.id == process.parent);
            if process.command.starts_with(command) && !is_copy() {
                found.push(process);
            }
        }
        found
    }

    /// Returns the process id of supervisord.
    pub(super) fn supervisord(&self) -> i32 {
        let found = self.processes_of("/usr/bin/python3 /usr/bin/supervisord");
        assert_eq!(found.len(), 1, "expected one supervisord: {found:?}");
        found[0].id
    }

    /// Returns a command that runs inside the container as root.
    pub(super) fn inside(&self) -> Command {
        let mut command = Command::new("nsenter");
        let first = self.supervisord().to_string();
        command.args(["--target", &first, "--mount", "--pid", "--ipc", "--uts", "--root", "--wd", "--"]);
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command inside the container as a user with that user's groups.
    pub(super) fn inside_as(&self, user: u32, command: &[&str]) -> Output {
        let user = user.to_string();
        let mut inside = self.inside();
        inside.args(["setpriv", "--reuid", &user, "--regid", &user]);
        inside.arg(if user == "1000" { "--init-groups" } else { "--clear-groups" });
        inside.arg("--").args(command).output().unwrap()
    }

    /// Runs `supervisorctl` and returns its output.
    pub(super) fn supervisor(&self, arguments: &[&str]) -> String {
        let socket = format!("unix://{}", self.state.path().join("container/supervisor/supervisor.sock").display());
        let output = Command::new("supervisorctl").args(["--serverurl", &socket]).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns the path of a file inside the container.
    pub(super) fn file(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.supervisord()))
    }

    // --- files ---

    fn log_folder(&self) -> PathBuf {
        self.state.path().join("container/log")
    }

    /// Returns the log of everything that reached the base's server and the unwanted services.
    pub(super) fn trap_log(&self) -> String {
        fs::read_to_string(self.log_folder().join("trap.log")).unwrap()
    }

    /// Clears that log, for tests that have written to it.
    pub(super) fn clear_trap_log(&self) {
        fs::write(self.log_folder().join("trap.log"), "").unwrap();
    }

    /// Returns the name and text of every log.
    pub(super) fn logs(&self) -> Vec<(String, String)> {
        let files = fs::read_dir(self.log_folder()).unwrap().flatten();
        files
            .map(|file| {
                let name = file.file_name().to_string_lossy().into_owned();
                (name, String::from_utf8_lossy(&fs::read(file.path()).unwrap()).into_owned())
            })
            .collect()
    }

    /// Replaces the mounted policy file.
    pub(super) fn write_policy(&self, policy: &Value) {
        fs::write(self.state.path().join("policy.json"), policy.to_string()).unwrap();
    }
}

/// Prints the logs and ends the stack if startup fails.
struct StartupGuard<'a>(&'a Stack);

impl Drop for StartupGuard<'_> {
    fn drop(&mut self) {
        self.0.print_logs();
        drop(self.0.end());
    }
}

/// Returns a request that the tool answers without a browser.
pub(super) fn list() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string()
}

/// Fails without root: the container has several users, which a namespace with one user cannot have.
pub(super) fn require_root() {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap();
    let count: u64 = map.split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!(rustix::process::geteuid().is_root() && count > 10_079, "the container needs root and several users");
}

/// Returns true if something listens on a port.
pub(super) fn is_open(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// Returns all descendants of a process.
pub(super) fn descendants(id: i32) -> Vec<Process> {
    let mut found = children_of(id);
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children_of(process.id));
        next += 1;
    }
    found
}

/// Waits until these processes have ended and all ports are closed.
fn wait_until_gone(all: &[Process]) -> Result<(), String> {
    let open = || [PORT].into_iter().chain(INNER_PORTS).filter(|port| is_open(*port)).collect::<Vec<u16>>();
    // The kernel ends them with the container's first process, which takes a moment. A process without memory can
    // still hold its sockets.
    for _ in 0..3000 {
        if !all.iter().any(is_alive) && open().is_empty() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    let left: Vec<&Process> = all.iter().filter(|process| is_alive(process)).collect();
    Err(format!("processes {left:?}, open ports {:?}", open()))
}

/// Returns the path of agent-browser's package as `tests/e2e/setup` installs it. Its program passes calls with a
/// directive for the stand-in (`#fake-...`), and questions about its fields (`#field-...`), to the stand-in. A call of the
/// real one ends after at most 25 s and
/// starts a daemon.
fn agent_browser() -> PathBuf {
    static PACKAGE: OnceLock<PathBuf> = OnceLock::new();
    PACKAGE
        .get_or_init(|| {
            let real = test_env::agent_browser();
            let folder = TempDir::with_prefix("agent-browser").unwrap().keep();
            let bin = folder.join("layer/agent-browser/bin");
            let modules = folder.join("node_modules");
            fs::create_dir_all(&bin).unwrap();
            fs::create_dir(&modules).unwrap();
            fs::copy(&real, bin.join("agent-browser-real")).unwrap();
            fs::copy(stand_in(), bin.join("agent-browser-fake")).unwrap();
            let chooser = bin.join(real.file_name().unwrap());
            let script = "#!/bin/bash\nbin=/opt/agent-browser/bin\ncase \"$*\" in\n  \
                *'#fake-'* | *' #field-'*) exec $bin/agent-browser-fake \"$@\" ;;\n  *) exec $bin/agent-browser-real \"$@\" ;;\nesac\n";
            fs::write(&chooser, script).unwrap();
            for file in ["agent-browser-real", "agent-browser-fake"].map(|name| bin.join(name)).iter().chain([&chooser]) {
                fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
            }
            // Mounted in the mount namespace of the test network, which removes it at its end.
            let layers = format!(
                "lowerdir={}:{}",
                folder.join("layer").display(),
                test_env::support().join("node_modules").display()
            );
            let mounted = Command::new("mount").args(["-t", "overlay", "-o", &layers, "overlay"]).arg(&modules).status();
            assert!(mounted.unwrap().success(), "cannot mount {layers}");
            modules.join("agent-browser")
        })
        .clone()
}
