//! Scrolling to the edges of a page, of a box in it, and of what is in front of it.

use serde_json::{Value, json};

use super::super::processes::wait_for;
use super::acting::Page;

/// Waits until the page itself says that something is at a place.
#[track_caller]
fn is_at(page: &Page, place: &str) {
    wait_for(place, || {
        let state = page.ok(&["get", "text", "#state"])["text"].as_str().unwrap().to_owned();
        state.split(' ').any(|part| part == place).then_some(())
    });
}

/// Scrolls to an edge, and returns how far it went and where it is then.
#[track_caller]
fn scroll(page: &Page, edge: &str, element: Option<&str>) -> (u64, u64) {
    let argv: Vec<_> =
        ["scroll", "--to", edge].into_iter().chain(element.into_iter().flat_map(|it| ["-s", it])).collect();
    let data = page.ok(&argv);
    assert_eq!((&data["scrolled"], &data["edge"]), (&json!(true), &json!(edge)), "{argv:?}");
    let number = |value: &Value| value.as_u64().unwrap();
    (number(&data["moved"]), number(&data["position"]))
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_scrolls_to_its_edges_at_once() {
    Page::each_at("gate/edges", |page| {
        is_at(page, "page=0,0");
        let (moved, height) = scroll(page, "bottom", None);
        assert!(moved == height && height > 2000, "{moved} {height}");
        is_at(page, &format!("page=0,{height}"));
        let (moved, width) = scroll(page, "right", None);
        assert!(moved == width && width > 2000, "{moved} {width}");
        is_at(page, &format!("page={width},{height}"));
        // It is there already, which is no failure.
        assert_eq!(scroll(page, "bottom", None), (0, height));
        page.refused(&["scroll", "down"], "no-effect", &["nothing scrolls down"]);
        assert_eq!(scroll(page, "top", Some("body")), (height, 0));
        assert_eq!(scroll(page, "left", None), (width, 0));
        is_at(page, "page=0,0");
        // As far as it goes.
        page.ok(&["scroll", "down", "2147483647"]);
        is_at(page, &format!("page=0,{height}"));
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn boxes_scroll_to_their_edges_and_the_page_stays() {
    Page::each_at("gate/edges", |page| {
        assert_eq!(scroll(page, "bottom", Some("#list")), (1000, 1000));
        is_at(page, "list=1000");
        // Its rows are in reverse order, so that it begins at its end.
        assert_eq!(scroll(page, "bottom", Some("#chat")), (0, 1000));
        assert_eq!(scroll(page, "top", Some("#chat")), (1000, 0));
        is_at(page, "chat=-1000");
        assert_eq!(scroll(page, "bottom", Some("#chat")), (1000, 1000));
        is_at(page, "chat=0");
        assert_eq!(scroll(page, "bottom", Some("#few")), (0, 0), "all of it is in view");
        is_at(page, "page=0,0");
        page.refused(&["scroll", "--to", "bottom", "-s", "#flat"], "no-effect", &["the `p` does not scroll"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn box_around_an_element_scrolls_or_the_answer_says_no() {
    Page::each_at("gate/edges", |page| {
        page.ok(&["scroll", "down", "300", "-s", "#list div"]);
        is_at(page, "list=300");
        page.ok(&["scroll", "up", "100", "-s", "#list"]);
        is_at(page, "list=200");
        is_at(page, "page=0,0");
        page.ok(&["scroll", "up", "500", "-s", "#list"]);
        page.refused(&["scroll", "up", "500", "-s", "#list"], "no-effect", &["nothing scrolls up"]);
        page.refused(&["scroll", "left", "-s", "#flat"], "no-effect", &["nothing scrolls left"]);
        // Nothing around it scrolls but the page.
        page.ok(&["scroll", "down", "200", "-s", "#flat"]);
        is_at(page, "page=0,200");
        page.ok(&["scroll", "right", "100", "-s", "#list div"]);
        is_at(page, "page=100,200");
        // Nothing scrolls any more, and a map takes the wheel by itself.
        page.ok(&["scroll", "--to", "top"]);
        page.ok(&["scroll", "--to", "left"]);
        page.ok(&["click", "#lock"]);
        page.ok(&["scroll", "down", "100", "-s", "#map"]);
        is_at(page, "map=100");
        page.refused(&["scroll", "down", "100", "-s", "#flat"], "no-effect", &["nothing scrolls down"]);
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn what_is_in_front_of_the_page_scrolls_first() {
    Page::each_at("gate/edges", |page| {
        page.ok(&["click", "#open"]);
        let (moved, height) = scroll(page, "bottom", None);
        assert!(moved == height && height > 2000, "{moved} {height}");
        is_at(page, &format!("front={height}"));
        is_at(page, "page=0,0");
        scroll(page, "top", None);
        page.ok(&["click", "#close"]);
        scroll(page, "bottom", None);
        is_at(page, "front=0");
        scroll(page, "top", None);
        // A page that keeps its place.
        page.ok(&["click", "#lock"]);
        page.refused(&["scroll", "--to", "bottom"], "no-effect", &["nothing scrolls up or down here"]);
        is_at(page, "page=0,0");
    });
}
