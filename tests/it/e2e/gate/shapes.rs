//! Elements whose box does not say where they take the pointer: broken into lines, without a size, covered in part, parts of an image.

use super::acting::Page;

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn parts_of_an_image_are_clicked_where_they_are() {
    Page::each_at("gate/image-map", |page| {
        let seen = page.call(&["snapshot", "-i"]).ok();
        let names = ["Kitchen", "Hall", "Stairs", "Pond"];
        for name in names {
            page.ok(&["click", &seen.reference("link", name)]);
        }
        page.ok(&["click", "#attic"]);
        page.ok(&["click", "#attic", "--at", "2,2"]);
        page.assert_log(&format!("{}, Attic, Attic", names.join(", ")));
        page.refused(&["click", "#attic", "--at", "60,2"], "no-effect", &["outside the element"]);
        page.refused(&["click", "#lost"], "element-hidden", &["`area` is not visible"]);
        // The image itself takes a click in its middle, where one of its parts is.
        page.ok(&["click", "#plan"]);
        page.assert_log(&format!("{}, Attic, Attic, Elsewhere", names.join(", ")));
    });
}

/// Clicks each of these elements, by its role and name, and calls `then` with its reference once the page has noted the click.
fn click_each(page: &Page, elements: &[(&str, &str)], then: impl Fn(&str)) {
    let seen = page.call(&["snapshot", "-i"]).ok();
    let mut log = String::new();
    for (role, name) in elements {
        let reference = seen.reference(role, name);
        page.ok(&["click", &reference]);
        log = format!("{log} {name};");
        page.assert_log(log.trim());
        then(&reference);
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn elements_are_clicked_where_they_are_seen() {
    Page::each_at("gate/shapes", |page| {
        let elements = [
            ("link", "Broken into several lines"),
            ("link", "Over both columns of its text"),
            ("link", "Without a box"),
            ("button", "Without a size"),
            ("button", "Cut out at one end of it"),
            ("button", "Covered in part"),
            ("link", "Far down and broken into lines"),
        ];
        click_each(page, &elements, |_| {});
        page.refused(&["click", "#under"], "element-covered", &["covered by div"]);
        page.refused(&["click", "#folded"], "element-hidden", &[]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn element_behind_a_bar_is_scrolled_out_from_under_it() {
    Page::each_at("gate/bars", |page| {
        page.ok(&["scroll", "down", "1000"]);
        let mut log = String::new();
        let button = |row: usize| format!("#list button:nth-child({})", row + 1);
        let top = |row| page.ok(&["get", "box", &button(row)])["box"]["y"].as_f64().unwrap();
        for row in 0..80 {
            let is_behind_a_bar = matches!(top(row), 0.0..50.0 | 500.0..900.0);
            if !is_behind_a_bar {
                continue;
            }
            page.ok(&["click", &button(row)]);
            log = format!("{log} Row {row}");
            page.assert_log(log.trim());
        }
        assert!(log.split("Row").count() > 2, "control: {log}");
        // What is in front of all stays there.
        let row = (0..80).find(|row| (150.0..400.0).contains(&top(*row))).expect("a row in view");
        page.ok(&["press", "F2"]);
        let before = top(row);
        page.refused(&["click", &button(row)], "element-covered", &["covered by div"]);
        assert!((top(row) - before).abs() < 1.0, "{before}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn lines_without_a_height_are_clicked() {
    Page::each_at("gate/lines", |page| {
        let elements = [
            ("button", "Straight path"),
            ("button", "Upright"),
            ("button", "Wire"),
            ("button", "Cable"),
            ("button", "Bow"),
            ("button", "Border"),
            ("separator", "Divider"),
        ];
        click_each(page, &elements, |reference| {
            page.ok(&["hover", reference]);
        });
        page.refused(&["click", "[data-name=Unseen]"], "element-hidden", &[]);
        // A label of a drawing lets the pointer through to its box.
        page.open();
        page.ok(&["click", "[data-label=Node]"]);
        page.assert_log("Node;");
    });
}
