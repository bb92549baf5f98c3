//! Properties of the sandbox backends: network of `srt`, removal, the sandbox init, defaults, templates, and refusals.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Output};

use serde_json::{Value, json};

use super::{attempt, env_with, last_status, policy_of};
use crate::harness::server::{TestEnv, confined_env};

/// Requests a page through the proxy of the backend, as programs do that honor `HTTP_PROXY`.
const PROXY_REQUEST: &str = r"new Promise((done, fail) => {
  const proxy = new URL(process.env.HTTP_PROXY);
  const secret = Buffer.from(decodeURIComponent(proxy.username) + ':' + decodeURIComponent(proxy.password)).toString('base64');
  const headers = { host: 'HOST', 'proxy-authorization': 'Basic ' + secret };
  require('http').get({ host: '127.0.0.1', port: proxy.port, path: 'http://HOST/', headers }, (reply) =>
    reply.statusCode === 200 ? done() : fail({ code: 'status ' + reply.statusCode })).on('error', fail);
})";

// Requirement 5.2.
#[test]
#[ignore = "needs the test network, npm's srt and bubblewrap: run ./dev test"]
fn srt_allows_only_domains_of_policy() {
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
        ("by name", PROXY_REQUEST.replace('\n', " ").replace("HOST", &format!("shop.example.com:{port}"))),
        ("by address", PROXY_REQUEST.replace('\n', " ").replace("HOST", &format!("93.184.215.20:{port}"))),
        ("directly", format!("connect({{ host: '93.184.215.20', port: {port} }})")),
        ("the proxy", "connect(3128)".to_owned()),
    ];
    // The backend refuses the machine's own addresses by name, unless these are allowed too.
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
        let server = env_with(sandbox).serve();
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
    let bare = env_with(json!({"enabled": false})).serve();
    assert_eq!(attempt(&bare, "s", &tries[2..3])["directly"], "ok", "control");
    bare.call("s", &["close"]).ok();
}

/// Checks that the session's processes, the host relay and the backend's processes end.
fn assert_sandbox_is_removed(backend: &str) {
    let (policy, engine) = policy_of(backend);
    for killed in [false, true] {
        let mut server = env_with(policy.clone()).serve();
        server.call("s", &["snapshot"]).ok();
        let commands: Vec<_> = server.processes().into_iter().map(|process| process.command).collect();
        for wanted in ["sandbox-init", "host-relay"] {
            assert!(commands.iter().any(|command| command.contains(wanted)), "control, {wanted}: {commands:#?}");
        }
        let folder = PathBuf::from(server.env().folder()).join("run/s");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "control: a folder inside and one outside must exist");
        if killed {
            server.kill();
        } else {
            // If the sandbox init is killed, the next call starts a new one.
            let init = server.processes().into_iter().find(|process| process.command.contains("sandbox-init")).unwrap();
            rustix::process::kill_process(
                rustix::process::Pid::from_raw(init.id).unwrap(),
                rustix::process::Signal::KILL,
            )
            .unwrap();
            server.call("s", &["snapshot"]).ok();
            server.call("s", &["close"]).ok();
        }
        assert_eq!(server.processes(), [], "killed: {killed}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "killed: {killed}");
        if let Some(engine) = &engine {
            engine.wait_until_empty();
        }
    }
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node, npm's srt and bubblewrap: run ./dev test"]
fn srt_sandbox_leaves_nothing_behind() {
    assert_sandbox_is_removed("srt");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node, podman and root: run ./dev test"]
fn container_leaves_nothing_behind() {
    assert_sandbox_is_removed("docker");
}

/// Checks the socket of the sandbox init, which is reachable from inside: programs that it starts are confined and
/// limited too.
fn assert_sandbox_init_grants_nothing_more(backend: &str) {
    const REQUEST: &str = r"new Promise((done, fail) => {
      let text = '';
      const socket = net.connect(process.env.AGENT_BROWSER_SOCKET_DIR + '/r').on('error', fail);
      socket.on('data', (data) => { text += data; });
      socket.on('close', () => JSON.parse(text.split('\n')[0]).ended?.code === 0 ? done() : fail({ code: text }));
      socket.write(JSON.stringify({ path: 'PATH', arguments: ARGUMENTS, environment: [['TMPDIR', process.env.TMPDIR]], directory: '/' }) + '\n');
    })";
    let (mut policy, _engine) = policy_of(backend);
    policy["backends"]["landlock"] = json!({"maxFileBytes": 1024 * 1024});
    let server = env_with(policy).serve();
    let node = browser_shell::testing::find_on_path("node").unwrap();
    let request = |path: &str, arguments: Value| {
        REQUEST.replace('\n', " ").replace("PATH", path).replace("ARGUMENTS", &arguments.to_string())
    };
    let write = |bytes: u32| {
        let script = format!("require('fs').writeFileSync(process.env.TMPDIR + '/large', Buffer.alloc({bytes}))");
        request(node.to_str().unwrap(), json!(["-e", script]))
    };
    let tries = [
        ("run node", request(node.to_str().unwrap(), json!(["-e", "1"]))),
        ("run a shell", request("/usr/bin/bash", json!(["-c", "true"]))),
        (
            "read another file",
            request(node.to_str().unwrap(), json!(["-e", "require('fs').readFileSync('/etc/passwd')"])),
        ),
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
    let doctor = String::from_utf8(server.env().run(&["doctor"]).stdout).unwrap();
    assert!(doctor.contains(&format!("sandbox        {backend}: full; each session its own")), "{doctor}");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node, npm's srt and bubblewrap: run ./dev test"]
fn sandbox_init_under_srt_grants_nothing_extra() {
    assert_sandbox_init_grants_nothing_more("srt");
}

// Requirement 5.2.
#[test]
#[ignore = "needs Node, podman and root: run ./dev test"]
fn sandbox_init_of_container_grants_nothing_extra() {
    assert_sandbox_init_grants_nothing_more("docker");
}

// Requirement 5.2.
#[test]
#[ignore = "needs the kernel's parts: run ./dev test"]
fn sandbox_is_on_by_default_and_reported_by_audit_and_doctor() {
    let server = confined_env().serve();
    server.call("s", &["snapshot"]).ok();
    assert_eq!(last_status(&server), "landlock:full");
    server.env().write_policy(r#"{"sandbox":{"mode":"disabled"}}"#);
    server.call("s", &["snapshot"]).ok();
    assert_eq!(last_status(&server), "landlock:full", "a session must keep its sandbox");
    server.call("t", &["snapshot"]).ok();
    assert_eq!(last_status(&server), "off");
    server.call("t", &["eval", "1"]).fails_with(64);
    assert_eq!(last_status(&server), "", "nothing may have run");
    let doctor = |env: &TestEnv| String::from_utf8(env.run(&["doctor"]).stdout).unwrap();
    assert!(doctor(server.env()).contains("sandbox        OFF, as the policy file says"));
    let on = doctor(&confined_env());
    assert!(on.contains("sandbox        landlock: full; each session its own"), "{on}");
    for name in ["- landlock", "- bubblewrap", "- srt", "- docker"] {
        assert!(on.contains(name), "{name} in {on}");
    }
    for session in ["s", "t"] {
        server.call(session, &["close"]).ok();
    }
}

// Requirement 5.2.
#[test]
fn unavailable_required_sandbox_refuses_session() {
    let docker = json!({"backend": "docker", "backends": {"docker": {"image": "x", "socket": "/nowhere/socket"}}});
    let bwrap = json!({"backend": "bubblewrap", "backends": {"bubblewrap": {"program": "/nowhere/bwrap"}}});
    for sandbox in [docker, bwrap] {
        let server = env_with(sandbox).serve();
        let answer = server.call("s", &["snapshot"]).fails_with(69);
        assert!(answer.stderr.starts_with("sandbox-backend-unsupported"), "{answer:?}");
        assert!(server.env().audit().contains(r#""code":"sandbox-backend-unsupported""#), "{}", server.env().audit());
        let doctor = server.env().run(&["doctor"]);
        let text = String::from_utf8(doctor.stdout).unwrap();
        assert!(text.contains("bad  sandbox") && text.contains("/nowhere/"), "{text}");
    }
    let server = env_with(json!({"enabled": false})).serve();
    server.call("s", &["snapshot"]).ok();
}

// Requirement 5.2.
#[test]
fn required_sandbox_that_is_off_refuses_sessions() {
    let disabled = json!({"require": true, "enabled": false});
    let server = env_with(disabled.clone()).serve();
    let answer = server.call("s", &["snapshot"]).fails_with(69);
    assert!(answer.stderr.starts_with("sandbox-disabled at sandbox.require"), "{answer:?}");
    let audit = server.env().audit();
    assert!(audit.contains(r#""code":"sandbox-disabled""#), "{audit}");
    let output = |arguments: &[&str]| String::from_utf8(server.env().run(arguments).stdout).unwrap();
    let doctor = output(&["doctor"]);
    assert!(doctor.contains("bad  sandbox        a sandbox is required, and it is switched off"), "{doctor}");
    let check = output(&["policy", "check", &format!("{}/policy.json", server.env().folder())]);
    assert!(check.contains("sandbox.require: cannot be true while the sandbox is off"), "{check}");
    server.env().write_policy(&json!({"sandbox": {"enabled": false}}).to_string());
    server.call("s", &["snapshot"]).ok();
}

/// A stand-in for `bwrap` runs the program without namespaces, until it is gone.
// Requirement 5.2.
#[test]
fn backend_that_disappears_is_a_failed_execution() {
    let folder = tempfile::tempdir().unwrap();
    let [bwrap, away] = ["bwrap", "away"].map(|name| folder.path().join(name));
    fs::write(&bwrap, "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n").unwrap();
    fs::set_permissions(&bwrap, fs::Permissions::from_mode(0o755)).unwrap();
    let server = env_with(json!({"backend": "bubblewrap", "backends": {"bubblewrap": {"program": bwrap}}})).serve();
    server.call("s", &["snapshot"]).ok();
    fs::rename(&bwrap, &away).unwrap();
    let answer = server.call("s", &["snapshot"]).fails_with(69);
    assert!(answer.stderr.starts_with("sandbox-execution-failed"), "{answer:?}");
    assert!(!answer.stderr.contains("bwrap"), "paths are for the log: {answer:?}");
    let audit = server.env().audit();
    assert!(audit.contains(r#""code":"sandbox-execution-failed""#), "{audit}");
    fs::rename(&away, &bwrap).unwrap();
    server.call("s", &["snapshot"]).ok();
    server.call("s", &["close"]).ok();
}

// Requirement 5.2.
#[test]
fn sandbox_workspace_is_removed_with_session_unless_kept() {
    for (kept, sandbox) in
        [(false, json!({"enabled": false})), (true, json!({"enabled": false, "runtime": {"cleanupOnExit": false}}))]
    {
        let template = tempfile::tempdir().unwrap();
        fs::write(template.path().join("notes.txt"), "hello").unwrap();
        let server = env_with(sandbox).with("BROWSER_SHELL_TEMPLATE", template.path()).serve();
        server.call("s", &["snapshot"]).ok();
        let notes = server.env().workspace().join("s/notes.txt");
        assert_eq!(fs::read_to_string(&notes).unwrap(), "hello");
        assert_eq!(fs::metadata(notes.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        server.call("s", &["close"]).ok();
        assert_eq!(notes.exists(), kept, "after `close`");

        // After a kill, the reaper cleans up by the same rule.
        let mut server = server.env().shared().serve();
        server.call("t", &["snapshot"]).ok();
        let (files, runtime) =
            (server.env().workspace().join("t"), PathBuf::from(server.env().folder()).join("run/k/t"));
        assert!(files.exists() && runtime.exists(), "control");
        server.kill();
        assert!(!runtime.exists());
        assert_eq!(files.exists(), kept, "after a kill");
    }
}

/// Simulates a kernel without Landlock: a filter answers the system calls as such a kernel does.
// Requirement 5.2.
#[test]
fn missing_landlock_is_reported_and_required_sandbox_refuses() {
    let hidden = |env: &TestEnv, arguments: &[&str]| -> Output {
        let mut command = env.command(arguments);
        std::thread::scope(|scope| {
            // The filter applies to this thread and its children.
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
    let env = env_with(json!({ "backends": no_bwrap }));
    let doctor = text(&hidden(&env, &["doctor"]));
    assert!(doctor.contains("bad  sandbox        none: agent-browser has all rights of this user"), "{doctor}");
    assert!(doctor.contains("- landlock     cannot run: the kernel has no Landlock"), "{doctor}");
    let ran = hidden(&env, &["call", "--session", "s", "--", "snapshot"]);
    assert!(ran.status.success(), "the call must succeed without a sandbox: {ran:?}");
    assert!(env.audit().contains(r#""sandbox":"none""#), "{}", env.audit());
    hidden(&env, &["call", "--session", "s", "--", "close"]);

    for sandbox in [json!({"require": true, "backends": no_bwrap}), json!({"backend": "landlock"})] {
        let env = env_with(sandbox);
        let ran = hidden(&env, &["call", "--session", "s", "--", "snapshot"]);
        assert_eq!(ran.status.code(), Some(69), "{ran:?}");
    }
}
