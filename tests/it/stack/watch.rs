//! The way of a person: a token, a ticket, the page of noVNC in a browser of
//! their own, and in it the desktop with what the agent has opened.
//!
//! What counts is the picture that the person gets, so it is pixels that are
//! compared, not what a script says about them.

use std::net::TcpStream;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket};

use super::{
    super::{
        e2e::{chromium::Chromium, hosts::SHOP},
        harness::processes::until,
    },
    base::{Kind, Stack, enter},
    request::{PORT, Viewer, ask, post, websocket},
};

/// The debugging port of the person's browser.
const VIEWER_PORT: u16 = 9333;

/// A colour that no desktop, no browser and no page of noVNC has in any amount.
const COLOUR: [u8; 3] = [0x0b, 0xd4, 0x4f];

/// A tab of the person's browser, over its debugging port.
struct Tab {
    socket: WebSocket<TcpStream>,
    next: u64,
}

impl Tab {
    fn of(chromium: &Chromium) -> Self {
        let id = chromium.tabs()[0].id.clone();
        let address = format!("ws://127.0.0.1:{VIEWER_PORT}/devtools/page/{id}");
        Self { socket: websocket(&address, None).expect("Chromium's debugging port"), next: 0 }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let question = json!({"id": self.next, "method": method, "params": params});
        self.socket.send(Message::text(question.to_string())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else { continue };
            let message: Value = serde_json::from_str(&text).unwrap();
            if message["id"] == self.next {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    fn evaluate(&mut self, expression: &str) -> Value {
        self.ask("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}))["result"]["value"]
            .clone()
    }

    fn open(&mut self, path: &str) {
        self.ask("Page.navigate", json!({"url": format!("http://127.0.0.1:{PORT}{path}")}));
        until("the page", || (self.evaluate("document.readyState") == "complete").then_some(()));
    }

    /// Whether noVNC says that it shows a screen.
    fn is_connected(&mut self) -> bool {
        self.evaluate("document.documentElement.classList.contains('noVNC_connected')") == true
    }

    /// How much of the picture has the colour: 0 to 1.
    fn share(&mut self) -> f64 {
        let picture = self.ask("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let size = info.color_type.samples();
        assert!(size >= 3, "a picture with colours");
        // VNC may send a screen as JPEG, which changes colours a little
        let same = |pixel: &&[u8]| pixel.iter().zip(COLOUR).all(|(a, b)| a.abs_diff(b) < 16);
        let all = pixels.chunks_exact(size).count();
        let found = pixels.chunks_exact(size).filter(same).count();
        #[allow(clippy::cast_precision_loss, reason = "a share of some million pixels")]
        return found as f64 / all as f64;
    }
}

fn page(ticket: &str, screen_ticket: &str) -> String {
    format!(
        "/vnc/index.html?autoconnect=true&resize=scale&reconnect=false&ticket={ticket}&path=websockify%3Fticket%3D{screen_ticket}"
    )
}

fn open_colour(stack: &Stack) {
    let colour = COLOUR.map(|part| format!("{part:02x}")).concat();
    stack.call("watched", &["open", &format!("http://{SHOP}/colour?{colour}")]).ok();
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn a_person_with_a_ticket_sees_what_the_agent_does() {
    let stack = enter(Kind::Jwt);
    let _turn = stack.browser();
    stack.begin("watched");

    assert_eq!(post("/tickets", &[], "").status, 401, "a ticket is not for everyone");
    let ticket = stack.ticket();
    let chromium = Chromium::start(VIEWER_PORT);
    let mut tab = Tab::of(&chromium);
    tab.open(&page(&ticket, &ticket));
    until("the desktop", || tab.is_connected().then_some(()));
    let before = tab.share();
    assert!(before < 0.01, "control: the colour is not there yet: {before}");

    open_colour(&stack);
    // the browser's own bars and the edges of the viewer take the rest
    until("the page of the agent in the person's browser", || (tab.share() > 0.4).then_some(()));

    // With a ticket for the page alone, there is the page alone; and it says that there is no screen.
    let mut other = Tab::of(&chromium);
    other.open(&page(&stack.ticket(), "11111111-2222-3333-4444-555555555555"));
    until("noVNC's message", || {
        let said = other.evaluate("document.getElementById('noVNC_status')?.className ?? ''");
        said.as_str().unwrap().contains("noVNC_status_error").then_some(())
    });
    assert!(!other.is_connected());
    let share = other.share();
    assert!(share < 0.01, "no screen, no colour: {share}");

    // control: the same tab with good tickets for both
    let ticket = stack.ticket();
    other.open(&page(&ticket, &ticket));
    until("the page of the agent again", || (other.share() > 0.4).then_some(()));
    stack.call("watched", &["close"]).ok();
}

#[test]
#[ignore = "needs the stack: run ./dev test"]
fn spec_3_3_the_screen_needs_a_ticket_that_is_good() {
    let stack = enter(Kind::Jwt);
    let page = |query: &str| ask(&format!("GET /vnc/index.html{query}")).status;
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

    // TICKET_TTL_SECONDS is the base's own 30 s here
    until("the end of the ticket", || (page(&good) == 401).then_some(()));
    assert_eq!((page(&good), screen(&good)), (401, Err(401)), "an expired one");
    let new = format!("?ticket={}", stack.ticket());
    assert_eq!((page(&new), screen(&new)), (200, Ok(())), "control: the next one");
}
