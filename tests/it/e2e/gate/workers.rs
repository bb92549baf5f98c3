//! Workers of pages: each kind runs, and what they load passes the policy as what pages load does.

use serde_json::{Value, json};

use super::{
    super::{
        hosts::{NEWS, SHOP, SYSTEM_PORT},
        processes::wait_for,
        server::Server,
        test_env,
    },
    agent_browsers, attack, attacked,
    browser::GateBrowser,
    env,
    script::{OWN_PAGE, evaluate, on_page, own_page},
    session_policy, shop,
};

/// Kinds of workers on the page, as it shows them.
const KINDS: &str = "blob data file in-nested module nested service shared worklet";

/// Waits until an element of the page has a text that begins and ends so, and returns it.
fn text_in(server: &Server, element: &str, start: &str, end: &str) -> String {
    wait_for("the report of the page", || {
        let text = server.call("s", &["get", "text", element]).ok().data()["text"].as_str()?.to_owned();
        (text.starts_with(start) && text.ends_with(end)).then_some(text)
    })
}

/// Waits until all workers of the page and of its frames have answered.
fn wait_for_workers(server: &Server) {
    let mut answers: Vec<_> = KINDS.split(' ').map(str::to_owned).collect();
    answers.extend([NEWS, SHOP].map(|host| format!("frame-on-{host}")));
    answers.sort_unstable();
    wait_for("an answer of each worker", || {
        let text = server.call("s", &["get", "text", "#done"]).ok().data()["text"].as_str()?.to_owned();
        (text == format!("answered: {}", answers.join(" "))).then_some(())
    });
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn workers_of_every_kind_answer() {
    let page = shop(&format!("gate/workers?frames={},http://{NEWS}/gate/workers", shop("gate/workers")));
    for program in agent_browsers() {
        for engine in ["gate", "agent-browser"] {
            let browser = GateBrowser::start_secure();
            let mut policy = session_policy();
            policy["snapshot"] = json!({ "engine": engine });
            let server = env(&browser, &program, &policy).serve();
            server.call_within(60, "s", &["open", &page]).ok();
            wait_for_workers(&server);
            server.call("s", &["reload"]).ok();
            wait_for_workers(&server);
            server.call("s", &["click", "#tab"]).ok();
            wait_for("the second tab", || server.call("s", &["get", "url"]).stdout.contains("&tab").then_some(()));
            wait_for_workers(&server);
            if engine == "agent-browser" {
                continue;
            }
            // Many that have ended keep nothing from starting.
            server.call("s", &["click", "#more"]).ok();
            text_in(&server, "#ended", "200 have ended", "");
            server.call("s", &["reload"]).ok();
            wait_for_workers(&server);
        }
    }
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn client_that_resumes_no_worker_stops_none() {
    let browser = GateBrowser::start_secure();
    let server = attacked(&browser);
    let answered = "new Promise(resolve => { const look = () => done.textContent.split(' ').length > 9 \
                    ? resolve(done.textContent) : setTimeout(look, 20); look(); })";
    let waits = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true});
    let open = [
        on_page("Target.setAutoAttach", waits),
        on_page("Page.enable", json!({})),
        on_page("Page.navigate", json!({"url": shop("gate/workers")})),
        json!({"event": "Page.loadEventFired"}),
    ];
    let replies = attack(&server, "s", &own_page(&[&open[..], &[evaluate(answered)]].concat()));
    assert_eq!(*replies.value(OWN_PAGE + open.len()), format!("answered: {KINDS}"));
    // The one before has disconnected.
    let again = [on_page("Page.enable", json!({})), on_page("Page.reload", json!({})), open[3].clone()];
    let replies = attack(&server, "s", &own_page(&[&again[..], &[evaluate(answered)]].concat()));
    assert_eq!(*replies.value(OWN_PAGE + again.len()), format!("answered: {KINDS}"));
}

/// Returns the results of what workers ask of a host, and the number of requests that reached it.
fn requests_to(server: &Server, host: &str) -> (Value, usize) {
    let requests = || {
        let paths = test_env::hosts().paths_of(host);
        paths.iter().filter(|path| path.starts_with("/gate/worker-part.js")).count()
    };
    let before = requests();
    server.call_within(60, "s", &["open", &shop(&format!("gate/worker-requests?host={host}"))]).ok();
    let text = text_in(server, "#done", "{", "}");
    (serde_json::from_str(&text).unwrap(), requests() - before)
}

#[test]
#[ignore = "needs the test network: run ./dev test"]
fn workers_reach_no_host_that_pages_must_not() {
    // Chromium by itself keeps public pages from private addresses.
    let refused = &format!("{NEWS}:{SYSTEM_PORT}");
    let loaded = json!({"script": "loaded", "module": "loaded", "fetch": "loaded"});
    let failed = json!({"script": "failed", "module": "failed", "fetch": "failed"});
    for program in agent_browsers() {
        let guarded = GateBrowser::start_guarded();
        let server = env(&guarded, &program, &session_policy()).serve();
        assert_eq!(requests_to(&server, refused), (failed.clone(), 0));
        assert_eq!(requests_to(&server, NEWS), (loaded.clone(), 3), "control: a host that the guard allows");
        drop(server);
        drop(guarded);
        let browser = GateBrowser::start();
        let server = env(&browser, &program, &session_policy()).serve();
        assert_eq!(requests_to(&server, refused), (loaded.clone(), 3), "control: without the guard");
    }
}
