//! Environment variables and flags of the runtime, and their effect.

use std::{fs, os::unix::fs::symlink};

use rustix::process::Signal;
use serde_json::json;

use super::{
    super::harness::processes::{signal, wait_for},
    client::{HttpClient, SESSION},
    server::{Setup, program},
};

#[test]
fn session_has_orchestrator_name() {
    for (variables, session) in [
        (vec![], "default"),
        (vec![("BAY_SANDBOX_ID", "bay-1")], "bay-1"),
        (vec![("BAY_SANDBOX_ID", "bay-1"), ("SANDBOX_ID", "own_1")], "own_1"),
        (vec![("BAY_SESSION_ID", "s"), ("BAY_CONTAINER_NAME", "c"), ("BAY_PROFILE_ENV", "{}")], "default"),
    ] {
        let setup = variables.iter().fold(Setup::stand_in(), |setup, (name, value)| setup.with(name, *value));
        let runtime = setup.start();
        assert_eq!(runtime.health().1["session"], json!(session), "{variables:?}");
        // In single mode, the name in a request changes nothing.
        for sandbox in [json!("another"), json!(null)] {
            let data = runtime.exec_with(&json!({"cmd": "click #fake-echo", "sandbox_id": sandbox})).ok().data();
            assert_eq!(data["argv"][1], json!(session), "{variables:?}");
        }
    }
}

#[test]
fn invalid_setting_is_startup_error_that_names_it() {
    for (name, value) in [
        ("SANDBOX_ID", "../other"),
        ("BROWSER_SHELL_MODE", "double"),
        ("BROWSER_SHELL_PROFILE", "lenient"),
        ("BROWSER_SHELL_LISTEN", "nowhere"),
        ("BROWSER_SHELL_TOKEN_FILE", "/nowhere/token"),
        ("BROWSER_SHELL_GRACE_SEC", "-1"),
        ("AGENT_BROWSER_IDLE_TIMEOUT_MS", "soon"),
    ] {
        let setup = Setup::stand_in().with(name, value);
        let output = setup.command().output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{name}={value}: {stderr}");
        assert!(stderr.contains(value), "{name}={value}: {stderr}");
    }
    // Control: every other test here starts the runtime without the invalid setting.
}

#[test]
fn variable_of_another_server_is_named_at_start() {
    let start = |name: &'static str| {
        // It ends at once: the token file is missing.
        let setup = Setup::stand_in().with("BROWSER_SHELL_TOKEN_FILE", "/nowhere/token").with(name, "box.example");
        let output = setup.command().output().unwrap();
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let stderr = start("BROWSER_SHELL_ALLOW_HOST");
    let names = ["`BROWSER_SHELL_ALLOW_HOST` has no effect", "`BROWSER_SHELL_ALLOW_HOSTS`"];
    assert!(names.iter().all(|name| stderr.contains(name)), "{stderr}");
    assert!(!start("BROWSER_SHELL_ALLOW_HOSTS").contains("no effect"), "control: its own variable");
}

#[test]
fn every_flag_shows_its_variable_in_help() {
    let output = program().args(["runtime", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for (flag, variable) in [
        ("--listen", "BROWSER_SHELL_LISTEN"),
        ("--mode", "BROWSER_SHELL_MODE"),
        ("--profile", "BROWSER_SHELL_PROFILE"),
        ("--chromium", "BROWSER_SHELL_CHROMIUM"),
        ("--token-file", "BROWSER_SHELL_TOKEN_FILE"),
        ("--allow-host", "BROWSER_SHELL_ALLOW_HOSTS"),
        ("--skills", "BROWSER_SHELL_SKILLS"),
        ("--workspace-mount", "BAY_WORKSPACE_PATH"),
        ("--cargos", "BROWSER_SHELL_CARGOS"),
        ("--grace-sec", "BROWSER_SHELL_GRACE_SEC"),
    ] {
        assert!(help.contains(flag) && help.contains(variable), "{flag} {variable}: {help}");
    }
}

#[test]
fn exit_codes_of_failed_starts_depend_on_tenancy() {
    let single = Setup::stand_in().with("BROWSER_SHELL_AGENT_BROWSER", "/nowhere/agent-browser").start();
    single.exec("snapshot").fails_with(-1);
    let shared = Setup::shared().with("BROWSER_SHELL_AGENT_BROWSER", "/nowhere/agent-browser").start();
    shared.exec("snapshot").fails_with(127);
    for (setup, code) in [(Setup::stand_in(), -1), (Setup::shared(), 124)] {
        let runtime = setup.start();
        let late = runtime.exec_with(&json!({"cmd": "click #fake-sleep-600000", "timeout": 1, "sandbox_id": SESSION}));
        assert!(late.fails_with(code).stderr.contains("timed out"));
        // The exit code of the command itself is passed on.
        assert_eq!(runtime.exec("click #fake-exit-3").fails_with(3).stdout, "");
        runtime.exec("click #fake-exit0-fail").fails_with(1);
        runtime.exec("snapshot").ok();
    }
}

#[test]
fn idle_browser_stops_and_restarts_on_next_call() {
    let runtime = Setup::stand_in().with("AGENT_BROWSER_IDLE_TIMEOUT_MS", "1000").start();
    runtime.exec("click #fake-daemon").ok();
    wait_for("the idle browser to stop", || {
        let (status, health) = runtime.health();
        assert_eq!((status, &health["status"]), (200, &json!("healthy")), "an idle browser must be healthy");
        (health["browser_active"] == json!(false)).then_some(())
    });
    wait_for("the end of the browser's processes", || runtime.chromium().is_none().then_some(()));
    let before = runtime.starts();
    runtime.exec("snapshot").ok();
    assert_eq!(runtime.starts(), before + 1);
    assert_eq!(runtime.health().1["browser_active"], json!(true));
}

#[test]
fn workspace_is_the_orchestrator_mount() {
    let setup = Setup::stand_in();
    let mount = setup.folder().join("data");
    fs::create_dir(&mount).unwrap();
    // `BROWSER_SHELL_WORKSPACE` has its default, as in the orchestrator's container.
    let runtime = setup.with("BROWSER_SHELL_WORKSPACE", "/workspace").with("BAY_WORKSPACE_PATH", &mount).start();
    assert_eq!(runtime.get("/meta").expect_status(200).json()["workspace"], json!({"mount_path": mount}));
    for argument in ["a.png".to_owned(), format!("{}/a.png", mount.display())] {
        let data = runtime.exec(&format!("screenshot {argument}")).ok().data();
        assert_eq!(data["path"], json!(mount.join("a.png")), "the path must be the mount path");
        fs::remove_file(mount.join("a.png")).unwrap();
    }
}

#[test]
fn skills_are_copied_to_workspace_and_listed() {
    let setup = Setup::stand_in();
    let skills = setup.folder().join("skills");
    let skill = |name: &str, description: &str| {
        fs::create_dir_all(skills.join(name).join("more")).unwrap();
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n\n# How to\n");
        fs::write(skills.join(name).join("SKILL.md"), text).unwrap();
        fs::write(skills.join(name).join("more/notes.md"), "notes").unwrap();
    };
    skill("browser", "Drives the browser.");
    skill("other", "Does something else.");
    // A folder without SKILL.md is not a skill, and a link out of the folder is not followed.
    fs::create_dir(skills.join("nothing")).unwrap();
    fs::write(setup.folder().join("secret"), "hunter2").unwrap();
    symlink(setup.folder().join("secret"), skills.join("browser/leak.md")).unwrap();
    let runtime = setup.start();
    let copied = runtime.mount().join("skills");
    for name in ["browser", "other"] {
        // They are copied while the server already answers.
        wait_for("the copied skill", || {
            let copy = |file: &str| fs::read_to_string(copied.join(name).join(file)).unwrap_or_default();
            (copy("SKILL.md").contains("# How to") && copy("more/notes.md") == "notes").then_some(())
        });
    }
    assert!(!copied.join("nothing").exists());
    assert!(fs::read_to_string(copied.join("browser/leak.md")).is_err(), "the target of a link must not be copied");
    let listed = runtime.get("/meta").expect_status(200).json()["built_in_skills"].clone();
    assert_eq!(
        listed,
        json!([
            {"name": "browser", "description": "Drives the browser.", "path": "/workspace/skills/browser/SKILL.md"},
            {"name": "other", "description": "Does something else.", "path": "/workspace/skills/other/SKILL.md"},
        ])
    );
    // The next start copies the skills again and keeps other files of the workspace.
    fs::write(copied.join("browser/SKILL.md"), "changed").unwrap();
    fs::write(runtime.mount().join("own.txt"), "own").unwrap();
    let runtime = runtime.restart();
    assert!(fs::read_to_string(copied.join("browser/SKILL.md")).unwrap().contains("# How to"));
    assert_eq!(fs::read_to_string(runtime.mount().join("own.txt")).unwrap(), "own");
}

#[test]
fn skills_are_not_copied_through_link_out_of_workspace() {
    let setup = Setup::stand_in();
    fs::create_dir(setup.folder().join("skills/browser")).unwrap();
    fs::write(setup.folder().join("skills/browser/SKILL.md"), "---\nname: browser\ndescription: x\n---\n").unwrap();
    let outside = setup.folder().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, setup.mount().join("skills")).unwrap();
    // The runtime may start without skills or refuse to start, but it must not write outside the workspace.
    let mut child = setup.command().stderr(std::process::Stdio::null()).spawn().unwrap();
    wait_for("an exit or a response", || {
        let client = HttpClient::new(&setup.url(), None);
        (child.try_wait().unwrap().is_some() || client.send(&client.request_bytes("GET", "/health", &[], "")).is_some())
            .then_some(())
    });
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    signal(i32::try_from(child.id()).unwrap(), Signal::TERM);
    child.wait().unwrap();
}

#[test]
fn runtime_call_is_masked_and_audited_without_typed_text() {
    let runtime = Setup::stand_in().start();
    let answer = runtime.exec("click #fake-secret").ok();
    assert!(!format!("{answer:?}").contains("fakesecret") && answer.stdout.contains("this is no secret"), "{answer:?}");
    runtime.exec("fill #name hunter2").ok();
    runtime.exec("eval hunter2").fails_with(64);
    let audit = runtime.audit();
    assert_eq!(audit.lines().count(), 3, "{audit}");
    assert!(!audit.contains("hunter2") && audit.contains("\"fill\""), "{audit}");
    // Long output is truncated and remains JSON.
    let cut = runtime.exec("click #fake-big-50000").ok();
    assert!(cut.data()["text"].as_str().unwrap().len() < 50_000 && cut.stdout.chars().count() <= 30_000 + 200);
}

#[test]
fn compat_profile_replies_like_upstream_cli() {
    let compat = Setup::stand_in().arguments(&["--profile", "compat"]).start();
    let strict = Setup::stand_in().policy(&json!({"subcommands": {"enable": ["get", "is"]}})).start();
    for (cmd, text) in [
        ("snapshot", "- heading \"A page\" [level=1]\n- link \"More\" [ref=e1]\n- textbox \"Name\" [ref=e2]"),
        ("get title", "A page"),
        ("get text #a", "text of the page"),
        ("get count a", "1"),
        ("is visible #a", "true"),
    ] {
        assert_eq!(compat.exec(cmd).ok().stdout.trim_end_matches('\n'), text, "{cmd}");
        assert!(strict.exec(cmd).ok().data().is_object(), "{cmd}");
    }
    // Subcommands that the upstream command line allows and the default profile does not.
    for (cmd, both) in [
        ("back", false),
        ("scrollintoview #a", false),
        ("screenshot --full a.png", false),
        ("scroll down", false),
        ("click #a", true),
    ] {
        compat.exec(cmd).ok();
        assert_eq!(strict.exec(cmd).code == 0, both, "{cmd}");
    }
    // Subcommands that no profile allows.
    for cmd in
        ["eval 1", "cookies", "upload #a /etc/passwd", "storage local", "network requests", "set device x", "connect 1"]
    {
        let answer = compat.exec(cmd);
        // `cookies` exists, but the operator must enable it.
        assert_eq!(answer.code, if cmd == "cookies" { 77 } else { 64 }, "{cmd}: {answer:?}");
    }
}
