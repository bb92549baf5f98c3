use super::*;
use crate::policy::file::{parse, parse_for_home};
use crate::session_id::{SessionId, Subject};

const STATE: &str = r#"{"cookies":[{"name":"sid","value":"k3-secret","domain":".A.example","path":"/","expires":1893456000.25,"httpOnly":true,"secure":true,"sameSite":"Lax"},
    {"name":"b","value":"\"x\"","domain":"a.example","path":"/p","expires":-1}],
    "origins":[{"origin":"HTTPS://A.example:443","localStorage":[{"name":"token","value":"k4-secret"}]},{"origin":"http://a.example:8080","localStorage":[]}]}"#;

fn state() -> StorageState {
    StorageState::parse(STATE).expect("valid")
}

#[test]
fn storage_state_is_read_and_normalized() {
    let state = state();
    let first = &state.cookies[0];
    assert_eq!((first.name.as_str(), first.value.as_str(), first.path.as_str()), ("sid", "k3-secret", "/"));
    assert_eq!((first.domain.as_str(), first.expires), (".a.example", Some(1_893_456_000)));
    assert!(first.http_only && first.secure && first.same_site == Some(SameSite::Lax));
    let second = &state.cookies[1];
    assert!(!second.http_only && !second.secure && second.same_site.is_none() && second.expires.is_none());
    assert_eq!(state.origins[0].origin, "https://a.example");
    assert_eq!(state.origins[0].local_storage[0].value, "k4-secret");
    assert_eq!(state.origins[1].origin, "http://a.example:8080");
    let inline = parse(&format!(r#"{{"browser":{{"state":{{"s":{STATE}}}}}}}"#)).expect("valid");
    assert_eq!(inline.browser_state(&SessionId::new("s").expect("an id")), Some(&StateSource::Inline(state)));
}

#[test]
fn partitioned_cookies_and_databases_are_read() {
    let read = |text: &str| StorageState::parse(text).expect(text);
    let partition = |members: &str| {
        let text = format!(
            r#"{{"cookies":[{{"name":"a","value":"","domain":"a.example","path":"/","secure":true{members}}}]}}"#
        );
        read(&text).cookies.remove(0).partition
    };
    let of = |has_cross_site_ancestor| {
        Some(CookiePartition { top_level_site: "https://shop.example.com".to_owned(), has_cross_site_ancestor })
    };
    let site = r#","partitionKey":"https://Shop.example.com""#;
    assert_eq!(partition(&format!(r#"{site},"_crHasCrossSiteAncestor":false"#)), of(false));
    assert_eq!(partition(&format!(r#"{site},"_crHasCrossSiteAncestor":true"#)), of(true));
    assert_eq!(partition(site), of(true));
    assert_eq!(partition(""), None);
    assert_eq!(partition(r#","_crHasCrossSiteAncestor":false"#), None, "it says nothing by itself");
    let database = r#"{"name":"d","version":1,"stores":[]}"#;
    let databases = read(&format!(r#"{{"origins":[{{"origin":"https://a.example","indexedDB":[{database}]}}]}}"#));
    assert_eq!(databases, read(r#"{"origins":[{"origin":"https://a.example"}]}"#), "they are left out");
}

#[test]
fn first_matching_state_in_file_order_applies() {
    let text =
        r#"{"browser":{"state":{"z-*":{"file":"~/z.json"},"*-1":{"file":"/1.json"},"z-1":{"file":"/z1.json"}}}}"#;
    let policy = parse_for_home(text, Some("/home/u".as_ref())).expect("valid");
    for (id, file) in [("z-1", Some("/home/u/z.json")), ("a-1", Some("/1.json")), ("z", None)] {
        let source = policy.browser_state(&SessionId::new(id).expect("an id"));
        assert_eq!(source.cloned(), file.map(|path| StateSource::File(path.into())), "{id}");
    }
}

#[test]
fn login_of_a_subject_is_for_its_sessions_only() {
    let text = r#"{"access":{"sessions":"own"},"browser":{"isolation":"session","state":{
        "mail-*":{"file":"/ada.json","subject":"ada"},"mail-**":{"file":"/bob.json","subject":"bob"},
        "wiki":{"file":"/all.json","subject":"*"},"*":{"file":"/unbound.json"}}}}"#;
    let policy = parse(text).expect("valid");
    let file = |name: &str, owner: Option<&str>| {
        let id = SessionId::new(name).expect("an id");
        let owner = owner.map(|owner| Subject::new(owner).expect(owner));
        let id = owner.map_or(id.clone(), |owner| id.owned_by(owner));
        policy.browser_state(&id).map(|source| match source {
            StateSource::File(path) => path.display().to_string(),
            StateSource::Inline(_) => String::new(),
        })
    };
    assert_eq!(file("mail-1", Some("ada")).as_deref(), Some("/ada.json"), "control");
    assert_eq!(file("mail-1", Some("bob")).as_deref(), Some("/bob.json"));
    assert_eq!(file("mail-1", Some("eve")), None, "a name alone is no authority");
    assert_eq!(file("wiki", Some("eve")).as_deref(), Some("/all.json"));
    assert_eq!(file("mail-1", None).as_deref(), Some("/unbound.json"), "without credentials there are no subjects");
    let problems: Vec<_> = policy.credential_problems().iter().map(ToString::to_string).collect();
    assert!(matches!(&problems[..], [one] if one.starts_with("browser.state.*: names no subject")), "{problems:?}");
}

#[test]
fn subject_needs_sessions_that_belong_to_one() {
    let text = r#"{"sessions":[{"match":"a"},{"match":"b","subject":"ada"}],
        "browser":{"state":{"c":{"file":"/c.json","subject":"*"},"d":{"file":"/d.json","subject":""}}}}"#;
    let problems: Vec<_> = parse(text).expect_err("problems").iter().map(ToString::to_string).collect();
    let mut places: Vec<_> =
        problems.iter().filter_map(|problem| problem.split_once(": ")).map(|(place, _)| place).collect();
    places.sort_unstable();
    assert_eq!(places, ["browser.state.c.subject", "browser.state.d.subject", "sessions[1].subject"], "{problems:?}");
    let own = text
        .replacen('{', r#"{"access":{"sessions":"own"},"#, 1)
        .replace(r#""state""#, r#""isolation":"session","state""#);
    assert!(parse(&own.replace(r#""subject":"""#, r#""subject":"ada""#)).is_ok(), "control");
}

#[test]
fn values_of_a_state_are_in_no_message() {
    let text = format!("{:?}", state());
    assert!(text.contains("sid") && !text.contains("secret"), "{text}");
    for text in [
        r#"{"cookies":[{"name":"a","value":"secret;","domain":"a.example","path":"/"}]}"#,
        r#"{"cookies":[{"name":"a=secret","value":"","domain":"secret/","path":"secret","expires":"secret","sameSite":["secret"]}]}"#,
        r#"{"origins":[{"origin":"https://user:secret@a.example","localStorage":"secret"}]}"#,
        r#"{"origins":[{"origin":"https://a.example/secret","localStorage":[{"name":"n","value":["secret"]}]}]}"#,
        r#"{"cookies":["secret"],"origins":"secret"}"#,
    ] {
        let problems = StorageState::parse(text).expect_err(text);
        assert!(
            !problems.is_empty() && problems.iter().all(|problem| !problem.to_string().contains("secret")),
            "{problems:?}"
        );
    }
}

#[test]
fn storage_states_with_problems_are_refused() {
    for (text, path) in [
        ("", ""),
        ("[]", ""),
        (r#"{"cookies":[],"cookies":[]}"#, "cookies"),
        (r#"{"cookies":[{"name":"a","value":"","domain":"a.example"}]}"#, "cookies[0].path"),
        (r#"{"origins":[{"localStorage":[]}]}"#, "origins[0].origin"),
        (r#"{"origins":[{"origin":"ftp://a.example"}]}"#, "origins[0].origin"),
        (r#"{"file":"/x"}"#, "file"),
        (
            r#"{"cookies":[{"name":"a","value":"","domain":"a.example","path":"/","partitionKey":"a.example"}]}"#,
            "cookies[0].partitionKey",
        ),
        (r#"{"origins":[{"origin":"https://a.example","indexedDB":{}}]}"#, "origins[0].indexedDB"),
    ] {
        let problems = StorageState::parse(text).expect_err(text);
        assert_eq!(problems.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), [path], "{text}");
    }
    assert_eq!(StorageState::parse("{}"), Ok(StorageState::default()), "control");
}
