//! Pictures of elements that only the gate reaches: in frames and in closed shadow trees.

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
fn picture_in_a_frame_with_revealed_password_is_refused() {
    Page::each_at("gate/pictures", |page| {
        let box_in_frame = page.reference("button", &format!("box {NEWS}"));
        assert!(page.call(&["screenshot", &box_in_frame]).ok().picture.is_some(), "control");
        page.ok(&["click", &page.reference("button", &format!("reveal {NEWS}"))]);
        page.refused(&["screenshot", &box_in_frame, "kept.png"], "plain-value-visible", &[]);
        assert!(!page.files().join("kept.png").exists());
    });
}
