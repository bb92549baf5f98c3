//! The screen as a person sees it: a token, a ticket, noVNC's page in the person's browser, and in it the desktop
//! with the agent's page.
//!
//! The tests compare pixels of the person's screen, not the status that a script reports.

use super::{
    super::{
        e2e::{chromium::Chromium, hosts::SHOP, viewer_tab::ViewerTab},
        harness::processes::wait_for,
    },
    base::{Stack, StackKind},
    request::{PORT, Viewer, post, request},
    sharing::acquire,
};

/// Debugging ports of the person's browser, one for each test: they run side by side.
const VIEWER_PORTS: [u16; 3] = [9341, 9342, 9343];

/// A color that does not occur on the desktop, in the browser or in noVNC.
const COLOR: [u8; 3] = [0x0b, 0xd4, 0x4f];

fn tab_of(chromium: &Chromium) -> ViewerTab {
    ViewerTab::of(chromium, &format!("http://127.0.0.1:{PORT}"))
}

fn page(ticket: &str, screen_ticket: &str) -> String {
    format!(
        "/vnc/index.html?autoconnect=true&resize=scale&reconnect=false&ticket={ticket}&path=websockify%3Fticket%3D{screen_ticket}"
    )
}

fn open_color(stack: &Stack) {
    let color = COLOR.map(|part| format!("{part:02x}")).concat();
    stack.call("watched", &["open", &format!("http://{SHOP}/color?{color}")]).ok();
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn person_with_ticket_sees_what_agent_does() {
    let stack = acquire(StackKind::Jwt);
    let _exclusive = stack.browser();
    stack.begin("watched");

    assert_eq!(post("/tickets", &[], "").status, 401, "a ticket needs credentials");
    let ticket = stack.ticket();
    let chromium = Chromium::start(VIEWER_PORTS[0]);
    let mut tab = tab_of(&chromium);
    tab.open(&page(&ticket, &ticket));
    wait_for("the desktop", || tab.is_connected().then_some(()));
    let before = tab.color_share(COLOR);
    assert!(before < 0.01, "control: the color must not be visible yet: {before}");

    open_color(&stack);
    // The browser's own bars and the edges of the viewer cover the rest.
    wait_for("the page of the agent in the person's browser", || (tab.color_share(COLOR) > 0.4).then_some(()));

    // With a ticket for the page only, the page loads and reports that there is no screen.
    let mut other = tab_of(&chromium);
    other.open(&page(&stack.ticket(), "11111111-2222-3333-4444-555555555555"));
    wait_for("noVNC's message", || {
        let class = other.evaluate("document.getElementById('noVNC_status')?.className ?? ''");
        class.as_str().unwrap().contains("noVNC_status_error").then_some(())
    });
    assert!(!other.is_connected());
    let share = other.color_share(COLOR);
    assert!(share < 0.01, "the color must not be visible: {share}");

    // Control: the same tab with valid tickets for both.
    let ticket = stack.ticket();
    other.open(&page(&ticket, &ticket));
    wait_for("the page of the agent again", || (other.color_share(COLOR) > 0.4).then_some(()));
    stack.call("watched", &["close"]).ok();
}

// Requirement 3.6.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn vnc_path_opens_connected_and_scaled_viewer() {
    let stack = acquire(StackKind::Open);
    let chromium = Chromium::start(VIEWER_PORTS[1]);
    let mut tab = tab_of(&chromium);
    tab.shrink();
    for path in ["/vnc", "/vnc/", "/vnc?view_only=true"] {
        tab.open("/vnc/index.html");
        assert!(!tab.is_connected(), "control: noVNC's page alone must wait for its button");
        tab.open(path);
        tab.wait_until_connected_and_scaled();
        let address = tab.evaluate("location.pathname + location.search");
        let address = address.as_str().unwrap();
        assert!(address.starts_with("/vnc/index.html?"), "{address}");
        assert_eq!(address.contains("view_only=true"), path.contains("view_only=true"), "the query is kept: {address}");
    }
    // Parameters of the address win over the defaults.
    tab.open("/vnc/?resize=off");
    wait_for("the desktop", || tab.is_connected().then_some(()));
    let is_full = "document.querySelector('#noVNC_container canvas').getBoundingClientRect().width >= 1280";
    wait_for("the full size", || (tab.try_evaluate(is_full)? == true).then_some(()));
    drop(stack);
}

// Requirement 3.6.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn vnc_path_passes_ticket_on_to_viewer() {
    let stack = acquire(StackKind::Jwt);
    let chromium = Chromium::start(VIEWER_PORTS[2]);
    let mut tab = tab_of(&chromium);
    tab.shrink();
    tab.open("/vnc");
    let text = tab.evaluate("document.body.textContent");
    assert!(text.as_str().unwrap().contains("credentials are missing"), "control: {text}");
    for path in ["/vnc", "/vnc/"] {
        tab.open(&format!("{path}?ticket={}", stack.ticket()));
        tab.wait_until_connected_and_scaled();
    }
    assert_eq!(request("GET /vnc").status, 401);
    assert_eq!(request("GET /vnc/").status, 401);
}

// Requirement 3.3.
#[test]
#[ignore = "needs the stack: run ./dev test"]
fn screen_requires_valid_ticket() {
    let stack = acquire(StackKind::Jwt);
    let page = |query: &str| request(&format!("GET /vnc/index.html{query}")).status;
    let screen = |query: &str| Viewer::connect(query).map(drop);
    let ticket = stack.ticket();
    let good = format!("?ticket={ticket}");
    assert_eq!((page(&good), screen(&good)), (200, Ok(())), "control");

    for (what, query) in [
        ("no ticket", String::new()),
        ("an empty one", "?ticket=".to_owned()),
        ("a made-up one", "?ticket=11111111-2222-3333-4444-555555555555".to_owned()),
        ("half of a good one", format!("?ticket={}", ticket.split('-').next().unwrap())),
        ("a good one under another name", format!("?key={ticket}")),
    ] {
        assert_eq!((page(&query), screen(&query)), (401, Err(401)), "{what}");
    }

    // `TICKET_TTL_SECONDS` is the base's default of 30 s here.
    wait_for("the end of the ticket", || (page(&good) == 401).then_some(()));
    assert_eq!((page(&good), screen(&good)), (401, Err(401)), "an expired one");
    let new = format!("?ticket={}", stack.ticket());
    assert_eq!((page(&new), screen(&new)), (200, Ok(())), "control: the next one");
}
