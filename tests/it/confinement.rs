//! What a confined agent-browser can reach (spec [5.2]), tried by programs that try to reach more.
//!
//! The stand-in has Node run a script as a child, which is what agent-browser's daemon is. Every attempt is made twice more:
//! without a sandbox, where it must succeed, so that a failure inside says something. The other half runs the hidden subcommand
//! `confine` itself with a program that makes system calls. A backend that cannot run on a machine fails its tests there: a
//! machine without it proves nothing about it.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use browser_shell::sandbox::{confine::Orders, kernel::Kernel, plan::Plan, policy::Limits};
use serde_json::{Value, json};

use super::harness::engine::Engine;
use super::harness::server::{Home, PROGRAM, Server, confined_home, free_port};

/// Tries everything in the list `tries` and prints what came of it: `ok` or an error's code.
const TRY: &str = r"
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

/// Has the session's agent-browser try things, each a name and an expression.
fn attempt(server: &Server, session: &str, tries: &[(&str, String)]) -> BTreeMap<String, String> {
    let list: Vec<String> = tries.iter().map(|(name, code)| format!("[{}, () => {code}]", json!(name))).collect();
    let script = format!("const tries = [{}];{}", list.join(","), TRY.replace('\n', " "));
    let answer = server.call(session, &["fill", "@e1", &format!("#fake-node-{script}")]).ok();
    serde_json::from_value(answer.data()).unwrap()
}

/// A home whose policy file says this about the sandbox.
fn home_with(sandbox: Value) -> Home {
    // Inside of a network of its own, only a port that needs no rights can be listened on.
    let port = free_port().to_string();
    confined_home().with("BROWSER_SHELL_CDP_PORT", port).with_policy(&json!({ "sandbox": sandbox }))
}

/// What the policy says for a backend, with the parts of it that the tests bring.
fn policy_of(backend: &str) -> (Value, Option<Engine>) {
    let srt = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/node_modules/.bin/srt");
    let mut policy = json!({"backend": backend, "require": true, "backends": {"srt": {"program": srt}}});
    let engine = (backend == "docker").then(Engine::start);
    if let Some(engine) = &engine {
        policy["backends"]["docker"] = engine.policy();
    }
    (policy, engine)
}

fn last_status(server: &Server) -> String {
    let audit = server.home().audit();
    let line: Value = serde_json::from_str(audit.lines().last().unwrap()).unwrap();
    line["sandbox"].as_str().unwrap_or_default().to_owned()
}

/// Everything outside, in a folder of this test's own.
struct Outside {
    folder: tempfile::TempDir,
    port: u16,
    _tcp: std::net::TcpListener,
}

impl Outside {
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

/// What must fail inside and succeed outside.
fn forbidden(outside: &Outside, home: &Path) -> Vec<(&'static str, String)> {
    let path = |name: &str| outside.path(name);
    let policy = json!(home.join("policy.json")).to_string();
    let own = "process.env.TMPDIR";
    vec![
        ("read a file", format!("fs.readFileSync({})", path("secret"))),
        ("read /etc/shadow", "fs.readFileSync('/etc/shadow')".into()),
        ("list a folder", format!("fs.readdirSync({})", path(""))),
        ("list the sessions' folders", "fs.readdirSync(process.env.TMPDIR + '/../..')".into()),
        ("list the socket folders", "fs.readdirSync(process.env.AGENT_BROWSER_SOCKET_DIR + '/..')".into()),
        (
            "read what the names are made with",
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
        ("change an owner", format!("fs.chownSync({}, process.getuid(), process.getgid())", path("other"))),
        ("watch a folder", format!("fs.watch({}).close()", path(""))),
        ("run a program", format!("spawn({})", path("program"))),
        ("run a shell", "spawn('/bin/sh', '-c', 'true')".into()),
        ("read another's environment", "fs.readFileSync(`/proc/${process.ppid}/../1/environ`)".into()),
        ("read another's memory map", "fs.readFileSync('/proc/1/maps')".into()),
        ("connect to a port", format!("connect({})", outside.port)),
        ("listen on a port", "listen(0)".into()),
        ("connect to a socket by number", format!("connect({{ host: '127.0.0.1', port: {} }})", outside.port)),
    ]
}

/// What must succeed inside too.
const ALLOWED: &[(&str, &str)] = &[
    ("write a temporary file", "fs.writeFileSync(process.env.TMPDIR + '/own', 'x')"),
    ("read it again", "fs.readFileSync(process.env.TMPDIR + '/own')"),
    ("write at home", "fs.writeFileSync(process.env.HOME + '/own', 'x')"),
    ("make a socket", "listen(process.env.AGENT_BROWSER_SOCKET_DIR + '/own.sock')"),
    ("run node", "spawn(process.execPath, '-e', '1')"),
    ("read a module of Node", "require('crypto').createHash('sha256').update('x').digest('hex')"),
    ("signal itself", "process.kill(process.pid, 0)"),
];

fn what_is_out_of_reach(backend: &str) {
    let outside = Outside::new();
    let (policy, _engine) = policy_of(backend);
    for (sandbox, inside) in [(policy, true), (json!({"enabled": false}), false)] {
        let server = home_with(sandbox).serve();
        let home = PathBuf::from(server.home().folder());
        fs::write(outside.folder.path().join("new-for-removal"), "").unwrap();
        let tries = forbidden(&outside, &home);
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

#[test]
#[ignore = "needs Node and the kernel's parts: run ./dev test"]
fn spec_5_2_landlock_keeps_agent_browser_to_its_own_files_and_one_port() {
    what_is_out_of_reach("landlock");
}

#[test]
#[ignore = "needs Node and bubblewrap: run ./dev test"]
fn spec_5_2_bubblewrap_keeps_agent_browser_to_its_own_files_and_one_port() {
    what_is_out_of_reach("bubblewrap");
}

#[test]
#[ignore = "needs Node, npm's srt and bubblewrap: run ./dev test"]
fn spec_5_2_srt_keeps_agent_browser_to_its_own_files_and_one_port() {
    what_is_out_of_reach("srt");
}

#[test]
#[ignore = "needs Node, podman and root: run ./dev test"]
fn spec_5_2_docker_keeps_agent_browser_to_its_own_files_and_one_port() {
    what_is_out_of_reach("docker");
}

/// Two sessions of one server: neither sees files, sockets or processes of the other.
fn sessions_are_apart(backend: &str) {
    let (policy, _engine) = policy_of(backend);
    let mut shared = policy.clone();
    shared["mode"] = json!("shared");
    for (sandbox, apart) in [(policy, true), (shared, false)] {
        let server = home_with(sandbox).serve();
        let victim =
            attempt(&server, "victim", &[("leave", "fs.writeFileSync(process.env.TMPDIR + '/mine', 'x')".into())]);
        assert_eq!(victim["leave"], "ok");
        let names = server.call("victim", &["fill", "@e1", "#fake-node-console.log(JSON.stringify([process.env.TMPDIR, process.env.AGENT_BROWSER_SOCKET_DIR]))"]).ok().data();
        let (tmp, sockets) = (names[0].as_str().unwrap(), names[1].as_str().unwrap());
        let files = server.home().workspace().join("victim");
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
        assert_eq!(own["name"], "ok", "each session has a socket folder of its own");
        let name = Path::new(sockets).file_name().unwrap().to_str().unwrap();
        assert!(name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
        for session in ["victim", "attacker"] {
            server.call(session, &["close"]).ok();
        }
    }
}

#[test]
#[ignore = "needs Node and the kernel's parts: run ./dev test"]
fn spec_5_2_sessions_cannot_reach_each_other_under_landlock() {
    sessions_are_apart("landlock");
}

#[test]
#[ignore = "needs Node and bubblewrap: run ./dev test"]
fn spec_5_2_sessions_cannot_reach_each_other_under_bubblewrap() {
    sessions_are_apart("bubblewrap");
}

#[test]
#[ignore = "needs Node, npm's srt and bubblewrap: run ./dev test"]
fn spec_5_2_sessions_cannot_reach_each_other_under_srt() {
    sessions_are_apart("srt");
}

#[test]
#[ignore = "needs Node, podman and root: run ./dev test"]
fn spec_5_2_sessions_cannot_reach_each_other_under_docker() {
    sessions_are_apart("docker");
}

fn files_of_the_policy_count(backend: &str) {
    let outside = Outside::new();
    let open = outside.folder.path().join("open");
    fs::create_dir_all(open.join("fixed")).unwrap();
    let (mut sandbox, _engine) = policy_of(backend);
    // One of its own, and one in a folder that may be read.
    sandbox["filesystem"] = json!({
        "allowWrite": [open], "denyWrite": [open.join("fixed")], "denyRead": ["/usr/share/zoneinfo", "/usr/lib/ssl"]});
    let server = home_with(sandbox).serve();
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

#[test]
#[ignore = "needs Node and bubblewrap: run ./dev test"]
fn spec_5_2_what_the_policy_says_about_files_counts_under_bubblewrap() {
    files_of_the_policy_count("bubblewrap");
}

#[test]
#[ignore = "needs Node, npm's srt and bubblewrap: run ./dev test"]
fn spec_5_2_what_the_policy_says_about_files_counts_under_srt() {
    files_of_the_policy_count("srt");
}

#[test]
#[ignore = "needs Node, podman and root: run ./dev test"]
fn spec_5_2_what_the_policy_says_about_files_counts_under_docker() {
    files_of_the_policy_count("docker");
}

/// Asks the runtime's proxy for a page, as a program does that heeds its variables.
const BY_PROXY: &str = r"new Promise((done, fail) => {
  const proxy = new URL(process.env.HTTP_PROXY);
  const secret = Buffer.from(decodeURIComponent(proxy.username) + ':' + decodeURIComponent(proxy.password)).toString('base64');
  const headers = { host: 'HOST', 'proxy-authorization': 'Basic ' + secret };
  require('http').get({ host: '127.0.0.1', port: proxy.port, path: 'http://HOST/', headers }, (reply) =>
    reply.statusCode === 200 ? done() : fail({ code: 'status ' + reply.statusCode })).on('error', fail);
})";

#[test]
#[ignore = "needs the test network, npm's srt and bubblewrap: run ./dev test"]
fn spec_5_2_srt_lets_the_domains_of_the_policy_through_and_no_others() {
    let site = std::net::TcpListener::bind("93.184.215.20:0").unwrap();
    let port = site.local_addr().unwrap().port();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for mut stream in site.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    let tries = [
        ("by name", BY_PROXY.replace('\n', " ").replace("HOST", &format!("shop.example.com:{port}"))),
        ("by address", BY_PROXY.replace('\n', " ").replace("HOST", &format!("93.184.215.20:{port}"))),
        ("directly", format!("connect({{ host: '93.184.215.20', port: {port} }})")),
        ("the proxy", "connect(3128)".to_owned()),
    ];
    // The runtime refuses names of the machine's own addresses, unless these are allowed too.
    let own = "93.184.215.20";
    for (network, name, address, proxy) in [
        (json!({"allowedDomains": ["shop.example.com", own]}), "ok", "ok", true),
        (
            json!({"allowedDomains": ["*.example.com", own], "deniedDomains": ["shop.example.com"]}),
            "status 403",
            "ok",
            true,
        ),
        (json!({"allowedDomains": ["other.example.com"]}), "status 403", "status 403", true),
        (json!({}), "", "", false),
    ] {
        let (mut sandbox, _) = policy_of("srt");
        sandbox["network"] = network.clone();
        let server = home_with(sandbox).serve();
        let got = attempt(&server, "s", &tries);
        if proxy {
            assert_eq!((got["by name"].as_str(), got["by address"].as_str()), (name, address), "{network}: {got:#?}");
        } else {
            assert!(got["by name"] != "ok" && got["by address"] != "ok", "{network}: {got:#?}");
        }
        assert_ne!(got["directly"], "ok", "{network}: {got:#?}");
        assert_eq!(got["the proxy"] == "ok", proxy, "{network}: {got:#?}");
        server.call("s", &["close"]).ok();
    }
    let bare = home_with(json!({"enabled": false})).serve();
    assert_eq!(attempt(&bare, "s", &tries[2..3])["directly"], "ok", "control");
    bare.call("s", &["close"]).ok();
}

/// The session's long-lived process, what stands outside of it, and what the backend has around it.
fn nothing_is_left_of(backend: &str) {
    let (policy, engine) = policy_of(backend);
    for killed in [false, true] {
        let mut server = home_with(policy.clone()).serve();
        server.call("s", &["snapshot"]).ok();
        let commands: Vec<_> = server.processes().into_iter().map(|process| process.command).collect();
        for wanted in ["resident", "outside"] {
            assert!(commands.iter().any(|command| command.contains(wanted)), "control, {wanted}: {commands:#?}");
        }
        let folder = PathBuf::from(server.home().folder()).join("run/s");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "control: a folder inside and one outside");
        if killed {
            server.kill();
        } else {
            // A resident that is ended from outside is replaced by the next call.
            let resident = server.processes().into_iter().find(|process| process.command.contains("resident")).unwrap();
            rustix::process::kill_process(
                rustix::process::Pid::from_raw(resident.id).unwrap(),
                rustix::process::Signal::KILL,
            )
            .unwrap();
            server.call("s", &["snapshot"]).ok();
            server.call("s", &["close"]).ok();
        }
        assert_eq!(server.processes(), [], "killed: {killed}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "killed: {killed}");
        if let Some(engine) = &engine {
            engine.until_empty();
        }
    }
}

#[test]
#[ignore = "needs Node, npm's srt and bubblewrap: run ./dev test"]
fn spec_5_2_nothing_is_left_of_a_sandbox_of_srt() {
    nothing_is_left_of("srt");
}

#[test]
#[ignore = "needs Node, podman and root: run ./dev test"]
fn spec_5_2_nothing_is_left_of_a_container() {
    nothing_is_left_of("docker");
}

/// The socket of the session's resident can be reached from inside; what it runs is confined all the same, and limited.
fn the_resident_widens_nothing(backend: &str) {
    const ASK: &str = r"new Promise((done, fail) => {
      let text = '';
      const socket = net.connect(process.env.AGENT_BROWSER_SOCKET_DIR + '/r').on('error', fail);
      socket.on('data', (data) => { text += data; });
      socket.on('close', () => JSON.parse(text.split('\n')[0]).ended?.code === 0 ? done() : fail({ code: text }));
      socket.write(JSON.stringify({ path: 'PATH', arguments: ARGUMENTS, environment: [['TMPDIR', process.env.TMPDIR]], directory: '/' }) + '\n');
    })";
    let (mut policy, _engine) = policy_of(backend);
    policy["backends"]["landlock"] = json!({"maxFileBytes": 1024 * 1024});
    let server = home_with(policy).serve();
    let node = browser_shell::transport::find_on_path("node").unwrap();
    let ask = |path: &str, arguments: Value| {
        ASK.replace('\n', " ").replace("PATH", path).replace("ARGUMENTS", &arguments.to_string())
    };
    let write = |bytes: u32| {
        let script = format!("require('fs').writeFileSync(process.env.TMPDIR + '/large', Buffer.alloc({bytes}))");
        ask(node.to_str().unwrap(), json!(["-e", script]))
    };
    let tries = [
        ("run node", ask(node.to_str().unwrap(), json!(["-e", "1"]))),
        ("run a shell", ask("/usr/bin/bash", json!(["-c", "true"]))),
        ("read another file", ask(node.to_str().unwrap(), json!(["-e", "require('fs').readFileSync('/etc/passwd')"]))),
        ("write a file", write(1024 * 1024)),
        ("write a large file", write(1024 * 1024 + 1)),
    ];
    let got = attempt(&server, "s", &tries);
    for (name, works) in [
        ("run node", true),
        ("run a shell", false),
        ("read another file", false),
        ("write a file", true),
        ("write a large file", false),
    ] {
        assert_eq!(got[name] == "ok", works, "{backend}, {name}: {got:#?}");
    }
    server.call("s", &["close"]).ok();
    let doctor = String::from_utf8(server.home().run(&["doctor"]).stdout).unwrap();
    assert!(doctor.contains(&format!("sandbox        {backend}: full; each session its own")), "{doctor}");
}

#[test]
#[ignore = "needs Node, npm's srt and bubblewrap: run ./dev test"]
fn spec_5_2_the_resident_under_srt_widens_nothing() {
    the_resident_widens_nothing("srt");
}

#[test]
#[ignore = "needs Node, podman and root: run ./dev test"]
fn spec_5_2_the_resident_of_a_container_widens_nothing() {
    the_resident_widens_nothing("docker");
}

#[test]
#[ignore = "needs the kernel's parts: run ./dev test"]
fn spec_5_2_it_is_on_by_default_and_said_in_the_audit_line_and_by_doctor() {
    let server = confined_home().serve();
    server.call("s", &["snapshot"]).ok();
    assert_eq!(last_status(&server), "landlock:full");
    server.home().write_policy(r#"{"sandbox":{"mode":"disabled"}}"#);
    server.call("s", &["snapshot"]).ok();
    assert_eq!(last_status(&server), "landlock:full", "a session keeps what it began with");
    server.call("t", &["snapshot"]).ok();
    assert_eq!(last_status(&server), "off");
    server.call("t", &["eval", "1"]).fails_with(64);
    assert_eq!(last_status(&server), "", "nothing ran");
    let doctor = |home: &Home| String::from_utf8(home.run(&["doctor"]).stdout).unwrap();
    assert!(doctor(server.home()).contains("sandbox        OFF, as the policy file says"));
    let on = doctor(&confined_home());
    assert!(on.contains("sandbox        landlock: full; each session its own"), "{on}");
    for name in ["- landlock", "- bubblewrap", "- srt", "- docker"] {
        assert!(on.contains(name), "{name} in {on}");
    }
    for session in ["s", "t"] {
        server.call(session, &["close"]).ok();
    }
}

#[test]
fn spec_5_2_a_required_sandbox_that_is_not_to_be_had_refuses_the_session() {
    let docker = json!({"backend": "docker", "backends": {"docker": {"image": "x", "socket": "/nowhere/socket"}}});
    let bwrap = json!({"backend": "bubblewrap", "backends": {"bubblewrap": {"program": "/nowhere/bwrap"}}});
    for sandbox in [docker, bwrap] {
        let server = home_with(sandbox).serve();
        let answer = server.call("s", &["snapshot"]).fails_with(69);
        assert!(answer.stderr.contains("sandbox-unavailable"), "{answer:?}");
        let doctor = server.home().run(&["doctor"]);
        let text = String::from_utf8(doctor.stdout).unwrap();
        assert!(text.contains("bad  sandbox") && text.contains("/nowhere/"), "{text}");
    }
    let server = home_with(json!({"enabled": false})).serve();
    server.call("s", &["snapshot"]).ok();
}

#[test]
fn spec_5_2_a_workspace_begins_as_the_template_and_goes_with_the_session_unless_it_is_kept() {
    for (kept, sandbox) in
        [(false, json!({"enabled": false})), (true, json!({"enabled": false, "runtime": {"cleanupOnExit": false}}))]
    {
        let template = tempfile::tempdir().unwrap();
        fs::write(template.path().join("notes.txt"), "hello").unwrap();
        let server = home_with(sandbox).with("BROWSER_SHELL_TEMPLATE", template.path()).serve();
        server.call("s", &["snapshot"]).ok();
        let notes = server.home().workspace().join("s/notes.txt");
        assert_eq!(fs::read_to_string(&notes).unwrap(), "hello");
        assert_eq!(fs::metadata(notes.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        server.call("s", &["close"]).ok();
        assert_eq!(notes.exists(), kept, "after `close`");

        // whoever is killed has the keeper clean up, by the same rule
        let mut server = server.home().shared().serve();
        server.call("t", &["snapshot"]).ok();
        let (files, runtime) =
            (server.home().workspace().join("t"), PathBuf::from(server.home().folder()).join("run/k/t"));
        assert!(files.exists() && runtime.exists(), "control");
        server.kill();
        assert!(!runtime.exists());
        assert_eq!(files.exists(), kept, "after a kill");
    }
}

// --- `confine` itself ---------------------------------------------------------------------------------------------------

/// Python makes system calls by number, which Node cannot; everything that it needs may be read and run.
fn python_plan(write: &Path) -> Plan {
    Plan {
        read: ["/lib", "/lib64", "/usr", "/etc"].map(PathBuf::from).into(),
        execute: ["/usr/bin", "/bin", "/lib", "/lib64", "/usr/lib", "/usr/local/bin"].map(PathBuf::from).into(),
        write: vec![write.to_owned()],
        devices: ["/dev/null", "/dev/urandom"].map(PathBuf::from).into(),
        ..Plan::default()
    }
}

fn confine(orders: &Orders, program: &[&str]) -> Output {
    Command::new(PROGRAM).args(orders.arguments()).args(program).output().unwrap()
}

fn confined_python(orders: &Orders, script: &str) -> String {
    let ran = confine(orders, &["/usr/bin/python3", "-I", "-c", script]);
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{ran:?}");
    text
}

fn bare_python(script: &str) -> String {
    let ran = Command::new("/usr/bin/python3").args(["-I", "-c", script]).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

const SYSCALLS: &str = r"
import ctypes, os, socket, signal
libc = ctypes.CDLL(None, use_errno=True)
victim = int(VICTIM)
def call(*arguments):
    ctypes.set_errno(0)
    result = libc.syscall(*arguments)
    return ('ok' if result >= 0 else os.strerror(ctypes.get_errno()))
def sock(*arguments):
    try:
        socket.socket(*arguments).close(); return 'ok'
    except OSError as error:
        return error.strerror
def kill():
    try:
        os.kill(victim, 0); return 'ok'
    except OSError as error:
        return error.strerror
x = os.uname().machine == 'x86_64'
buffer = ctypes.create_string_buffer(256)
rows = {
    'ptrace': call(101 if x else 117, 16, victim, 0, 0),
    'io_uring': call(425, 4, buffer),
    'namespace': call(272 if x else 97, 0x10000000),
    'udp': sock(socket.AF_INET, socket.SOCK_DGRAM),
    'netlink': sock(socket.AF_NETLINK, socket.SOCK_RAW),
    'raw': sock(socket.AF_INET, socket.SOCK_RAW, 1),
    'packet': sock(socket.AF_PACKET, socket.SOCK_RAW),
    'mptcp': sock(socket.AF_INET, socket.SOCK_STREAM, 262),
    'inotify': call(294 if x else 26, 0),
    'bpf': call(321 if x else 280, 0, buffer, 8) ,
    'signal': kill(),
    'tcp': sock(socket.AF_INET, socket.SOCK_STREAM),
    'unix': sock(socket.AF_UNIX, socket.SOCK_STREAM),
}
for name, result in rows.items(): print(name, result, sep=': ')
";

#[test]
#[ignore = "needs the kernel's parts: run ./dev test"]
fn spec_5_2_no_system_call_leads_around_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let mut victim = Command::new("/bin/sleep").arg("600").spawn().unwrap();
    let script = SYSCALLS.replace("VICTIM", &victim.id().to_string());
    let kernel = Kernel::ask();
    let inside = confined_python(&Orders::new(python_plan(folder.path()), kernel), &script);
    let refused =
        |name: &str| inside.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).map(str::to_owned);
    for name in ["ptrace", "namespace", "udp", "netlink", "raw", "packet", "mptcp", "inotify", "bpf", "signal"] {
        assert_eq!(refused(name).as_deref(), Some("Operation not permitted"), "{name}: {inside}");
    }
    assert_eq!(refused("io_uring").as_deref(), Some("Function not implemented"), "{inside}");
    for name in ["tcp", "unix"] {
        assert_eq!(refused(name).as_deref(), Some("ok"), "control: {inside}");
    }
    // Bare, what needs no privileges works; in reverse order of harm, so that the victim is attached to last.
    let outside = bare_python(&script);
    for name in ["udp", "netlink", "inotify", "signal", "tcp", "unix", "ptrace"] {
        assert!(outside.contains(&format!("{name}: ok")), "control, {name}: {outside}");
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
#[ignore = "needs the kernel's parts: run ./dev test"]
fn spec_5_2_a_confined_program_has_no_capabilities_and_a_killable_body() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = python_plan(folder.path());
    plan.read.push("/proc".into());
    let script = "print(open('/proc/self/status').read())";
    let inside = confined_python(&Orders::new(plan, Kernel::ask()), script);
    for line in ["CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(inside.contains(line), "{line}: {inside}");
    }
    assert!(bare_python(script).contains("Seccomp:\t0"), "control");
}

#[test]
#[ignore = "needs the kernel's parts: run ./dev test"]
fn spec_5_2_large_files_and_fork_bombs_meet_their_limits() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let limits = Limits { max_processes: 64, max_file_bytes: 1024 * 1024, max_open_files: 256 };
    let mut plan = python_plan(folder.path());
    plan.limits = Some(limits);
    let orders = Orders::new(plan, Kernel::ask());

    let file = folder.path().join("large");
    let write = format!(
        "import os, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); f = os.open('{}', os.O_CREAT | os.O_WRONLY); \nwhile True:\n  try: os.write(f, b'x' * 65536)\n  except OSError as e: print(e.strerror); break\n  if os.fstat(f).st_size > 4 << 20: print('no limit'); break",
        file.display()
    );
    assert_eq!(confined_python(&orders, &write).trim(), "File too large");
    assert_eq!(fs::metadata(&file).unwrap().len(), limits.max_file_bytes);
    assert_eq!(bare_python(&write).trim(), "no limit", "control");

    let open = "import os\nn = 0\ntry:\n  while n < 1000: os.open('/dev/null', os.O_RDONLY); n += 1\n  print('no limit')\nexcept OSError as e: print(e.strerror)";
    assert_eq!(confined_python(&orders, open).trim(), "Too many open files");
    assert_eq!(bare_python(open).trim(), "no limit", "control");

    // Root has no such limit, whatever its rights: another user of this namespace must be it, or this user must not be root.
    let bomb = "import os, signal, time\nn = 0\ntry:\n  while n < 100:\n    if os.fork() == 0: time.sleep(60); os._exit(0)\n    n += 1\n  print('no limit')\nexcept OSError as e: print(e.strerror)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN); os.killpg(0, signal.SIGTERM)";
    let user: &[&str] = &["--reuid", "54321", "--regid", "54321", "--clear-groups"];
    let other = Command::new("setpriv").args(user).arg("true").status().unwrap().success();
    let run = |orders: Option<&Orders>| {
        let mut command = Command::new(if other { "setpriv" } else { "env" });
        if other {
            command.args(user);
        }
        if let Some(orders) = orders {
            command.arg(PROGRAM).args(orders.arguments());
        }
        // A group of its own, which ends itself.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let ran = command.args(["/usr/bin/python3", "-I", "-c", bomb]).output().unwrap();
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    };
    assert_eq!(run(Some(&orders)), "Resource temporarily unavailable");
    assert_eq!(run(None), "no limit", "control");
}

#[test]
#[ignore = "needs the kernel's parts: run ./dev test"]
fn spec_5_2_no_abstract_socket_of_others_can_be_reached() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("browser-shell-test-{}-{}", std::process::id(), free_port());
    let address =
        <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let script = format!(
        "import socket\ntry:\n  socket.socket(socket.AF_UNIX).connect('\\0{name}'); print('ok')\nexcept OSError as e: print(e.strerror)"
    );
    assert_eq!(
        confined_python(&Orders::new(python_plan(folder.path()), Kernel::ask()), &script).trim(),
        "Operation not permitted"
    );
    assert_eq!(bare_python(&script).trim(), "ok", "control");
}

#[test]
fn spec_5_2_rules_that_the_kernel_does_not_have_start_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    let touch = ["/bin/sh", "-c", r#": >"$0""#, mark.to_str().unwrap()];
    let mut refused = vec![json!({"plan": {}, "landlock": 0, "seccomp": false}), json!("nonsense")];
    // Where the kernel has version 9 too, it would rightly run.
    refused.extend(
        (Kernel::ask().landlock < 9).then(|| json!({"plan": Plan::default(), "landlock": 9, "seccomp": false})),
    );
    for orders in refused {
        let ran = Command::new(PROGRAM).args(["confine", &orders.to_string()]).args(touch).output().unwrap();
        assert!(!mark.exists());
        assert_eq!(ran.status.code(), Some(71), "{ran:?}");
        assert!(String::from_utf8_lossy(&ran.stderr).starts_with("browser-shell confine: "), "{ran:?}");
    }
    let none = json!({"plan": Plan::default(), "landlock": 0, "seccomp": false}).to_string();
    assert!(Command::new(PROGRAM).args(["confine", &none]).args(touch).status().unwrap().success());
    assert!(mark.exists(), "control: without rules it runs");
}

/// A kernel without Landlock, as far as the server can see: a filter answers its system calls as such a kernel does.
#[test]
fn spec_5_2_without_landlock_the_server_says_so_and_a_required_sandbox_refuses() {
    let hidden = |home: &Home, arguments: &[&str]| -> Output {
        let mut command = home.command(arguments);
        std::thread::scope(|scope| {
            // The filter is this thread's and its children's.
            scope
                .spawn(move || {
                    let rules = [444, 445, 446].map(|number| (number, Vec::new())).into();
                    let arch = seccompiler::TargetArch::try_from(std::env::consts::ARCH).unwrap();
                    let (allow, unknown) = (seccompiler::SeccompAction::Allow, seccompiler::SeccompAction::Errno(38));
                    let filter = seccompiler::SeccompFilter::new(rules, allow, unknown, arch).unwrap();
                    let filter: seccompiler::BpfProgram = filter.try_into().unwrap();
                    seccompiler::apply_filter(&filter).unwrap();
                    command.output().unwrap()
                })
                .join()
                .unwrap()
        })
    };
    let text = |run: &Output| String::from_utf8_lossy(&run.stdout).into_owned();
    let no_bwrap = json!({"bubblewrap": {"program": "/nowhere/bwrap"}});
    let home = home_with(json!({ "backends": no_bwrap }));
    let doctor = text(&hidden(&home, &["doctor"]));
    assert!(doctor.contains("bad  sandbox        none: agent-browser has all rights of this user"), "{doctor}");
    assert!(doctor.contains("- landlock     cannot run: the kernel has no Landlock"), "{doctor}");
    let ran = hidden(&home, &["call", "--session", "s", "--", "snapshot"]);
    assert!(ran.status.success(), "it runs, visibly: {ran:?}");
    assert!(home.audit().contains(r#""sandbox":"none""#), "{}", home.audit());
    hidden(&home, &["call", "--session", "s", "--", "close"]);

    for sandbox in [json!({"require": true, "backends": no_bwrap}), json!({"backend": "landlock"})] {
        let home = home_with(sandbox);
        let ran = hidden(&home, &["call", "--session", "s", "--", "snapshot"]);
        assert_eq!(ran.status.code(), Some(69), "{ran:?}");
    }
}
