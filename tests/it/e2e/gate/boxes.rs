//! Boxes that pages check late, draw anew or hide, and editors that are the body of a frame.

use super::acting::Page;

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn box_is_pressed_once_and_may_be_checked_late() {
    Page::each_at("gate/boxes", |page| {
        page.ok(&["check", &page.reference("checkbox", "Late")]);
        page.ok(&["check", &page.reference("switch", "Late switch")]);
        page.ok(&["uncheck", "#late"]);
        page.assert_log("late pressed, switch pressed, late pressed");
        page.ok(&["uncheck", "#late"]);
        page.refused(&["check", "#stuck"], "no-effect", &["still not checked"]);
        page.assert_log("late pressed, switch pressed, late pressed, stuck pressed");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn box_that_its_page_draws_anew_is_checked() {
    Page::each_at("gate/boxes", |page| {
        page.ok(&["check", &page.reference("checkbox", "Task")]);
        page.assert_log("task done");
        page.ok(&["check", "#redrawn input"]);
        page.ok(&["uncheck", "#redrawn input"]);
        page.assert_log("task done, task open");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn label_stands_for_a_box_that_is_beside_the_page() {
    Page::each_at("gate/boxes", |page| {
        let seen = page.call(&["snapshot", "-i"]).ok();
        let [red, green] = ["Red", "Green"].map(|name| seen.reference("radio", name));
        page.ok(&["check", &green]);
        page.assert_log("Green");
        page.ok(&["click", &red]);
        page.assert_log("Green, Red");
        page.ok(&["check", "#away label:last-child input"]);
        page.assert_log("Green, Red, Green");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn editor_that_is_the_body_of_a_frame_has_a_reference() {
    Page::each_at("gate/boxes", |page| {
        let editor = page.call(&["snapshot", "-i"]).ok().reference("textbox", "Mail");
        page.ok(&["fill", &editor, "Dear Ann"]);
        page.ok(&["type", &editor, ", hello"]);
        let data = page.ok(&["get", "text", &editor]);
        assert_eq!(data["text"].as_str().unwrap().trim(), "Dear Ann, hello");
    });
}
