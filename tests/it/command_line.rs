//! Command-line subcommands, their output and exit codes (spec [2.2], [2.7], [1.14]).

use std::process::{Command, Output};

use serde_json::{Value, json};

use super::harness::server::{TestEnv, free_port, stand_in, stand_in_env};

fn out(run: &Output) -> String {
    String::from_utf8(run.stdout.clone()).unwrap()
}

fn err(run: &Output) -> String {
    String::from_utf8(run.stderr.clone()).unwrap()
}

// Requirement 2.7.
#[test]
fn explain_prints_verdict_code_rule_and_location() {
    let env =
        stand_in_env().with_policy(&json!({"open": {"deny_hosts": ["93.184.215.15"], "allow_cidrs": ["10.0.0.0/8"]}}));
    for (url, exit, code) in [
        ("http://93.184.215.14/", 0, "allowed"),
        ("http://10.1.2.3/", 0, "allowed"),
        ("http://93.184.215.15/", 77, "host-denied"),
        ("http://127.0.0.1/", 77, "address-not-public"),
        ("http://0x7f.1/", 77, "address-not-public"),
        ("http://93.184.215.14:81/", 77, "port-denied"),
        ("http://93.184.215.14:1024/", 0, "allowed"),
        ("file:///etc/passwd", 77, "scheme-not-allowed"),
        ("https://a@b.example/", 77, "user-info-not-allowed"),
    ] {
        let run = env.run(&["policy", "explain", "--json", url]);
        assert_eq!(run.status.code(), Some(exit), "{url}");
        let decision: Value = serde_json::from_str(&out(&run)).unwrap();
        assert_eq!(decision["code"], code, "{url}");
        assert_eq!(decision["verdict"], if exit == 0 { "allow" } else { "deny" });
    }
    let run = env.run(&["policy", "explain", "http://93.184.215.15/"]);
    let text = out(&run).lines().filter(|line| !line.starts_with("policy file")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(text);
}

#[test]
fn explain_decides_for_a_session() {
    let env = stand_in_env().with_policy(&json!({"open": {"allow_hosts": ["93.184.215.14"]}, "sessions": [
        {"match": "a-*", "open": {"allow_hosts": ["93.184.215.15"]}},
        {"match": "*-b", "open": {"deny_ports": [8443]}},
    ]}));
    let target = "https://93.184.215.15:8443/";
    for (session, exit, location) in [
        (None, 77, "open.allow_hosts"),
        (Some("x-b"), 77, "sessions[1].open.deny_ports[0]"),
        (Some("a-b"), 77, "sessions[1].open.deny_ports[0]"),
        (Some("a-c"), 0, "sessions[0].open.allow_hosts[0]"),
    ] {
        let options: Vec<_> = session.iter().flat_map(|id| ["--session", id]).collect();
        let run = env.run(&[&["policy", "explain", "--json", target], &options[..]].concat());
        assert_eq!(run.status.code(), Some(exit), "{session:?}");
        let decision: Value = serde_json::from_str(&out(&run)).unwrap();
        assert_eq!((decision["place"].as_str(), decision["session"].as_str()), (Some(location), session));
    }
    let text = out(&env.run(&["policy", "explain", "--session", "a-b", "--address", "93.184.215.15:8443"]));
    assert!(text.contains("\nrule at      sessions[1].open.deny_ports[0]\nsession      a-b\n"), "{text}");
    let run = env.run(&["policy", "explain", "--session", "a b", target]);
    assert_eq!(run.status.code(), Some(2), "{run:?}");
}

// Requirement 2.2.
#[test]
fn policy_check_notes_ports_without_effect() {
    let env = stand_in_env();
    let file = env.workspace().join("p.json");
    let text = r#"{"open": {"deny_ports": [25]}, "egress": {"allow_ports": [22, 25, 80, 8080]}}"#;
    std::fs::write(&file, text).unwrap();
    let run = env.run(&["policy", "check", file.to_str().unwrap(), "--json"]);
    let result: Value = serde_json::from_str(&out(&run)).unwrap();
    assert_eq!(result["valid"], true, "{result}");
    let notes: Vec<_> = result["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
    // Port 22 is the control: it needs its entry.
    assert_eq!(notes.len(), 3, "{notes:?}");
    for (note, place) in notes.iter().zip(["allow_ports[1]", "allow_ports[2]", "allow_ports[3]"]) {
        assert!(note.starts_with(&format!("egress.{place} has no effect: ")), "{note}");
    }
}

// Requirement 2.2.
#[test]
fn policy_check_knows_what_credentials_refuse() {
    let env = stand_in_env();
    let login = env.write_file("mail.json", "{}");
    let policy = json!({"browser": {"isolation": "session", "state": {"mail": {"file": login}}}});
    let file = env.write_file("login.json", &policy.to_string());
    let file = file.to_str().unwrap();
    assert!(env.run(&["policy", "check", file]).status.success(), "control");
    let run = env.run(&["policy", "check", "--with-credentials", file]);
    assert!(!run.status.success() && out(&run).starts_with("browser.state.mail: names no subject"), "{}", out(&run));
}

// Requirement 2.2.
#[test]
fn policy_check_reads_saved_states_as_a_session_does() {
    let env = stand_in_env();
    let login = env.write_file("mail.json", "{}");
    let policy = |isolation: &str| {
        let policy = json!({"browser": {"isolation": isolation, "state": {"mail-*": {"file": login}}}});
        env.write_file("login.json", &policy.to_string()).to_str().unwrap().to_owned()
    };
    let file = policy("session");
    let check = |flags: &[&str]| {
        let run = env.run(&[&["policy", "check", "--json", &file], flags].concat());
        let report: Value = serde_json::from_str(&out(&run)).unwrap();
        assert_eq!(run.status.success(), report["valid"] == true, "{report}");
        let problems = report["problems"].as_array().unwrap().clone();
        let texts = problems.iter().map(|problem| {
            assert_eq!(problem["path"], "browser.state.mail-*.file", "{problem}");
            problem["message"].as_str().unwrap().to_owned()
        });
        texts.collect::<Vec<_>>()
    };
    assert_eq!(check(&[]), Vec::<String>::new(), "control");
    std::fs::write(&login, r#"{"cookies":[{"name":"sid","value":"a-secret-value"}]}"#).unwrap();
    let problems = check(&[]);
    assert_eq!(problems.len(), 2, "the domain and the path: {problems:?}");
    assert!(problems.iter().all(|text| text.contains("mail.json`: cookies[0]")), "{problems:?}");
    assert!(!problems.concat().contains("a-secret-value"), "{problems:?}");
    std::fs::remove_file(&login).unwrap();
    let problems = check(&[]);
    assert!(matches!(&problems[..], [one] if one.ends_with("mail.json`: no such file or folder")), "{problems:?}");
    assert_eq!(check(&["--without-files"]), Vec::<String>::new());
    policy("shared");
    assert_eq!(check(&[]), Vec::<String>::new(), "no session begins with it");
    policy("session");
    let run = env.run(&["doctor", "--json", "--serve", "--policy", &file]);
    let report: Value = serde_json::from_str(&out(&run)).unwrap();
    let found = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "policy").cloned();
    let found = found.unwrap();
    assert!(found["level"] == "bad" && found["found"].as_str().unwrap().contains("mail.json"), "{found}");
}

#[test]
fn policy_check_lists_every_problem_or_valid() {
    let env = stand_in_env();
    let file = env.workspace().join("p.json");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        env.run(&["policy", "check", file.to_str().unwrap(), "--json"])
    };
    let run = check(r#"{"opne": {}, "open": {"allow_hosts": ["*.a.example"], "deny_ports": [0]}}"#);
    assert_eq!(run.status.code(), Some(1));
    let result: Value = serde_json::from_str(&out(&run)).unwrap();
    let paths: Vec<_> = result["problems"].as_array().unwrap().iter().map(|problem| problem["path"].clone()).collect();
    assert_eq!(paths, ["opne", "open.allow_hosts[0]", "open.deny_ports[0]"]);
    let run = check("{}");
    assert_eq!(
        (run.status.code(), serde_json::from_str::<Value>(&out(&run)).unwrap()["valid"].clone()),
        (Some(0), json!(true))
    );
    let run = check(r#"{"egress": {"mode": "off"}}"#);
    assert!(out(&run).contains("every address"), "a valid but risky setting must be reported");
    let run = check(r#"{"egress": {"mode": "public"}}"#);
    assert!(!out(&run).contains("every address"), "control");
    let run = env.run(&["policy", "check", "/nowhere.json"]);
    assert!(!run.status.success() && err(&run).contains("`/nowhere.json`: no such file"), "{}", err(&run));
    let run = env.run(&["runtime", "--token-file", "/nowhere.txt"]);
    let text = err(&run);
    assert!(!run.status.success() && text.contains("`/nowhere.txt`: no such file"), "{text}");
    assert!(!text.contains("os error"), "{text}");
    let schema: Value = serde_json::from_str(&out(&env.run(&["policy", "schema"]))).unwrap();
    assert_eq!(schema["title"], "browser-shell policy");
}

#[test]
fn cli_call_uses_same_pipeline() {
    let env = stand_in_env();
    let call = |argv: &[&str]| env.run(&[&["call", "--session", "s", "--"], argv].concat());
    let run = call(&["click", "@e1"]);
    assert_eq!((run.status.code(), out(&run).as_str()), (Some(0), "clicked: true\n"));
    assert_eq!(call(&["eval", "1"]).status.code(), Some(64));
    assert_eq!(call(&["open", "http://10.0.0.1/"]).status.code(), Some(77));
    let run = env.run(&["call", "--session", "s", "--timeout", "1", "--", "click", "#fake-sleep-600000"]);
    assert_eq!(run.status.code(), Some(124));
    let run = env.run(&["call", "--session", "s", "--json", "--", "snapshot"]);
    let reply: Value = serde_json::from_str(&out(&run)).unwrap();
    assert_eq!((reply["session_id"].as_str(), reply["exit_code"].as_i64()), (Some("s"), Some(0)));
    assert!(reply["stdout"].as_str().unwrap().ends_with("}\n"), "{reply}");
}

#[test]
fn session_persists_between_cli_calls_until_close() {
    let env = stand_in_env();
    let call = |argv: &[&str]| env.run(&[&["call", "--session", "s", "--"], argv].concat());
    assert!(call(&["click", "#fake-daemon"]).status.success());
    assert!(call(&["screenshot", "a.png"]).status.success());
    assert_eq!(env.processes(None).len(), 1, "the daemon must keep running");
    assert!(env.workspace().join("s/a.png").exists());
    assert!(call(&["close"]).status.success());
    assert_eq!(env.processes(None), []);
    assert!(!env.workspace().join("s").exists());
}

#[test]
fn doctor_names_problem_and_fix() {
    let findings = |env: &TestEnv| -> (Option<i32>, Value) {
        let run = env.run(&["doctor", "--json"]);
        (run.status.code(), serde_json::from_str(&out(&run)).unwrap())
    };
    let check = |report: &Value, name: &str| {
        let found = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).cloned();
        found.unwrap_or_else(|| panic!("no check `{name}` in {report}"))
    };
    // DNS and the browser depend on the machine. All other checks must pass.
    let (_, report) = findings(&stand_in_env().with("BROWSER_SHELL_CDP_PORT", "1"));
    for name in ["agent-browser", "node", "policy", "socket folder", "workspace", "audit log"] {
        assert_eq!(check(&report, name)["level"], "ok", "{report}");
    }
    assert_eq!(check(&report, "engine")["level"], "ok");
    for name in ["browser", "control gate"] {
        assert_eq!(check(&report, name)["level"], "bad", "nothing listens on the debugging port");
    }
    assert_eq!(check(&report, "launch rules")["level"], "warn", "no Chromium is visible");

    let broken = TestEnv::new(std::path::Path::new("/nowhere/agent-browser"))
        .with("BROWSER_SHELL_CDP_PORT", "1")
        .with("BROWSER_SHELL_WORKSPACE", "/dev/null/nowhere")
        .with("BROWSER_SHELL_AUDIT", "/nowhere/audit.jsonl")
        .with("BROWSER_SHELL_RUNTIME_DIR", format!("/tmp/{}", "x".repeat(80)))
        .with_policy(&json!({"opne": {}}));
    let (exit, report) = findings(&broken);
    assert_eq!(exit, Some(1));
    assert_eq!((&report["ok"], &report["level"]), (&json!(false), &json!("bad")));
    for name in ["agent-browser", "browser", "control gate", "policy", "socket folder", "workspace", "audit log"] {
        let check = check(&report, name);
        assert_eq!((&check["ok"], &check["level"]), (&json!(false), &json!("bad")), "{check}");
        assert!(!check["fix"].as_str().unwrap().is_empty(), "{check}");
    }
    let text = out(&broken.run(&["doctor"]));
    assert!(text.contains("bad  agent-browser") && text.contains("fix: "), "{text}");
}

#[test]
fn doctor_writes_nothing_and_says_what_would_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let env = stand_in_env()
        .with("BROWSER_SHELL_CDP_PORT", "1")
        .with("BROWSER_SHELL_WORKSPACE", at("new/work"))
        .with("BROWSER_SHELL_RUNTIME_DIR", at("run"))
        .with("BROWSER_SHELL_AUDIT", at("audit.jsonl"));
    let is_empty = || std::fs::read_dir(folder.path()).unwrap().next().is_none();
    for flag in ["--json", "--serve", "--browser"] {
        let text = out(&env.run(&["doctor", flag]));
        assert!(text.matches("would be made").count() == 3, "{flag}: {text}");
        assert!(is_empty(), "{flag}");
    }
    assert!(env.run(&["call", "--session", "s", "--", "snapshot"]).status.success());
    assert!(!is_empty(), "control");
    assert!(env.run(&["call", "--session", "s", "--", "close"]).status.success());
    let text = out(&env.run(&["doctor"]));
    assert!(text.contains("is private and its path is short enough"), "control: {text}");
}

#[test]
fn doctor_asks_for_what_an_own_browser_needs() {
    let env = TestEnv::new(std::path::Path::new("/nowhere/agent-browser"))
        .without("BROWSER_SHELL_POLICY")
        .without("BROWSER_SHELL_WORKSPACE");
    let names = |flag: &str| -> Vec<String> {
        let report: Value = serde_json::from_str(&out(&env.run(&["doctor", "--json", flag]))).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let policy = checks.iter().find(|check| check["name"] == "policy").unwrap();
        assert!(policy["found"].as_str().unwrap().contains("the recommended policy"), "{policy}");
        checks.iter().map(|check| check["name"].as_str().unwrap().to_owned()).collect()
    };
    let asked = names("--browser");
    assert_eq!(asked[..4], ["engine", "chromium", "policy", "socket folder"]);
    assert!(!asked.contains(&"workspace".to_owned()), "{asked:?}");
    assert!(names("--serve").contains(&"workspace".to_owned()), "control");
}

#[test]
fn doctor_checks_the_programs_that_are_named() {
    let program = stand_in();
    let program = program.to_str().unwrap();
    let found = |env: &TestEnv, arguments: &[&str], name: &str| -> (bool, String) {
        let run = env.run(&[&["doctor", "--json"], arguments].concat());
        let report: Value = serde_json::from_str(&out(&run)).unwrap();
        let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).cloned();
        let check = check.unwrap_or_else(|| panic!("no check `{name}` in {report}"));
        (check["level"] != "bad", check["found"].as_str().unwrap().to_owned())
    };
    let named = |path: &str| stand_in_env().with("BROWSER_SHELL_CHROMIUM", path).with("BROWSER_SHELL_XVNC", path);
    for (path, is_there) in [(program, true), ("/nowhere/program", false), ("/etc/passwd", false)] {
        for (flag, name) in [("--serve", "chromium"), ("--serve", "xvnc"), ("--browser", "chromium")] {
            let (is_good, text) = found(&named(path), &[flag], name);
            assert!(is_good == is_there && text.starts_with(path), "{flag} {name} {path}: {text}");
        }
        let (is_good, text) = found(&stand_in_env(), &["--serve", "--chromium", path], "chromium");
        assert!(is_good == is_there && text.starts_with(path), "as a flag: {path}: {text}");
    }
    let (is_good, text) = found(&stand_in_env(), &["--serve", "--novnc", "/nowhere/novnc"], "novnc");
    assert!(!is_good && text.contains("/nowhere/novnc"), "{text}");
}

#[test]
fn doctor_is_never_ok_with_untested_version_or_missing_part() {
    let folder = tempfile::tempdir().unwrap();
    let program = |version: &str| {
        let path = folder.path().join(version);
        // Written by another process: this one may fork while the file is open for writing, and then it cannot be started.
        let script = "printf '#!/bin/sh\\necho agent-browser %s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        assert!(Command::new("/bin/sh").arg("-c").arg(script).arg(&path).arg(version).status().unwrap().success());
        path
    };
    let level = |env: &TestEnv, name: &str| -> String {
        let report: Value = serde_json::from_str(&out(&env.run(&["doctor", "--json"]))).unwrap();
        let found = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name);
        let check = found.unwrap_or_else(|| panic!("no check `{name}` in {report}"));
        assert_eq!(check["ok"] == true, check["fix"].is_null(), "{check}");
        check["level"].as_str().unwrap().to_owned()
    };
    for (version, wanted) in [("0.41.2", "ok"), ("0.19.0", "ok"), ("0.18.3", "warn"), ("0.41.20", "warn")] {
        assert_eq!(level(&TestEnv::new(&program(version)), "agent-browser"), wanted, "{version}");
    }
    // An installation of npm of which a part is missing.
    let npm = |part: &str| {
        let package = folder.path().join(part);
        for folder in ["bin", part] {
            std::fs::create_dir_all(package.join(folder)).unwrap();
        }
        std::fs::write(package.join("package.json"), "{}").unwrap();
        let program = package.join("bin/agent-browser");
        std::fs::hard_link(folder.path().join("0.19.0"), &program).unwrap();
        level(&TestEnv::new(&program), "agent-browser")
    };
    assert_eq!([npm("dist"), npm("other")], ["ok", "bad"]);
    // Our own engine needs none of them.
    let own = TestEnv::new(std::path::Path::new("/nowhere/agent-browser")).with_policy(&json!({ "engine": "cdp" }));
    assert_eq!(level(&own, "engine"), "ok");
    let report = out(&own.run(&["doctor", "--json"]));
    assert!(!report.contains("\"agent-browser\"") && !report.contains("\"node\""), "{report}");
    assert!(!report.contains("- landlock"), "nor a sandbox: {report}");
    let off = |policy: &str| {
        let mut policy: Value = serde_json::from_str(policy).unwrap();
        policy["sandbox"] = json!({ "enabled": false });
        TestEnv::new(std::path::Path::new("/nowhere/agent-browser")).with_policy(&policy)
    };
    assert_eq!(level(&off(r#"{"engine":"cdp"}"#), "sandbox"), "ok", "nothing runs in it");
    let some = off(r#"{"engine":"cdp","sessions":[{"match":"old-*","engine":"agent-browser"}]}"#);
    assert_eq!((level(&some, "sandbox").as_str(), level(&some, "agent-browser").as_str()), ("warn", "bad"));

    let port = free_port();
    let guard = |env: TestEnv| level(&env, "egress guard");
    assert_eq!(guard(stand_in_env().with("BROWSER_SHELL_EGRESS", format!("127.0.0.1:{port}"))), "bad");

    let socket = json!({"docker": {"image": "x", "socket": "/nowhere/socket"}});
    let sandbox = |policy: Value| stand_in_env().with_policy(&json!({ "sandbox": policy }));
    let asked = sandbox(json!({"backend": "docker", "backends": socket}));
    assert_eq!((level(&asked, "sandbox").as_str(), level(&asked, "- docker").as_str()), ("bad", "bad"));
    let not_asked = sandbox(json!({ "enabled": false, "backends": socket }));
    assert_eq!((level(&not_asked, "sandbox").as_str(), level(&not_asked, "- docker").as_str()), ("warn", "ok"));
    let text = out(&not_asked.run(&["doctor"]));
    assert!(text.contains("\nwarn sandbox        OFF"), "{text}");
}

#[test]
fn invalid_settings_are_errors_that_name_them() {
    for (name, value, flag) in [
        ("BROWSER_SHELL_CDP_PORT", "0", "--cdp-port"),
        ("BROWSER_SHELL_CDP_PORT", "x", "--cdp-port"),
        ("BROWSER_SHELL_CONCURRENCY", "0", "--concurrency"),
        ("BROWSER_SHELL_IDLE_SEC", "-1", "--idle-sec"),
        ("BROWSER_SHELL_ACTION_TIMEOUT_MS", "30000", "--action-timeout-ms"),
        ("BROWSER_SHELL_POLICY", "", "--policy"),
    ] {
        let run = stand_in_env().with(name, value).run(&["tools"]);
        assert!(!run.status.success(), "{name}={value}");
        assert!(err(&run).contains(flag), "{name}={value}: {}", err(&run));
    }
}

// Requirement 1.14.
#[test]
fn server_does_not_start_if_audit_log_is_unwritable() {
    let run = stand_in_env().with("BROWSER_SHELL_AUDIT", "/nowhere/audit.jsonl").run(&["mcp"]);
    assert!(!run.status.success() && err(&run).contains("--audit"), "{}", err(&run));
}

// Requirement 1.14.
#[test]
fn audit_file_has_one_line_per_call() {
    let server = stand_in_env().serve();
    server.call("s", &["open", "http://93.184.215.14/secret-path?secret-query"]).ok();
    server.call("s", &["fill", "@e1", "secret-text"]).ok();
    server.call("s", &["open", "http://10.0.0.1/secret"]).fails_with(77);
    let audit = server.env().audit();
    assert!(!audit.contains("secret"), "{audit}");
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<_> = lines.iter().map(|line| (line["code"].as_str().unwrap(), line["host"].as_str())).collect();
    assert_eq!(codes, [("ok", Some("93.184.215.14")), ("ok", None), ("address-not-public", Some("10.0.0.1"))]);
}

#[test]
fn call_without_agent_browser_exits_69() {
    let server =
        TestEnv::new(std::path::Path::new("/nowhere/agent-browser")).with("BROWSER_SHELL_CDP_PORT", "1").serve();
    server.call("s", &["snapshot"]).fails_with(69);
    server.call("s", &["eval", "1"]).fails_with(64);
}

#[test]
fn commands_print_no_control_character() {
    let controls = "\u{1b}]52;c;YQ==\u{7}\u{9b}31m\u{202e}\u{2028}";
    let env = stand_in_env().with_policy(&json!({ (format!("key{controls}")): 1 }));
    let file = format!("{}/policy.json", env.folder());
    for argv in [
        &["policy", "check", &file][..],
        &["policy", "check", "--json", &file],
        &["policy", "explain", "http://93.184.215.14/"],
        &["doctor"],
        &["doctor", "--json"],
        &["call", &format!("snapshot{controls}")],
    ] {
        let run = env.run(argv);
        let shown = out(&run) + &err(&run);
        let is_raw = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{2028}');
        assert!(!shown.contains(is_raw), "{argv:?}: {shown:?}");
        assert!(shown.contains("52;c;YQ=="), "control: {argv:?}: {shown:?}");
    }
}
