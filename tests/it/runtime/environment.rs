//! What an operator sets, by variables and flags, and what comes of it.

use std::{fs, os::unix::fs::symlink};

use rustix::process::Signal;
use serde_json::json;

use super::{
    super::harness::processes::{signal, until},
    door::{Door, SESSION},
    server::{Setup, program},
};

#[test]
fn the_session_is_called_as_the_orchestrator_says() {
    for (variables, session) in [
        (vec![], "default"),
        (vec![("BAY_SANDBOX_ID", "bay-1")], "bay-1"),
        (vec![("BAY_SANDBOX_ID", "bay-1"), ("SANDBOX_ID", "own_1")], "own_1"),
        (vec![("BAY_SESSION_ID", "s"), ("BAY_CONTAINER_NAME", "c"), ("BAY_PROFILE_ENV", "{}")], "default"),
    ] {
        let setup = variables.iter().fold(Setup::stand_in(), |setup, (name, value)| setup.with(name, *value));
        let runtime = setup.start();
        assert_eq!(runtime.health().1["session"], json!(session), "{variables:?}");
        // what a request calls it changes nothing in single mode
        for sandbox in [json!("another"), json!(null)] {
            let data = runtime.exec_with(&json!({"cmd": "click #fake-echo", "sandbox_id": sandbox})).ok().data();
            assert_eq!(data["argv"][1], json!(session), "{variables:?}");
        }
    }
}

#[test]
fn a_wrong_setting_is_an_error_at_the_start_that_names_it() {
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
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{name}={value}: {said}");
        assert!(said.contains(value), "{name}={value}: {said}");
    }
    // the control is every other test here: without the wrong one it starts
}

#[test]
fn every_flag_has_its_variable_in_the_help() {
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
fn the_exit_codes_of_what_could_not_run_are_those_of_the_mode() {
    let single = Setup::stand_in().with("BROWSER_SHELL_AGENT_BROWSER", "/nowhere/agent-browser").start();
    single.exec("snapshot").fails_with(-1);
    let shared = Setup::shared().with("BROWSER_SHELL_AGENT_BROWSER", "/nowhere/agent-browser").start();
    shared.exec("snapshot").fails_with(127);
    for (setup, code) in [(Setup::stand_in(), -1), (Setup::shared(), 124)] {
        let runtime = setup.start();
        let late = runtime.exec_with(&json!({"cmd": "click #fake-sleep-600000", "timeout": 1, "sandbox_id": SESSION}));
        assert!(late.fails_with(code).stderr.contains("timed out"));
        // what a command itself ends with is handed on
        assert_eq!(runtime.exec("click #fake-exit-3").fails_with(3).stdout, "");
        runtime.exec("click #fake-exit0-fail").fails_with(1);
        runtime.exec("snapshot").ok();
    }
}

#[test]
fn a_browser_that_nobody_asks_for_a_while_sleeps_until_the_next_call() {
    let runtime = Setup::stand_in().with("AGENT_BROWSER_IDLE_TIMEOUT_MS", "1000").start();
    runtime.exec("click #fake-daemon").ok();
    until("the browser's sleep", || {
        let (status, health) = runtime.health();
        assert_eq!((status, &health["status"]), (200, &json!("healthy")), "it sleeps in good health");
        (health["browser_active"] == json!(false)).then_some(())
    });
    until("the end of the browser's processes", || runtime.chromium().is_none().then_some(()));
    let before = runtime.starts();
    runtime.exec("snapshot").ok();
    assert_eq!(runtime.starts(), before + 1);
    assert_eq!(runtime.health().1["browser_active"], json!(true));
}

#[test]
fn the_workspace_is_where_the_orchestrator_mounts_it() {
    let setup = Setup::stand_in();
    let place = setup.folder().join("data");
    fs::create_dir(&place).unwrap();
    // the program's own setting is at its default, as in the orchestrator's container
    let runtime = setup.with("BROWSER_SHELL_WORKSPACE", "/workspace").with("BAY_WORKSPACE_PATH", &place).start();
    assert_eq!(runtime.get("/meta").is(200).json()["workspace"], json!({"mount_path": place}));
    for argument in ["a.png".to_owned(), format!("{}/a.png", place.display())] {
        let data = runtime.exec(&format!("screenshot {argument}")).ok().data();
        assert_eq!(data["path"], json!(place.join("a.png")), "as agents see it");
        fs::remove_file(place.join("a.png")).unwrap();
    }
}

#[test]
fn skills_are_put_into_the_workspace_and_listed() {
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
    // what has no SKILL.md is no skill, and a link out of the folder is not followed
    fs::create_dir(skills.join("nothing")).unwrap();
    fs::write(setup.folder().join("secret"), "hunter2").unwrap();
    symlink(setup.folder().join("secret"), skills.join("browser/leak.md")).unwrap();
    let runtime = setup.start();
    let copied = runtime.mount().join("skills");
    for name in ["browser", "other"] {
        assert!(fs::read_to_string(copied.join(name).join("SKILL.md")).unwrap().contains("# How to"));
        assert_eq!(fs::read_to_string(copied.join(name).join("more/notes.md")).unwrap(), "notes");
    }
    assert!(!copied.join("nothing").exists());
    assert!(fs::read_to_string(copied.join("browser/leak.md")).is_err(), "what a link leads to is not copied");
    let listed = runtime.get("/meta").is(200).json()["built_in_skills"].clone();
    assert_eq!(
        listed,
        json!([
            {"name": "browser", "description": "Drives the browser.", "path": "/workspace/skills/browser/SKILL.md"},
            {"name": "other", "description": "Does something else.", "path": "/workspace/skills/other/SKILL.md"},
        ])
    );
    // the next start copies again, and what the workspace has of its own stays
    fs::write(copied.join("browser/SKILL.md"), "changed").unwrap();
    fs::write(runtime.mount().join("own.txt"), "own").unwrap();
    let runtime = runtime.again();
    assert!(fs::read_to_string(copied.join("browser/SKILL.md")).unwrap().contains("# How to"));
    assert_eq!(fs::read_to_string(runtime.mount().join("own.txt")).unwrap(), "own");
}

#[test]
fn skills_do_not_leave_the_workspace_through_a_link_in_it() {
    let setup = Setup::stand_in();
    fs::create_dir(setup.folder().join("skills/browser")).unwrap();
    fs::write(setup.folder().join("skills/browser/SKILL.md"), "---\nname: browser\ndescription: x\n---\n").unwrap();
    let outside = setup.folder().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, setup.mount().join("skills")).unwrap();
    // whether it starts without skills or not at all, nothing is written out there
    let mut child = setup.command().stderr(std::process::Stdio::null()).spawn().unwrap();
    until("an end, or an answer", || {
        let door = Door::new(&setup.url(), None);
        (child.try_wait().unwrap().is_some() || door.send(&door.request("GET", "/health", &[], "")).is_some())
            .then_some(())
    });
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    signal(i32::try_from(child.id()).unwrap(), Signal::TERM);
    child.wait().unwrap();
}

#[test]
fn a_call_is_masked_and_leaves_one_audit_line_without_what_was_typed() {
    let runtime = Setup::stand_in().start();
    let answer = runtime.exec("click #fake-secret").ok();
    assert!(!format!("{answer:?}").contains("fakesecret") && answer.stdout.contains("this is no secret"), "{answer:?}");
    runtime.exec("fill #name hunter2").ok();
    runtime.exec("eval hunter2").fails_with(64);
    let audit = runtime.audit();
    assert_eq!(audit.lines().count(), 3, "{audit}");
    assert!(!audit.contains("hunter2") && audit.contains("\"fill\""), "{audit}");
    // long answers are cut, and stay JSON
    let cut = runtime.exec("click #fake-big-50000").ok();
    assert!(cut.data()["text"].as_str().unwrap().len() < 50_000 && cut.stdout.chars().count() <= 30_000 + 200);
}

#[test]
fn the_profile_compat_answers_as_the_upstream_command_line_does() {
    let compat = Setup::stand_in().arguments(&["--profile", "compat"]).start();
    let strict = Setup::stand_in().policy(&json!({"subcommands": {"enable": ["get", "is"]}})).start();
    for (cmd, text) in [
        ("snapshot", "- heading \"A page\" [level=1]\n- link \"More\" [ref=e1]\n- textbox \"Name\" [ref=e2]"),
        ("get title", "A page"),
        ("get text #a", "what the page says"),
        ("get count a", "1"),
        ("is visible #a", "true"),
    ] {
        assert_eq!(compat.exec(cmd).ok().stdout.trim_end_matches('\n'), text, "{cmd}");
        assert!(strict.exec(cmd).ok().data().is_object(), "{cmd}");
    }
    // everything else is the same line
    for cmd in ["open about:blank", "click #a", "select #a b"] {
        assert_eq!(compat.exec(cmd).ok().stdout, strict.exec(cmd).ok().stdout, "{cmd}");
    }
    // what the upstream command line may do, and the default may not
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
    // and what nobody may
    for cmd in
        ["eval 1", "cookies", "upload #a /etc/passwd", "storage local", "network requests", "set device x", "connect 1"]
    {
        let answer = compat.exec(cmd);
        // cookies are there for an operator who wants them, and who has to say so
        assert_eq!(answer.code, if cmd == "cookies" { 77 } else { 64 }, "{cmd}: {answer:?}");
    }
}
