//! Tests of the tool's grammar. `profile_tests.rs` covers the differences of the other profiles.

use super::forbidden::{BOOLEAN, WITH_VALUE};
use super::*;
use crate::decision::{Code, Decision};

fn to_argv(elements: &[&str]) -> Vec<String> {
    elements.iter().map(|element| (*element).to_owned()).collect()
}

/// Parses with every optional subcommand enabled.
fn parse_all(line: &[&str]) -> Result<Vec<String>, Decision> {
    parse(Profile::Tool, &to_argv(line), |_| true).map(|command| command.to_argv())
}

fn is_accepted(line: &[&str]) -> bool {
    parse_all(line).is_ok()
}

fn code(line: &[&str]) -> Code {
    parse_all(line).map_or_else(|decision| decision.code, |_| Code::Ok)
}

#[test]
fn selectors_that_enter_frames_are_refused() {
    for row in [GRAMMAR, COMPAT].into_iter().flatten() {
        for (form, position) in row.forms.iter().flat_map(|form| (0..form.positionals.len()).map(move |at| (form, at)))
        {
            let line = |selector: &str| {
                let values = form.positionals.iter().enumerate().map(|(at, positional)| match positional.kind {
                    _ if at == position => selector.to_owned(),
                    ValueKind::Word(words) => words[0].to_owned(),
                    ValueKind::Number(least, _) => least.to_string(),
                    ValueKind::FileName(ending) => format!("a{ending}"),
                    _ => "a".to_owned(),
                });
                let words = std::iter::once(row.name.to_owned()).chain(form.word.map(str::to_owned)).chain(values);
                // The compat profile has no forms with names of their own.
                let profile = if form.needs.is_some() { Profile::Tool } else { Profile::Compat };
                parse(profile, &words.collect::<Vec<_>>(), |_| true).map(|_| ())
            };
            let kind = form.positionals[position].kind;
            if matches!(kind, ValueKind::Selector | ValueKind::SelectorOrMilliseconds | ValueKind::CssSelector) {
                assert_eq!(line("[title=\"internal:control=enter-frame\"]"), Ok(()), "control: {} {form:?}", row.name);
                let refusal = line("#f >> internal:control=enter-frame >> body").expect_err(row.name);
                assert_eq!(refusal.code, Code::ArgumentInvalid, "{} {form:?}", row.name);
            }
        }
    }
    for (flags, expected) in
        [(["snapshot", "-s", "#f >> aria-ref=f1e1"], Code::ArgumentInvalid), (["snapshot", "-s", "#f >> a"], Code::Ok)]
    {
        assert_eq!(code(&flags), expected, "{flags:?}");
    }
}

#[test]
fn dialog_is_answered_locally_and_only_if_enabled() {
    let parse = |line: &[&str], is_enabled: bool| parse(Profile::Tool, &to_argv(line), |_| is_enabled);
    for (line, word, typed) in [
        (&["dialog", "accept"][..], "accept", None),
        (&["dialog", "accept", "my text"], "accept", Some("my text")),
        (&["dialog", "accept", ""], "accept", Some("")),
        (&["dialog", "accept", "-5"], "accept", Some("-5")),
        (&["dialog", "dismiss"], "dismiss", None),
    ] {
        let command = parse(line, true).expect("enabled");
        assert_eq!(command.local_answer(), Some(LocalAnswer::Dialog), "{line:?}");
        assert_eq!((command.row.name, command.form.word, command.typed_text()), ("dialog", Some(word), typed));
        assert_eq!(parse(line, false).expect_err("off").code, Code::SubcommandNotEnabled, "{line:?}");
    }
    for (line, expected) in [
        (&["dialog"][..], Code::ArgumentMissing),
        (&["dialog", "status"], Code::ArgumentInvalid),
        (&["dialog", "dismiss", "x"], Code::ArgumentUnexpected),
        (&["dialog", "accept", "a", "b"], Code::ArgumentUnexpected),
        (&["dialog", "accept", "two\nlines"], Code::CharacterNotAllowed),
    ] {
        assert_eq!(parse(line, true).expect_err("refused").code, expected, "{line:?}");
    }
    assert_eq!(parse(&["fill", "@e1", "two\nlines"], false).expect("on").typed_text(), Some("two\nlines"));
    assert_eq!(parse(&["wait", "--text", "a"], false).expect("on").typed_text(), None);
}

// Requirement 1.4.
#[test]
fn grammar_accepts_valid_commands() {
    let rows: &[&[&str]] = &[
        &["open", "https://example.com"],
        &["open", "example.com"],
        &["snapshot"],
        &["snapshot", "-i"],
        &["snapshot", "-i", "-c", "-d", "3", "-s", "#main"],
        &["click", "@e1"],
        &["click", "text=Sign in"],
        &["click", "@e1", "--at", "10,20"],
        &["click", "@e1", "--button", "right", "--hold", "20000"],
        &["click", "@e1", "--modifiers", "ctrl+Shift"],
        &["drag", "#map", "#map", "--from", "1,2", "--to", "30,40"],
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
        &["press", "Tab", "3"],
        &["press", "5", "100"],
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
        &["screenshot", "--full"],
        &["screenshot", "@e1", "a.png", "--full"],
        &["close"],
        &["select", "@e1", "a"],
        &["select", "@e1", "a", "b", "-c"],
        &["back"],
        &["get", "text", "@e1"],
        &["get", "attr", "@e1", "href"],
        &["get", "url"],
        &["get", "value", "@e1"],
        &["is", "visible", "#a"],
        &["scroll"],
        &["scroll", "down", "300", "-s", "#list"],
        &["scroll", "@e1"],
        &["scroll", "text=Imprint"],
        &["scroll", "down", "2147483647"],
        &["scroll", "--to", "bottom"],
        &["scroll", "--to", "left", "-s", "#list"],
        &["select-text", "@e1", "the words"],
        &["select-text", "@e1", "-5 \u{b0}C"],
        &["drag", "@e1", "#b"],
        &["select-text", "@e1"],
        &["tab", "close"],
        &["tab", "close", "1"],
        &["tab"],
        &["tab", "list"],
        &["tab", "2"],
        &["pdf"],
        &["pdf", "a.pdf"],
    ];
    for row in rows {
        assert_eq!(parse_all(row).expect("accepted"), to_argv(row), "{row:?} is passed on unchanged");
    }
    assert_eq!(
        parse_all(&["snapshot", "--interactive", "--depth", "2"]).expect("accepted"),
        to_argv(&["snapshot", "-i", "-d", "2"])
    );
    assert_eq!(parse_all(&["wait", "-t", "done"]).expect("accepted"), to_argv(&["wait", "--text", "done"]));
}

// Requirement 1.4.
#[test]
fn grammar_refuses_invalid_commands() {
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
        (&["snapshot", "-C"], Code::FlagUnknown, "not in the grammar"),
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
        (&["fill", "@e1", "--cdp"], Code::FlagGlobal, "agent-browser removes it from text too"),
        (&["fill", "@e1", "--cdp=1"], Code::FlagGlobal, ""),
        (&["fill", "@e1", "-p"], Code::FlagGlobal, ""),
        (&["type", "@e1", "--clear"], Code::FlagUnknown, "a flag of later versions"),
        (&["press", "--x"], Code::FlagUnknown, ""),
        (&["press", "a\nb"], Code::CharacterNotAllowed, ""),
        (&["press", "Enter", "x"], Code::ArgumentInvalid, "a count"),
        (&["press", "Enter", "0"], Code::ArgumentInvalid, ""),
        (&["press", "Enter", "101"], Code::ArgumentInvalid, ""),
        (&["press", "Enter", "2", "3"], Code::ArgumentUnexpected, ""),
        (&["click", "@e1", "--at"], Code::ArgumentMissing, ""),
        (&["click", "--at", "1,2"], Code::ArgumentMissing, ""),
        (&["click", "@e1", "--at", "1"], Code::ArgumentInvalid, ""),
        (&["click", "@e1", "--at", "1,-2"], Code::ArgumentInvalid, ""),
        (&["click", "@e1", "--at", "1.5,2"], Code::ArgumentInvalid, ""),
        (&["click", "@e1", "--at", "1,100001"], Code::ArgumentInvalid, ""),
        (&["click", "@e1", "--at", "1,2", "--at", "3,4"], Code::FlagConflict, ""),
        (&["click", "Plain"], Code::ArgumentInvalid, "a text, not a tag"),
        (&["click", "Sign in"], Code::ArgumentInvalid, "likewise"),
        (&["focus", "@e1", "--at", "1,2"], Code::FlagUnknown, ""),
        (&["mouse", "down"], Code::SubcommandForbidden, "a step, not a command"),
        (&["scrollintoview", "#a"], Code::SubcommandForbidden, "likewise"),
        (&["drag", "@e1"], Code::ArgumentMissing, ""),
        (&["drag", "@e1", "@e2", "@e3"], Code::ArgumentUnexpected, ""),
        (&["select-text"], Code::ArgumentMissing, ""),
        (&["select-text", "@e1", " "], Code::ArgumentInvalid, "no words"),
        (&["select-text", "@e1", "two\nlines"], Code::CharacterNotAllowed, ""),
        (&["select-text", "@e1", "two", "words"], Code::ArgumentUnexpected, "they are one element"),
        (&["scroll", "@e1", "5"], Code::ArgumentInvalid, ""),
        (&["wait"], Code::ArgumentMissing, ""),
        (&["wait", "25000"], Code::ArgumentInvalid, "agent-browser would repeat it"),
        (&["wait", "+25000"], Code::ArgumentInvalid, "a number for agent-browser"),
        (&["wait", "99999999999999999999"], Code::ArgumentInvalid, ""),
        (&["wait", "--fn", "1"], Code::FlagUnknown, "runs code"),
        (&["wait", "--text", "--fn"], Code::FlagUnknown, "agent-browser searches the whole line for it"),
        (&["wait", "--text", "--url"], Code::FlagConflict, "likewise"),
        (&["wait", "--text", "-d"], Code::FlagUnknown, "likewise"),
        (&["wait", "--text", "a", "--url", "b"], Code::FlagConflict, ""),
        (&["wait", "--text", "a", "b"], Code::ArgumentUnexpected, ""),
        (&["wait", "--text", "a\u{2028}b"], Code::CharacterNotAllowed, ""),
        (&["wait", "--load", "done"], Code::ArgumentInvalid, ""),
        (&["wait", "--download", "x"], Code::FlagUnknown, "writes files"),
        (&["screenshot", "/tmp/a.png"], Code::ArgumentInvalid, ""),
        (&["screenshot", "../a.png"], Code::ArgumentInvalid, "a path, not a selector"),
        (&["screenshot", "@e1", "../a.png"], Code::ArgumentInvalid, ""),
        (&["screenshot", "@e1", "a.jpg"], Code::ArgumentInvalid, ""),
        (&["screenshot", "@e1", ".png"], Code::ArgumentInvalid, ""),
        (&["click", "@e1", "--button", "middle"], Code::ArgumentInvalid, "it pastes"),
        (&["click", "@e1", "--modifiers", "Enter"], Code::ArgumentInvalid, ""),
        (&["click", "@e1", "--modifiers", "Shift+"], Code::ArgumentInvalid, ""),
        (&["click", "@e1", "--hold", "20001"], Code::ArgumentInvalid, ""),
        (&["drag", "@e1", "@e2", "--at", "1,2"], Code::FlagUnknown, ""),
        (&["screenshot", "--full", "-f"], Code::FlagGlobal, ""),
        (&["screenshot", "--full", "--full"], Code::FlagConflict, ""),
        (&["screenshot", "--full=x"], Code::FlagGlobal, ""),
        (&["snapshot", "--full"], Code::FlagGlobal, ""),
        (&["screenshot", "@e1", "a.png", "b.png"], Code::ArgumentUnexpected, ""),
        (&["close", "--all"], Code::FlagUnknown, ""),
        (&["close", "x"], Code::ArgumentUnexpected, ""),
        (&["select", "@e1"], Code::ArgumentMissing, ""),
        (&["get", "cdp-url"], Code::ArgumentInvalid, ""),
        (&["get"], Code::ArgumentMissing, ""),
        (&["get", "attr", "@e1", "a b"], Code::ArgumentInvalid, ""),
        (&["tab", "new", "file:///etc/passwd"], Code::ArgumentInvalid, ""),
        (&["tab", "close", "x"], Code::ArgumentInvalid, ""),
        (&["tab", "close", "t1"], Code::ArgumentInvalid, ""),
        (&["scroll", "sideways"], Code::ArgumentInvalid, ""),
        (&["scroll", "down", "0"], Code::ArgumentInvalid, ""),
        (&["scroll", "down", "2147483648"], Code::ArgumentInvalid, "agent-browser would ignore it"),
        (&["scroll", "bottom"], Code::ArgumentInvalid, "a word of a flag"),
        (&["scroll", "--to", "end"], Code::ArgumentInvalid, ""),
        (&["scroll", "--to"], Code::ArgumentMissing, ""),
        (&["scroll", "down", "--to", "bottom"], Code::ArgumentUnexpected, ""),
        (&["scroll", "@e1", "--to", "bottom"], Code::ArgumentUnexpected, "the element goes behind -s"),
        (&["pdf", "a/b.pdf"], Code::ArgumentInvalid, ""),
        (&["--cdp", "open"], Code::FlagGlobal, ""),
    ];
    for (row, expected, why) in rows {
        assert_eq!(code(row), *expected, "{row:?} {why}");
    }
}

#[test]
fn selector_chain_has_a_limited_number_of_parts() {
    let chain = |count| vec!["text=Buy"; count].join(" >> ");
    for command in ["click", "wait"] {
        let refusal = parse(Profile::Tool, &to_argv(&[command, &chain(17)]), |_| true).expect_err("too long");
        assert_eq!(refusal.code, Code::ArgumentInvalid);
        assert!(refusal.reason.contains("at most 16 parts between `>>`"), "{refusal}");
        assert_eq!(code(&[command, &chain(16)]), Code::Ok, "control");
    }
}

// Requirement 1.3.
#[test]
fn optional_subcommands_require_policy() {
    for row in GRAMMAR {
        let line = to_argv(&[row.name, "x", "y", "z"]);
        let disabled = parse(Profile::Tool, &line, |_| false).map_or_else(|decision| decision.code, |_| Code::Ok);
        let enabled =
            parse(Profile::Tool, &line, |name| name == row.name).map_or_else(|decision| decision.code, |_| Code::Ok);
        assert_eq!(disabled == Code::SubcommandNotEnabled, row.availability == Availability::Optional, "{}", row.name);
        assert_ne!(enabled, Code::SubcommandNotEnabled, "{} is available once it is enabled", row.name);
    }
}

#[test]
fn forms_with_names_of_their_own_require_policy() {
    let rows: &[(&str, &[&str], Code)] = &[
        ("snapshot-find", &["snapshot", "-i", "--find", "a"], Code::FlagUnknown),
        ("click-at", &["click", "@e1", "--at", "1,2"], Code::FlagUnknown),
        ("click-button", &["click", "@e1", "--button", "right"], Code::FlagUnknown),
        ("click-modifiers", &["click", "@e1", "--modifiers", "Control+Shift"], Code::FlagUnknown),
        ("click-hold", &["click", "@e1", "--hold", "900"], Code::FlagUnknown),
        ("press-count", &["press", "Tab", "3"], Code::ArgumentUnexpected),
        ("wait-gone", &["wait", "--gone", "#a"], Code::FlagUnknown),
        ("screenshot-full", &["screenshot", "--full"], Code::FlagGlobal),
        ("dblclick-at", &["dblclick", "@e1", "--at", "1,2"], Code::FlagUnknown),
        ("hover-at", &["hover", "@e1", "--at", "1,2"], Code::FlagUnknown),
        ("scroll-to", &["scroll", "-s", "#a", "--to", "top"], Code::FlagUnknown),
        ("drag-from", &["drag", "@e1", "@e2", "--from", "1,2"], Code::FlagUnknown),
        ("drag-to", &["drag", "@e1", "@e2", "--to", "1,2"], Code::FlagUnknown),
        ("select-text-words", &["select-text", "@e1", "words"], Code::ArgumentUnexpected),
    ];
    assert!(Profile::Tool.optional_forms().eq(rows.iter().map(|(name, ..)| *name)));
    for (name, line, refusal) in rows {
        for profile in [Profile::Tool, Profile::Strict] {
            let code = |is_enabled: bool| {
                let is_row = |asked: &str| asked == line[0];
                let command = parse(profile, &to_argv(line), |asked| is_row(asked) || (is_enabled && asked == *name));
                command.map_or_else(|decision| decision.code, |_| Code::Ok)
            };
            assert_eq!((code(false), code(true)), (*refusal, Code::Ok), "{profile:?} {name}");
        }
    }
    assert_eq!(Profile::Compat.optional_forms().count(), 0);
    let refusal = parse(Profile::Tool, &to_argv(&["press", "Tab", "3"]), |_| false).expect_err("off");
    assert!(refusal.reason.ends_with("the usage is `press KEY`"), "{refusal}");
}

#[test]
fn flags_of_one_subcommand_go_together_if_all_are_enabled() {
    let line = to_argv(&["click", "--button", "right", "@e1", "--at", "1,2", "--modifiers", "Shift"]);
    let all = ["click-button", "click-at", "click-modifiers"];
    assert!(parse(Profile::Tool, &line, |name| all.contains(&name)).is_ok());
    for missing in all {
        let refusal = parse(Profile::Tool, &line, |name| name != missing && all.contains(&name)).expect_err(missing);
        assert_eq!(refusal.code, Code::FlagUnknown, "{missing}");
    }
    // Those of other subcommands still exclude each other.
    assert_eq!(code(&["wait", "--text", "a", "--load", "load"]), Code::FlagConflict);
    assert_eq!(code(&["wait", "--gone", "#a", "--text", "b"]), Code::FlagConflict);
    assert_eq!(code(&["click", "@e1", "--at", "1,2", "--at", "1,2"]), Code::FlagConflict);
    let click = Profile::Tool.row("click").expect("a row");
    let usage = click.usage_with(|form| form.needs != Some("click-hold"));
    assert_eq!(usage, "click [--at X,Y] [--button right] [--modifiers KEYS] SELECTOR");
    // Nor do those of a form that has others of its own.
    for line in [&["snapshot", "-i", "--find", "a", "-s", "#b"][..], &["snapshot", "--find", "-i", "-c", "-d", "2"]] {
        assert!(parse(Profile::Tool, &to_argv(line), |name| name == "snapshot-find").is_ok(), "{line:?}");
    }
    let snapshot = Profile::Tool.row("snapshot").expect("a row");
    assert_eq!(snapshot.usage_with(|_| true), "snapshot [-i] [-c] [-d N] [-s SELECTOR] [--find TEXT]");
}

// Requirement 1.3.
#[test]
fn forbidden_subcommands_are_refused_even_when_enabled() {
    for name in FORBIDDEN_SUBCOMMANDS {
        assert_eq!(code(&[name]), Code::SubcommandForbidden, "{name}");
    }
}

// Requirement 1.4.
#[test]
fn global_flags_are_refused_in_every_position_of_every_form() {
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
    assert!(is_accepted(&["fill", "@e1", "cdp"]), "the same word without dashes is text");
}

// Requirement 1.1.
#[test]
fn argument_limits_are_exact() {
    let longest = "x".repeat(MAX_CHARACTERS);
    assert!(is_accepted(&["fill", "@e1", &longest]));
    let wide = "\u{1f600}".repeat(MAX_CHARACTERS);
    assert!(is_accepted(&["fill", "@e1", &wide]), "characters are counted, not bytes");
    let mut line = vec!["select", "@e1"];
    line.resize(MAX_ELEMENTS, "v");
    assert!(is_accepted(&line));
    line.push("v");
    assert_eq!(code(&line), Code::ArgumentUnexpected);
    let mut heavy = vec!["select", "@e1"];
    heavy.resize(MAX_ELEMENTS, &wide);
    assert_eq!(code(&heavy), Code::ArgumentInvalid, "more than the kernel accepts");
}

#[test]
fn refusals_do_not_echo_arguments() {
    for line in [
        &["fill", "@e1", "a", "hunter2-secret"][..],
        &["open", "-hunter2-secret"],
        &["snapshot", "--hunter2-secret"],
        &["hunter2-secret"],
        &["wait", "--load", "hunter2-secret"],
        &["screenshot", "@e1", "/hunter2-secret"],
    ] {
        let refusal = parse_all(line).expect_err("refused").to_string();
        assert!(!refusal.contains("hunter2-secret"), "{refusal}");
    }
}

#[test]
fn refusal_messages_match_snapshot() {
    let lines: &[&[&str]] = &[
        &["eval", "1"],
        &["goto", "x"],
        &["get-title"],
        &["get-url"],
        &["agent-browser", "open", "https://example.com/"],
        &["fill", "@e1", "--cdp=9"],
        &["get", "value"],
        &["fill", "@e1"],
        &["click", "Plain"],
        &["click", "@e1", "--to", "1,2"],
        &["press", "Tab", "x"],
        &["scroll", "bottom"],
        &["scroll", "down", "9999999999"],
        &["scroll", "@e1", "--to", "top"],
        &["select-text", "@e1", ""],
    ];
    let texts: Vec<_> = lines.iter().map(|line| parse_all(line).expect_err("refused").to_string()).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

fn take(profile: Profile, line: &str) -> (bool, String) {
    let mut argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
    (take_json_flag(profile, &mut argv), argv.join(" "))
}

#[test]
fn json_flag_is_taken_only_where_no_text_can_be() {
    for (line, is_taken, rest) in [
        ("--json snapshot -i", true, "snapshot -i"),
        ("snapshot -i --json", true, "snapshot -i"),
        ("get title --json", true, "get title"),
        ("goto a.example --json", true, "goto a.example"),
        ("--json fill @e1 x", true, "fill @e1 x"),
        ("--json --json", true, "--json"),
        ("fill @e1 --json", false, "fill @e1 --json"),
        ("type @e1 x --json", false, "type @e1 x --json"),
        ("find label a fill --json", false, "find label a fill --json"),
        ("wait --text --json", false, "wait --text --json"),
        ("snapshot --json -i", false, "snapshot --json -i"),
        ("snapshot --json=true", false, "snapshot --json=true"),
        ("snapshot", false, "snapshot"),
    ] {
        assert_eq!(take(Profile::Compat, line), (is_taken, rest.to_owned()), "{line}");
        assert_eq!(take(Profile::Strict, line), (false, line.to_owned()), "{line}");
    }
    assert!(!take_json_flag(Profile::Compat, &mut Vec::new()));
}
