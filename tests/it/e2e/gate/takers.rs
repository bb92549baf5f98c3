//! Controls of which another element takes the press: a press goes to what a person would hit, and nothing else takes it.

use super::acting::Page;

const PATH: &str = "gate/takers";

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn parts_of_the_same_widget_are_no_cover() {
    Page::each_at(PATH, |page| {
        for (role, name, log) in [
            // Their host takes the press, in a closed and in an open shadow tree.
            ("button", "Save file", "saved"),
            ("menuitem", "Share", "shared"),
            // What is around them does, by a listener of its own, and by one of the document and its cursor.
            ("textbox", "Purpose", "chooser open"),
            ("button", "Unfold", "unfolded"),
        ] {
            page.ok(&["click", &page.reference(role, name)]);
            page.assert_log(log);
        }
        // A line that lets the pointer through, and is wider than the window.
        page.ok(&["click", "text=fn main"]);
        page.assert_log("source pressed");
        // A layer that shows nothing.
        page.ok(&["click", "#code"]);
        page.assert_log("code pressed");
        page.ok(&["click", "#code", "--at", "4,4"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_does_not_belong_to_a_control_covers_it() {
    Page::each_at(PATH, |page| {
        page.refused(&["click", "#blocked"], "element-covered", &["covered by div"]);
        page.refused(&["click", "#dead"], "element-covered", &["covered by div"]);
        page.refused(&["click", "#behind"], "element-covered", &["covered by div"]);
        page.assert_log("nothing");
        page.ok(&["click", "#bar :last-child"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn boxes_that_nobody_sees_are_pressed_by_their_label() {
    Page::each_at(PATH, |page| {
        for (act, number) in [("click", 3), ("check", 1), ("check", 4), ("click", 2)] {
            page.ok(&[act, &format!("#v{number}")]);
            page.assert_log(&format!("{number} stars"));
        }
        page.ok(&["uncheck", "#drafts input"]);
        page.assert_log("Drafts false");
        page.ok(&["check", "#mails input"]);
        page.assert_log("Mails true");
        page.ok(&["click", "#mails input"]);
        page.assert_log("Mails false");
        // Control: nothing stands for this one.
        page.refused(&["check", "#lonely"], "element-hidden", &["not visible"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn press_of_a_label_is_none_of_a_link_in_it() {
    Page::each_at(PATH, |page| {
        for (argv, log) in [
            (["check", "#terms"], "agree true"),
            (["click", "#terms"], "agree false"),
            (["check", "#newsbox"], "newsbox true"),
            (["click", "#news"], "newsbox false"),
            (["check", "#rules"], "rules true"),
            (["click", "#rules"], "rules false"),
        ] {
            page.ok(&argv);
            page.assert_log(log);
        }
        // Control: the link itself is pressed.
        page.ok(&["click", "#news button"]);
        page.assert_log("news shown");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn press_on_what_is_disabled_in_a_control_is_refused() {
    Page::each_at(PATH, |page| {
        for selector in ["#delete", "#print", "#frozen", "#off-label", "light-switch[off]"] {
            page.refused(&["click", selector], "element-disabled", &["disabled"]);
        }
        page.ok(&["click", "#reply"]);
        page.assert_log("replied");
        page.ok(&["click", "#view"]);
        page.assert_log("viewed");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn states_that_only_the_browser_knows_are_read() {
    Page::each_at(PATH, |page| {
        for (act, log) in [("check", "light true"), ("check", "light true"), ("uncheck", "light false")] {
            page.ok(&[act, "light-switch:not([off])"]);
            page.assert_log(log);
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn select_box_that_nobody_sees_is_not_changed() {
    Page::each_at(PATH, |page| {
        for (selector, option) in [("#size", "Large"), ("#away", "Blue")] {
            page.refused(&["select", selector, option], "element-hidden", &["another control"]);
        }
        // Control: this one takes the pointer of a person.
        page.ok(&["select", "#pet", "Dog"]);
        assert_eq!(page.ok(&["get", "value", "#pet"])["value"], "d");
    });
}
