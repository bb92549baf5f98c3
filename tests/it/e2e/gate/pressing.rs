//! Presses of the pointer reach their element or nothing, whatever the page does while the pointer comes.

use super::acting::{Page, reference_in};

/// Fails if something in front of an element got any event of the pointer.
#[track_caller]
fn assert_veils_are_untouched(page: &Page) {
    let veils = page.ok(&["get", "text", "#veils"]);
    assert_eq!(veils["text"], "none", "a press reached what was in front of its element");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn press_waits_for_what_comes_with_the_pointer_to_go() {
    Page::each_at("gate/pressing", |page| {
        for (argv, log) in [
            (["click", "#shy"], "shy clicked"),
            (["click", &page.reference("button", "Hidden")], "hidden clicked"),
            (["click", &page.reference("button", "Inside")], "inside clicked"),
            (["dblclick", "#twice"], "twice doubled"),
            (["click", "#slippery"], "slippery clicked"),
        ] {
            page.ok(&argv);
            page.assert_log(log);
            assert_veils_are_untouched(page);
        }
        page.ok(&["check", "#box"]);
        assert_eq!(page.ok(&["is", "checked", "#box"])["checked"], true);
        assert_veils_are_untouched(page);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn press_on_what_is_covered_by_then_is_refused() {
    Page::each_at("gate/pressing", |page| {
        let message = page.refused(&["click", "#guarded"], "element-covered", &["button \"Offer\" [ref=e"]);
        assert_veils_are_untouched(page);
        // Control: what is in front gets its own press, and nothing is kept from it any more.
        page.ok(&["click", &reference_in(&message, 0)]);
        let veils = page.ok(&["get", "text", "#veils"]);
        assert_eq!(veils["text"], "veil: click", "{message}");
        page.assert_log("nothing");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn press_counts_where_the_page_puts_its_own_under_the_pointer() {
    Page::each_at("gate/pressing", |page| {
        page.ok(&["click", "#swapped"]);
        page.assert_log("swapped clicked");
        page.ok(&["click", "#title"]);
        page.assert_log("card clicked");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn escape_gives_back_the_pointer_and_the_screen() {
    Page::each_at("gate/screen", |page| {
        for (button, held, given) in [("#lock", "locked", "unlocked"), ("#full", "full", "not full")] {
            page.ok(&["click", button]);
            page.assert_log(held);
            page.ok(&["press", "Shift+Escape"]);
            page.assert_log(held);
            page.ok(&["press", "Escape"]);
            page.assert_log(given);
            page.ok(&["click", "#count"]);
            page.assert_log("counted");
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn press_that_the_page_does_not_get_is_in_doubt() {
    Page::each_at("gate/screen", |page| {
        let control = page.ok(&["click", "#count"]);
        assert!(control["doubt"].is_null(), "control: {control}");
        let data = page.ok(&["click", "#veiled"]);
        let is_in_doubt = data["doubt"].as_str().is_some_and(|doubt| doubt.contains("the page got no press"));
        assert!(is_in_doubt, "{data}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn key_that_does_not_exist_is_an_error() {
    Page::each_at("gate/acting", |page| {
        page.ok(&["focus", "#keys"]);
        for key in ["Foo", "Dela", "漢", "Control+Foo"] {
            let reply = page.call(&["press", key]);
            assert_ne!(reply.code, 0, "{key}: {reply:?}");
        }
        for key in ["a", "+", "Control+a", "Delete", "z"] {
            page.ok(&["press", key]);
        }
        assert_eq!(page.ok(&["get", "value", "#keys"])["value"], "z", "control");
    });
}
