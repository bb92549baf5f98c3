//! Commands for the comparison with agent-browser's flag parser: every form once, and generated ones.

use browser_shell_core::grammar::Profile;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::accepted;

/// Returns every form of the grammar once, and texts that parsers often get wrong.
pub(super) fn tool_cases() -> Vec<Vec<String>> {
    const LINES: &[&[&str]] = &[
        &["open", "https://example.com/a?b=--cdp#c"],
        &["open", "about:blank"],
        &["open", "example.com:8080/--session"],
        &["snapshot"],
        &["snapshot", "-i", "-c", "-d", "3", "-s", "#main > p"],
        &["click", "@e1"],
        &["click", "text=--json"],
        &["dblclick", "a[href='--cdp']"],
        &["hover", "#a"],
        &["focus", "#a"],
        &["check", "#a"],
        &["uncheck", "#a"],
        &["fill", "@e1", ""],
        &["fill", "@e1", "true"],
        &["fill", "@e1", "--"],
        &["fill", "@e1", "-"],
        &["fill", "@e1", "-x"],
        &["fill", "@e1", "--foo=--cdp=1"],
        &["fill", "@e1", " --cdp"],
        &["fill", "@e1", "--cdp "],
        &["fill", "@e1", "--CDP"],
        &["fill", "@e1", "two\nlines\r\n"],
        &["fill", "@e1", "\"quoted\" 'text' \\ $HOME `id` ; | & \u{1f600}"],
        &["type", "#a", "-n"],
        &["type", "#a", "--foo"],
        &["press", "Control+a"],
        &["press", "-"],
        &["press", "+"],
        &["wait", "#done"],
        &["wait", "0"],
        &["wait", "+5"],
        &["wait", "24999"],
        &["wait", "--text", "--done"],
        &["wait", "--text", "-1"],
        &["wait", "--text", ""],
        &["wait", "--url", "**/done"],
        &["wait", "--load", "networkidle"],
        &["screenshot"],
        &["screenshot", "b.png"],
        &["screenshot", "#main"],
        &["screenshot", "button"],
        &["screenshot", "./x"],
        &["screenshot", "@e1", "b.png"],
        &["close"],
        &["select", "#a", "one"],
        &["select", "#a", "one", "--two", "-3", ""],
        &["back"],
        &["forward"],
        &["reload"],
        &["get", "text", "#a"],
        &["get", "html", "#a"],
        &["get", "attr", "#a", "href"],
        &["get", "url"],
        &["get", "title"],
        &["get", "count", "a"],
        &["get", "box", "#a"],
        &["get", "value", "#a"],
        &["is", "visible", "#a"],
        &["is", "enabled", "#a"],
        &["is", "checked", "#a"],
        &["scroll"],
        &["scroll", "up", "5", "-s", "#a"],
        &["tab"],
        &["tab", "list"],
        &["tab", "3"],
        &["tab", "close"],
        &["tab", "close", "2"],
        &["drag", "#a", "#b"],
        &["press", "Tab", "3"],
        &["click", "#a", "--at", "10,20"],
        &["scroll", "#a"],
        &["select-text", "#a"],
        &["screenshot", "--full"],
        &["pdf"],
        &["pdf", "b.pdf"],
    ];
    to_lines(LINES)
}

/// Returns every form of the compat grammar once.
pub(super) fn compat_cases() -> Vec<Vec<String>> {
    const LINES: &[&[&str]] = &[
        &["find", "role", "button", "click", "--name", "Submit"],
        &["find", "role", "--exact", "checkbox", "check", "--name", "I agree; $HOME"],
        &["find", "role", "link", "hover", "--exact", "--name", "true"],
        &["find", "text", "Sign in", "click"],
        &["find", "text", "click", "hover", "--exact"],
        &["find", "label", "Email", "click"],
        &["find", "label", "Agree", "check", "--exact"],
        &["find", "label", "Email", "fill", "a@b.example"],
        &["find", "label", "Email", "fill", ""],
        &["find", "label", "Email", "fill", "-x"],
        &["find", "label", "fill", "fill", "true"],
        &["find", "placeholder", "Search", "click"],
        &["find", "placeholder", "Search", "click", "--exact"],
        &["find", "placeholder", "Search", "fill", "two\nlines  and \"quotes\""],
        &["find", "alt", "Logo", "click"],
        &["find", "alt", "Logo", "hover", "--exact"],
        &["find", "title", "Close", "click", "--exact"],
        &["find", "title", "Close", "hover"],
        &["find", "testid", "submit-btn", "click"],
        &["find", "testid", "submit-btn", "check"],
        &["find", "testid", "submit-btn", "hover"],
        &["find", "testid", "submit-btn", "fill", "x"],
        &["find", "first", ".item", "click"],
        &["find", "first", ".item", "text"],
        &["find", "first", ".item", "fill", "--"],
        &["find", "last", "li > a", "hover"],
        &["find", "last", "li", "check"],
        &["find", "last", "li", "fill", "x"],
        &["find", "nth", "0", "@e1", "text"],
        &["find", "nth", "2", "li", "click"],
        &["find", "nth", "999", "li", "fill", "x"],
        &["snapshot", "-i", "-C"],
        &["snapshot", "--cursor", "-c", "-d", "3", "-s", "#a"],
        &["tab"],
        &["tab", "list"],
        &["tab", "3"],
        &["tab", "new"],
        &["tab", "new", "https://example.com/a?b=--cdp#c"],
        &["tab", "new", "about:blank"],
        &["tab", "close"],
        &["tab", "close", "0"],
        &["get", "text", "#a"],
        &["get", "html", "#a"],
        &["get", "value", "#a"],
        &["get", "attr", "#a", "href"],
        &["get", "url"],
        &["get", "title"],
        &["get", "count", "a"],
        &["get", "box", "#a"],
        &["get", "styles", "#a"],
        &["drag", "@e1", "#b"],
        &["scrollintoview", "#footer"],
        &["screenshot"],
        &["screenshot", "--full"],
        &["screenshot", "-f", "b.png"],
        &["screenshot", "true", "--full"],
        &["screenshot", "--full", "false", "/workspace/dir/b.png"],
        &["screenshot", "#main", "dir/b c.png"],
        &["pdf", "/workspace/out/b.pdf"],
        &["cookies"],
        &["cookies", "get"],
        &["cookies", "set", "a", "b=c; d"],
        &["cookies", "set", "a", "true"],
        &["cookies", "clear"],
    ];
    to_lines(LINES)
}

pub(super) fn to_lines(lines: &[&[&str]]) -> Vec<Vec<String>> {
    lines.iter().map(|line| line.iter().map(|word| (*word).to_owned()).collect()).collect()
}

/// Generates accepted commands from elements that are likely to cause problems. Deterministic.
pub(super) fn generated(profile: Profile, count: usize) -> Vec<Vec<String>> {
    const COMPAT: &[&str] = &["find", "tab", "cookies", "scrollintoview", "screenshot", "snapshot"];
    let text = prop_oneof![
        3 => proptest::sample::select(vec![
            "true", "false", "-", "--", "---", "-5", "--foo", "--x=y", "-i", "-s", "-d", "-t", "--fn", "--text", "--new-tab", "--clear", "=", "a=b",
            "open", "close", "@e1", "#a", "3", "100", "", " ", "a b", "a.png", "../a.png", "/etc/passwd", "*", "?", "$(id)", "\u{2014}cdp", "\u{e9}", "\t",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,16}",
        1 => "-{0,3}[a-z=-]{0,12}",
    ];
    let known = proptest::sample::select(vec![
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
        "--name",
        "--exact",
        "new",
        "close",
        "get",
        "set",
        "clear",
        "--full",
        "-f",
        "-C",
        "dir/a.png",
    ]);
    let text = if profile == Profile::Compat {
        prop_oneof![known.prop_map(str::to_owned), text].boxed()
    } else {
        text.boxed()
    };
    let tool = [
        "fill",
        "type",
        "select",
        "press",
        "wait",
        "click",
        "snapshot",
        "screenshot",
        "scroll",
        "get",
        "is",
        "tab",
        "hover",
    ];
    let words = if profile == Profile::Compat { COMPAT } else { &tool };
    let word = proptest::sample::select(words.to_vec());
    let line = (word, proptest::collection::vec(text, 0..6)).prop_map(|(word, rest)| {
        let mut line = vec![word.to_owned()];
        line.extend(rest);
        line
    });
    let mut runner = TestRunner::deterministic();
    let mut lines = Vec::new();
    while lines.len() < count {
        let candidate = line.new_tree(&mut runner).unwrap().current();
        if accepted(profile, &candidate).is_some() && !lines.contains(&candidate) {
            lines.push(candidate);
        }
    }
    lines
}
