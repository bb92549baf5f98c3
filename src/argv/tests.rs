use proptest::prelude::*;

use super::globals::{BOOLEAN, FORBIDDEN, WITH_VALUE};
use super::table::{Availability, GRAMMAR};
use super::*;

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

/// Parses with every optional subcommand switched on.
fn read(line: &[&str]) -> Result<Vec<String>, Decision> {
    parse(Dialect::Tool, &words(line), |_| true).map(|command| command.to_argv())
}

fn accepted(line: &[&str]) -> bool {
    read(line).is_ok()
}

fn code(line: &[&str]) -> Code {
    read(line).map_or_else(|decision| decision.code, |_| Code::Ok)
}

#[test]
fn spec_1_4_what_the_table_accepts() {
    let rows: &[&[&str]] = &[
        &["open", "https://example.com"],
        &["open", "example.com"],
        &["snapshot"],
        &["snapshot", "-i"],
        &["snapshot", "-i", "-c", "-d", "3", "-s", "#main"],
        &["click", "@e1"],
        &["click", "text=Sign in"],
        &["fill", "@e1", "hello"],
        &["fill", "@e1", ""],
        &["fill", "@e1", "two\nlines\r\n\tand a tab"],
        &["fill", "@e1", "-5"],
        &["fill", "@e1", "- item"],
        &["fill", "@e1", "--"],
        &["fill", "@e1", "--unknown=1"],
        &["type", "@e1", "-n"],
        &["press", "Enter"],
        &["press", "Control+a"],
        &["press", "-"],
        &["press", "+"],
        &["wait", "#done"],
        &["wait", "1000"],
        &["wait", "0"],
        &["wait", "--text", "- done"],
        &["wait", "--url", "**/done"],
        &["wait", "--load", "networkidle"],
        &["screenshot"],
        &["screenshot", "a.png"],
        &["screenshot", "#main"],
        &["screenshot", "button"],
        &["screenshot", ".hero.png"],
        &["screenshot", "@e1", "a.png"],
        &["close"],
        &["select", "@e1", "a"],
        &["select", "@e1", "a", "b", "-c"],
        &["back"],
        &["get", "text", "@e1"],
        &["get", "attr", "@e1", "href"],
        &["get", "url"],
        &["is", "visible", "#a"],
        &["scroll"],
        &["scroll", "down", "300", "-s", "#list"],
        &["tab"],
        &["tab", "list"],
        &["tab", "2"],
        &["pdf"],
        &["pdf", "a.pdf"],
    ];
    for row in rows {
        assert_eq!(read(row).expect("accepted"), words(row), "{row:?} is passed on as it is");
    }
    assert_eq!(
        read(&["snapshot", "--interactive", "--depth", "2"]).expect("accepted"),
        words(&["snapshot", "-i", "-d", "2"])
    );
    assert_eq!(read(&["wait", "-t", "done"]).expect("accepted"), words(&["wait", "--text", "done"]));
}

#[test]
fn spec_1_4_what_the_table_refuses() {
    let long = "x".repeat(MAX_CHARACTERS + 1);
    let rows: &[(&[&str], Code, &str)] = &[
        (&[], Code::ArgumentMissing, "no subcommand"),
        (&["fly"], Code::SubcommandUnknown, ""),
        (&["Open", "https://example.com"], Code::SubcommandUnknown, "names are exact"),
        (&["goto", "https://example.com"], Code::SubcommandUnknown, "an alias"),
        (&["eval", "1"], Code::SubcommandForbidden, ""),
        (&["open"], Code::ArgumentMissing, ""),
        (&["open", "a.example", "b.example"], Code::ArgumentUnexpected, ""),
        (&["open", "a.example", "--new-tab"], Code::FlagUnknown, ""),
        (&["open", "-a"], Code::FlagUnknown, ""),
        (&["open", "https://a.example/\nx"], Code::CharacterNotAllowed, ""),
        (&["snapshot", "-C"], Code::FlagUnknown, "not in the table"),
        (&["snapshot", "-d"], Code::ArgumentMissing, ""),
        (&["snapshot", "-d", "x"], Code::ArgumentInvalid, "agent-browser would ignore it"),
        (&["snapshot", "-d", "+3"], Code::ArgumentInvalid, ""),
        (&["snapshot", "-d", "-1"], Code::FlagUnknown, ""),
        (&["snapshot", "-i", "-i"], Code::FlagConflict, ""),
        (&["snapshot", "-s", "-i"], Code::FlagUnknown, "a selector never begins with a dash"),
        (&["snapshot", "extra"], Code::ArgumentUnexpected, ""),
        (&["click"], Code::ArgumentMissing, ""),
        (&["click", ""], Code::ArgumentInvalid, ""),
        (&["click", "@e1", "--new-tab"], Code::FlagUnknown, "it would open file: links"),
        (&["click", "--new-tab", "@e1"], Code::FlagUnknown, ""),
        (&["click", "a\nb"], Code::CharacterNotAllowed, ""),
        (&["fill", "@e1"], Code::ArgumentMissing, ""),
        (&["fill", "@e1", "a", "b"], Code::ArgumentUnexpected, "text is one element"),
        (&["fill", "-x", "a"], Code::FlagUnknown, ""),
        (&["fill", "@e1", "a\0b"], Code::CharacterNotAllowed, ""),
        (&["fill", "@e1", &long], Code::ArgumentInvalid, ""),
        (&["fill", "@e1", "--cdp"], Code::FlagGlobal, "agent-browser takes it out of text too"),
        (&["fill", "@e1", "--cdp=1"], Code::FlagGlobal, ""),
        (&["fill", "@e1", "-p"], Code::FlagGlobal, ""),
        (&["type", "@e1", "--clear"], Code::FlagUnknown, "a flag of later versions"),
        (&["press", "--x"], Code::FlagUnknown, ""),
        (&["press", "a\nb"], Code::CharacterNotAllowed, ""),
        (&["press", "Enter", "x"], Code::ArgumentUnexpected, ""),
        (&["wait"], Code::ArgumentMissing, ""),
        (&["wait", "@e1"], Code::ArgumentInvalid, "works in no version"),
        (&["wait", "25000"], Code::ArgumentInvalid, "would be sent again"),
        (&["wait", "+25000"], Code::ArgumentInvalid, "agent-browser reads it as a number"),
        (&["wait", "99999999999999999999"], Code::ArgumentInvalid, ""),
        (&["wait", "--fn", "1"], Code::FlagUnknown, "runs code"),
        (&["wait", "--text", "--fn"], Code::FlagUnknown, "agent-browser finds it anywhere"),
        (&["wait", "--text", "--url"], Code::FlagConflict, "likewise"),
        (&["wait", "--text", "-d"], Code::FlagUnknown, "likewise"),
        (&["wait", "--text", "a", "--url", "b"], Code::FlagConflict, ""),
        (&["wait", "--text", "a", "b"], Code::ArgumentUnexpected, ""),
        (&["wait", "--text", "a\u{2028}b"], Code::CharacterNotAllowed, ""),
        (&["wait", "--load", "done"], Code::ArgumentInvalid, ""),
        (&["wait", "--download", "x"], Code::FlagUnknown, "writes files"),
        (&["screenshot", "/tmp/a.png"], Code::ArgumentInvalid, ""),
        (&["screenshot", "../a.png"], Code::ArgumentInvalid, "not a selector that agent-browser could take for a path"),
        (&["screenshot", "@e1", "../a.png"], Code::ArgumentInvalid, ""),
        (&["screenshot", "@e1", "a.jpg"], Code::ArgumentInvalid, ""),
        (&["screenshot", "@e1", ".png"], Code::ArgumentInvalid, ""),
        (&["screenshot", "--full"], Code::FlagGlobal, ""),
        (&["screenshot", "@e1", "a.png", "b.png"], Code::ArgumentUnexpected, ""),
        (&["close", "--all"], Code::FlagUnknown, ""),
        (&["close", "x"], Code::ArgumentUnexpected, ""),
        (&["select", "@e1"], Code::ArgumentMissing, ""),
        (&["get", "value", "@e1"], Code::ArgumentInvalid, "returns passwords"),
        (&["get", "cdp-url"], Code::ArgumentInvalid, ""),
        (&["get"], Code::ArgumentMissing, ""),
        (&["get", "attr", "@e1", "a b"], Code::ArgumentInvalid, ""),
        (&["tab", "new", "file:///etc/passwd"], Code::ArgumentInvalid, ""),
        (&["tab", "close"], Code::ArgumentInvalid, ""),
        (&["scroll", "sideways"], Code::ArgumentInvalid, ""),
        (&["scroll", "down", "0"], Code::ArgumentInvalid, ""),
        (&["pdf", "a/b.pdf"], Code::ArgumentInvalid, ""),
        (&["--cdp", "open"], Code::FlagGlobal, ""),
    ];
    for (row, expected, why) in rows {
        assert_eq!(code(row), *expected, "{row:?} {why}");
    }
}

#[test]
fn spec_1_3_optional_subcommands_need_the_policy() {
    for row in GRAMMAR {
        let line = words(&[row.name, "x", "y", "z"]);
        let off = parse(Dialect::Tool, &line, |_| false).map_or_else(|decision| decision.code, |_| Code::Ok);
        let on =
            parse(Dialect::Tool, &line, |name| name == row.name).map_or_else(|decision| decision.code, |_| Code::Ok);
        assert_eq!(off == Code::SubcommandNotEnabled, row.availability == Availability::Optional, "{}", row.name);
        assert_ne!(on, Code::SubcommandNotEnabled, "{} is on when it is named", row.name);
    }
}

#[test]
fn spec_1_3_forbidden_subcommands_are_refused_whatever_is_enabled() {
    for name in FORBIDDEN {
        assert_eq!(code(&[name]), Code::SubcommandForbidden, "{name}");
    }
}

#[test]
fn spec_1_4_global_flags_are_refused_in_every_position_of_every_form() {
    for flag in WITH_VALUE.iter().chain(BOOLEAN) {
        for element in [(*flag).to_owned(), format!("{flag}=x")] {
            for line in [
                vec![element.as_str()],
                vec!["fill", "@e1", &element],
                vec!["fill", &element, "x"],
                vec!["type", "@e1", &element],
                vec!["select", "@e1", "a", &element],
                vec!["wait", "--text", &element],
                vec!["snapshot", &element],
                vec!["snapshot", "-s", &element],
                vec!["open", &element],
                vec!["press", &element],
            ] {
                assert_eq!(code(&line), Code::FlagGlobal, "{line:?}");
            }
        }
    }
    assert!(accepted(&["fill", "@e1", "cdp"]), "the same word without dashes is text");
}

#[test]
fn a_text_may_be_a_word_of_the_cli_only_for_the_daemon() {
    let accepted = |line: &[&str]| parse_for_daemon(Dialect::Tool, &words(line), |_| true);
    for flag in WITH_VALUE.iter().chain(BOOLEAN) {
        for element in [(*flag).to_owned(), format!("{flag}=x")] {
            for line in [
                vec!["fill", "@e1", &element],
                vec!["type", "@e1", &element],
                vec!["select", "@e1", "a", &element],
                vec!["select", "@e1", &element, &element],
            ] {
                let command = accepted(&line).unwrap_or_else(|refusal| panic!("{line:?}: {refusal}"));
                assert_eq!(command.to_argv(), line, "it stays where it stands");
                assert_eq!(
                    command.refusal_by_cli(),
                    parse(Dialect::Tool, &words(&line), |_| true).err().as_ref(),
                    "{line:?}"
                );
                assert!(command.refusal_by_cli().is_some(), "{line:?}");
            }
            for line in [
                vec![element.as_str()],
                vec![element.as_str(), "open", "https://example.com"],
                vec!["fill", &element],
                vec!["fill", &element, "x"],
                vec!["fill", &element, &element],
                vec!["fill", "@e1", &element, "x"],
                vec!["fill", "@e1", "x", &element],
                vec!["select", &element, "a"],
                vec!["click", "@e1", &element],
                vec!["snapshot", &element],
                vec!["snapshot", "-s", &element],
                vec!["open", &element],
                vec!["press", &element],
                vec!["wait", &element],
                vec!["wait", "--url", &element],
                vec!["wait", "--text", "x", &element],
                vec!["get", "text", &element],
                vec!["screenshot", &element],
                vec!["scroll", &element],
            ] {
                let refusal = accepted(&line).expect_err("only a text may be one");
                assert_eq!(refusal.code, Code::FlagGlobal, "{line:?}");
            }
        }
    }
    assert!(accepted(&["wait", "--text", "--json"]).is_ok());
    assert_eq!(accepted(&["wait", "--text", "-f"]).expect_err("refused").code, Code::FlagGlobal, "one of wait's own");
    for line in [vec!["fill", "@e1", "-x"], vec!["snapshot", "-i"]] {
        let command = accepted(&line).expect("accepted");
        assert_eq!(command.refusal_by_cli(), None, "control: the CLI may get {line:?}");
    }
    assert_eq!(accepted(&["eval", "1"]).expect_err("refused").code, Code::SubcommandForbidden);
}

proptest! {
    /// What only the daemon may get differs from what the CLI may get in the text alone.
    #[test]
    fn for_the_daemon_nothing_but_texts_is_freer(
        name in "fill|type|select|wait|press|click|snapshot|open",
        rest in proptest::collection::vec("--(json|cdp|session|text|url|load)|-[a-z]|@e1|[a-z]{1,3}|--cdp=[a-z]", 0..4),
    ) {
        let mut line = vec![name];
        line.extend(rest);
        let strict = parse(Dialect::Tool, &line, |_| true);
        match parse_for_daemon(Dialect::Tool, &line, |_| true) {
            Ok(command) if command.refusal_by_cli().is_none() => prop_assert_eq!(strict.ok(), Some(command)),
            Ok(command) => {
                prop_assert_eq!(strict.as_ref().err(), command.refusal_by_cli());
                let same: Vec<String> =
                    line.iter().map(|word| if globals::global_flag(word).is_some() { "text".to_owned() } else { word.clone() }).collect();
                prop_assert!(parse(Dialect::Tool, &same, |_| true).is_ok(), "{:?}", line);
            }
            Err(refusal) => prop_assert_eq!(strict.err(), Some(refusal)),
        }
    }
}

#[test]
fn spec_1_1_limits_are_at_their_edges() {
    let most = "x".repeat(MAX_CHARACTERS);
    assert!(accepted(&["fill", "@e1", &most]));
    let wide = "\u{1f600}".repeat(MAX_CHARACTERS);
    assert!(accepted(&["fill", "@e1", &wide]), "characters are counted, not bytes");
    let mut line = vec!["select", "@e1"];
    line.resize(MAX_ELEMENTS, "v");
    assert!(accepted(&line));
    line.push("v");
    assert_eq!(code(&line), Code::ArgumentUnexpected);
    let mut heavy = vec!["select", "@e1"];
    heavy.resize(MAX_ELEMENTS, &wide);
    assert_eq!(code(&heavy), Code::ArgumentInvalid, "more than the kernel takes");
}

#[test]
fn refusals_do_not_repeat_what_was_sent() {
    for line in [
        &["fill", "@e1", "a", "hunter2-secret"][..],
        &["open", "-hunter2-secret"],
        &["snapshot", "--hunter2-secret"],
        &["hunter2-secret"],
        &["wait", "--load", "hunter2-secret"],
        &["screenshot", "@e1", "/hunter2-secret"],
    ] {
        let refusal = read(line).expect_err("refused").to_string();
        assert!(!refusal.contains("hunter2-secret"), "{refusal}");
    }
}

#[test]
fn refusals_teach() {
    let lines: &[&[&str]] = &[
        &["eval", "1"],
        &["goto", "x"],
        &["wait", "@e1"],
        &["fill", "@e1", "--cdp=9"],
        &["get", "value", "@e1"],
        &["fill", "@e1"],
    ];
    let texts: Vec<_> = lines.iter().map(|line| read(line).expect_err("refused").to_string()).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

/// Elements that are likely to hit a rule.
fn element() -> impl Strategy<Value = String> {
    let known: Vec<&'static str> = WITH_VALUE
        .iter()
        .chain(BOOLEAN)
        .copied()
        .chain(GRAMMAR.iter().map(|row| row.name))
        .chain(
            GRAMMAR
                .iter()
                .flat_map(|row| row.forms)
                .flat_map(|form| form.flags)
                .flat_map(|flag| [flag.name, flag.alias]),
        )
        .chain(["@e1", "text", "5", "true", "--fn", "--clear", "a.png", "load", "up"])
        .collect();
    prop_oneof![3 => proptest::sample::select(known).prop_map(str::to_owned), 1 => "\\PC{0,12}", 1 => any::<String>()]
}

proptest! {
    #[test]
    fn parse_and_print_round_trip(argv in proptest::collection::vec(element(), 0..7)) {
        if let Ok(command) = parse(Dialect::Tool, &argv, |_| true) {
            let printed = command.to_argv();
            prop_assert_eq!(parse(Dialect::Tool, &printed, |_| true), Ok(command));
        }
    }

    /// Nothing that is accepted holds an element that any known version of agent-browser would eat.
    #[test]
    fn spec_1_4_nothing_accepted_holds_a_global_flag(argv in proptest::collection::vec(element(), 0..7)) {
        if let Ok(command) = parse(Dialect::Tool, &argv, |_| true) {
            for word in command.to_argv() {
                prop_assert_eq!(globals::global_flag(&word), None);
                prop_assert!(!word.contains('\0'));
            }
        }
    }

    /// Switching a subcommand off never lets anything through.
    #[test]
    fn deny_is_monotone(argv in proptest::collection::vec(element(), 0..7)) {
        if parse(Dialect::Tool, &argv, |_| false).is_ok() {
            prop_assert!(parse(Dialect::Tool, &argv, |_| true).is_ok());
        }
    }
}
