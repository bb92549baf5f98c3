//! Splitting of `cmd` into an argument vector: the quoting rules of a POSIX shell, without expansion.

use serde_json::{Value, json};

use super::{client::SESSION, server::Setup};

#[test]
fn command_is_split_into_words_without_expansion() {
    let runtime = Setup::stand_in().start();
    for (text, word) in [
        ("word", "word"),
        ("\"two words\"", "two words"),
        ("'two words'", "two words"),
        ("two\\ words", "two words"),
        ("a'b'\"c\"d", "abcd"),
        ("''", ""),
        ("\"\"", ""),
        ("\"say \\\"hi\\\"\"", "say \"hi\""),
        ("\"back\\\\slash\"", "back\\slash"),
        ("\"stays \\n\"", "stays \\n"),
        ("'stays \\'", "stays \\"),
        ("\"it's\"", "it's"),
        ("'#'", "#"),
        ("#hash", "#hash"),
        ("a#b", "a#b"),
        ("$HOME", "$HOME"),
        ("\"$HOME ${PATH}\"", "$HOME ${PATH}"),
        ("$(id)", "$(id)"),
        ("`id`", "`id`"),
        ("~", "~"),
        ("*", "*"),
        ("{a,b}", "{a,b}"),
        (";id", ";id"),
        ("a;id", "a;id"),
        ("|id", "|id"),
        ("&&id", "&&id"),
        (">/tmp/x", ">/tmp/x"),
        ("a=b", "a=b"),
        ("%PATH%", "%PATH%"),
        ("\"né 🦀\u{a0}x\"", "né 🦀\u{a0}x"),
        ("\"two\nlines\"", "two\nlines"),
    ] {
        let data = runtime.exec(&format!("fill #fake-echo {text}")).ok().data();
        let argv = data["argv"].as_array().unwrap();
        assert_eq!(argv[argv.len() - 3..], [json!("fill"), json!("#fake-echo"), json!(word)], "{text}");
    }
}

#[test]
fn words_are_separated_by_any_white_space() {
    let runtime = Setup::stand_in().start();
    for cmd in ["fill #fake-echo x", "  fill\t#fake-echo   x  ", "fill\n#fake-echo\r\nx\n"] {
        let data = runtime.exec(cmd).ok().data();
        let argv = data["argv"].as_array().unwrap();
        assert_eq!(argv[argv.len() - 3..], [json!("fill"), json!("#fake-echo"), json!("x")], "{cmd:?}");
    }
    // Comments do not exist: the text after `#` consists of words.
    runtime.exec("fill #fake-echo x # y").fails_with(64);
}

#[test]
fn agent_browser_always_gets_the_fixed_command_line() {
    let runtime = Setup::stand_in().with("SANDBOX_ID", "box-1").start();
    let data = runtime.exec("click #fake-echo").ok().data();
    let argv: Vec<_> = data["argv"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(argv.len(), 7, "{argv:?}");
    assert_eq!([argv[0], argv[2], argv[4], argv[5], argv[6]], ["--session", "--cdp", "--json", "click", "#fake-echo"]);
    assert_eq!(argv[1], "box-1");
    assert!(argv[3].parse::<u16>().is_ok(), "{argv:?}");
}

#[test]
fn invalid_characters_and_oversized_words_are_refused() {
    let runtime = Setup::stand_in().start();
    for cmd in ["fill #a \0", "click \"#a\0\"", "press \"a\nb\""] {
        runtime.exec(cmd).fails_with(64);
    }
    // Size limits of one word and of a whole command.
    runtime.exec(&format!("fill #a {}", "x".repeat(8193))).fails_with(64);
    runtime.exec(&format!("fill #a {}", "x".repeat(8192))).ok();
    runtime.exec(&format!("select #a {}", "x ".repeat(128))).fails_with(64);
    runtime.exec(&format!("select #a {}", "x ".repeat(127))).ok();
    let answer = runtime.exec_with(&json!({"cmd": "click #a", "sandbox_id": SESSION}));
    answer.ok();
}

#[test]
fn program_name_and_older_names_are_answered_with_the_fix() {
    let runtime = Setup::stand_in().start();
    for (cmd, fix) in [
        ("agent-browser open https://93.184.215.14/", "leave out `agent-browser`"),
        ("get-title", "`get-title` is called `get title` here"),
        ("get-url", "`get-url` is called `get url` here"),
    ] {
        let answer = runtime.exec(cmd).fails_with(64);
        assert!(answer.stderr.starts_with("subcommand-unknown") && answer.stderr.contains(fix), "{cmd}: {answer:?}");
    }
    runtime.exec("open https://93.184.215.14/").ok();
}
