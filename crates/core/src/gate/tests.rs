use super::*;
use crate::agent_browser::AgentBrowser;

#[test]
fn message_with_unknown_or_repeated_member_is_refused() {
    for text in [
        r#"{"id":1,"method":"Page.enable","method":"Browser.close"}"#,
        r#"{"id":1,"id":2,"method":"Page.enable"}"#,
        r#"{"id":1,"method":"Page.enable","sessionId":"a","sessionId":"b"}"#,
        r#"{"id":1,"method":"Page.enable","params":{},"params":{}}"#,
        r#"{"id":1,"method":"Page.enable","extra":1}"#,
        r#"{"id":"1","method":"Page.enable"}"#,
        r#"{"id":-1,"method":"Page.enable"}"#,
        r#"{"id":9007199254740992,"method":"Page.enable"}"#,
        r#"{"id":1.5,"method":"Page.enable"}"#,
        r#"{"method":"Page.enable"}"#,
        r#"{"id":1}"#,
        r#"{"id":1,"method":"Page.enable","params":[]}"#,
        r#"[{"id":1,"method":"Page.enable"}]"#,
        r#"[1,"Page.enable",{},"A"]"#,
        r#"{"id":1,"method":"Page.enable"} {}"#,
        "",
    ] {
        assert!(ClientMessage::parse(text).is_err(), "{text}");
    }
    let message = ClientMessage::parse(r#"{"id":1,"method":"Page\u002eenable","params":{"a":[1]},"sessionId":"A"}"#);
    let message = message.expect("control");
    assert_eq!((message.id, &*message.method, message.session_id.as_deref()), (1, "Page.enable", Some("A")));
    assert_eq!(message.params.map(serde_json::value::RawValue::get), Some(r#"{"a":[1]}"#));
}

#[test]
fn message_over_the_limit_is_refused() {
    let message = |length: usize| format!(r#"{{"id":1,"method":"{}"}}"#, "a".repeat(length));
    let rest = message(0).len();
    assert!(matches!(ClientMessage::parse(&message(MAX_MESSAGE - rest + 1)), Err(MessageError::TooLong(_))));
    assert!(ClientMessage::parse(&message(MAX_MESSAGE - rest)).is_ok(), "control");
}

#[test]
fn method_is_compared_exactly() {
    for method in ["page.reload", "Page.reload ", " Page.reload", "Page.Reload", "Page", "", "Page.reload\0"] {
        assert!(classify(AgentBrowser::Native, Level::Page, method).is_none(), "{method:?}");
    }
    assert!(classify(AgentBrowser::Native, Level::Page, "Page.reload").is_some(), "control");
}

#[test]
fn no_root_method_is_forwarded_at_any_level() {
    for rule in rules() {
        let domain = rule.method.split('.').next().expect("a domain");
        if matches!(domain, "Browser" | "Target" | "Storage" | "SystemInfo" | "Tethering" | "Tracing") {
            assert_ne!(rule.handling, Handling::Forward, "{}", rule.method);
        }
        assert!(!rule.levels.contains(&Level::Root) || rule.handling != Handling::Forward, "{}", rule.method);
    }
}

#[test]
fn only_web_and_blank_documents_are_known() {
    for (url, kind) in [
        ("https://a.example/", DocumentUrl::Web),
        ("HTTP://a.example", DocumentUrl::Web),
        ("about:blank", DocumentUrl::Blank),
        ("about:blank#a", DocumentUrl::Blank),
        ("about:srcdoc", DocumentUrl::Blank),
        ("", DocumentUrl::Blank),
        ("data:text/html,a", DocumentUrl::PageMade),
        ("blob:https://a.example/1", DocumentUrl::PageMade),
        ("chrome-error://chromewebdata/", DocumentUrl::ErrorPage),
        ("about:version", DocumentUrl::Internal),
        ("chrome://settings/", DocumentUrl::Internal),
        (" chrome://settings/", DocumentUrl::Internal),
        ("view-source:https://a.example/", DocumentUrl::Internal),
        ("file:///etc/passwd", DocumentUrl::Internal),
        ("filesystem:https://a.example/t/a", DocumentUrl::Internal),
        ("javascript:1", DocumentUrl::Internal),
        ("devtools://devtools/a", DocumentUrl::Internal),
        ("chrome-extension://a/", DocumentUrl::Internal),
        ("a.example", DocumentUrl::Internal),
    ] {
        assert_eq!(classify_url(url), kind, "{url}");
    }
}

#[test]
fn setup_neither_acts_nor_adds_a_script() {
    let add = "Page.addScriptToEvaluateOnNewDocument";
    for (params, expected) in [
        (r#"{"source":"","worldName":"w"}"#, true),
        (r#"{"source":"alert(1)"}"#, false),
        (r#"{"source":"","source":"alert(1)"}"#, false),
        ("{}", false),
    ] {
        assert_eq!(is_setup(add, Some(params)), expected, "{params}");
    }
    assert!(is_setup("Runtime.enable", None) && is_setup("Target.setAutoAttach", None));
    for rule in rules() {
        assert!(!(is_setup(rule.method, None) && is_act(rule.method)), "{}", rule.method);
    }
}
