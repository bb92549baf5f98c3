//! Drags: "done" unless the browser's own drag proves that nothing took what was dragged.

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
