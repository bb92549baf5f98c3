//! Sandbox limits (spec [5.2]), tested by programs that try to exceed them.
//!
//! The stand-in runs a script in Node as a child, as agent-browser does with its daemon. Every attempt is repeated
//! without a sandbox, where it must succeed, so that a failure inside is meaningful. Other tests run the hidden
//! subcommand `confine` with programs that make system calls. If a backend is not available on a machine, its tests
//! fail there.

mod backends;
mod confine;
mod other_sessions;
mod published;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::harness::engine::ContainerEngine;
use crate::harness::server::{Server, TestEnv, confined_env, free_port};

/// Script that runs every entry of the list `tries` and prints the results: `ok` or an error code.
const ATTEMPT_SCRIPT: &str = r"
const fs = require('fs'), net = require('net'), child = require('child_process');
const out = {};
const connect = (to) => new Promise((done, fail) => net.connect(to).on('connect', function () { this.destroy(); done(); }).on('error', fail));
const listen = (at) => new Promise((done, fail) => { const s = net.createServer().on('error', fail).listen(at, () => { s.close(); done(); }); });
const spawn = (path, ...args) => { const r = child.spawnSync(path, args); if (r.error) throw r.error; if (r.status) throw { code: `status ${r.status}` }; };
(async () => {
  for (const [name, attempt] of tries) {
    try { await attempt(); out[name] = 'ok'; } catch (error) { out[name] = String(error.code || error); }
  }
  console.log(JSON.stringify(out));
  process.exit();
})();
";

/// Runs expressions in the session's agent-browser and returns the result of each by name.
fn attempt(server: &Server, session: &str, tries: &[(&str, String)]) -> BTreeMap<String, String> {
    let list: Vec<String> = tries.iter().map(|(name, code)| format!("[{}, () => {code}]", json!(name))).collect();
    let script = format!("const tries = [{}];{}", list.join(","), ATTEMPT_SCRIPT.replace('\n', " "));
    let answer = server.call_within(110, session, &["fill", "@e1", &format!("#fake-node-{script}")]).ok();
    serde_json::from_value(answer.data()).unwrap()
}

/// Creates an environment with this sandbox section in its policy file.
fn env_with(sandbox: Value) -> TestEnv {
    // In a separate network namespace, only an unprivileged port can be bound.
    let port = free_port().to_string();
    confined_env().with("BROWSER_SHELL_CDP_PORT", port).with_policy(&json!({ "sandbox": sandbox }))
}

/// Returns the policy of a backend, and the container engine if the backend needs one.
fn policy_of(backend: &str) -> (Value, Option<ContainerEngine>) {
    let srt = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/node_modules/.bin/srt");
    let mut policy = json!({"backend": backend, "require": true, "backends": {"srt": {"program": srt}}});
    let engine = (backend == "docker").then(ContainerEngine::start);
    if let Some(engine) = &engine {
        policy["backends"]["docker"] = engine.policy();
    }
    (policy, engine)
}

fn last_status(server: &Server) -> String {
    let audit = server.env().audit();
    let line: Value = serde_json::from_str(audit.lines().last().unwrap()).unwrap();
    line["sandbox"].as_str().unwrap_or_default().to_owned()
}

/// Files and a port outside the sandbox.
struct HostResources {
    folder: tempfile::TempDir,
    port: u16,
    _tcp: std::net::TcpListener,
}

impl HostResources {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        fs::write(folder.path().join("other"), "other").unwrap();
        fs::copy("/bin/true", folder.path().join("program")).unwrap();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        Self { port: tcp.local_addr().unwrap().port(), folder, _tcp: tcp }
    }

    fn path(&self, name: &str) -> String {
        json!(self.folder.path().join(name)).to_string()
    }
}

/// Returns attempts that must fail inside the sandbox and succeed without it.
fn forbidden(outside: &HostResources, folder: &Path) -> Vec<(&'static str, String)> {
    let path = |name: &str| outside.path(name);
    let policy = json!(folder.join("policy.json")).to_string();
    let own = "process.env.TMPDIR";
    vec![
        ("read a file", format!("fs.readFileSync({})", path("secret"))),
        ("read /etc/shadow", "fs.readFileSync('/etc/shadow')".into()),
        ("list a folder", format!("fs.readdirSync({})", path(""))),
        ("list the sessions' folders", "fs.readdirSync(process.env.TMPDIR + '/../..')".into()),
        ("list the socket folders", "fs.readdirSync(process.env.AGENT_BROWSER_SOCKET_DIR + '/..')".into()),
        (
            "read the seed of the folder names",
            "fs.readFileSync(process.env.AGENT_BROWSER_SOCKET_DIR + '/../../secret')".into(),
        ),
        ("write a file", format!("fs.writeFileSync({}, 'x')", path("new"))),
        ("write over a file", format!("fs.writeFileSync({}, 'x')", path("other"))),
        ("cut a file off", format!("fs.truncateSync({}, 0)", path("other"))),
        ("write the policy", format!("fs.writeFileSync({policy}, fs.readFileSync({policy}))")),
        ("write beside the policy", format!("fs.writeFileSync({policy} + '.new', '')")),
        ("remove a file", format!("fs.unlinkSync({})", path("new-for-removal"))),
        (
            "rename out of the session",
            format!("(fs.writeFileSync({own} + '/x', ''), fs.renameSync({own} + '/x', {}))", path("renamed")),
        ),
        ("link a file into the session", format!("fs.linkSync({}, {own} + '/hard')", path("secret"))),
        ("make a link out of the session", format!("fs.symlinkSync({}, {own} + '/soft')", path("secret"))),
        ("change a mode", format!("fs.chmodSync({}, 0o600)", path("other"))),
        ("change times", format!("fs.utimesSync({}, 1, 1)", path("other"))),
        ("change an owner", format!("fs.chownSync({}, process.getuid(), process.getgid())", path("other"))),
        ("watch a folder", format!("fs.watch({}).close()", path(""))),
        ("run a program", format!("spawn({})", path("program"))),
        ("run a shell", "spawn('/bin/sh', '-c', 'true')".into()),
        ("read another's environment", "fs.readFileSync(`/proc/${process.ppid}/../1/environ`)".into()),
        ("read another's memory map", "fs.readFileSync('/proc/1/maps')".into()),
        ("list the machine's sockets", "fs.readFileSync('/proc/net/unix')".into()),
        ("list them as a process", "fs.readFileSync(`/proc/${process.pid}/net/unix`)".into()),
        ("list them as another process", "fs.readFileSync(`/proc/${process.ppid}/net/unix`)".into()),
        ("list the machine's connections", "fs.readFileSync('/proc/thread-self/net/tcp')".into()),
        ("list processes", "fs.readdirSync('/proc')".into()),
        ("connect to a port", format!("connect({})", outside.port)),
        ("listen on a port", "listen(0)".into()),
        ("connect to a socket by number", format!("connect({{ host: '127.0.0.1', port: {} }})", outside.port)),
    ]
}

/// Attempts that must succeed inside the sandbox too.
const ALLOWED: &[(&str, &str)] = &[
    ("write a temporary file", "fs.writeFileSync(process.env.TMPDIR + '/own', 'x')"),
    ("read it again", "fs.readFileSync(process.env.TMPDIR + '/own')"),
    ("write to HOME", "fs.writeFileSync(process.env.HOME + '/own', 'x')"),
    ("make a socket", "listen(process.env.AGENT_BROWSER_SOCKET_DIR + '/own.sock')"),
    ("run node", "spawn(process.execPath, '-e', '1')"),
    ("read a module of Node", "require('crypto').createHash('sha256').update('x').digest('hex')"),
    ("signal itself", "process.kill(process.pid, 0)"),
];

fn assert_out_of_reach(backend: &str) {
    let outside = HostResources::new();
    let (policy, _engine) = policy_of(backend);
    for (sandbox, inside) in [(policy, true), (json!({"enabled": false}), false)] {
        let server = env_with(sandbox).serve();
        let folder = PathBuf::from(server.env().folder());
        fs::write(outside.folder.path().join("new-for-removal"), "").unwrap();
        let tries = forbidden(&outside, &folder);
        let got = attempt(&server, "s", &tries);
        for (name, _) in &tries {
            assert_eq!(got[*name] != "ok", inside, "{backend}, {name}: {got:#?}");
        }
        let allowed: Vec<_> = ALLOWED.iter().map(|(name, code)| (*name, (*code).to_owned())).collect();
        for (name, result) in attempt(&server, "s", &allowed) {
            assert_eq!(result, "ok", "{backend}, {name}");
        }
        assert_eq!(last_status(&server), if inside { format!("{backend}:full") } else { "off".to_owned() });
        server.call("s", &["close"]).ok();
    }
    let kept = fs::read_to_string(outside.folder.path().join("secret")).unwrap();
    assert_eq!(kept, "secret");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node and the kernel's parts: run ./dev test"]
fn landlock_confines_agent_browser_to_own_files_and_one_port() {
    assert_out_of_reach("landlock");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node and bubblewrap: run ./dev test"]
fn bubblewrap_confines_agent_browser_to_own_files_and_port() {
    assert_out_of_reach("bubblewrap");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node, npm's srt and bubblewrap: run ./dev test"]
fn srt_confines_agent_browser_to_own_files_and_one_port() {
    assert_out_of_reach("srt");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node, podman and root: run ./dev test"]
fn docker_confines_agent_browser_to_own_files_and_one_port() {
    assert_out_of_reach("docker");
}

/// Checks that two sessions of one server cannot reach each other's files, sockets and processes.
fn assert_sessions_are_isolated(backend: &str) {
    let (policy, _engine) = policy_of(backend);
    let mut shared = policy.clone();
    shared["mode"] = json!("shared");
    for (sandbox, apart) in [(policy, true), (shared, false)] {
        let server = env_with(sandbox).serve();
        let victim =
            attempt(&server, "victim", &[("leave", "fs.writeFileSync(process.env.TMPDIR + '/mine', 'x')".into())]);
        assert_eq!(victim["leave"], "ok");
        let names = server.call("victim", &["fill", "@e1", "#fake-node-console.log(JSON.stringify([process.env.TMPDIR, process.env.AGENT_BROWSER_SOCKET_DIR]))"]).ok().data();
        let (tmp, sockets) = (names[0].as_str().unwrap(), names[1].as_str().unwrap());
        let files = server.env().workspace().join("victim");
        fs::write(files.join("picture.png"), "x").unwrap();
        let got = attempt(
            &server,
            "attacker",
            &[
                ("read", format!("fs.readFileSync('{tmp}/mine')")),
                ("write", format!("fs.writeFileSync('{tmp}/planted', '')")),
                ("pictures", format!("fs.readFileSync('{}/picture.png')", files.display())),
                ("list sockets", format!("fs.readdirSync('{sockets}')")),
                ("plant a socket", format!("listen('{sockets}/victim.sock')")),
            ],
        );
        for (name, result) in &got {
            assert_eq!(result != "ok", apart, "{backend}, apart: {apart}, {name}: {got:#?}");
        }
        let own = attempt(
            &server,
            "attacker",
            &[("name", format!("{{ if (process.env.AGENT_BROWSER_SOCKET_DIR === '{sockets}') throw 'the same' }}"))],
        );
        assert_eq!(own["name"], "ok", "each session must have its own socket folder");
        let name = Path::new(sockets).file_name().unwrap().to_str().unwrap();
        assert!(name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
        for session in ["victim", "attacker"] {
            server.call(session, &["close"]).ok();
        }
    }
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node and the kernel's parts: run ./dev test"]
fn landlock_isolates_sessions() {
    assert_sessions_are_isolated("landlock");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node and bubblewrap: run ./dev test"]
fn bubblewrap_isolates_sessions() {
    assert_sessions_are_isolated("bubblewrap");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node, npm's srt and bubblewrap: run ./dev test"]
fn srt_isolates_sessions() {
    assert_sessions_are_isolated("srt");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node, podman and root: run ./dev test"]
fn docker_isolates_sessions() {
    assert_sessions_are_isolated("docker");
}

fn assert_file_rules_apply(backend: &str) {
    let outside = HostResources::new();
    let open = outside.folder.path().join("open");
    fs::create_dir_all(open.join("fixed")).unwrap();
    let (mut sandbox, _engine) = policy_of(backend);
    // A private read-only folder, and one inside a readable folder.
    sandbox["filesystem"] = json!({
        "allowWrite": [open], "denyWrite": [open.join("fixed")], "denyRead": ["/usr/share/zoneinfo", "/usr/lib/ssl"]});
    let server = env_with(sandbox).serve();
    let got = attempt(
        &server,
        "s",
        &[
            ("write", format!("fs.writeFileSync({}, 'x')", outside.path("open/x"))),
            ("write where not", format!("fs.writeFileSync({}, 'x')", outside.path("open/fixed/x"))),
            ("beside", format!("fs.readFileSync({})", outside.path("secret"))),
            ("denied", "fs.readdirSync('/usr/share/zoneinfo')".into()),
            ("denied below", "{ if (fs.readdirSync('/usr/lib/ssl').length === 0) throw 'empty' }".into()),
            ("not denied", "fs.readdirSync('/usr/lib')".into()),
        ],
    );
    for name in ["write", "not denied"] {
        assert_eq!(got[name], "ok", "{got:#?}");
    }
    for name in ["write where not", "beside", "denied", "denied below"] {
        assert_ne!(got[name], "ok", "{name}: {got:#?}");
    }
    server.call("s", &["close"]).ok();
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node and bubblewrap: run ./dev test"]
fn bubblewrap_enforces_file_policy() {
    assert_file_rules_apply("bubblewrap");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node, npm's srt and bubblewrap: run ./dev test"]
fn srt_enforces_file_policy() {
    assert_file_rules_apply("srt");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node, podman and root: run ./dev test"]
fn docker_enforces_file_policy() {
    assert_file_rules_apply("docker");
}
