//! Messages that two readers could understand differently, and messages of unusual size and number.

use serde_json::{Value, json};

use super::{
    attack, attacked,
    browser::GateBrowser,
    open_blank,
    script::{OWN_PAGE, evaluate, own_page},
};

/// A message that creates a context, if it is taken for a command.
const CREATE: &str = "Target.createBrowserContext";

/// Messages that hide a forbidden command, each with `true` if Chromium itself runs it.
fn hidden() -> Vec<(Value, bool)> {
    let text = |text: &str| json!({ "text": text, "within": 1000 });
    let fragments = |parts: &[&str]| json!({ "fragments": parts, "within": 1000 });
    let plain = format!(r#"{{"id":1,"method":"{CREATE}"}}"#);
    let (head, tail) = plain.split_at(20);
    let invalid = [plain.as_bytes(), &[0xff, 0xfe]].concat();
    vec![
        (text(&plain), true),
        (text(&format!(r#"{{"id":1,"method":"Browser.getVersion","method":"{CREATE}"}}"#)), true),
        (text(&format!(r#"{{"id":1,"method":"{CREATE}","method":"Browser.getVersion"}}"#)), false),
        (text(r#"{"id":1,"method":"\u0054arget.createBrowserContext"}"#), true),
        (text(r#"{"id":1,"\u006dethod":"Target.createBrowserContext"}"#), true),
        (text(&format!(r#"{{"id":1,"method":"Browser.getVersion","\u006dethod":"{CREATE}"}}"#)), true),
        (text(r#"{"id":1,"method":"target.createbrowsercontext"}"#), false),
        (text(r#"{"id":1,"method":" Target.createBrowserContext"}"#), false),
        (text(r#"{"id":1,"method":"Target.createBrowserContext\u0000"}"#), false),
        (text(&format!(r#"{{"id":1,"method":["{CREATE}"]}}"#)), false),
        (text(&format!(r#"[{{"id":1,"method":"{CREATE}"}}]"#)), false),
        (text(&format!(r#"{{"id":1,"method":"Browser.getVersion"}}{plain}"#)), false),
        (text(&format!("{plain}\n{plain}")), false),
        (text(&format!("\u{feff}{plain}")), false),
        (text(&plain.replacen('{', "{/**/", 1)), true),
        (text(&format!(r#"{{"id":"1","method":"{CREATE}"}}"#)), false),
        (text(&format!(r#"{{"id":-1,"method":"{CREATE}"}}"#)), true),
        (text(&format!(r#"{{"id":1.5,"method":"{CREATE}"}}"#)), false),
        (text(&format!(r#"{{"id":99999999999999999999,"method":"{CREATE}"}}"#)), false),
        (text(&format!(r#"{{"method":"{CREATE}"}}"#)), false),
        (text(&format!(r#"{{"id":1,"method":"{CREATE}","unknown":{{"a":[1]}}}}"#)), false),
        (text(&format!(r#"{{"id":1,"method":"{CREATE}","sessionId":"0123456789ABCDEF"}}"#)), false),
        (text(&format!(r#"{{"id":1,"method":"{CREATE}","sessionId":""}}"#)), false),
        (json!({"binary": &plain, "within": 1000}), false),
        (fragments(&[head, tail]), true),
        (fragments(&["", head, "", tail, ""]), true),
        (json!({"bytes": invalid, "within": 1000}), false),
    ]
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn hidden_commands_are_not_run() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let mut different = Vec::new();
    for (message, runs) in hidden() {
        let before = browser.contexts().len();
        // Chromium may close the connection. The contexts stay until the browser ends.
        let replies = browser.run(&json!([{"ws": "browser"}, message]));
        let created = browser.contexts().len() > before || replies.text().contains("browserContextId");
        if created != runs {
            different.push((message, runs));
        }
    }
    // Chromium's own reading is no promise, so most rows suffice.
    assert!(different.len() <= 6, "control: {different:#?}");
    assert!(different.iter().all(|(message, _)| message["text"] != hidden()[0].0["text"]), "control: {different:#?}");
    attack(&server, "s", &own_page(&[]));
    let before = browser.contexts();
    for (message, _) in hidden() {
        let replies = attack(&server, "s", &json!([{"ws": "browser"}, message]));
        assert!(!replies.text().contains("browserContextId"), "{message}: {replies:#?}");
        assert_eq!(browser.contexts(), before, "{message}");
    }
    assert_eq!(attack(&server, "s", &own_page(&[evaluate("6 * 7")])).value(OWN_PAGE), 42, "control: still served");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn oversized_messages_end_only_their_own_connection() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    let evaluation = |part: &str, times: u32| {
        json!({
            "text": part, "times": times, "within": 20_000,
            "before": r#"{"id":1,"method":"Browser.getVersion","params":{"a":""#, "after": r#""}}"#,
        })
    };
    let nested = json!({
        "text": "[", "closing": "]", "times": 1_000_000, "within": 20_000,
        "before": r#"{"id":1,"method":"Browser.getVersion","params":{"a":"#, "after": "}}",
    });
    let before = memory(server.id());
    for (message, is_too_long) in
        [(evaluation("x", 64 << 20), true), (evaluation("\\u00e9", 4 << 20), true), (nested, false)]
    {
        let replies = attack(&server, "s", &json!([{"ws": "browser"}, message]));
        assert!(replies.is_refused(1) || !is_too_long, "{replies:#?}");
        let ready = attack(&server, "s", &own_page(&[evaluate("6 * 7")]));
        assert_eq!(ready.value(OWN_PAGE), 42, "control: the session still works");
        let other = attack(&server, "other", &own_page(&[evaluate("6 * 7")]));
        assert_eq!(other.value(OWN_PAGE), 42, "control: another session still works");
    }
    let grown = memory(server.id()).saturating_sub(before);
    assert!(grown < 200 << 20, "the server grew by {grown} bytes");
}

/// Returns the memory that a process has now, in bytes.
fn memory(id: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn client_that_reads_nothing_stalls_only_itself() {
    let browser = GateBrowser::start();
    let server = attacked(&browser);
    attack(&server, "other", &own_page(&[]));
    let before = memory(server.id());
    // Each answer has 1 MB. A client that reads none of them must not make the server keep them.
    let command = json!({"flood": {"method": "Runtime.evaluate", "params": {"expression": "'x'.repeat(1 << 20)"}, "session": "$PAGE"},
        "times": 3000, "within": 1000});
    let stalled = own_page(&[command, json!({"sleep": 8000})]);
    let text = stalled.to_string();
    open_blank(&server, "s");
    let call = server.begin("s", &["fill", "@e1", &text], Some(60));
    let mut most = 0;
    for _ in 0..8 {
        std::thread::sleep(std::time::Duration::from_secs(1));
        let other = attack(&server, "other", &own_page(&[evaluate("6 * 7")]));
        assert_eq!(other.value(OWN_PAGE), 42, "another session must be served meanwhile");
        most = most.max(memory(server.id()));
    }
    // Its page is still busy, so its answer may be withheld.
    drop(call.answer());
    let grown = most.saturating_sub(before);
    assert!(grown < 300 << 20, "the server grew by {grown} bytes");
    let script = own_page(&[evaluate("6 * 7")]).to_string();
    super::super::processes::wait_for("control: the session works again", || {
        // Its tab may have been replaced, and the stand-in opens no page in the new one.
        server.call("s", &["close"]).ok();
        open_blank(&server, "s");
        (server.call_within(60, "s", &["fill", "@e1", &script]).code == 0).then_some(())
    });
}
