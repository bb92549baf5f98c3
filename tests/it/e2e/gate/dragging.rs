//! Drags: "done" unless the browser's own drag proves that nothing took what was dragged.

use serde_json::Value;

use super::acting::Page;

const PATH: &str = "gate/drops";

/// Drags that nothing takes.
const REJECTED: &[[&str; 2]] = &[["#card", "#wall"], ["#card", "h2"], ["#link", "#wall"]];

/// Drags that a page takes, or may take, although most of them show nothing.
const TAKEN: &[[&str; 2]] = &[
    ["#card", "#silent"],
    ["#card", "#copies"],
    ["#card", "#sorter"],
    ["#late", "#wall"],
    ["#sent", "#wall"],
    ["#own", "#wall"],
    ["#pointer", "#wall"],
    ["#wall", "#pointer"],
];

fn check(page: &Page) {
    for [source, destination] in REJECTED {
        page.refused(&["drag", source, destination], "no-effect", &["accepts"]);
    }
    for [source, destination] in TAKEN {
        page.open();
        assert_eq!(page.ok(&["drag", source, destination])["dragged"], true, "{source} {destination}");
    }
    page.open();
    page.ok(&["drag", "#late", "#wall"]);
    page.assert_log("late");
    page.ok(&["drag", "#card", "#sorter"]);
    page.assert_log("sorted");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn drag_that_nothing_accepts_fails() {
    Page::each_at(PATH, |page| {
        check(page);
        page.open();
        // In a frame with a process of its own.
        page.refused(&["drag", "text=Tag", "text=Hole"], "no-effect", &["accepts"]);
        page.ok(&["drag", "text=Tag", "text=Slot"]);
        // Out of it and into it: Chromium does not say how these end, and both documents still get input after it.
        for [source, destination] in [["Tag", "Wall"], ["Tag", "Silent"], ["Card", "Hole"], ["Card", "Slot"]] {
            page.ok(&["drag", &format!("text={source}"), &format!("text={destination}")]);
            page.ok(&["drag", "text=Tag", "text=Slot"]);
            page.ok(&["drag", "#card", "#silent"]);
        }
        page.refused(&["drag", "#runaway", "#silent"], "no-effect", &["moves away"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn drag_by_the_pointer_is_doubted_if_nothing_changes() {
    Page::each_at("gate/handles", |page| {
        let doubt = |source: &str, destination: &str| page.ok(&["drag", source, destination])["doubt"].clone();
        for source in ["#deaf", "#memo"] {
            let doubt = doubt(source, "#spot");
            assert!(
                doubt.as_str().is_some_and(|doubt| doubt.contains("shows no change by the drag")),
                "{source}: {doubt}"
            );
        }
        assert_eq!(doubt("#knob", "#goal"), Value::Null, "control");
        let left = page.ok(&["get", "box", "#knob"])["box"]["x"].as_f64().expect("a place");
        assert!((300.0..316.0).contains(&left), "{left}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn rows_are_sorted_by_a_handle_at_their_side() {
    Page::each_at("gate/handles", |page| {
        for (row, to, order) in
            [("#A", "#B", "BAC"), ("#C", "#A", "BCA"), ("#A", "#B", "ABC"), ("#D", "#E", "EDF"), ("#F", "#E", "FED")]
        {
            assert_eq!(page.ok(&["drag", &format!("{row} .handle"), to])["doubt"], Value::Null, "{row} to {to}");
            page.assert_log(order);
        }
    });
}
