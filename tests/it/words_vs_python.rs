//! Word splitting compared with Python's `shlex`, on thousands of lines.

use std::io::Write;
use std::process::{Command, Stdio};

use browser_shell_core::grammar::words::split;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;

const LINES: usize = 6000;

/// Script that reads a list of lines and writes a list of lists of words, with `null` for a line that cannot be
/// split.
const SHLEX: &str = "
import json, shlex, sys
def split(line):
    try:
        return shlex.split(line)
    except ValueError:
        return None
json.dump([split(line) for line in json.load(sys.stdin)], sys.stdout)
";

/// Generates lines that word splitters often get wrong. Deterministic.
fn lines() -> Vec<String> {
    let mark = proptest::sample::select(vec![
        "'",
        "'",
        "\"",
        "\"",
        "\\",
        "\\",
        " ",
        " ",
        "\t",
        "\r",
        "\n",
        "\r\n",
        "#",
        "$",
        "`",
        "*",
        ";",
        "|",
        "&",
        "<",
        ">",
        "~",
        "{}",
        "(",
        ")",
        "!",
        "?",
        "[",
        "]",
        "=",
        "-",
        "--full",
        "@e1",
        "click",
        "''",
        "\"\"",
        "\\\\",
        "\\'",
        "\\\"",
        "\u{a0}",
        "\u{b}",
        "\u{c}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{0}",
        "\u{e9}",
        "\u{1f600}",
        "e\u{301}",
    ]);
    let piece = prop_oneof![4 => mark.prop_map(str::to_owned), 1 => "[a-z]{1,4}", 1 => "\\PC{0,4}"];
    let line = proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat());
    let mut runner = TestRunner::deterministic();
    (0..LINES).map(|_| line.new_tree(&mut runner).unwrap().current()).collect()
}

#[test]
#[ignore = "needs Python: run ./dev test"]
fn lines_are_split_like_python_shlex() {
    let lines = lines();
    let mut python = Command::new("/usr/bin/python3")
        .args(["-I", "-c", SHLEX])
        .env_clear()
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("cannot start python3");
    let mut input = python.stdin.take().unwrap();
    let sent = serde_json::to_vec(&lines).unwrap();
    let writer = std::thread::spawn(move || input.write_all(&sent));
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let theirs: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(theirs.len(), lines.len());
    let mut refused = 0;
    for (line, theirs) in lines.iter().zip(theirs) {
        let ours = split(line).map_or(Value::Null, Value::from);
        assert_eq!(ours, theirs, "{line:?}");
        refused += usize::from(ours.is_null());
    }
    assert!(
        (LINES / 10..LINES * 9 / 10).contains(&refused),
        "both accepted and refused lines must occur: {refused} refused"
    );
}
