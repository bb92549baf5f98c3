//! Links to other programs, such as `tel:`: they are not followed, and the answer says so.

use super::{acting::Page, click_until, text_of};

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn link_to_another_program_is_told_and_not_followed() {
    Page::each_at("gate/programs", |page| {
        for (selector, scheme, log) in [
            ("#call", "tel", "counted 1"),
            ("#mail", "mailto", "counted 2"),
            ("#meet", "meet+app", "counted 3"),
            // Sent there by a server.
            ("#sent", "tel", "counted 4"),
            ("#framed", "cid", "counted 5"),
            ("#unread", "steam", "counted 6"),
            ("#blank", "tel", "counted 7"),
        ] {
            let told = format!("a link to another program (`{scheme}:`) was not followed");
            click_until(&page.server, selector, &told);
            page.ok(&["click", "#count"]);
            page.assert_log(log);
        }
        // Control: a link in the page, which its page hears of.
        let reply = page.call(&["click", "#below"]).ok();
        assert!(!text_of(&reply).contains("another program"), "{reply:?}");
        page.assert_log("#below");
    });
}
