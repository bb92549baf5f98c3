//! Answers say what happened: no failure for what the page took, no success for what it did not, and the doubt where that is not known.

use std::path::Path;
use std::thread;

use serde_json::Value;

use super::{
    super::{hosts::meet, test_env},
    acting::{Page, reference_in},
    browser::GateBrowser,
    env, own_policy, shop,
};

const PATH: &str = "gate/answers";

/// Fails unless an act is done with this doubt.
#[track_caller]
fn doubts(page: &Page, argv: &[&str], doubt: &str) {
    let data = page.ok(argv);
    assert!(data["doubt"].as_str().is_some_and(|text| text.contains(doubt)), "{argv:?}: no `{doubt}`: {data}");
}

/// Fails unless an act is done without a doubt.
#[track_caller]
fn is_done(page: &Page, argv: &[&str]) {
    assert_eq!(page.ok(argv)["doubt"], Value::Null, "{argv:?}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn text_that_a_page_takes_away_is_no_failure() {
    Page::each_at(PATH, |page| {
        doubts(page, &["fill", "#chips", "ada"], "the field is empty after it, the page changed");
        doubts(page, &["type", "#chips", "xy"], "the field is empty after it");
        assert_eq!(page.ok(&["get", "text", "#list"])["text"], "ada\nx\ny");
        doubts(page, &["fill", "#tags", "eve"], "by itself");
        page.assert_log("eve");
        doubts(page, &["type", "#terminal", "ls"], "the page handled the keys by itself");
        page.ok(&["focus", "#plain"]);
        page.assert_log("terminal has ls");
        doubts(page, &["type", "#grid", "12"], "another element");
        assert_eq!(page.ok(&["get", "value", "#cell"])["value"], "12");
        // An editor empties the field that it hides.
        is_done(page, &["type", "#hidden-field", " new"]);
        assert_eq!(page.ok(&["get", "text", "#shown"])["text"], "old new");
        doubts(page, &["fill", "#hidden-field", "!"], "may have added");
        // Control: nothing came of it.
        page.refused(&["fill", "#stubborn", "other"], "no-effect", &["holds \"same\""]);
        page.refused(&["type", "#stubborn", "x"], "no-effect", &["holds \"same\""]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn filling_says_where_a_page_listens_to_keys() {
    Page::each_at(PATH, |page| {
        doubts(page, &["fill", "#filter", "abc"], "`type` sends");
        page.ok(&["type", "#filter", "d"]);
        page.assert_log("filtered abcd");
        is_done(page, &["fill", "#search", "abc"]);
        is_done(page, &["fill", "#plain", "abc"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn keys_that_nothing_takes_are_told_apart() {
    Page::each_at(PATH, |page| {
        doubts(page, &["type", "#deaf", "abc"], "a `button` holds no text, and the page shows no change");
        is_done(page, &["type", "#days", "t"]);
        is_done(page, &["type", "#game", "w"]);
        for act in ["fill", "type"] {
            page.refused(&[act, "#undisplayed", "x"], "element-hidden", &["is not displayed"]);
            is_done(page, &[act, "#plain", "x"]);
            // A part of an editor, which has the focus the second time.
            is_done(page, &[act, "#second", "new"]);
            is_done(page, &[act, "#first", "1"]);
        }
        assert_eq!(page.ok(&["get", "text", "#second"])["text"], "newnew");
        assert_eq!(page.ok(&["get", "text", "#first"])["text"], "11");
        page.ok(&["click", "#keep"]);
        for act in ["fill", "type"] {
            page.refused(&[act, "#plain", "x"], "no-effect", &["does not get the focus"]);
            is_done(page, &[act, "#kept", "x"]);
        }
        assert_eq!(page.ok(&["get", "value", "#kept"])["value"], "xx");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_is_not_there_or_not_seen_is_told_as_it_is() {
    Page::each_at(PATH, |page| {
        // A list by which something is added is as before.
        doubts(page, &["select", "#add", "red"], "the page changed, and the select box has chosen \"Add…\"");
        assert_eq!(page.ok(&["get", "text", "#tags-added"])["text"], "red");
        // Texts that nobody sees, and the text of a field.
        assert_eq!(page.ok(&["get", "text", "#quiet"])["text"], "");
        page.ok(&["fill", "#draft", "Hello"]);
        assert_eq!(page.ok(&["get", "text", "#draft"])["text"], "Hello");
        // The cursor that comes with the focus.
        page.ok(&["focus", "#search-for"]);
        page.ok(&["type", "#search-for", " shoes"]);
        assert_eq!(page.ok(&["get", "value", "#search-for"])["value"], "red shoes");
        page.ok(&["press", "Home"]);
        page.ok(&["type", "#search-for", "big "]);
        assert_eq!(page.ok(&["get", "value", "#search-for"])["value"], "big red shoes", "control: put there by a key");
        // What is off the window, until it is pulled in.
        assert_eq!(page.ok(&["is", "visible", "#drawer"])["visible"], false);
        page.ok(&["wait", "--gone", "#drawer"]);
        page.refused(&["click", "#in-drawer"], "element-hidden", &["not visible"]);
        page.ok(&["click", "#pull"]);
        assert_eq!(page.ok(&["is", "visible", "#drawer"])["visible"], true);
        is_done(page, &["click", "#in-drawer"]);
        page.refused(&["scroll", "#unseen"], "element-hidden", &["not displayed"]);
        // Of several, the one that is seen.
        let seen = page.call(&["snapshot", "-s", ".modal"]).ok().page();
        assert!(seen.contains("Delete it?") && !seen.contains("Old modal"), "{seen}");
        // Beside a web component, what is not there yet.
        assert_eq!(page.ok(&["get", "count", "#cart li"])["count"], 0);
        assert_eq!(page.ok(&["is", "visible", "#cart li"])["visible"], false);
        page.ok(&["click", "#fill-cart"]);
        is_done(page, &["click", "#cart li"]);
        page.assert_log("bought");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn acts_on_kinds_of_libraries_reach_what_they_name() {
    Page::each_at("gate/kinds", |page| {
        // An entry of a tree is pressed in its own line, and a row beside the link in it.
        for (selector, log) in [
            ("role=treeitem[name=src]", "entry src"),
            ("role=treeitem[name=b.rs]", "entry b.rs"),
            ("#order-17", "order opened"),
            ("#ann", "mail"),
            ("#tile", "picture opened"),
            ("#like", "liked"),
        ] {
            is_done(page, &["click", selector]);
            page.assert_log(log);
        }
        // A page that only asks if its form is right sends none.
        page.ok(&["focus", "#crew"]);
        is_done(page, &["click", "#more"]);
        page.assert_log("more is shown");
        is_done(page, &["check", "#terms"]);
        assert_eq!(page.ok(&["is", "enabled", "#send"])["enabled"], false);
        // Options may have one value, and it is not known that they are others.
        for option in ["Team", "Enterprise", "Free"] {
            is_done(page, &["select", "#plan", option]);
            page.assert_log(option);
        }
        for (field, text, value) in [("#count", "0", "10"), ("#count", "5", "105"), ("#port", "@x.org", "ann@x.org")] {
            is_done(page, &["type", field, text]);
            assert_eq!(page.ok(&["get", "value", field])["value"], value, "{field}");
        }
        is_done(page, &["click", "text=Manuals"]);
        page.call(&["type", "#wind", "5"]);
        assert_ne!(page.ok(&["get", "value", "#wind"])["value"], "50");
        for mixed in ["#all", "#folder"] {
            page.refused(&["uncheck", mixed], "no-effect", &["is partly checked"]);
        }
        is_done(page, &["check", "#all"]);
        page.assert_log("all pressed");
        is_done(page, &["uncheck", "#all"]);
        page.ok(&["wait", "#veil"]);
        page.ok(&["click", "#log"]);
        page.ok(&["wait", "--gone", "#veil"]);
        assert_eq!(page.ok(&["is", "visible", "#veil"])["visible"], false);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn act_that_a_dialog_ends_is_done_if_all_was_sent() {
    Page::each_at("gate/ends", |page| {
        let answer = || drop(page.ok(&["dialog", "accept"]));
        let opens = |argv: &[&str], message: &str| {
            assert_eq!(page.ok(argv)["dialog"]["message"], message, "{argv:?}");
            answer();
        };
        opens(&["type", "#pin", "1234"], "pin 1234");
        assert_eq!(page.ok(&["get", "value", "#pin"])["value"], "1234");
        opens(&["drag", "#moved", "#day"], "Move it?");
        page.assert_log("moved");
        // What was not sent is no act.
        page.ok(&["fill", "#pin", ""]);
        page.refused(&["type", "#pin", "12345"], "dialog-open", &["after 4 of 5 keys"]);
        answer();
        for act in ["fill", "type"] {
            page.ok(&["focus", "#first"]);
            page.refused(&[act, "#next", "x"], "dialog-open", &["before the act was complete"]);
            answer();
            assert_eq!(page.ok(&["get", "value", "#next"])["value"], "");
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pages_hear_of_an_act_as_of_a_persons() {
    Page::each_at("gate/ends", |page| {
        page.ok(&["fill", "#tag", "red"]);
        page.ok(&["click", "#other"]);
        page.assert_log("nothing red other");
        page.ok(&["fill", "#tag", "blue"]);
        page.ok(&["type", "#tag", "s"]);
        page.ok(&["click", "#other"]);
        page.assert_log("nothing red other blue blues other");
        page.ok(&["select", "#teams", "A", "C"]);
        assert_eq!(page.ok(&["get", "value", "#teams"])["value"], "a\nc");
        let seen = page.call(&["snapshot", "-i"]).ok().page();
        let when = seen.lines().find(|line| line.contains("\"When\""));
        assert!(when.is_some_and(|line| !line.contains("[invalid")), "nothing is entered yet: {seen}");
        let named = ["textbox \"When\"", "requested format. Three capitals"];
        page.refused(&["click", "#book"], "no-effect", &named);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn texts_of_controls_mean_the_controls() {
    Page::each_at("gate/ends", |page| {
        page.ok(&["click", "text=Mail address"]);
        page.assert_log("nothing mail");
        assert_eq!(page.ok(&["is", "checked", "text=Pro"])["checked"], true);
        page.ok(&["check", "text=Hobby"]);
        assert_eq!(page.ok(&["is", "checked", "text=Hobby"])["checked"], true);
        assert_eq!(page.ok(&["is", "checked", "text=Pro"])["checked"], false);
        page.ok(&["click", "text=Airplane"]);
        assert_eq!(page.ok(&["is", "checked", "#plane"])["checked"], false);
        page.ok(&["check", "text=Airplane"]);
        assert_eq!(page.ok(&["is", "checked", "#plane"])["checked"], true);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn http_error_without_a_page_is_opened_and_told() {
    Page::each_at(PATH, |page| {
        let url = shop("no-content");
        let opened = page.ok(&["open", &url]);
        assert_eq!((&opened["url"], &opened["status"]), (&Value::from(url), &Value::from(404)), "{opened}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn url_of_a_tab_that_is_loading_is_no_refusal() {
    Page::each_at(PATH, |page| {
        page.ok(&["open", &shop("later-tab")]);
        page.ok(&["click", "#open"]);
        let later = shop("meet?later-tab");
        let first = thread::scope(|scope| {
            let first = scope.spawn(|| page.ok(&["get", "url"])["url"].clone());
            meet("later-tab");
            first.join().expect("a URL")
        });
        assert!(first == "about:blank" || first == later.as_str(), "{first}");
        page.ok(&["wait", "--text", "met"]);
        assert_eq!(page.ok(&["get", "url"])["url"], later, "the tab is still there");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn waits_see_the_texts_that_a_snapshot_shows() {
    Page::each_at("gate/ends", |page| {
        assert_eq!(page.ok(&["get", "text", "#call"])["text"], "Call 555-1234 or new! today.");
        assert_eq!(page.ok(&["get", "text", "my-badge"])["text"], "new!");
        page.ok(&["select", "#big", "Item 2400"]);
        assert_eq!(page.ok(&["get", "value", "#big"])["value"], "v2400");
        for text in ["Bestellung", "Code: 12", "Go now", "Three", "new!"] {
            page.ok(&["wait", "--text", text]);
        }
        page.waits_in_vain(&["wait", "--text", "Nobody sees it"], "element-not-found");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn elements_are_scrolled_out_from_under_bars_of_every_kind() {
    Page::each_at("gate/ends", |page| {
        page.ok(&["click", "#four"]);
        page.assert_log("nothing four");
        // Behind a bar beside the box that scrolls.
        page.ok(&["scroll", "-s", "#app main", "down", "360"]);
        page.ok(&["click", "#below"]);
        page.assert_log("nothing four below");
        // In a frame that reaches behind the bar of the page around it.
        let framed = page.reference("button", "Framed");
        let top = |reference: &str| page.ok(&["get", "box", reference])["box"]["y"].as_f64().unwrap();
        page.ok(&["scroll", "#tall"]);
        let away = format!("{:.0}", page.ok(&["get", "box", "#tall"])["box"]["y"].as_f64().unwrap() + 270.0);
        page.ok(&["scroll", if away.starts_with('-') { "up" } else { "down" }, away.trim_start_matches('-')]);
        assert!(top("#tall") < -200.0, "control: it is behind the bar");
        page.ok(&["click", &framed]);
        page.assert_log("framed");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_scrolls_is_told_apart_from_what_is_locked() {
    Page::each_at("gate/framed", |page| is_done(page, &["scroll", "down", "500"]));
    Page::each_at("gate/locked", |page| {
        page.refused(&["scroll", "down", "500"], "no-effect", &["nothing scrolls down"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn acts_know_what_is_scrolled_away_folded_and_behind() {
    Page::each_at("gate/scrolled", |page| {
        // The label comes before the value, which nobody sees.
        for (option, label) in [("A", "A"), ("C", "C"), ("1", "A")] {
            is_done(page, &["select", "#country", option]);
            page.assert_log(label);
        }
        let options = "[options=[\"Any\",\"France: Paris\",\"Lyon\",\"Texas: Austin\",\"Texas: Paris\"]]";
        let seen = page.call(&["snapshot", "-i"]).ok().page();
        assert!(seen.contains(options), "{seen}");
        for (option, log) in [
            ("Texas: Paris", "Paris in Texas"),
            ("France: Paris", "Paris in France"),
            ("Austin", "Austin in Texas"),
            ("France: Lyon", "Lyon in France"),
        ] {
            is_done(page, &["select", "#city", option]);
            page.assert_log(log);
        }
        page.refused(&["select", "#city", "Texas: Lyon"], "option-unknown", &["Austin"]);
        page.ok(&["click", "#text"]);
        is_done(page, &["type", "#text", " END"]);
        assert_eq!(page.ok(&["get", "value", "#text"])["value"], "one\ntwo is longer\nthree END");
        assert_eq!(page.ok(&["is", "visible", "#answer"])["visible"], false);
        page.waits_in_vain(&["wait", "--text", "answer is 42"], "element-not-found");
        assert_eq!(page.ok(&["is", "checked", "#wifi"])["checked"], true);
        page.ok(&["click", "#ask"]);
        for act in ["fill", "type"] {
            page.refused(&[act, "#mail", "hello world"], "element-disabled", &["behind a dialog"]);
        }
        page.refused(&["select", "#country", "B"], "element-disabled", &["behind a dialog"]);
        assert_eq!(page.ok(&["get", "title"])["title"], "Scrolled");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn boxes_with_states_of_their_own_are_checked() {
    Page::each_at(PATH, |page| {
        for (selector, attribute, on) in [("#row", "aria-pressed", "true"), ("#star", "data-state", "checked")] {
            for (act, is_on) in [("check", true), ("check", true), ("uncheck", false)] {
                is_done(page, &[act, selector]);
                let state = page.ok(&["get", "attr", selector, attribute]);
                assert_eq!(state["value"] == on, is_on, "{act} {selector}: {state}");
            }
        }
        doubts(page, &["check", "#painted"], "the page changed it");
        page.refused(&["check", "#stuck"], "no-effect", &["still not checked"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn form_that_the_browser_refuses_is_not_sent() {
    Page::each_at(PATH, |page| {
        let seen = page.call(&["snapshot"]).ok();
        let message = page.refused(
            &["click", "#send"],
            "no-effect",
            &["not sent", "fill out this field", "missing an '@'", "requested format"],
        );
        assert_eq!(reference_in(&message, 0), seen.reference("textbox", "Name"));
        page.ok(&["fill", "#name", "Ada"]);
        page.ok(&["fill", "#mail", "ada@example.com"]);
        let message = page.refused(&["press", "Enter"], "no-effect", &["not sent", "textbox \"Code\" [ref=e"]);
        assert!(!message.contains("Mail"), "{message}");
        // Control: a form that its page checks by itself, and one that is sent.
        is_done(page, &["click", "#check-own"]);
        page.assert_log("own checked");
        page.ok(&["fill", "#code", "12"]);
        page.ok(&["click", "#send"]);
        assert!(page.ok(&["get", "url"])["url"].as_str().unwrap().contains("sent=1"));
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn refused_form_in_a_shadow_tree_or_frame_is_not_sent() {
    Page::each_at("gate/apart", |page| {
        for place in ["open", "closed", "frame"] {
            let title = if place == "frame" { "Frame" } else { place };
            let (field, send) = (format!("{title} name"), format!("Send {place}"));
            let named = format!("textbox \"{field}\" [ref=e");
            let send = page.reference("button", &send);
            page.refused(&["click", &send], "no-effect", &["not sent", "fill out this field", &named]);
            let field = page.reference("textbox", &field);
            if place != "closed" {
                page.ok(&["focus", &field]);
                page.refused(&["press", "Enter"], "no-effect", &["not sent", "fill out this field", &named]);
            }
            page.assert_log(if place == "closed" { "open sent" } else { "nothing" });
            // Controls: with a name it is sent, by the button and by the key.
            page.ok(&["fill", &field, "Ada"]);
            is_done(page, &["click", &send]);
            page.assert_log(&format!("{place} sent"));
            page.ok(&["focus", &field]);
            is_done(page, &["press", "Enter"]);
            if place == "closed" {
                page.open();
            }
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pointer_moves_where_it_already_is() {
    Page::each_at(PATH, |page| {
        page.ok(&["click", "#moves"]);
        page.ok(&["hover", "#moves"]);
        page.assert_log("moved again");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn press_waits_for_what_changes_under_the_pointer() {
    Page::each_at(PATH, |page| {
        is_done(page, &["click", "#shrinking"]);
        page.assert_log("shrinking pressed");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn contexts_of_editing_are_filled_and_typed_into() {
    Page::each_at(PATH, |page| {
        for selector in ["#ink", "#zero"] {
            let name = selector.trim_start_matches('#');
            for (argv, text) in [
                (["fill", selector, "one"], "one"),
                (["type", selector, " 2"], "one 2"),
                (["fill", selector, "three"], "three"),
            ] {
                is_done(page, &argv);
                page.assert_log(&format!("{name} has {text}"));
            }
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn answers_in_text_name_what_the_page_did() {
    let browser = GateBrowser::start();
    let mut policy = own_policy();
    policy["output"]["style"] = "text".into();
    let server = env(&browser, Path::new("/nonexistent/agent-browser"), &policy).serve();
    let call = |argv: &[&str]| server.begin("s", argv, Some(60)).text();
    assert!(call(&["open", &shop("gate/alert")]).starts_with("opened "), "a dialog in the load");
    call(&["dialog", "accept"]);
    call(&["open", &shop(PATH)]);
    assert_eq!(call(&["dblclick", "#log"]), "double-clicked");
    for selector in ["#again", "#reload"] {
        assert_eq!(call(&["click", selector]), "clicked\nthe page was loaded again", "{selector}");
    }
    assert_eq!(call(&["click", "#log"]), "clicked", "control");
    assert!(call(&["type", "#chips", "x"]).starts_with("typed; the field is empty after it"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn tab_that_waits_for_its_server_is_named_and_listed() {
    let hosts = test_env::hosts();
    let browser = GateBrowser::start();
    let mut policy = own_policy();
    policy["output"]["style"] = "text".into();
    let server = env(&browser, test_env::no_agent_browser(), &policy).serve();
    let call = |argv: &[&str]| server.begin("s", argv, Some(60)).text();
    call(&["open", &shop("gate/beside")]);
    let (held, other) = (shop("held?blank-tab"), shop("held?other-blank-tab"));
    assert_eq!(call(&["click", "#tab"]), format!("clicked\na new tab is loading: {held}"));
    let listed = call(&["tab", "list"]);
    assert!(listed.contains("\u{2192} [0] \"Beside\"") && listed.contains(&held), "{listed}");
    assert!(call(&["tab", "1"]).contains("still waits for its server"));
    assert!(call(&["tab", "close", "1"]).starts_with("closed the tab"));
    let listed = call(&["tab", "list"]);
    assert!(listed.contains("Beside") && !listed.contains(&held), "{listed}");
    // Control: one whose server answers is a tab as any other.
    assert!(call(&["click", "#other-tab"]).contains(&format!("a new tab is loading: {other}")));
    hosts.release("other-blank-tab");
    assert!(call(&["tab", "1"]).contains(&other));
    assert!(call(&["snapshot"]).contains("This is /held"));
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn words_of_what_is_empty_are_no_value() {
    Page::each_at("gate/empty", |page| {
        let seen = page.call(&["snapshot"]).ok().page();
        let line = |name: &str| seen.lines().find(|line| line.contains(&format!("\"{name}\" ["))).unwrap_or_default();
        for (name, words) in [
            ("Story", "Once upon a time"),
            ("Cell", "import tides"),
            ("Country", "Pick country"),
            ("Size", "Pick a size"),
        ] {
            let line = line(name);
            assert!(
                line.contains(&format!("[placeholder=\"{words}\"]")) && !line.contains("[value="),
                "{name}: {seen}"
            );
        }
        assert!(line("Fit").contains("[value=\"Loose\"]"), "control: {seen}");
        let value = |selector: &str| page.ok(&["get", "value", selector])["value"].clone();
        assert_eq!((value("#slate"), value("#cell"), value("#written")), ("".into(), "".into(), "high water".into()));
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn text_goes_behind_that_of_an_editor_with_the_focus() {
    Page::each_at("gate/empty", |page| {
        page.ok(&["type", "#letter", " dear Bob"]);
        assert_eq!(page.ok(&["get", "text", "#letter"])["text"], "Dear Ann, dear Bob");
        // Control: where somebody has put the cursor, the text goes there.
        page.ok(&["press", "Control+Home"]);
        page.ok(&["type", "#letter", "My "]);
        assert_eq!(page.ok(&["get", "text", "#letter"])["text"], "My Dear Ann, dear Bob");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn option_that_a_field_suggests_is_chosen() {
    Page::each_at("gate/lists", |page| {
        let seen = page.call(&["snapshot", "-i"]).ok();
        let country = seen.reference("combobox", "Country");
        for (option, value) in [("Germany", "DE"), ("FR", "FR"), ("Paris", "Paris")] {
            assert_eq!(page.ok(&["select", &country, option])["selected"], serde_json::json!([option]));
            page.assert_log(&format!("change {value}"));
            assert_eq!(page.ok(&["get", "value", "#country"])["value"], value, "{option}");
        }
        let options = ["suggests the options \"Germany\", \"France\", \"Paris\"", "`fill` enters any text"];
        page.refused(&["select", &country, "Spain"], "option-unknown", &options);
        page.refused(&["select", &country, "Italy"], "element-disabled", &["Italy"]);
        page.refused(&["select", &country, "Paris", "France"], "option-unknown", &["takes one"]);
        page.refused(&["select", "#locked", "Paris"], "element-read-only", &["read-only"]);
        is_done(page, &["fill", &country, "Spain"]);
        is_done(page, &["fill", &country, "DE"]);
        doubts(page, &["fill", &country, "Germany"], "stands for \"DE\", which `select` enters");
        is_done(page, &["select", "#day", "Christmas"]);
        assert_eq!(page.ok(&["get", "value", "#day"])["value"], "2031-12-25");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn field_that_a_list_hides_is_pressed_by_what_is_seen() {
    Page::each_at("gate/lists", |page| {
        for name in ["city", "crew"] {
            is_done(page, &["click", &format!("#{name}-field")]);
            page.assert_log(&format!("{name} pressed"));
            is_done(page, &["click", "#other"]);
            page.assert_log("other pressed");
        }
        page.refused(&["select", "#city-field", "Rome"], "option-unknown", &["click it to see its choices"]);
        // The control that the page shows for a list that nobody sees.
        let seen = page.call(&["snapshot", "-i"]).ok();
        let owner = seen.reference("combobox", "Owner");
        assert!(seen.page().contains("[value=\"None\"]"), "{}", seen.page());
        let message = page.refused(&["select", "#owner", "Ines Costa"], "element-hidden", &["another control"]);
        assert_eq!(reference_in(&message, 0), owner);
        is_done(page, &["click", &owner]);
        page.assert_log("owner opened");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn texts_that_a_style_adds_are_found_as_they_are_shown() {
    Page::each_at("gate/lists", |page| {
        let seen = page.call(&["snapshot"]).ok().page();
        assert!(seen.contains("\"Code: 12 kg\"") && seen.contains("\"Shown instead\""), "{seen}");
        for text in ["Code: 12 kg", "Shown instead"] {
            page.ok(&["wait", "--text", text]);
            page.ok(&["wait", &format!("text=\"{text}\"")]);
        }
        for text in ["12", "Code: 12 kg"] {
            is_done(page, &["click", &format!("text=\"{text}\"")]);
            page.assert_log("weight pressed");
            is_done(page, &["click", "#other"]);
            page.assert_log("other pressed");
        }
        page.waits_in_vain(&["wait", "--text", "Hidden words"], "element-not-found");
        page.waits_in_vain(&["wait", "text=\"Code: 12\""], "element-not-found");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn mark_of_a_tree_of_components_opens_its_entry() {
    Page::each_at("gate/lists", |page| {
        let lines = |word: &str| {
            let seen = page.call(&["snapshot", "-i"]).ok().page();
            seen.lines().filter(|line| line.contains(word)).map(str::to_owned).collect::<Vec<_>>()
        };
        let is_open = |state: &str| lines("treeitem \"Pier A").iter().any(|line| line.contains(state));
        let marks = lines("expand-button");
        assert_eq!(marks.len(), 1, "{marks:?}");
        let mark = reference_in(&marks[0], 0);
        for state in ["[expanded]", "[collapsed]"] {
            assert!(!is_open(state), "control: {state}");
            is_done(page, &["click", &mark]);
            page.assert_log("Pier A opened");
            assert!(is_open(state), "{state}");
            is_done(page, &["click", "#other"]);
            page.assert_log("other pressed");
        }
        is_done(page, &["click", &reference_in(&lines("treeitem \"Pier A")[0], 0)]);
        page.assert_log("Pier A chosen");
    });
}
