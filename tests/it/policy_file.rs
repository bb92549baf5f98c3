//! Policy file that is missing, vanishes or breaks: it opens nothing that a file closed.
//!
//! Requirement 2.1.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use super::egress::HELLO;
use super::egress::guard::{EgressGuard, TestHost, code, loopback, read_head};
use super::harness::processes;
use super::harness::server::{TestEnv, stand_in_env};

/// Default path of the policy file.
const DEFAULT_PATH: &str = "/etc/agent-browser/browser-shell.policy.json";

/// Every front end, with arguments that it needs to start.
const FRONT_ENDS: &[&[&str]] = &[
    &["mcp"],
    &["mcp", "--http", "127.0.0.1:0"],
    &["serve", "--screen", "none", "--listen", "127.0.0.1:0"],
    &["runtime", "--listen", "127.0.0.1:0"],
    &["call", "--session", "s", "--", "open", "http://93.184.215.14/"],
    &["egress", "--listen", "127.0.0.1:0"],
    &["policy", "explain", "http://93.184.215.14/"],
    &["doctor"],
    &["tools"],
];

/// Runs a command until it ends, or until its log has a text. A server that started is then ended.
fn run_until(mut command: Command, text: &str) -> Output {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = i32::try_from(child.id()).unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut stderr = String::new();
    while log.read_line(&mut stderr).unwrap() > 0 {
        if stderr.lines().next_back().unwrap().contains(text) {
            processes::signal(id, rustix::process::Signal::TERM);
        }
    }
    let output = child.wait_with_output().unwrap();
    Output { stderr: stderr.into_bytes(), ..output }
}

#[test]
fn named_policy_file_that_is_missing_ends_every_start() {
    let env = stand_in_env();
    let missing = Path::new(env.folder()).join("typo.json").display().to_string();
    for front_end in FRONT_ENDS {
        let by_flag = [&front_end[..1], &["--policy", &missing], &front_end[1..]].concat();
        let by_flag = env.command(&by_flag);
        let mut by_variable = env.command(front_end);
        by_variable.env("BROWSER_SHELL_POLICY", &missing);
        for command in [by_flag, by_variable] {
            let output = run_until(command, "listening");
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{front_end:?}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
            for part in [&format!("the policy file `{missing}` does not exist"), "--policy", "BROWSER_SHELL_POLICY"] {
                assert!(error.contains(part), "{front_end:?}: {error}");
            }
        }
    }
    // Control: the same commands do their work with the file.
    for (arguments, code) in [(FRONT_ENDS[4], 0), (FRONT_ENDS[6], 0), (FRONT_ENDS[8], 0)] {
        assert_eq!(env.run(arguments).status.code(), Some(code), "{arguments:?}");
    }
    // Commands that do not read the file do not need it.
    let env = env.with("BROWSER_SHELL_POLICY", missing);
    let valid = env.write_file("valid.json", "{}");
    assert!(env.run(&["policy", "check", valid.to_str().unwrap()]).status.success());
    assert!(env.run(&["policy", "schema"]).status.success());
}

#[test]
fn absent_default_policy_file_is_named_in_one_warning() {
    assert!(!Path::new(DEFAULT_PATH).exists(), "this test needs a machine without `{DEFAULT_PATH}`: move it away");
    let warnings = |env: &TestEnv, arguments: &[&str]| -> Vec<String> {
        let output = run_until(env.command(arguments), "listening address");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        let log = String::from_utf8(output.stderr).unwrap();
        log.lines().filter(|line| line.contains("WARN") && line.contains("policy")).map(str::to_owned).collect()
    };
    let front_ends = [&["mcp"][..], &["egress", "--listen", "127.0.0.1:0"]];
    let env = stand_in_env();
    for arguments in front_ends {
        assert_eq!(warnings(&env, arguments), <[String; 0]>::default(), "control: a file is in force");
    }
    let env = env.without("BROWSER_SHELL_POLICY");
    for arguments in front_ends {
        let warnings = warnings(&env, arguments);
        let [line] = &warnings[..] else { panic!("{arguments:?}: {warnings:?}") };
        assert!(line.contains(DEFAULT_PATH) && line.contains("the safe defaults are in force"), "{line}");
    }
}

/// Makes the policy file unusable in every way, and right again after each, and calls `check` with the state.
fn with_unusable_files(file: &Path, check: impl Fn(Option<&str>)) {
    let text = fs::read(file).unwrap();
    let nowhere = file.with_file_name("nowhere");
    let states: &[(&str, &dyn Fn())] = &[
        ("does not exist", &|| {}),
        ("is not valid", &|| fs::write(file, "{").unwrap()),
        ("cannot be read", &|| fs::write(file, [0xff]).unwrap()),
        ("cannot be read", &|| fs::create_dir(file).unwrap()),
        ("cannot be read", &|| std::os::unix::fs::symlink(&nowhere, file).unwrap()),
    ];
    check(None);
    for (reason, make) in states {
        fs::remove_file(file).unwrap();
        make();
        check(Some(reason));
        match file.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir(file).unwrap(),
            Ok(_) => fs::remove_file(file).unwrap(),
            Err(_) => {}
        }
        fs::write(file, &text).unwrap();
        check(None);
    }
}

#[test]
fn unusable_policy_file_refuses_open_until_it_is_right_again() {
    let policy = json!({"open": {"allow_hosts": ["93.184.215.14"]}, "sandbox": {"enabled": false}});
    let server = stand_in_env().with_policy(&policy).serve();
    let file = Path::new(server.env().folder()).join("policy.json");
    let open = |host: &str| server.call("s", &["open", &format!("http://{host}/")]);
    with_unusable_files(&file, |unusable| match unusable {
        None => {
            open("93.184.215.14").ok();
            open("93.184.215.15").fails_with(77);
        }
        Some(reason) => {
            for host in ["93.184.215.14", "93.184.215.15", "10.0.0.1"] {
                let stderr = open(host).fails_with(77).stderr;
                let parts = ["policy-invalid", &file.display().to_string(), reason];
                assert!(parts.iter().all(|part| stderr.contains(part)), "{reason}: {stderr}");
            }
        }
    });
}

#[test]
fn unusable_policy_file_refuses_every_new_connection() {
    let host = TestHost::start(HELLO);
    let at = host.address.to_string();
    let guard = EgressGuard::start(&json!({
        "open": {"allow_cidrs": ["127.0.0.0/8"], "allow_hosts": ["127.0.0.1"]}, "egress": {"mode": "allowlist"},
    }));
    let file = guard.policy_file();
    let public = "93.184.215.14:443";
    with_unusable_files(&file, |unusable| match unusable {
        None => {
            guard.tunnel(&at);
            assert_eq!(guard.connect_code(public), "host-not-in-allowlist");
        }
        Some(reason) => {
            for to in [&at, public] {
                let reply = guard.send(format!("CONNECT {to} HTTP/1.1\r\n\r\n").as_bytes());
                let parts = ["HTTP/1.1 403 ", "\"policy-invalid\"", &file.display().to_string(), reason];
                assert!(parts.iter().all(|part| reply.contains(part)), "{reason}: {reply}");
            }
            let reply = guard.send(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n");
            assert!(reply.contains("\"mode\": null"), "{reply}");
        }
    });
    // The audit lines of refused connections have the code, too.
    guard
        .audit_line("a refused connection", |line| line["code"] == "policy-invalid" && line["host"] == "93.184.215.14");
}

#[test]
fn connection_is_decided_by_the_file_as_it_is_after_the_head() {
    let host = TestHost::start(HELLO);
    let guard = EgressGuard::start(&loopback());
    let at = host.address.to_string();
    let mut halves = [guard.connect(), guard.connect()];
    for half in &mut halves {
        write!(half, "CONNECT {at} HTTP/1.1\r\n").unwrap();
    }
    let [first, second] = &mut halves;
    first.write_all(b"\r\n").unwrap();
    assert!(read_head(first).starts_with("HTTP/1.1 200 "), "control: the file is there");
    fs::remove_file(guard.policy_file()).unwrap();
    second.write_all(b"\r\n").unwrap();
    let mut reply = String::new();
    second.read_to_string(&mut reply).unwrap();
    assert_eq!(code(&reply), "policy-invalid");
}
