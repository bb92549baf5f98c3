//! Masking and what has to stay readable: references and labels, and the words of a page that the agent typed itself.

use serde_json::Value;

use super::{
    super::{
        processes::wait_for,
        server::{CallReply, Server},
        words::plain,
    },
    acting::Page,
    agent_browsers,
    browser::GateBrowser,
    env, session_policy, shared_policy, shop, text_of,
};

/// Runs a test with both agent-browsers and both engines of snapshots in turn.
fn each_server(policy: &Value, test: impl Fn(&Server, &str)) {
    for program in agent_browsers() {
        for engine in ["gate", "agent-browser"] {
            let browser = GateBrowser::start();
            let mut policy = policy.clone();
            policy["snapshot"]["engine"] = engine.into();
            let server = env(&browser, &program, &policy).serve();
            test(&server, &format!("{} {engine}", program.display()));
        }
    }
}

/// Opens a page with both agent-browsers and both engines of snapshots in turn, and runs a test on it.
fn each(policy: &Value, page: &str, test: impl Fn(&Server, &str)) {
    each_server(policy, |server, name| {
        server.call_within(60, "s", &["open", &shop(page)]).ok();
        test(server, name);
    });
}

/// Returns the texts of a whole snapshot and of one of what a person could act on.
fn snapshots(server: &Server, session: &str) -> String {
    let read = |argv: &[&str]| server.call_within(60, session, argv).ok().page();
    format!("{}\n{}", read(&["snapshot"]), read(&["snapshot", "-i"]))
}

// Requirement 1.8.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn labels_with_key_words_keep_their_references() {
    for (page, texts) in [
        ("gate/mask-label", &["textbox \"Username:", "textbox \"Password:", "button \"Log in\""][..]),
        (
            "gate/mask-names",
            &["textbox \"Password:", "link \"Cookie:\"", "button \"Authorization:\"", "button \"Last\""],
        ),
    ] {
        each(&session_policy(), page, |server, name| {
            for argv in [&["snapshot"][..], &["snapshot", "-i"]] {
                let reply = server.call("s", argv).ok();
                assert!(!text_of(&reply).contains("hunter2"), "{name}: {reply:?}");
                let (data, page) = (reply.data(), reply.page());
                for text in texts {
                    let line = page.lines().find(|line| line.contains(text));
                    assert!(line.is_some_and(|line| line.contains("ref=e")), "{name}: `{text}` in {page}");
                }
                let references = data["refs"].as_object().unwrap();
                let is_shown =
                    |reference: &&String| [',', ']'].iter().any(|end| page.contains(&format!("ref={reference}{end}")));
                assert_eq!(references.keys().filter(is_shown).count(), references.len(), "{name}: {data}");
                assert!(references.values().any(|element| element["name"] == "Last" || element["name"] == "Log in"));
            }
        });
    }
}

// Requirement 1.8.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn labels_keep_their_references_in_text_style() {
    let mut policy = session_policy();
    policy["output"]["style"] = "text".into();
    each_server(&policy, |server, name| {
        plain(server, &["open", &shop("gate/mask-names")]);
        let (page, _) = plain(server, &["snapshot", "-i"]);
        for text in ["textbox \"Password:", "link \"Cookie:\"", "button \"Authorization:\"", "button \"Last\""] {
            let line = page.lines().find(|line| line.contains(text));
            assert!(line.is_some_and(|line| line.contains("ref=e")), "{name}: `{text}` in {page}");
        }
        assert!(!page.contains("hunter2"), "{name}: {page}");
    });
}

/// Checks that a page is shown with all of its words.
#[track_caller]
fn assert_words(server: &Server, session: &str, name: &str) {
    let page = snapshots(server, session);
    for text in ["Site admin", "Add admin user", "administration"] {
        assert!(page.contains(text), "{name}: {page}");
    }
}

fn value_of(server: &Server, field: &str) -> CallReply {
    server.call("s", &["get", "value", field]).ok()
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn typed_secret_masks_no_words_of_the_page() {
    each(&session_policy(), "gate/mask-word", |server, name| {
        server.call("s", &["fill", "#user", "admin"]).ok();
        for field in ["#code", "#once"] {
            let filled = server.call("s", &["fill", field, "admin"]).ok();
            assert!(!text_of(&filled).contains("admin"), "{name}: {filled:?}");
        }
        assert_words(server, "s", name);
        assert!(snapshots(server, "s").contains("sent admin admin."), "{name}");
        for field in ["#code", "#once"] {
            let value = value_of(server, field);
            assert!(!value.stdout.contains("admin"), "{name}: {value:?}");
        }
        let page = server.call("s", &["snapshot"]).ok().page();
        let fields = page.lines().filter(|line| line.contains("textbox \"Code") || line.contains("textbox \"Once"));
        assert!(fields.clone().count() == 2 && !fields.clone().any(|line| line.contains("admin")), "{name}: {page}");
        if name.ends_with("gate") {
            server.call("s", &["click", "role=button[name=\"Add admin user\"]"]).ok();
        }
        assert!(!server.env().audit().contains("admin"), "{name}");
    });
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_typed_in_parts_masks_no_words() {
    each(&session_policy(), "gate/mask-word", |server, name| {
        server.call("s", &["type", "#code", "ad"]).ok();
        for key in ["m", "i", "x", "Backspace", "n"] {
            server.call("s", &["press", key]).ok();
        }
        assert_words(server, "s", name);
        server.call("s", &["type", "#code", "istration"]).ok();
        assert_words(server, "s", name);
        assert!(snapshots(server, "s").contains("sent administration"), "{name}");
        let value = value_of(server, "#code");
        assert!(value.stdout.contains("***") && !value.stdout.contains("admin"), "{name}: {value:?}");
    });
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_that_was_not_typed_stays_masked() {
    each(&session_policy(), "gate/mask-saved", |server, name| {
        let check = |is_changed: bool| {
            let page = snapshots(server, "s");
            assert!(page.contains("Say ***, not sesamer. Pin ***, not 147110."), "{name}: {page}");
            assert!(page.contains("Read more"), "{name}: control: {page}");
            assert!(!is_changed || page.contains("sent ***"), "{name}: {page}");
            assert!(!value_of(server, "#word").stdout.contains("sesame"), "{name}");
        };
        check(false);
        // The agent's own text makes neither the saved part its own nor a word of the page a secret.
        server.call("s", &["type", "#word", "more"]).ok();
        check(true);
        // A guess is not confirmed.
        for text in ["sesame", "4711"] {
            server.call("s", &["fill", "#word", text]).ok();
            check(true);
        }
        server.call("s", &["fill", "#word", "typed"]).ok();
        let page = snapshots(server, "s");
        assert!(page.contains("sent typed.") && page.contains("Say ***"), "{name}: control: {page}");
    });
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn typed_secret_is_masked_for_other_sessions() {
    each(&shared_policy(), "gate/mask-word", |server, name| {
        server.call("s", &["fill", "#code", "swordfish"]).ok();
        assert!(snapshots(server, "s").contains("sent swordfish"), "{name}");
        let other = snapshots(server, "other");
        assert!(other.contains("sent *** .") || other.contains("sent ***."), "{name}: {other}");
        assert!(!other.contains("swordfish"), "{name}: {other}");
    });
}

/// Waits until the address of the page has a query, and returns it.
fn url_with_query(page: &Page) -> String {
    wait_for("the query", || {
        let url = page.ok(&["get", "url"])["url"].as_str().unwrap_or_default().to_owned();
        url.contains('=').then_some(url)
    })
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn long_rest_of_a_secret_in_its_field_is_masked() {
    for (field, button, rest, deleted, short) in
        [("#pw", "#go", "Zq7@kPw9!tX", "9", "Zq7"), ("#code", "#send", "48392", "3", "483")]
    {
        Page::each_at("gate/rest", |page| {
            assert!(page.call(&["screenshot"]).ok().picture.is_some(), "control: nothing is shown as text");
            for argv in [&["focus", field][..], &["press", "End"], &["press", "Backspace"]] {
                page.ok(argv);
            }
            assert_eq!(page.ok(&["get", "text", "#mirror"])["text"], "holds ***");
            assert_eq!(page.ok(&["get", "count", &format!("text=holds {short}")])["count"], 0);
            page.refused(&["screenshot"], "plain-value-visible", &[]);
            page.ok(&["click", button]);
            let url = url_with_query(page);
            assert!(url.ends_with(&format!("{}=***", field.trim_start_matches('#'))), "{url}");
            // A guess of it is confirmed by no mask.
            page.ok(&["fill", "#note", rest]);
            assert_eq!(page.ok(&["get", "value", "#note"])["value"], rest);
            // A short rest is shown where the page shows it.
            for argv in [&["focus", field][..], &["press", "End"], &["press", "Backspace", deleted]] {
                page.ok(argv);
            }
            assert_eq!(page.ok(&["get", "text", "#mirror"])["text"], format!("holds {short}"), "control");
        });
    }
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn value_shown_as_dots_is_in_no_snapshot() {
    for argv in [&["snapshot"][..], &["snapshot", "-i"], &["snapshot", "--find", "passcode"]] {
        Page::each_at("gate/dots-shown", |page| {
            let view = page.call(argv).ok().page();
            assert!(!view.contains("7Qx4"), "{argv:?}: {view}");
            let field = view.lines().find(|line| line.contains("textbox \"Passcode\""));
            assert!(field.is_some_and(|line| line.contains("[filled]")), "{argv:?}: {view}");
            // What a snapshot has found is masked elsewhere too.
            assert_eq!(page.ok(&["get", "text", "#echo"])["text"], "Your passcode is *** for now.");
            // Controls: these are shown.
            let view = page.call(&["snapshot"]).ok().page();
            assert!(view.contains("[value=\"Ada Lovelace\"]") && view.contains("for now."), "{view}");
        });
    }
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn field_that_shows_dots_by_its_style_is_secret() {
    Page::each_at("gate/dots", |page| {
        for (argv, member) in [
            (&["get", "value", "#pin"][..], "value"),
            (&["get", "attr", "#pin", "value"], "value"),
            (&["get", "value", "#word"], "value"),
            (&["get", "text", "#word"], "text"),
            (&["get", "html", "#word"], "html"),
            (&["get", "value", "#note"], "value"),
            (&["get", "text", "#note"], "text"),
            (&["get", "html", "#note"], "html"),
        ] {
            assert_eq!(page.ok(argv)[member], "***", "{argv:?}");
        }
        for (field, words) in [("#pin", "pin"), ("#word", "word"), ("#note", "note"), ("#note", "absent")] {
            page.refused(&["select-text", field, words], "secret-observable", &["holds a secret"]);
        }
        page.ok(&["fill", "#pin", "4711"]);
        assert_eq!(page.ok(&["get", "value", "#pin"])["value"], "***");
        // Controls: these are shown.
        assert_eq!(page.ok(&["get", "value", "#name"])["value"], "Ada Lovelace");
        assert_eq!(page.ok(&["get", "text", "#shown"])["text"], "Ada and Charles");
        page.ok(&["select-text", "#shown", "Charles"]);
    });
}

// Requirement 6.3.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_in_other_bytes_and_blanks_is_masked() {
    Page::each_at("gate/mask-latin", |page| {
        assert_eq!(page.ok(&["get", "text", "#other"])["text"], "p%E4 is readable", "control");
        assert_eq!(page.ok(&["get", "text", "#escaped"])["text"], "escaped ***.");
        assert_eq!(page.ok(&["get", "text", "#lines"])["text"], "***");
        let link = page.call(&["get", "attr", "#link", "href"]).ok().stdout;
        assert!(link.contains("/x/***") && !link.contains("horse"), "{link}");
        page.ok(&["click", "#go"]);
        let url = url_with_query(page);
        assert!(url.ends_with("?pp=***"), "{url}");
    });
}
