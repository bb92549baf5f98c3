//! What the dialects differ in; what they have in common is in `tests.rs`.

use proptest::prelude::*;

use super::words::split;
use super::*;
use crate::argv::table::GRAMMAR;

const RUNTIME: [Dialect; 2] = [Dialect::Strict, Dialect::Compat];

fn read(dialect: Dialect, line: &str) -> Result<String, Decision> {
    parse(dialect, &split(line)?, |_| true).map(|command| command.to_argv().join(" "))
}

fn code(dialect: Dialect, line: &str) -> Code {
    read(dialect, line).map_or_else(|decision| decision.code, |_| Code::Ok)
}

#[test]
fn compat_reads_what_agents_of_an_orchestrator_say() {
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
        assert_eq!(read(Dialect::Compat, line).as_deref(), Ok(*expected), "{line}");
    }
}

#[test]
fn compat_refuses_what_one_of_the_versions_reads_otherwise() {
    let rows: &[(&str, Code, &str)] = &[
        ("find", Code::ArgumentMissing, ""),
        ("find xpath //a click", Code::ArgumentInvalid, "no such locator"),
        ("find role button click", Code::ArgumentMissing, "0.19 sends a null that it does not take"),
        ("find role button fill x --name a", Code::ArgumentInvalid, "0.19 would fill in `x --name a`"),
        ("find role 'button >> a' click --name x", Code::ArgumentInvalid, "a role is a word"),
        ("find text a fill x", Code::ArgumentInvalid, "0.19 has no such action there"),
        ("find text a type x", Code::ArgumentInvalid, "no version has it"),
        ("find text a", Code::ArgumentMissing, "an action"),
        ("find text '' click", Code::ArgumentInvalid, ""),
        ("find text a click b", Code::ArgumentUnexpected, ""),
        ("find text -a click", Code::FlagUnknown, ""),
        ("find text --name click", Code::FlagUnknown, "0.41 takes it for a flag"),
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
        ("tab t2", Code::ArgumentInvalid, "0.19 would list the tabs"),
        ("tab close t2", Code::ArgumentInvalid, "0.19 would close the tab that is shown"),
        ("tab close --label", Code::FlagUnknown, ""),
        ("tab new a b", Code::ArgumentUnexpected, ""),
        ("tab new --label", Code::FlagUnknown, ""),
        ("scrollintoview @e1", Code::ArgumentInvalid, "0.19 takes it for CSS"),
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
        ("--full screenshot", Code::FlagGlobal, "not in front"),
        ("snapshot --full", Code::FlagGlobal, "another row's"),
        ("fill @e1 --full", Code::FlagGlobal, "text"),
        ("find text --full click", Code::FlagGlobal, ""),
        ("snapshot -i --json", Code::FlagGlobal, ""),
        ("get value @e1", Code::ArgumentInvalid, "returns passwords"),
        ("eval 1", Code::SubcommandForbidden, ""),
        ("upload @e1 /etc/passwd", Code::SubcommandForbidden, ""),
        ("storage local", Code::SubcommandForbidden, ""),
    ];
    for (line, expected, why) in rows {
        assert_eq!(code(Dialect::Compat, line), *expected, "{line} {why}");
    }
}

#[test]
fn the_rows_of_compat_are_refused_in_the_other_dialects() {
    for dialect in [Dialect::Tool, Dialect::Strict] {
        for (line, expected) in [
            ("find role button click --name Submit", Code::SubcommandForbidden),
            ("cookies", Code::SubcommandForbidden),
            ("scrollintoview #a", Code::SubcommandForbidden),
            ("tab new https://a.example", Code::ArgumentInvalid),
            ("tab close", Code::ArgumentInvalid),
            ("screenshot --full", Code::FlagGlobal),
            ("snapshot -i -C", Code::FlagUnknown),
        ] {
            assert_eq!(code(dialect, line), expected, "{dialect:?} {line}");
            assert_eq!(code(Dialect::Compat, line), Code::Ok, "control: {line}");
        }
    }
}

#[test]
fn refusals_of_compat_teach() {
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
        "tab t2",
    ];
    let texts: Vec<_> = lines.iter().map(|line| read(Dialect::Compat, line).expect_err(line).to_string()).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn what_must_be_enabled_depends_on_the_dialect() {
    let rows = [
        (Dialect::Tool, "snapshot", None),
        (Dialect::Strict, "snapshot", None),
        (Dialect::Compat, "snapshot", None),
        (Dialect::Tool, "back", Some("subcommands.enable")),
        (Dialect::Strict, "back", Some("subcommands.enable")),
        (Dialect::Compat, "back", None),
        (Dialect::Tool, "tab", Some("subcommands.enable")),
        (Dialect::Compat, "tab", None),
        (Dialect::Compat, "cookies", Some("runtime.enable")),
    ];
    for (dialect, name, place) in rows {
        let asked = std::cell::RefCell::new(Vec::new());
        let off = parse(dialect, &[name.to_owned()], |name| {
            asked.borrow_mut().push(name.to_owned());
            false
        });
        assert_eq!(off.err().and_then(|refusal| refusal.place).as_deref(), place, "{dialect:?} {name}");
        assert_eq!(asked.take().len(), usize::from(place.is_some()), "only what needs it is asked for");
        assert!(parse(dialect, &[name.to_owned()], |asked| asked == name).is_ok(), "{dialect:?} {name}");
    }
    let refusal = parse(Dialect::Compat, &["cookies".to_owned()], |_| false).expect_err("off");
    assert_eq!(refusal.code, Code::RuntimeNotEnabled);
}

#[test]
fn file_names_of_the_runtime_are_paths_below_the_workspace() {
    let component = "x".repeat(251);
    let most = format!("{component}/{component}/{component}/{component}/{}.png", "y".repeat(12));
    assert_eq!(most.len(), 1024);
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
        (&most, Some(&most)),
        ("y/", None),
        (&format!("y{most}"), None),
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
        for dialect in RUNTIME {
            for line in [vec!["screenshot", name], vec!["screenshot", "#main", name]] {
                // Alone, these are selectors.
                if line.len() == 2 && ["-.png", "y/", "dir\\a.png"].contains(name) {
                    continue;
                }
                let argv: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
                let parsed = parse(dialect, &argv, |_| true);
                let got =
                    parsed.as_ref().ok().and_then(|command| command.value(|kind| matches!(kind, Kind::FileName(_))));
                assert_eq!(got, *expected, "{dialect:?} {line:?} {:?}", parsed.as_ref().err());
            }
        }
    }
    for (line, expected) in [
        ("screenshot dir/a.png", Code::ArgumentInvalid),
        ("screenshot /workspace/a.png", Code::ArgumentInvalid),
        ("screenshot a.png", Code::Ok),
    ] {
        assert_eq!(code(Dialect::Tool, line), expected, "the tool's names are plain: {line}");
    }
    assert_eq!(read(Dialect::Strict, "pdf /workspace/out/a.pdf").as_deref(), Ok("pdf out/a.pdf"));
    assert_eq!(code(Dialect::Strict, "pdf a.png"), Code::ArgumentInvalid);
    assert_eq!(read(Dialect::Strict, "screenshot //div a.png").as_deref(), Ok("screenshot //div a.png"), "XPath");
}

/// Lines that are likely to hit a rule of the runtime.
fn line() -> impl Strategy<Value = Vec<String>> {
    let known = proptest::sample::select(vec![
        "find",
        "role",
        "text",
        "label",
        "placeholder",
        "alt",
        "title",
        "testid",
        "first",
        "last",
        "nth",
        "click",
        "fill",
        "check",
        "hover",
        "type",
        "focus",
        "--name",
        "--exact",
        "button",
        "2",
        "@e1",
        "#a",
        "tab",
        "new",
        "close",
        "cookies",
        "set",
        "get",
        "clear",
        "--curl",
        "scrollintoview",
        "screenshot",
        "--full",
        "-f",
        "true",
        "false",
        "--full=x",
        "a.png",
        "/workspace/a.png",
        "/workspace/../a.png",
        "dir/a.png",
        "--cdp",
        "--session",
        "--json",
        "-x",
        "",
        "https://a.example",
    ]);
    let word = prop_oneof![6 => known.prop_map(str::to_owned), 1 => "\\PC{0,8}"];
    let first =
        proptest::sample::select(vec!["find", "find", "tab", "cookies", "screenshot", "scrollintoview", "fill"]);
    (first, proptest::collection::vec(word, 0..7)).prop_map(|(first, mut rest)| {
        rest.insert(0, first.to_owned());
        rest
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_a_dialect_accepts_it_accepts_again(argv in line()) {
        for dialect in RUNTIME {
            if let Ok(command) = parse(dialect, &argv, |_| true) {
                prop_assert_eq!(parse(dialect, &command.to_argv(), |_| true), Ok(command));
            }
        }
    }

    /// The only global flag that ever passes is a screenshot's own, and `true` or `false` never stands behind it.
    #[test]
    fn spec_1_4_the_runtime_passes_no_global_flag_but_the_one(argv in line()) {
        for dialect in RUNTIME {
            let Ok(command) = parse(dialect, &argv, |_| true) else { continue };
            let printed = command.to_argv();
            for (index, word) in printed.iter().enumerate().filter(|(_, word)| globals::global_flag(word).is_some()) {
                prop_assert_eq!((dialect, command.row.name, word.as_str()), (Dialect::Compat, "screenshot", "--full"));
                prop_assert_eq!(printed.get(index + 1), None, "it is last");
            }
        }
    }

    /// No path leads out of the workspace, whatever it looks like.
    #[test]
    fn no_file_name_leads_out(name in "(/workspace/|/|)([a.~ -]{0,3}/){0,3}[a.-]{0,3}\\.png") {
        for dialect in RUNTIME {
            let argv = ["screenshot".to_owned(), "#a".to_owned(), name.clone()];
            if let Ok(command) = parse(dialect, &argv, |_| true) {
                let path = command.value(|kind| matches!(kind, Kind::FileName(_))).expect("a name");
                let components: Vec<_> = std::path::Path::new(path).components().collect();
                prop_assert!(components.iter().all(|part| matches!(part, std::path::Component::Normal(_))), "{}", path);
                prop_assert_eq!(components.len(), path.split('/').count());
            }
        }
    }

    /// Strict accepts what the tool does, and more only where a file is named.
    #[test]
    fn strict_is_the_tool_but_for_file_names(argv in line()) {
        let (tool, strict) = (parse(Dialect::Tool, &argv, |_| true), parse(Dialect::Strict, &argv, |_| true));
        let has_file = GRAMMAR.iter().any(|row| Some(row.name) == argv.first().map(String::as_str) && row.has_file());
        if has_file {
            prop_assert!(tool.is_err() || strict.is_ok(), "{:?}", argv);
        } else {
            prop_assert_eq!(tool, strict);
        }
    }
}

impl Row {
    fn has_file(&self) -> bool {
        let mut kinds = self.forms.iter().flat_map(|form| form.positionals).map(|positional| positional.kind);
        kinds.any(|kind| matches!(kind, Kind::FileName(_)))
    }
}
