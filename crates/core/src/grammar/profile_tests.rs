//! Tests of the differences between profiles.

use super::words::split;
use super::*;
use crate::decision::{Code, Decision};

const RUNTIME: [Profile; 2] = [Profile::Strict, Profile::Compat];

fn parse_line(profile: Profile, line: &str) -> Result<String, Decision> {
    parse(profile, &split(line)?, |_| true).map(|command| command.to_argv().join(" "))
}

fn code(profile: Profile, line: &str) -> Code {
    parse_line(profile, line).map_or_else(|decision| decision.code, |_| Code::Ok)
}

#[test]
fn compat_parses_commands_of_orchestrator_agents() {
    let rows: &[(&str, &str)] = &[
        ("find role button click --name Submit", "find role button click --name Submit"),
        ("find role --exact button --name 'Sign in' hover", "find role button hover --exact --name Sign in"),
        ("find text 'Sign In' click", "find text Sign In click"),
        ("find text click hover --exact", "find text click hover --exact"),
        ("find label Email fill user@test.example", "find label Email fill user@test.example"),
        ("find label fill fill ''", "find label fill fill "),
        ("find label Email fill -5", "find label Email fill -5"),
        ("find label Agree check --exact", "find label Agree check --exact"),
        ("find placeholder Search fill 'two\nlines'", "find placeholder Search fill two\nlines"),
        ("find alt Logo click", "find alt Logo click"),
        ("find title Close hover", "find title Close hover"),
        ("find testid submit-btn click", "find testid submit-btn click"),
        ("find first .item text", "find first .item text"),
        ("find last li fill x", "find last li fill x"),
        ("find nth 2 @e1 check", "find nth 2 @e1 check"),
        ("snapshot -i -C", "snapshot -i -C"),
        ("tab", "tab"),
        ("tab 2", "tab 2"),
        ("tab t2", "tab t2"),
        ("tab close t2", "tab close t2"),
        ("goto https://a.example/", "open https://a.example/"),
        ("navigate https://a.example/", "open https://a.example/"),
        ("key Enter", "press Enter"),
        ("quit", "close"),
        ("exit", "close"),
        ("get value @e1", "get value @e1"),
        ("get styles @e1", "get styles @e1"),
        ("drag @e1 '#b'", "drag @e1 #b"),
        ("session", "session"),
        ("session list", "session list"),
        ("--version", "--version"),
        ("-V", "--version"),
        ("--help", "--help"),
        ("-h", "--help"),
        ("tab new", "tab new"),
        ("tab new https://a.example/", "tab new https://a.example/"),
        ("tab close", "tab close"),
        ("tab close 1", "tab close 1"),
        ("scrollintoview #footer", "scrollintoview #footer"),
        ("cookies", "cookies"),
        ("cookies get", "cookies get"),
        ("cookies set a b=c", "cookies set a b=c"),
        ("cookies clear", "cookies clear"),
        ("screenshot --full", "screenshot --full"),
        ("screenshot -f a.png", "screenshot a.png --full"),
        ("screenshot --full true a.png", "screenshot true a.png --full"),
        ("screenshot '#main' --full /workspace/shots/a.png", "screenshot #main shots/a.png --full"),
        ("back", "back"),
        ("get text @e1", "get text @e1"),
    ];
    for (line, expected) in rows {
        assert_eq!(parse_line(Profile::Compat, line).as_deref(), Ok(*expected), "{line}");
    }
}

#[test]
fn compat_refuses_commands_that_versions_parse_differently() {
    let rows: &[(&str, Code, &str)] = &[
        ("find", Code::ArgumentMissing, ""),
        ("find xpath //a click", Code::ArgumentInvalid, "no such locator"),
        ("find role button click", Code::ArgumentMissing, "0.19 sends a null that its daemon refuses"),
        ("find role button fill x --name a", Code::ArgumentInvalid, "0.19 would fill in `x --name a`"),
        ("find role 'button >> a' click --name x", Code::ArgumentInvalid, "a role is a word"),
        ("find text a fill x", Code::ArgumentInvalid, "0.19 has no such action for this locator"),
        ("find text a type x", Code::ArgumentInvalid, "no version supports it"),
        ("find text a", Code::ArgumentMissing, "an action"),
        ("find text '' click", Code::ArgumentInvalid, ""),
        ("find text a click b", Code::ArgumentUnexpected, ""),
        ("find text -a click", Code::FlagUnknown, ""),
        ("find text --name click", Code::FlagUnknown, "0.41 parses it as a flag"),
        ("find text a click --name b", Code::FlagUnknown, "only roles have names"),
        ("find label a fill", Code::ArgumentMissing, ""),
        ("find label a fill x y", Code::ArgumentUnexpected, ""),
        ("find label a fill x --exact", Code::FlagUnknown, "0.19 would fill in `x --exact`"),
        ("find label a fill --exact", Code::FlagUnknown, ""),
        ("find label a fill --name", Code::FlagUnknown, ""),
        ("find label a fill --cdp", Code::FlagGlobal, ""),
        ("find label a evaluate x", Code::ArgumentInvalid, ""),
        ("find first a type x", Code::ArgumentInvalid, ""),
        ("find nth -1 a click", Code::FlagUnknown, ""),
        ("find nth x a click", Code::ArgumentInvalid, ""),
        ("find nth 1000 a click", Code::ArgumentInvalid, ""),
        ("tab t0", Code::ArgumentInvalid, "names begin with t1"),
        ("tab t01", Code::ArgumentInvalid, ""),
        ("tab t", Code::ArgumentInvalid, ""),
        ("tab t1000", Code::ArgumentInvalid, ""),
        ("tab t+1", Code::ArgumentInvalid, ""),
        ("tab label", Code::ArgumentInvalid, "0.41 would look for a label"),
        ("tab close label", Code::ArgumentInvalid, "0.19 would close the active tab"),
        ("goto", Code::ArgumentMissing, ""),
        ("goto --cdp=1", Code::FlagGlobal, ""),
        ("drag @e1", Code::ArgumentMissing, ""),
        ("drag @e1 --cdp", Code::FlagGlobal, ""),
        ("session other", Code::ArgumentUnexpected, ""),
        ("--version snapshot", Code::ArgumentUnexpected, ""),
        ("--version --cdp", Code::FlagGlobal, ""),
        ("snapshot --version", Code::FlagGlobal, "not after a subcommand"),
        ("--version --version", Code::FlagGlobal, ""),
        ("frame main", Code::SubcommandForbidden, ""),
        ("console", Code::SubcommandForbidden, ""),
        ("tab close --label", Code::FlagUnknown, ""),
        ("tab new a b", Code::ArgumentUnexpected, ""),
        ("tab new --label", Code::FlagUnknown, ""),
        ("scrollintoview @e1", Code::ArgumentInvalid, "0.19 parses it as CSS"),
        ("cookies set a", Code::ArgumentMissing, ""),
        ("cookies set a b --url https://a.example", Code::FlagUnknown, ""),
        ("cookies set --curl /etc/passwd", Code::FlagUnknown, "reads a file"),
        ("cookies set a --httpOnly", Code::FlagUnknown, ""),
        ("cookies set a ''", Code::ArgumentInvalid, ""),
        ("cookies set -a b", Code::FlagUnknown, ""),
        ("screenshot --full --full", Code::FlagConflict, ""),
        ("screenshot --full -f", Code::FlagConflict, ""),
        ("screenshot --full=true", Code::FlagGlobal, ""),
        ("screenshot --full --annotate", Code::FlagGlobal, ""),
        ("--full screenshot", Code::FlagGlobal, "not before the subcommand"),
        ("snapshot --full", Code::FlagGlobal, "a flag of another subcommand"),
        ("fill @e1 --full", Code::FlagGlobal, "text"),
        ("find text --full click", Code::FlagGlobal, ""),
        ("snapshot -i --json", Code::FlagGlobal, ""),
        ("eval 1", Code::SubcommandForbidden, ""),
        ("upload @e1 /etc/passwd", Code::SubcommandForbidden, ""),
        ("storage local", Code::SubcommandForbidden, ""),
    ];
    for (line, expected, why) in rows {
        assert_eq!(code(Profile::Compat, line), *expected, "{line} {why}");
    }
}

#[test]
fn compat_rows_are_refused_in_other_profiles() {
    for profile in [Profile::Tool, Profile::Strict] {
        for (line, expected) in [
            ("find role button click --name Submit", Code::SubcommandForbidden),
            ("cookies", Code::SubcommandForbidden),
            ("scrollintoview #a", Code::SubcommandForbidden),
            ("tab new https://a.example", Code::ArgumentInvalid),
            ("snapshot -i -C", Code::FlagUnknown),
            ("goto https://a.example/", Code::SubcommandUnknown),
            ("tab t1", Code::ArgumentInvalid),
            ("session list", Code::SubcommandForbidden),
            ("--version", Code::FlagGlobal),
        ] {
            assert_eq!(code(profile, line), expected, "{profile:?} {line}");
            assert_eq!(code(Profile::Compat, line), Code::Ok, "control: {line}");
        }
    }
}

#[test]
fn compat_refusal_messages_match_snapshot() {
    let lines = [
        "find",
        "find role button click",
        "find label Email type x",
        "find label Email",
        "find label Email fill",
        "find text a click --name b",
        "scrollintoview @e1",
        "screenshot /workspace/a.jpg",
        "fill @e1 'it is",
        "tab label",
    ];
    let texts: Vec<_> =
        lines.iter().map(|line| parse_line(Profile::Compat, line).expect_err(line).to_string()).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn subcommands_that_need_enabling_depend_on_profile() {
    let rows = [
        (Profile::Tool, "close", None),
        (Profile::Strict, "close", None),
        (Profile::Compat, "close", None),
        (Profile::Tool, "back", Some("subcommands.enable")),
        (Profile::Strict, "back", Some("subcommands.enable")),
        (Profile::Compat, "back", None),
        (Profile::Tool, "tab", Some("subcommands.enable")),
        (Profile::Compat, "tab", None),
        (Profile::Compat, "cookies", Some("runtime.enable")),
    ];
    for (profile, name, location) in rows {
        let asked = std::cell::RefCell::new(Vec::new());
        let disabled = parse(profile, &[name.to_owned()], |name| {
            asked.borrow_mut().push(name.to_owned());
            false
        });
        assert_eq!(disabled.err().and_then(|refusal| refusal.location).as_deref(), location, "{profile:?} {name}");
        assert_eq!(asked.take().len(), usize::from(location.is_some()), "asked only if needed");
        assert!(parse(profile, &[name.to_owned()], |asked| asked == name).is_ok(), "{profile:?} {name}");
    }
    let refusal = parse(Profile::Compat, &["cookies".to_owned()], |_| false).expect_err("off");
    assert_eq!(refusal.code, Code::RuntimeNotEnabled);
}

#[test]
fn runtime_file_names_are_paths_below_workspace() {
    let component = "x".repeat(251);
    let longest = format!("{component}/{component}/{component}/{component}/{}.png", "y".repeat(12));
    assert_eq!(longest.len(), 1024);
    let rows: &[(&str, Option<&str>)] = &[
        ("a.png", Some("a.png")),
        ("dir/a.png", Some("dir/a.png")),
        ("/workspace/a.png", Some("a.png")),
        ("/workspace/dir/sub/a.png", Some("dir/sub/a.png")),
        ("/workspace/workspace/a.png", Some("workspace/a.png")),
        ("workspace/a.png", Some("workspace/a.png")),
        ("a b/\u{e9}\u{1f600} c.png", Some("a b/\u{e9}\u{1f600} c.png")),
        ("a..b/c...png", Some("a..b/c...png")),
        ("-.png", None),
        (&longest, Some(&longest)),
        ("y/", None),
        (&format!("y{longest}"), None),
        (&format!("{}.png", "x".repeat(252)), None),
        ("/workspace/../bay-cargo-B/x.png", None),
        ("/workspace/./a.png", None),
        ("/workspace//a.png", None),
        ("/workspace//etc/a.png", None),
        ("/workspaces/a.png", None),
        ("/workspace", None),
        ("/workspace/", None),
        ("/workspace/.png", None),
        ("/workspace/.browser/a.png", None),
        ("/etc/a.png", None),
        ("../a.png", None),
        ("./a.png", None),
        ("dir/../a.png", None),
        ("dir/.a.png", None),
        ("dir/-a.png", None),
        ("dir\\a.png", None),
        ("dir/a\u{7f}.png", None),
        ("dir/a\u{85}.png", None),
        ("dir/a\n.png", None),
        ("dir/a\u{2028}.png", None),
        ("/workspace/a.jpg", None),
        ("/workspace/a.PNG", None),
        ("/workspace/a.png/", None),
    ];
    for (name, expected) in rows {
        for profile in RUNTIME {
            for line in [vec!["screenshot", name], vec!["screenshot", "#main", name]] {
                // A single one of these is a selector.
                if line.len() == 2 && ["-.png", "y/", "dir\\a.png"].contains(name) {
                    continue;
                }
                let argv: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
                let parsed = parse(profile, &argv, |_| true);
                let got = parsed
                    .as_ref()
                    .ok()
                    .and_then(|command| command.value(|kind| matches!(kind, ValueKind::FileName(_))));
                assert_eq!(got, *expected, "{profile:?} {line:?} {:?}", parsed.as_ref().err());
            }
        }
    }
    for (line, expected) in [
        ("screenshot dir/a.png", Code::ArgumentInvalid),
        ("screenshot /workspace/a.png", Code::ArgumentInvalid),
        ("screenshot a.png", Code::Ok),
    ] {
        assert_eq!(code(Profile::Tool, line), expected, "the tool accepts plain names only: {line}");
    }
    assert_eq!(parse_line(Profile::Strict, "pdf /workspace/out/a.pdf").as_deref(), Ok("pdf out/a.pdf"));
    assert_eq!(code(Profile::Strict, "pdf a.png"), Code::ArgumentInvalid);
    assert_eq!(parse_line(Profile::Strict, "screenshot //div a.png").as_deref(), Ok("screenshot //div a.png"), "XPath");
}
