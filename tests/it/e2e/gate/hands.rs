//! Acts of a hand that no single press is: holding, coming back with the pointer, sorting a list.

use browser_shell_core::snapshot::Line;

use super::super::test_env;
use super::{GateBrowser, Server, env, own_policy, shop, text_of};

/// Opens the page in a session with our own engine.
fn open(browser: &GateBrowser) -> Server {
    let server = env(browser, test_env::no_agent_browser(), &own_policy()).serve();
    server.call("s", &["open", &shop("gate/hands")]).ok();
    server
}

/// Does an act, and asserts that the page has a state behind it and not before.
#[track_caller]
fn changes(server: &Server, argv: &[&str], wanted: &str) {
    let state = || server.call("s", &["get", "text", "#state"]).ok().data()["text"].as_str().unwrap().to_owned();
    assert!(!state().contains(wanted), "control: {argv:?}");
    let reply = server.call("s", argv);
    assert_eq!(reply.code, 0, "{argv:?}: {reply:?}");
    assert!(state().contains(wanted), "{argv:?}: {}", state());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn button_that_wants_to_be_held_is_held() {
    let browser = GateBrowser::start();
    let server = open(&browser);
    server.call("s", &["click", "#hold"]).ok();
    // Control: a press that ends at once is none that lasts. Only time shows it.
    server.call("s", &["wait", "700"]).ok();
    changes(&server, &["click", "#hold", "--hold", "700"], "held=true");
}

/// The page's own menu opens, and Chromium's does not: it would take the input of its window.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn right_button_is_for_the_menu_of_the_page_only() {
    let browser = GateBrowser::start();
    let server = open(&browser);
    changes(&server, &["click", "#menu", "--button", "right"], "menu=2false");
    server.call("s", &["click", "#card", "--button", "right"]).ok();
    changes(&server, &["click", "#hold", "--hold", "700"], "held=true");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn pointer_comes_again_to_where_it_is() {
    let browser = GateBrowser::start();
    let server = open(&browser);
    let is_visible = |selector: &str| server.call("s", &["is", "visible", selector]).ok().data()["visible"] == true;
    for (element, shown, hide) in
        [("#card", "#tip", &["press", "Escape"][..]), ("#viewer", "#bar", &["click", "#viewer"])]
    {
        for _ in 0..2 {
            server.call("s", &["hover", element]).ok();
            assert!(is_visible(shown), "{element}");
            server.call("s", hide).ok();
            assert!(!is_visible(shown), "control: {element}");
        }
    }
    let refused = server.call("s", &["hover", "#card", "--at", "500,5"]);
    assert!(text_of(&refused).contains("outside"), "{refused:?}");
}

/// An item goes behind the ones that it passes, in both directions.
#[test]
#[ignore = "needs the test network: run ./dev test"]
fn lists_are_sorted_by_drags_in_both_directions() {
    let browser = GateBrowser::start();
    let server = open(&browser);
    for (list, items) in
        [("native", ["A", "B", "C", "D"]), ("animated", ["E", "F", "G", "H"]), ("dropped", ["I", "J", "K", "L"])]
    {
        let [a, b, c, d] = items;
        for (from, to, order) in [
            (0, 1, format!("{b}{a}{c}{d}")),
            (0, 1, format!("{a}{b}{c}{d}")),
            (0, 2, format!("{b}{c}{a}{d}")),
            (0, 1, format!("{a}{b}{c}{d}")),
            (3, 0, format!("{d}{a}{b}{c}")),
            (3, 2, format!("{a}{b}{c}{d}")),
        ] {
            let [from, to] = [from, to].map(|index: usize| format!("#{}", items[index]));
            changes(&server, &["drag", &from, &to], &format!("{list}={order}"));
        }
    }
    // Where it is told.
    changes(&server, &["drag", "#I", "#K", "--to", "20,3"], "dropped=JIKL");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn element_that_goes_away_is_waited_for() {
    let browser = GateBrowser::start();
    let server = open(&browser);
    let refused = server.call_within(1, "s", &["wait", "--gone", "#always"]);
    assert!(text_of(&refused).contains("did not go away"), "control: {refused:?}");
    for spinner in ["#spinner", "text=Working"] {
        server.call("s", &["click", "#work"]).ok();
        server.call("s", &["wait", "--gone", spinner]).ok();
        let state = server.call("s", &["get", "text", "#state"]).ok().stdout;
        assert!(state.contains("worked=true"), "{spinner}: {state}");
    }
    server.call("s", &["wait", "--gone", "#none"]).ok();
    // By its reference.
    let tree = server.call("s", &["snapshot"]).ok().page();
    let line = tree.lines().find(|line| line.contains("Work\"")).and_then(Line::parse).expect("a button");
    let button = format!("@e{}", line.reference.expect("a reference"));
    let refused = server.call_within(1, "s", &["wait", "--gone", &button]);
    assert!(text_of(&refused).contains("did not go away"), "control: {refused:?}");
}
