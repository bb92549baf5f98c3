//! Pictures that the gate takes: of what is in view, and of elements in frames and in closed shadow trees.

use super::{
    super::{
        flow::decode,
        hosts::{NEWS, SHOP},
    },
    acting::Page,
};

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn element_of_any_frame_is_pictured() {
    Page::each_at("gate/pictures", |page| {
        let picture = |name: &str| {
            let reply = page.call(&["screenshot", &page.reference("button", name), "a.png"]).ok();
            decode(&reply.picture.unwrap())
        };
        // Each of them is far below, and in the frames below what they show at first.
        let expected = picture("Box page");
        assert_eq!((expected.0, expected.1), (160, 40));
        assert!(picture("Other page") != expected, "control: another color");
        for name in ["Box closed", &format!("box {SHOP}"), &format!("box {NEWS}")] {
            assert!(picture(name) == expected, "{name}");
        }
        // No more than the frame shows.
        let (width, height, _) = picture(&format!("tall {NEWS}"));
        assert!(width == 160 && height <= 150, "{width}x{height}");
        let named = page.ok(&["screenshot", &format!("role=button[name=\"box {NEWS}\"]"), "b.png"]);
        assert!(named["path"].as_str().unwrap().ends_with("/b.png"), "{named}");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn picture_is_of_what_is_in_view() {
    Page::each_at("gate/pictures", |page| {
        let pictures = ["top.png", "below.png"].map(|name| {
            let reply = page.call(&["screenshot", name]).ok();
            assert_eq!(reply.data()["path"], page.files().join(name).to_str().unwrap());
            let png = reply.picture.unwrap();
            assert_eq!(std::fs::read(page.files().join(name)).unwrap(), png);
            page.ok(&["press", "End"]);
            page.wait_for_rest("#kept", |sides| sides["y"].as_f64().unwrap() < 0.0);
            decode(&png)
        });
        assert!(pictures[0] != pictures[1], "the page was scrolled");
        let whole = decode(&page.call(&["screenshot", "--full", "whole.png"]).ok().picture.unwrap());
        assert!(whole.1 > pictures[0].1, "the whole page is higher than what is in view");
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn picture_in_a_frame_with_revealed_password_is_refused() {
    Page::each_at("gate/pictures", |page| {
        let box_in_frame = page.reference("button", &format!("box {NEWS}"));
        assert!(page.call(&["screenshot", &box_in_frame]).ok().picture.is_some(), "control");
        page.ok(&["click", &page.reference("button", &format!("reveal {NEWS}"))]);
        page.refused(&["screenshot", &box_in_frame, "kept.png"], "plain-value-visible", &[]);
        assert!(!page.files().join("kept.png").exists());
    });
}
