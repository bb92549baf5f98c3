//! Parts of an image, which have no boxes of their own.

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
