//! Frames on hosts that the policy refuses: not requested, and left out of what is read. Frames that hang: left out of it, too.

use std::time::{Duration, Instant};

use super::{
    super::{
        hosts::{NEWS, SHOP},
        processes::wait_for,
        test_env,
    },
    acting::Page,
    agent_browsers,
    browser::GateBrowser,
    env, only_hosts, session_policy, shop, shown_until, text_of,
};

/// Time for a few calls about a page that answers. Each would take as long if it waited for a frame that does not.
const AT_ONCE: Duration = Duration::from_secs(9);

/// Text of the page inside the frame.
const INNER: &str = "Hello from news.example.net";

fn requests() -> usize {
    test_env::hosts().paths_of(NEWS).len()
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn frame_on_refused_host_is_left_out_of_the_page() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &only_hosts(&[SHOP])).serve();
        let leave = shop(&format!("gate/leave?http://{NEWS}/hello"));
        server.call_within(60, "s", &["open", &leave]).ok();
        let before = requests();
        shown_until(&server, &server.call("s", &["click", "#frame"]), "host-not-in-allowlist");
        let page = server.call("s", &["snapshot"]).ok();
        assert!(page.page().contains("This page stays"), "the rest must be readable: {page:?}");
        assert!(!text_of(&page).contains(INNER), "{page:?}");
        assert!(text_of(&page).contains(NEWS), "the answer must say which frame was left out: {page:?}");
        assert_eq!(requests(), before, "the host must see no request");
        // Control: with the host allowed, the frame is read.
        server.env().write_policy(&only_hosts(&[SHOP, NEWS]).to_string());
        server.call("s", &["open", &leave]).ok();
        server.call("s", &["click", "#frame"]).ok();
        wait_for("control: the request", || (requests() > before).then_some(()));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn frame_refused_after_it_loaded_is_not_read() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        server.call_within(60, "s", &["open", &shop(&format!("gate/leave?http://{NEWS}/hello"))]).ok();
        let before = requests();
        server.call("s", &["click", "#frame"]).ok();
        wait_for("the request of the frame", || (requests() > before).then_some(()));
        server.call("s", &["wait", "--load", "load"]).ok();
        let selector = "#inner >> internal:control=enter-frame >> body";
        server.env().write_policy(&only_hosts(&[SHOP]).to_string());
        for argv in
            [&["snapshot"][..], &["snapshot", "-s", selector], &["get", "text", selector], &["get", "html", "body"]]
        {
            let reply = server.call("s", argv);
            assert!(!text_of(&reply).contains(INNER), "{argv:?}: {reply:?}");
        }
        assert!(server.call("s", &["snapshot"]).ok().page().contains("This page stays"));
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn hung_frame_takes_nothing_else_from_its_page() {
    Page::each_at("gate/hung", |page| {
        // The page, as soon as it can be read with or without the frame.
        let read = |has_frame: bool| {
            wait_for(&format!("a snapshot, with the frame: {has_frame}"), || {
                let reply = page.call(&["snapshot"]);
                let is_read = reply.code == 0 && reply.page().contains("Text of the page");
                (is_read && reply.page().contains("Text of the frame") == has_frame).then(|| reply.page())
            })
        };
        read(true);
        page.ok(&["click", "#count"]);
        page.assert_log("counted 1");
        assert!(page.call(&["screenshot"]).ok().picture.is_some(), "control: a picture");
        page.call(&["click", "#hang"]);
        // The call that finds that the frame hangs may be refused, as what it has read there is not known to be free of secrets.
        read(false);
        let start = Instant::now();
        page.ok(&["click", "#count"]);
        page.assert_log("counted 2");
        assert!(read(false).contains("counted 2"));
        assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
        assert!(page.call(&["screenshot"]).picture.is_none(), "it may show a secret of the frame");
        // Another one in the same process: a frame that cannot be set up has closed its tab after ten seconds.
        page.call(&["click", "#add"]);
        page.call_within(30, &["wait", "15000"]);
        page.ok(&["click", "#count"]);
        page.assert_log("counted 3");
        assert!(read(false).contains("counted 3"));
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn selectors_that_enter_frames_are_refused() {
    for program in agent_browsers() {
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        server.call_within(60, "s", &["open", &shop(&format!("gate/leave?{}", shop("hello")))]).ok();
        server.call("s", &["click", "#frame"]).ok();
        for selector in [
            "#inner >> internal:control=enter-frame >> body",
            "css=#inner >> internal:control=enter-frame >> h1",
            "internal:has-text=\"Hello\"",
        ] {
            for argv in [&["snapshot", "-s", selector][..], &["get", "text", selector], &["click", selector]] {
                let reply = server.call("s", argv);
                assert!(reply.code == 64 || reply.code == 77, "{argv:?}: {reply:?}");
            }
        }
        // Control: a selector with the same text as the value of an attribute.
        server.call("s", &["get", "count", "[title=\"internal:control=enter-frame\"]"]).ok();
    }
}
