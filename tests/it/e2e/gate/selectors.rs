//! Selector chains that the gate resolves for both agent-browsers: by text, by role and name, and by position.

use super::acting::{Page, reference_in};

/// Page of these tests.
const PAGE: &str = "gate/selectors";

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn texts_roles_and_positions_find_elements() {
    Page::each_at(PAGE, |page| {
        for (selector, log) in [
            ("text=\"Log in\"", "logged in"),
            ("text=send IT", "sent"),
            ("text=Archive", "archived"),
            ("text=Clickable division", "div"),
            ("role=button[name=\"Log in\"]", "logged in"),
            ("role=button[name=\"log IN\"i]", "logged in"),
            ("role=button[name^=\"Log\"]", "logged in"),
            ("role=button[name=\"Send it\"]", "sent"),
            ("role=button[name=\"Style\"][pressed]", "bold"),
            ("role=button[name=\"Style\"][pressed=false]", "plain"),
            ("role=button[name=\"Unread\"][pressed]", "unread"),
            ("role=button[expanded=false]", "opened"),
            ("role=tab[selected]", "first tab"),
            ("role=tab[name=\"Second\"][selected=false]", "second tab"),
            ("text=remove", "removed"),
            ("text=Store", "stored"),
            ("text=Rename", "renamed"),
            ("text=Buy >> nth=1", "pear"),
            ("text=Buy >> nth=-1", "almond"),
            ("li >> nth=0 >> button", "apple"),
            ("#fruit button >> nth=1", "pear"),
            ("#nuts >> text=Buy", "almond"),
            ("#nuts >> role=button", "almond"),
            ("#fruit >> li >> text=Pear >> button", "pear"),
            ("text=Button open", "open tree"),
            ("text=Button closed", "closed tree"),
            ("role=button[name=\"Inside shop.example.com\"]", "shop.example.com clicked"),
            ("role=button[name=\"Inside news.example.net\"]", "news.example.net clicked"),
            ("text=Inside >> nth=1", "news.example.net clicked"),
        ] {
            page.ok(&["click", selector]);
            page.assert_log(log);
        }
        // No control is called so.
        page.refused(&["click", "text=Share"], "element-ambiguous", &["heading \"Share\"", "button \"Share it\""]);
        page.refused(&["click", "text=Moved away"], "element-disabled", &[]);
        let text = |selector: &str| page.ok(&["get", "text", selector])["text"].as_str().unwrap().trim().to_owned();
        assert_eq!(text("text=see more"), "see more", "the smallest element, with single blanks");
        assert_eq!(text("role=heading[level=2]"), "Fruit");
        let count = |selector: &str| page.ok(&["get", "count", selector])["count"].as_u64().unwrap();
        for (selector, expected) in [
            ("text=Buy", 3),
            ("role=listitem", 3),
            ("li >> nth=7", 0),
            ("text=Archive", 2),
            ("role=button[name=\"Archive\"]", 1),
            ("role=checkbox[checked]", 1),
            ("role=checkbox[checked=false]", 1),
            ("role=button[disabled]", 1),
            ("text=Needle", 0),
            ("text=Remove", 3),
            ("text=rpr", 0),
            ("text=\"log in\"", 0),
        ] {
            assert_eq!(count(selector), expected, "{selector}");
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn every_act_takes_a_chain() {
    Page::each_at(PAGE, |page| {
        assert_eq!(page.ok(&["fill", "role=textbox[name=\"Name\"]", "Ada"])["filled"], true);
        page.ok(&["type", "text=Name >> input", " L"]);
        assert_eq!(page.ok(&["get", "value", "role=textbox[name=\"Name\"]"])["value"], "Ada L");
        page.ok(&["select-text", "role=textbox[name=\"Name\"]"]);
        page.ok(&["focus", "label >> role=textbox[name=\"Name\"]"]);
        page.ok(&["check", "role=checkbox[name=\"Empty\"]"]);
        assert_eq!(page.ok(&["is", "checked", "role=checkbox[name=\"Empty\"]"])["checked"], true);
        page.ok(&["uncheck", "text=Ticked"]);
        page.ok(&["select", "role=combobox[name=\"Size\"]", "Large"]);
        page.refused(&["select", "role=combobox[name=\"Size\"]", "Huge"], "option-unknown", &["\"Small\", \"Large\""]);
        page.ok(&["hover", "text=\"Log in\""]);
        page.ok(&["dblclick", "text=\"Log in\""]);
        page.ok(&["drag", "text=Card", "text=Basket"]);
        page.assert_log("dropped parcel");
        page.ok(&["scroll", "text=Last line"]);
        page.ok(&["scroll", "up", "50", "-s", "role=group[name=\"Lines\"]"]);
        assert_eq!(page.ok(&["is", "visible", "text=Card"])["visible"], true);
        assert_eq!(page.ok(&["is", "visible", "text=Nowhere"])["visible"], false);
        assert_eq!(page.ok(&["is", "enabled", "text=Frozen"])["enabled"], false);
        page.refused(&["click", "text=Frozen"], "element-disabled", &[]);
        // The page shows the code as text, too.
        page.ok(&["fill", "#code", ""]);
        page.refused(&["screenshot", "role=button[name=\"Log in\"]"], "plain-value-visible", &[]);
        let list = page.ok(&["snapshot", "-s", "text=Pear >> nth=0"]);
        assert!(list["snapshot"].as_str().unwrap().contains("Pear"), "{list}");
        page.ok(&["click", "text=Order"]);
        page.ok(&["wait", "text=Arrived"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn missing_and_ambiguous_chains_are_refused() {
    Page::each_at(PAGE, |page| {
        for selector in ["text=Nowhere", "role=button[name=\"Buy it\"]", "#fruit >> li >> nth=2"] {
            page.refused(&["click", selector], "element-not-found", &[]);
        }
        // The page shows a code: the selector is not repeated, since a mask in it would confirm a guess.
        page.refused(&["drag", "text=Card", "text=Nowhere"], "element-not-found", &["no element matches the selector"]);
        let wait = page.call_within(3, &["wait", "role=button[name=\"Never\"]"]);
        assert!(wait.code == 1 && wait.stderr.contains("element-not-found"), "{wait:?}");
        // One that only agent-browser reads, too.
        let missing = page.call_within(5, &["click", "xpath=//button[@id='no']"]);
        assert_eq!(missing.code, 1, "{missing:?}");
        // Control.
        page.ok(&["click", "#log-in"]);
        page.assert_log("logged in");
        let text = page.refused(&["click", "text=Buy"], "element-ambiguous", &["3 elements", "button \"Buy\" [ref=e"]);
        page.ok(&["click", &reference_in(&text, 1)]);
        page.assert_log("pear");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn selectors_are_repeated_where_no_secret_is_known() {
    Page::each_at("gate/input", |page| {
        page.refused(&["drag", "#button", "text=Nowhere"], "element-not-found", &["`text=Nowhere`"]);
        let absent = page.call(&["snapshot", "-s", "#nothing"]);
        assert!(absent.code == 1 && absent.stderr.contains("no element matches `#nothing`"), "{absent:?}");
        let other = page.call(&["snapshot", "-s", "xpath=//button"]);
        assert!(other.code == 1 && other.stderr.contains("`xpath=//button` cannot be used here"), "{other:?}");
        let missing = page.call_within(5, &["click", "xpath=//button[@id='no']"]);
        assert_eq!(missing.code, 1, "{missing:?}");
        // Control.
        page.ok(&["click", "xpath=//button[@id='button']"]);
        page.ok(&["screenshot", "role=button >> nth=0"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn chains_find_nothing_by_a_secret() {
    Page::each_at(PAGE, |page| {
        let count = |selector: &str| page.ok(&["get", "count", selector])["count"].as_u64().unwrap();
        assert_eq!(count("role=textbox[name*=\"Code\"]"), 1, "control");
        assert_eq!(count("role=button[name*=\"Code\"]"), 1, "control");
        for selector in [
            "text=884422",
            "text=8844",
            "text=\"884422\"",
            "role=button[name*=\"8844\"]",
            "role=button[name*=\"22\"]",
            "role=status[name*=\"8\"]",
        ] {
            assert_eq!(count(selector), 0, "{selector}");
        }
    });
}
