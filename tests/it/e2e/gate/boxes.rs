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

/// Returns the lines of a snapshot without references, which are not what is compared.
fn without_references(shown: &str) -> Vec<String> {
    let line = |line: &str| match line.split_once(" [ref=") {
        Some((begin, rest)) => format!("{begin}{}", rest.split_once(']').map_or("", |(_, states)| states)),
        None => line.to_owned(),
    };
    shown.lines().map(line).collect()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn marks_of_styles_classes_and_pictures_are_read() {
    Page::each_at("gate/marks", |page| {
        let shown = page.call(&["snapshot"]).ok().page();
        let lines = without_references(&shown);
        let has = |wanted: &str| lines.iter().any(|line| line.trim_start() == wanted);
        for wanted in [
            "- deletion \"100 €\"",
            "- deletion \"Old note twice\"",
            "- listitem \"Oil the winch\" [struck]",
            "- listitem \"Paint the hull\"",
            "- link \"Moor the boat\" [struck]",
            "- link \"Count the oars\"",
            "- superscript \"99\"",
            "- text \"and also more\"",
            "- text \"東京に行く\"",
            "- link \"Tides\"",
            "- link \"Winds\" [active]",
            "- text \"12\" [current]",
            "- text \"22\" [active]",
            "- listitem \"32\" [active]",
            "- listitem \"33\" [class=\"disabled\"]",
            "- listitem \"2. Route\" [active]",
            "- row [active]",
            "- text \"7 € 9 €\"",
            "- listitem \"First slide\"",
            "- cell [icon=\"fa fa-times\"]",
            "- cell [color=\"#008000\"]",
            "- cell [icon=\"glyph glyph-ok\"]",
            "- cell [icon=\"icon-check\"]",
            "- cell [src=\"de.png\"]",
            "- img \"3 of 5 stars\"",
            "- listitem [src=\"pier.jpg\"]",
            "- listitem \"Named\"",
            "- img \"Verified\"",
        ] {
            assert!(has(wanted), "{wanted}: {shown}");
        }
        // A pixel that holds a place, and an icon of an entry, are nothing to read.
        assert_eq!(lines.iter().filter(|line| line.contains("[src=")).count(), 2, "{shown}");
        assert!(!shown.contains("fa-star") && !shown.contains("[icon=\"bar\"]"), "{shown}");
        let found = page.call(&["snapshot", "--find", "東京に行く"]).ok().page();
        assert!(found.contains("東京に行く"), "{found}");
        for selector in ["text=東京に行く", "role=img[name=Verified]"] {
            assert_ne!(page.ok(&["get", "count", selector])["count"].as_u64(), Some(0), "{selector}");
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_filters_masks_and_turns_hide_is_not_read() {
    Page::each_at("gate/marks", |page| {
        let shown = page.call(&["snapshot"]).ok().page();
        assert!(!shown.contains("none "), "{shown}");
        for seen in [
            "Half by a filter",
            "Fading by a mask",
            "Drawn by its edges",
            "Drawn by what is behind",
            "Drawn by a color behind",
            "Edges of a drawing",
            "Front of a card",
            "Back of a turned card",
        ] {
            assert!(shown.contains(seen), "{seen}: {shown}");
        }
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn hints_tell_chosen_and_alike_controls_apart() {
    Page::each_at("gate/hints", |page| {
        let shown = page.call(&["snapshot", "-i"]).ok().page();
        let lines = without_references(&shown);
        for wanted in [
            "- clickable \"1\"",
            "- clickable \"2\" [active]",
            "- clickable \"3\" [active]",
            "- clickable \"11\"",
            "- clickable \"12\" [active]",
            "- clickable \"13\"",
            "- button \"21\"",
            "- button \"22\" [active]",
            "- button \"30\"",
            "- button \"31\" [selected]",
            "- button \"41\" [active]",
            "- button \"42\" [active]",
            "- button \"43\"",
            "- button \"52\"",
            "- button \"54\"",
            "- link \"Changed\" [active]",
            "- link \"Checked\"",
            "- button \"Engine\" [active]",
            "- button \"Rudder\"",
        ] {
            assert!(lines.iter().any(|line| line == wanted), "{wanted}: {shown}");
        }
        for begin in [
            "- option [description=\"Click to start dragging.\"] [icon=\"icon-folder\"]",
            "- option [description=\"Click to start dragging.\"] [icon=\"icon-trash\"]",
            "- button [description=\"Press the space bar.\"] [data-testid=\"first\"]",
            "- button [description=\"Press the space bar.\"] [data-testid=\"second\"]",
            "- button [description=\"Opens the log.\"]",
            "- gridcell [icon=\"fa fa-trash\"]",
            "- gridcell [icon=\"fa fa-edit\"]",
            "- button \"swatch\" [color=\"#ff0000\"]",
            "- button \"swatch\" [color=\"#00ff00\"]",
            "- button \"swatch\" [color=\"#0000ff\"]",
            "- checkbox \"Toggle row\" [near=\"sassy-bug\"]",
            "- checkbox \"Toggle row\" [near=\"calm-crow\"]",
            "- button \"61\" [near=\"Arrival\"]",
            "- button \"62\" [near=\"Departure\"]",
        ] {
            assert!(lines.iter().any(|line| line.starts_with(begin)), "{begin}: {shown}");
        }
        // A description of one alone is enough, and a color that all have tells nothing.
        assert!(!shown.contains("data-testid=\"third\"") && !shown.contains("#ff00ff"), "{shown}");
    });
}
