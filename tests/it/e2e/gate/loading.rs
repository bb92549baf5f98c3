//! Pages whose server takes long to answer: no command ends their load but one that opens another page.

use serde_json::json;

use super::{
    super::{hosts::NEWS, processes::wait_for, server::Server, test_env},
    browser::GateBrowser,
    env, own_policy, shop,
};

/// Opens a page whose form leads to a page that answers when the test releases it.
fn open_form(server: &Server, path: &str) {
    server.call_within(60, "s", &["open", &shop(&format!("form?/{path}"))]).ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn act_that_begins_a_slow_load_is_done_and_says_so() {
    let hosts = test_env::hosts();
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    for (act, argv) in [("enter", ["press", "Enter"]), ("click", ["click", "text=Send"])] {
        let name = format!("slow-{act}");
        open_form(&server, &format!("held?{name}"));
        server.call("s", &["focus", "input"]).ok();
        let done = server.call("s", &argv).ok();
        assert_eq!(done.data()["loading"], true, "{done:?}");
        // It is longer than the tab would have to answer if it were not loading.
        let waiting = server.begin("s", &["snapshot"], Some(8));
        hosts.wait_until_asked(&name);
        let waiting = waiting.answer();
        assert!(waiting.stderr.starts_with("page-loading: "), "{waiting:?}");
        let waiting = server.begin("s", &["snapshot"], Some(60));
        hosts.release(&name);
        let page = waiting.answer().ok().page();
        assert!(page.contains("This is /held"), "{page}");
        assert_eq!(hosts.asked_and_cut(&name), (1, 0), "{act}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn command_that_opens_a_page_ends_a_slow_load() {
    let hosts = test_env::hosts();
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    let name = "replaced";
    open_form(&server, &format!("held?{name}"));
    assert_eq!(server.call("s", &["click", "text=Send"]).ok().data()["loading"], true);
    server.call_within(60, "s", &["open", &shop("hello")]).ok();
    let page = server.call("s", &["snapshot"]).ok().page();
    assert!(page.contains("This is /hello"), "{page}");
    assert_eq!(hosts.asked_and_cut(name).0, 1);
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn load_that_ends_without_a_page_leaves_the_page_before() {
    let browser = GateBrowser::start();
    let hosts = test_env::hosts();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    open_form(&server, "held-nothing?nothing");
    assert_eq!(server.call("s", &["click", "text=Send"]).ok().data()["loading"], true);
    let waiting = server.begin("s", &["fill", "input", "Ada"], Some(60));
    hosts.release("nothing");
    assert!(waiting.answer().ok().data().get("loading").is_none());
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_that_has_not_come_as_a_whole_is_waited_for() {
    let browser = GateBrowser::start();
    let hosts = test_env::hosts();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    open_form(&server, "begun?rest");
    server.call("s", &["click", "text=Send"]).ok();
    let empty = server.call_within(2, "s", &["snapshot"]).ok();
    assert_eq!((empty.data()["loading"].clone(), empty.page().as_str()), (json!(true), "(empty page)"));
    let waiting = server.begin("s", &["snapshot"], Some(60));
    hosts.release("rest");
    let whole = waiting.answer().ok();
    assert!(whole.page().contains("The rest") && whole.data().get("loading").is_none(), "{whole:?}");
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn page_is_opened_behind_an_act_that_begins_to_load_another() {
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    for delay in (0..80).step_by(8) {
        server.call_within(60, "s", &["open", &shop(&format!("form-after?{delay}"))]).ok();
        server.call("s", &["click", "text=Send"]).ok();
        let opened = server.call("s", &["open", &shop("hello")]).ok();
        // A page that asks for another one late, as its timer may be on a busy machine, may be replaced by that one after all.
        let url = opened.data()["url"].as_str().unwrap().to_owned();
        assert!(url == shop("hello") || url == shop("arrived"), "{delay}: {url}");
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn frame_of_another_process_is_waited_for_until_it_has_loaded() {
    let browser = GateBrowser::start();
    let hosts = test_env::hosts();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    let open = |frame: &str| {
        let opened = server.call_within(60, "s", &["open", &shop(&format!("gate/acting?http://{NEWS}/{frame}"))]).ok();
        opened.data().get("awaits").cloned()
    };
    // On a busy machine, the process of a frame takes longer to begin than `open` waits.
    wait_for("a page whose frame has loaded", || open("gate/acting-frame").is_none().then_some(()));
    server.call_within(60, "s", &["wait", "--load", "networkidle"]).ok();
    // Control: what it waits for is named.
    assert_eq!(open("held?frame"), Some(format!("http://{NEWS}/held?frame").into()));
    let waiting = server.begin("s", &["wait", "--load", "networkidle"], Some(60));
    hosts.release("frame");
    waiting.answer().ok();
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn request_of_a_frame_is_not_awaited_once_the_frame_is_gone() {
    let browser = GateBrowser::start();
    let server = env(&browser, test_env::no_agent_browser(), &own_policy()).serve();
    let open = |path: &str| {
        let opened = server.call_within(60, "s", &["open", &shop(path)]).ok();
        opened.data().get("awaits").cloned()
    };
    // The answer is held for ever.
    let awaited = Some(shop("held?fetching").into());
    // The frame may ask for it once the page is there.
    let open_awaiting = || wait_for("the request of the frame", || (open("gate/fetching") == awaited).then_some(()));
    for _ in 0..4 {
        open_awaiting();
        assert_eq!(open("hello"), None);
        server.call_within(60, "s", &["wait", "--load", "networkidle"]).ok();
    }
    open_awaiting();
    server.call("s", &["click", "#remove"]).ok();
    server.call_within(60, "s", &["wait", "--load", "networkidle"]).ok();
}
