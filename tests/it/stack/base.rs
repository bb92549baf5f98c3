//! The running stack: who starts it, who may use it when, and what must be left of it.
//!
//! It has fixed ports, so there is one at a time. Tests that want the same kind
//! share it; the others wait until the last of them has left. Then it is ended,
//! and a process or an open port that stays fails the test that left last.
//! Nothing here may touch a process that the stack did not start.

use std::{
    fs,
    io::Write,
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    super::{
        e2e::{chromium::spawn_kept, world},
        harness::{
            processes::{self, Process, children_of, lives, until},
            server::{Answer, PROGRAM, stand_in},
        },
    },
    key::Key,
    request::{PORT, Reply, ask, post, send},
};

/// The stacks that tests ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Without authentication.
    Open,
    /// With JWTs.
    Jwt,
    /// The same two for attacks, and for tests that break something and mend it: one
    /// after another. An attack also has Xvnc refuse new viewers for a while.
    HurtOpen,
    HurtJwt,
    /// The older generation of the base, with a hub before the tool; with JWTs, and attacked.
    Hub,
    /// Without `rootfs/image.env`: what the image's environment is for.
    Bare,
}

/// What is open inside, and nowhere else.
const INNER_PORTS: [u16; 7] = [5900, 6080, 8079, 8081, 8091, 8119, 9222];

// --- one stack at a time ---------------------------------------------------------

#[derive(Debug)]
struct Room {
    stack: Option<Arc<Stack>>,
    guests: usize,
    // a stack that does not start would not start for the next test either
    broken: Vec<Kind>,
}

static ROOM: Mutex<Room> = Mutex::new(Room { stack: None, guests: 0, broken: Vec::new() });
static LEFT: Condvar = Condvar::new();

/// The use of a stack for one test.
#[derive(Debug)]
pub(super) struct Guest {
    stack: Option<Arc<Stack>>,
}

/// Waits for its turn; the first one of a kind starts the stack.
pub(super) fn enter(kind: Kind) -> Guest {
    world::hosts();
    let mut room = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
    while room.stack.as_ref().is_some_and(|stack| stack.kind != kind) {
        room = LEFT.wait(room).unwrap_or_else(PoisonError::into_inner);
    }
    assert!(!room.broken.contains(&kind), "this stack did not start: see the first test that failed");
    if room.stack.is_none() {
        room.broken.push(kind);
        room.stack = Some(Arc::new(Stack::start(kind)));
        room.broken.pop();
    }
    room.guests += 1;
    Guest { stack: room.stack.clone() }
}

impl std::ops::Deref for Guest {
    type Target = Stack;
    fn deref(&self) -> &Stack {
        self.stack.as_ref().unwrap()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut room = ROOM.lock().unwrap_or_else(PoisonError::into_inner);
        if thread::panicking() {
            self.tell();
        }
        self.stack = None;
        room.guests -= 1;
        if room.guests == 0 {
            let ended = room.stack.take().map(|stack| stack.end());
            drop(room);
            LEFT.notify_all();
            if let Some(Err(left)) = ended
                && !thread::panicking()
            {
                panic!("the stack ended, but these are left: {left}");
            }
        }
    }
}

// --- the stack -------------------------------------------------------------------

/// One running container, as far as tests may touch it.
#[derive(Debug)]
pub(super) struct Stack {
    kind: Kind,
    child: Mutex<Child>,
    state: TempDir,
    key: Option<Key>,
    // all sessions share one tab
    browser: Mutex<()>,
}

impl Stack {
    fn start(kind: Kind) -> Self {
        require_root();
        for port in [PORT].into_iter().chain(INNER_PORTS) {
            assert!(!is_open(port), "port {port} must be free: run the tests of `stack::` in a process of their own");
        }
        let state = TempDir::with_prefix("stack").unwrap();
        // services of the container that are not root write below it
        fs::set_permissions(state.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let policy = state.path().join("policy.json");
        fs::write(&policy, "{}\n").unwrap();
        let inner = state.path().join("container");
        fs::create_dir(&inner).unwrap();

        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let key = matches!(kind, Kind::Jwt | Kind::HurtJwt | Kind::Hub).then(Key::new);
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(root.join("tests/aio-base/run"));
        command.args(["--program", PROGRAM, "--agent-browser"]).arg(agent_browser());
        command.arg("--policy").arg(&policy).arg("--state").arg(&inner);
        // 50 clients, each with a session of its own
        command.args(["--env", "BROWSER_SHELL_MAX_SESSIONS=64"]);
        if let Some(key) = &key {
            command.arg("--env").arg(format!("JWT_PUBLIC_KEY={}", key.public()));
        }
        match kind {
            Kind::Bare => drop(command.arg("--without-image-env")),
            Kind::Hub => drop(command.arg("--hub")),
            _ => {}
        }
        let log = fs::File::create(state.path().join("run.log")).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let child = spawn_kept(command);
        let stack = Self { kind, child: Mutex::new(child), state, key, browser: Mutex::new(()) };
        stack.wait_until_healthy();
        stack
    }

    /// Waits for everything that tests ask for.
    fn wait_until_healthy(&self) {
        let well = Guarded(self);
        let alive = |awaited: &str, probe: &dyn Fn() -> bool| {
            until(awaited, || {
                let ended = self.child.lock().unwrap().try_wait().unwrap();
                assert!(ended.is_none(), "the stack ended while it started: {ended:?}");
                probe().then_some(())
            });
        };
        alive("noVNC's files through the wall", &|| ask("GET /vnc/core/rfb.js").status == 200);
        alive("the screen behind the wall", &|| is_open(6080) && is_open(5900));
        alive("the debugging port", &|| send(9222, "GET /json/version", &[], "").status == 200);
        // without the image's environment there is no tool: its start refuses
        if self.kind != Kind::Bare {
            alive("the tool through the wall", &|| post("/mcp", &self.credentials(), &list()).status == 200);
        }
        std::mem::forget(well);
    }

    /// Ends the container as a container engine does; what is left is the error.
    fn end(&self) -> Result<(), String> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let id = i32::try_from(child.id()).unwrap();
        let all = descendants(id);
        if thread::panicking() {
            // dies with everything below it
            drop(child.kill());
            drop(child.wait());
            return until_gone(&all);
        }
        if let Some(status) = child.try_wait().unwrap() {
            return Err(format!("nothing: it had ended by itself before, with {status}"));
        }
        processes::signal(id, Signal::TERM);
        until("the end of the stack after SIGTERM", || child.try_wait().unwrap());
        until_gone(&all)
    }

    /// The last lines of every log, for the reader of a failed test.
    fn tell(&self) {
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

    // --- through the wall ---

    /// A good token, where the stack wants one.
    pub(super) fn token(&self) -> String {
        self.key().token(3600)
    }

    pub(super) fn key(&self) -> &Key {
        self.key.as_ref().expect("this stack has authentication")
    }

    /// The header that opens this stack, if one is needed.
    pub(super) fn credentials(&self) -> Vec<String> {
        self.key.iter().map(|_| format!("Authorization: Bearer {}", self.token())).collect()
    }

    /// A call of the tool, whatever comes back.
    pub(super) fn try_call(&self, session: &str, argv: &[&str], seconds: u32) -> Reply {
        let arguments = json!({"session_id": session, "argv": argv, "timeout_sec": seconds});
        let params = json!({"name": "browser-shell", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        post("/mcp", &self.credentials(), &call.to_string())
    }

    /// A call of the tool.
    #[track_caller]
    pub(super) fn call(&self, session: &str, argv: &[&str]) -> Answer {
        self.call_within(60, session, argv)
    }

    /// A call of the tool that may take so many seconds.
    #[track_caller]
    pub(super) fn call_within(&self, seconds: u32, session: &str, argv: &[&str]) -> Answer {
        let reply = self.try_call(session, argv, seconds);
        assert_eq!(reply.status, 200, "{reply:?}");
        Answer::read(&reply.json())
    }

    /// Begins a session: its first call starts a daemon of agent-browser, which gives that up
    /// after 5 s. On a machine with more to do that is too early, so this tries again.
    #[track_caller]
    pub(super) fn begin(&self, session: &str) {
        until("the daemon of the session", || {
            let answer = self.call(session, &["open", "about:blank"]);
            if answer.stderr.contains("Daemon failed to start") {
                return None;
            }
            answer.ok();
            Some(())
        });
    }

    /// A ticket for the screen.
    pub(super) fn ticket(&self) -> String {
        let reply = post("/tickets", &self.credentials(), "");
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["ticket"].as_str().unwrap().to_owned()
    }

    /// The one tab, for one test at a time.
    pub(super) fn browser(&self) -> MutexGuard<'_, ()> {
        self.browser.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // --- inside ---

    /// The processes of the container.
    pub(super) fn processes(&self) -> Vec<Process> {
        let id = self.child.lock().unwrap().id();
        descendants(i32::try_from(id).unwrap())
    }

    /// The processes whose command line begins like this; a child that still has its parent's is about to become another
    /// program, and is none.
    pub(super) fn processes_of(&self, command: &str) -> Vec<Process> {
        let mut found: Vec<Process> = Vec::new();
        // parents come first
        for process in self.processes() {
            let is_copy = || found.iter().any(|one| one.command == process.command && is_child(&process, one));
            if process.command.starts_with(command) && !is_copy() {
                found.push(process);
            }
        }
        found
    }

    /// The container's first process.
    pub(super) fn first(&self) -> i32 {
        let found = self.processes_of("/usr/bin/python3 /usr/bin/supervisord");
        assert_eq!(found.len(), 1, "one supervisord: {found:?}");
        found[0].id
    }

    /// A command inside of the container, as root.
    pub(super) fn inside(&self) -> Command {
        let mut command = Command::new("nsenter");
        let first = self.first().to_string();
        command.args(["--target", &first, "--mount", "--pid", "--ipc", "--uts", "--root", "--wd", "--"]);
        command.stdin(Stdio::null());
        command
    }

    /// A command inside of the container, as a user with that user's groups, to its end.
    pub(super) fn inside_as(&self, user: u32, command: &[&str]) -> Output {
        let user = user.to_string();
        let mut inside = self.inside();
        inside.args(["setpriv", "--reuid", &user, "--regid", &user]);
        inside.arg(if user == "1000" { "--init-groups" } else { "--clear-groups" });
        inside.arg("--").args(command).output().unwrap()
    }

    /// The answer of supervisord's own client.
    pub(super) fn supervisor(&self, arguments: &[&str]) -> String {
        let socket = format!("unix://{}", self.state.path().join("container/supervisor/supervisor.sock").display());
        let output = Command::new("supervisorctl").args(["--serverurl", &socket]).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A file inside of the container, for a test that puts one there.
    pub(super) fn file(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.first()))
    }

    // --- files ---

    fn log_folder(&self) -> PathBuf {
        self.state.path().join("container/log")
    }

    /// What the base's server and the unwanted services have written about who reached them.
    pub(super) fn trap(&self) -> String {
        fs::read_to_string(self.log_folder().join("trap.log")).unwrap()
    }

    /// Empties that file, after a test that has put itself into it.
    pub(super) fn forget_trap(&self) {
        fs::write(self.log_folder().join("trap.log"), "").unwrap();
    }

    /// Every log: its name and its text.
    pub(super) fn logs(&self) -> Vec<(String, String)> {
        let files = fs::read_dir(self.log_folder()).unwrap().flatten();
        files
            .map(|file| {
                let name = file.file_name().to_string_lossy().into_owned();
                (name, String::from_utf8_lossy(&fs::read(file.path()).unwrap()).into_owned())
            })
            .collect()
    }

    /// Replaces the policy, in the file that is mounted.
    pub(super) fn write_policy(&self, policy: &Value) {
        fs::write(self.state.path().join("policy.json"), policy.to_string()).unwrap();
    }
}

/// Shows the logs when the stack does not come up, and ends it.
struct Guarded<'a>(&'a Stack);

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        self.0.tell();
        drop(self.0.end());
    }
}

/// A question that the tool answers without a browser.
pub(super) fn list() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string()
}

/// The container has users of its own, which a namespace with one user cannot have.
fn require_root() {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap();
    let count: u64 = map.split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!(rustix::process::geteuid().is_root() && count > 10_079, "the container needs root and its users");
}

/// Whether something listens there.
pub(super) fn is_open(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

fn is_child(process: &Process, parent: &Process) -> bool {
    children_of(parent.id).iter().any(|child| child.id == process.id)
}

/// Everything that a process started, and what those did.
fn descendants(id: i32) -> Vec<Process> {
    let mut found = children_of(id);
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children_of(process.id));
        next += 1;
    }
    found
}

/// Waits until these processes are gone, and with them everything that listened.
fn until_gone(all: &[Process]) -> Result<(), String> {
    let open = || [PORT].into_iter().chain(INNER_PORTS).filter(|port| is_open(*port)).collect::<Vec<u16>>();
    // The kernel ends them with the container's first process, which takes a moment; and a process that
    // has lost its memory already can still hold its sockets.
    for _ in 0..500 {
        if !all.iter().any(lives) && open().is_empty() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    let left: Vec<&Process> = all.iter().filter(|process| lives(process)).collect();
    Err(format!("processes {left:?}, open ports {:?}", open()))
}

/// agent-browser's package as `tests/e2e/setup` installs it, where the program
/// gives a call with an order for the stand-in (`#fake-...`) to that. A call of
/// the real one ends after 25 s at the latest, and starts a daemon.
fn agent_browser() -> PathBuf {
    static PACKAGE: OnceLock<PathBuf> = OnceLock::new();
    PACKAGE
        .get_or_init(|| {
            let real = world::agent_browser();
            let folder = TempDir::with_prefix("agent-browser").unwrap().keep();
            let bin = folder.join("layer/agent-browser/bin");
            let modules = folder.join("node_modules");
            fs::create_dir_all(&bin).unwrap();
            fs::create_dir(&modules).unwrap();
            fs::copy(&real, bin.join("agent-browser-real")).unwrap();
            fs::copy(stand_in(), bin.join("agent-browser-fake")).unwrap();
            let chooser = bin.join(real.file_name().unwrap());
            let script = "#!/bin/bash\nbin=/opt/agent-browser/bin\ncase \"$*\" in\n  \
                *'#fake-'*) exec $bin/agent-browser-fake \"$@\" ;;\n  *) exec $bin/agent-browser-real \"$@\" ;;\nesac\n";
            fs::write(&chooser, script).unwrap();
            for file in ["agent-browser-real", "agent-browser-fake"].map(|name| bin.join(name)).iter().chain([&chooser]) {
                fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
            }
            // in the mount namespace of the test network, with which it goes
            let layers = format!(
                "lowerdir={}:{}",
                folder.join("layer").display(),
                world::support().join("node_modules").display()
            );
            let mounted = Command::new("mount").args(["-t", "overlay", "-o", &layers, "overlay"]).arg(&modules).status();
            assert!(mounted.unwrap().success(), "cannot mount {layers}");
            modules.join("agent-browser")
        })
        .clone()
}
