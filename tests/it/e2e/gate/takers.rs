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

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn row_is_pressed_beside_the_control_in_it() {
    Page::each_at("gate/beside", |page| {
        for (selector, log) in [("#mail", "mail"), ("#tag", "tag"), ("#order", "order td")] {
            page.ok(&["click", selector]);
            page.assert_log(log);
        }
        // Controls: what is in these is their content.
        for (selector, log) in [("#whole", "Whole in it"), ("#nav", "Inbox in it"), ("#mail button", "Delete in it")] {
            page.ok(&["click", selector]);
            page.assert_log(log);
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn press_goes_beside_a_frame_or_control_in_its_element() {
    Page::each_at("gate/card", |page| {
        page.ok(&["click", "#card"]);
        page.assert_log("card opened");
        // Control: what takes no presses is pressed in its middle.
        page.ok(&["click", "#plain"]);
        page.assert_log("plain frame");
        page.ok(&["click", "#row"]);
        page.assert_log("row opened");
        page.ok(&["click", "#inner"]);
        page.assert_log("inner pressed");
        // The list covers its middle, and leaves a part of the button in it.
        page.ok(&["click", "#menu"]);
        page.ok(&["click", "#row"]);
        page.assert_log("row opened");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_that_is_leftward_by_its_style_scrolls_there() {
    Page::each_at("gate/leftward", |page| {
        assert_eq!(page.ok(&["is", "visible", "#left"])["visible"], true);
        assert_eq!(page.ok(&["is", "visible", "#fixed"])["visible"], false, "control: nobody can scroll to it");
        page.ok(&["click", "#left"]);
        page.assert_log("left pressed");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn host_takes_the_press_of_what_is_covered_in_it() {
    Page::each_at("gate/beside", |page| {
        page.ok(&["click", &page.reference("button", "Save")]);
        page.assert_log("saved");
        // Control: nothing around this one listens.
        page.refused(&["click", &page.reference("button", "Dead")], "element-covered", &["covered by span"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn wheel_is_for_the_page_before_a_hidden_box_scrolls() {
    Page::each_at("gate/beside", |page| {
        page.ok(&["scroll", "down", "300", "-s", "#slider"]);
        page.assert_log("slid 300, 0");
        // Control: nothing takes the wheel here.
        page.ok(&["scroll", "down", "40", "-s", "#clip"]);
        page.assert_log("clip 40");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn secret_field_and_button_make_no_box_a_place() {
    Page::each_at("gate/places", |page| {
        // The gate watches secret fields from the first look on.
        for _ in 0..2 {
            let seen = page.call(&["snapshot", "-i"]).ok().page();
            assert!(seen.contains("Log in") && !seen.contains("Card"), "{seen}");
        }
        // Control: something can be dragged now.
        page.ok(&["click", "#arm"]);
        let seen = page.call(&["snapshot", "-i"]).ok().page();
        assert!(seen.contains("clickable \"Card two\""), "{seen}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn cover_in_another_shadow_tree_takes_no_press() {
    Page::each_at("gate/parts", |page| {
        for tab in ["veiled", "owned"] {
            page.refused(&["click", &format!("text={tab} tab")], "element-covered", &["covered by div"]);
        }
        page.assert_log("nothing");
        // Control: a layer that shows nothing, and belongs to no other control.
        page.ok(&["click", "text=bare tab"]);
        page.assert_log("bare layer");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn options_are_pressed_through_the_layer_over_them() {
    Page::each_at("gate/parts", |page| {
        for hour in ["Three", "One"] {
            page.ok(&["click", &page.reference("option", hour)]);
            page.assert_log(&format!("hour {hour}"));
        }
        // Controls: this layer takes nothing, and the other one is for a button, too.
        for option in ["Four", "Six"] {
            page.refused(&["click", &page.reference("option", option)], "element-covered", &["covered by div"]);
        }
        page.assert_log("hour One");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn switch_is_pressed_where_it_listens() {
    Page::each_at("gate/parts", |page| {
        for (act, selector, log) in [
            ("check", "#light", "light true"),
            ("click", "#light", "light false"),
            ("check", "x-heat", "x-heat true"),
            ("uncheck", "x-heat", "x-heat false"),
            // Control: this one listens itself, and the part in it is another thing.
            ("check", "#fan", "fan true"),
        ] {
            page.ok(&[act, selector]);
            page.assert_log(log);
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn text_goes_to_a_field_that_a_press_opens() {
    Page::each_at("gate/parts", |page| {
        for (text, log) in [("12", "birthday 12"), ("3", "birthday 123")] {
            page.ok(&["type", "#birthday", text]);
            page.assert_log(log);
        }
        // The only field in it that takes the focus.
        page.ok(&["type", "#code", "23"]);
        assert_eq!(page.ok(&["get", "value", "#digits"])["value"], "123");
        // Controls: no press gives these a field, and the second one has none to press for.
        page.refused(&["type", "#shut", "2000"], "no-effect", &["a press gives no field", "take a snapshot"]);
        page.assert_log("shut pressed");
        let advice = "click it, take a snapshot, and use the field that it shows";
        page.refused(&["type", "#empty", "x"], "no-effect", &[advice]);
        page.refused(&["fill", "#empty", "x"], "element-read-only", &["takes no text", advice]);
        page.assert_log("shut pressed");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn focus_goes_to_the_only_part_that_takes_it() {
    Page::each_at("gate/parts", |page| {
        page.ok(&["focus", "#depth"]);
        page.ok(&["press", "ArrowRight"]);
        page.assert_log("depth 21");
        // Control: which of the two is not known.
        page.refused(&["focus", "#pair"], "no-effect", &["does not take the focus"]);
    });
}
