//! Stand-in for a person who watches: a tab of a real browser, and noVNC's page in it.

use std::net::TcpStream;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use super::{
    chromium::Chromium,
    processes::{TEST_TIMEOUT, wait_for},
};

/// Tab of a person's browser, over its debugging port, with pages of one server.
pub(crate) struct ViewerTab {
    origin: String,
    socket: WebSocket<TcpStream>,
    next: u64,
}

impl ViewerTab {
    /// Connects to the first tab. It opens pages of this origin.
    pub(crate) fn of(chromium: &Chromium, origin: &str) -> Self {
        let id = &chromium.tabs()[0].id;
        let stream = TcpStream::connect(("127.0.0.1", chromium.port())).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let address = format!("ws://127.0.0.1:{}/devtools/page/{id}", chromium.port());
        let (socket, _) = client(address, stream).expect("cannot connect to Chromium's debugging port");
        Self { origin: origin.to_owned(), socket, next: 0 }
    }

    /// Sends a request.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.try_request(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Sends a request that may fail, such as while the page changes.
    fn try_request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.next += 1;
        let question = json!({"id": self.next, "method": method, "params": params});
        self.socket.send(Message::text(question.to_string())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else { continue };
            let message: Value = serde_json::from_str(&text).unwrap();
            if message["id"] == self.next {
                return if message["error"].is_null() { Ok(message["result"].clone()) } else { Err(message) };
            }
        }
    }

    /// Evaluates an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        self.request("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}))["result"]["value"]
            .clone()
    }

    /// Evaluates an expression in a page that may just be changing.
    pub(crate) fn try_evaluate(&mut self, expression: &str) -> Option<Value> {
        let result = self.try_request("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        Some(result.ok()?["result"]["value"].clone())
    }

    /// Opens a page of the server.
    pub(crate) fn open(&mut self, path: &str) {
        self.request("Page.navigate", json!({"url": format!("{}{path}", self.origin)}));
        // The page may go on to another one.
        wait_for("the page", || (self.try_evaluate("document.readyState")? == "complete").then_some(()));
    }

    /// Returns true if noVNC reports a connected screen.
    pub(crate) fn is_connected(&mut self) -> bool {
        let connected = "document.documentElement.classList.contains('noVNC_connected')";
        self.try_evaluate(connected) == Some(Value::Bool(true))
    }

    /// Waits until noVNC shows the whole screen, smaller than it is.
    pub(crate) fn wait_until_connected_and_scaled(&mut self) {
        wait_for("the desktop", || self.is_connected().then_some(()));
        let scaled = "(() => {
            const canvas = document.querySelector('#noVNC_container canvas'), shown = canvas.getBoundingClientRect();
            return shown.width > 0 && shown.width < canvas.width && shown.width <= innerWidth && shown.height <= innerHeight;
        })()";
        wait_for("a scaled desktop", || (self.try_evaluate(scaled)? == true).then_some(()));
    }

    /// Shrinks the window below the size of the desktop.
    pub(crate) fn shrink(&mut self) {
        let size = json!({"width": 800, "height": 600, "deviceScaleFactor": 1, "mobile": false});
        self.request("Emulation.setDeviceMetricsOverride", size);
    }

    /// Returns the share of pixels of the window with a color, from 0 to 1.
    pub(crate) fn color_share(&mut self, color: [u8; 3]) -> f64 {
        let picture = self.request("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let size = info.color_type.samples();
        assert!(size >= 3, "expected a color image");
        // VNC may send the screen as JPEG, which changes colors slightly.
        let same = |pixel: &&[u8]| pixel.iter().zip(color).all(|(a, b)| a.abs_diff(b) < 16);
        let all = pixels.chunks_exact(size).count();
        let found = pixels.chunks_exact(size).filter(same).count();
        #[allow(clippy::cast_precision_loss, reason = "a share of some million pixels")]
        return found as f64 / all as f64;
    }
}
