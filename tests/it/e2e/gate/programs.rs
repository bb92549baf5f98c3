//! Links to other programs, such as `tel:`: they are not followed, and the answer says so.

use super::{
    super::{processes::wait_for, server::CallReply},
    acting::Page,
    text_of,
};

/// Clicks, and fails unless an answer names this scheme. The report may follow the answer to the click.
#[track_caller]
fn assert_is_told(page: &Page, selector: &str, scheme: &str) {
    let told = format!("a link to another program (`{scheme}:`) was not followed");
    let is_told = |reply: &CallReply| text_of(reply).contains(&told);
    let reply = page.call(&["click", selector]).ok();
    if !is_told(&reply) {
        wait_for(&told, || is_told(&page.call(&["wait", "100"]).ok()).then_some(()));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn link_to_another_program_is_told_and_not_followed() {
    Page::each_at("gate/programs", |page| {
        for (selector, scheme, log) in
            [("#call", "tel", "counted 1"), ("#mail", "mailto", "counted 2"), ("#meet", "meet+app", "counted 3")]
        {
            assert_is_told(page, selector, scheme);
            page.ok(&["click", "#count"]);
            page.assert_log(log);
        }
        // Control: a link in the page, which its page hears of.
        let reply = page.call(&["click", "#below"]).ok();
        assert!(!text_of(&reply).contains("another program"), "{reply:?}");
        page.assert_log("#below");
    });
}
