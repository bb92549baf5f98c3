//! From what agent-browser printed to what the agent reads (spec [1.6]).
//!
//! Decides how an answer of agent-browser is understood. Cutting is [`truncate`]'s work, masking [`mask`]'s, and what
//! versions say differently [`shape`]'s. Must never
//! turn a failure into a success, and never put anything of the request into an answer.

pub mod mask;
pub mod shape;
pub mod truncate;

use serde_json::Value;

/// A stream of the child, read up to a cap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// What was kept.
    pub bytes: Vec<u8>,
    /// How many bytes came in all.
    pub total: u64,
}

impl Captured {
    /// The text, with a mark where bytes beyond the cap went.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let lost = self.total.saturating_sub(self.bytes.len() as u64);
        if lost == 0 { text.into_owned() } else { format!("{text}\n[... {lost} bytes cut]") }
    }
}

/// How a run of agent-browser ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawOutput {
    /// The exit code; 128 and the signal's number if a signal ended it.
    pub exit_code: i32,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
}

/// What stands in the field `stdout` of a reply, before it is cut.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Nothing.
    Empty,
    /// The `data` of an answer.
    Data(Value),
    /// Text that is not an answer in JSON.
    Text(String),
}

/// An answer, understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The exit code of the reply.
    pub exit_code: i32,
    /// What goes to `stdout`.
    pub body: Body,
    /// What goes to `stderr`.
    pub stderr: String,
}

/// Messages with which the known versions of agent-browser say that the browser does not answer.
const BROWSER_GONE: &[&str] = &["Failed to connect via CDP", "All CDP discovery methods failed"];

/// How agent-browser's CLI begins to say that its daemon did not come up within the five seconds that it waits: on a machine
/// where several start at once, or much else goes on, they can take longer. The command was not sent then.
const NO_DAEMON: &str = "Daemon failed to start";

/// How the failure of an `open` begins, and what it holds, when the browser went to its own error page instead.
const OVERTAKEN: (&str, &str) =
    ("page.goto: Navigation to ", r#"is interrupted by another navigation to "chrome-error:"#);

/// What Playwright says when the browser went away under it, and who says it when it was only looking for a page to act on.
const CLOSED: (&str, &str) = ("browserContext.newPage: ", "Target page, context or browser has been closed");

/// Members of an answer's data that are about the page or the daemon and not what was asked for.
const ASIDES: &[&str] = &["origin", "lifecycle"];

/// What is known of a command that the browser, or its page, went away under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// Nothing was done.
    Before,
    /// It may have been done.
    Under,
}

impl Answer {
    /// Reads an answer.
    #[must_use]
    pub fn read(raw: &RawOutput) -> Self {
        let stderr = raw.stderr.to_text();
        let parsed = serde_json::from_slice::<Value>(&raw.stdout.bytes)
            .ok()
            .filter(|_| raw.stdout.total == raw.stdout.bytes.len() as u64);
        let Some(Value::Object(mut answer)) = parsed else {
            return Self::from_text(raw, stderr);
        };
        let mut data = answer.remove("data").unwrap_or(Value::Null);
        shape::settle(&mut data);
        // As the CLI of the pinned version prints it: the same answer is the same text, whichever way it came.
        data.sort_all_objects();
        match answer.get("success").and_then(Value::as_bool) {
            Some(true) => Self { exit_code: raw.exit_code, body: Body::Data(data), stderr },
            Some(false) => {
                let message = match answer.get("error") {
                    Some(Value::String(message)) if !message.is_empty() => message.clone(),
                    _ => "agent-browser reported a failure without a message".to_owned(),
                };
                let exit_code = if raw.exit_code == 0 { 1 } else { raw.exit_code };
                let body = if data.is_null() { Body::Empty } else { Body::Data(data) };
                Self { exit_code, body, stderr: join(&message, &stderr) }
            }
            None => Self::from_text(raw, stderr),
        }
    }

    /// Output that is not an answer in JSON is passed on as text.
    fn from_text(raw: &RawOutput, stderr: String) -> Self {
        let text = raw.stdout.to_text();
        let body = if text.is_empty() { Body::Empty } else { Body::Text(text) };
        let silent = raw.exit_code != 0 && stderr.trim().is_empty();
        let stderr = if silent { format!("agent-browser ended with exit code {}", raw.exit_code) } else { stderr };
        Self { exit_code: raw.exit_code, body, stderr }
    }

    /// Whether the failure is that the browser does not answer.
    #[must_use]
    pub fn is_browser_gone(&self) -> bool {
        self.exit_code != 0 && BROWSER_GONE.iter().any(|message| self.stderr.contains(message))
    }
}

impl RawOutput {
    /// Whether the daemon did not come up, so that nothing was done.
    #[must_use]
    pub fn is_without_daemon(&self) -> bool {
        self.failed_with(|message| message.starts_with(NO_DAEMON))
    }

    /// Whether an `open` was overtaken by the error page of the one before it, so that its page was not opened. Chromium
    /// shows that page a moment after the failure is known.
    #[must_use]
    pub fn is_overtaken(&self) -> bool {
        self.failed_with(|message| message.starts_with(OVERTAKEN.0) && message.contains(OVERTAKEN.1))
    }

    /// Whether the browser or the page was gone when it was needed. The daemon notices a moment after the browser's end.
    #[must_use]
    pub fn closed(&self) -> Option<Closed> {
        let holds = |message: &str| message.lines().next().is_some_and(|line| line.ends_with(CLOSED.1));
        if self.failed_with(|message| message.starts_with(CLOSED.0) && holds(message)) {
            Some(Closed::Before)
        } else {
            self.failed_with(holds).then_some(Closed::Under)
        }
    }

    /// Whether it failed with a short message for which this holds. Only how a message begins is agent-browser's own:
    /// what a page says can follow.
    fn failed_with(&self, holds: impl Fn(&str) -> bool) -> bool {
        let is_short = self.stdout.bytes.len() < 4096 && self.stdout.bytes.starts_with(b"{");
        self.exit_code != 0 && is_short && holds(&Answer::read(self).stderr)
    }
}

/// Joins a message and what else is in stderr, on lines of their own.
fn join(message: &str, stderr: &str) -> String {
    let stderr = stderr.trim_end();
    if stderr.is_empty() { message.to_owned() } else { format!("{message}\n{stderr}") }
}

impl Body {
    /// The URLs at which the answer says the page is: `url` or `origin` of the data, and that of the active tab in a list.
    ///
    /// Only members that agent-browser itself writes are read, never the content of the page.
    #[must_use]
    pub fn landing_urls(&self) -> Vec<String> {
        let Self::Data(Value::Object(data)) = self else {
            return Vec::new();
        };
        let own = ["url", "origin"].into_iter().filter_map(|name| data.get(name));
        let tabs = data.get("tabs").and_then(Value::as_array).into_iter().flatten();
        let active = tabs.filter(|tab| tab.get("active") == Some(&Value::Bool(true))).filter_map(|tab| tab.get("url"));
        own.chain(active).filter_map(Value::as_str).filter(|url| !url.is_empty()).map(str::to_owned).collect()
    }

    /// Takes a text that the agent sent out of the data: some versions of agent-browser repeat what was typed.
    pub fn remove_echo(&mut self, sent: &str) {
        if let (false, Self::Data(Value::Object(data))) = (sent.is_empty(), self) {
            data.retain(|_, value| value.as_str() != Some(sent));
        }
    }

    /// The text of the field `stdout`, at most `limit` characters.
    #[must_use]
    pub fn render(&self, limit: usize) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Data(value) => truncate::json(value, limit),
            Self::Text(text) => truncate::text(text, limit),
        }
    }

    /// The same for readers who expect text, as the runtime's compat profile has it: a snapshot is its tree, an answer of one
    /// value is that value, and everything else is one line of JSON. Masking is done before, on the data.
    #[must_use]
    pub fn render_text(&self, limit: usize) -> String {
        let Self::Data(Value::Object(data)) = self else { return self.render(limit) };
        if let (Some(Value::String(tree)), Some(Value::Object(_))) = (data.get("snapshot"), data.get("refs")) {
            return truncate::text(tree, limit);
        }
        let mut told = data.iter().filter(|(name, _)| !ASIDES.contains(&name.as_str())).map(|(_, value)| value);
        match (told.next(), told.next()) {
            (Some(Value::String(text)), None) => truncate::text(text, limit),
            (Some(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)), None) => {
                truncate::text(&value.to_string(), limit)
            }
            _ => self.render(limit),
        }
    }

    /// Masks secrets, in place.
    pub fn mask(&mut self) {
        match self {
            Self::Empty => {}
            Self::Data(value) => mask::json(value),
            Self::Text(text) => *text = mask::text(text).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn captured(text: &str) -> Captured {
        Captured { bytes: text.as_bytes().to_vec(), total: text.len() as u64 }
    }

    fn read(exit_code: i32, stdout: &str, stderr: &str) -> Answer {
        Answer::read(&RawOutput { exit_code, stdout: captured(stdout), stderr: captured(stderr) })
    }

    #[test]
    fn spec_1_6_answers_of_agent_browser() {
        let rows: &[(i32, &str, &str, i32, &str, &str, &str)] = &[
            (
                0,
                r#"{"success":true,"data":{"clicked":true},"error":null}"#,
                "",
                0,
                r#"{"clicked":true}"#,
                "",
                "success",
            ),
            (0, r#"{"success":true,"data":null,"error":null}"#, "", 0, "null", "", "no data"),
            (0, r#"{"success":true}"#, "", 0, "null", "", "no data at all"),
            (1, r#"{"success":false,"data":null,"error":"no element"}"#, "", 1, "", "no element", "failure"),
            (
                0,
                r#"{"success":false,"data":null,"error":"no element"}"#,
                "",
                1,
                "",
                "no element",
                "an exit of 0 becomes 1",
            ),
            (
                1,
                r#"{"success":false,"data":{"a":1},"error":"x"}"#,
                "warn\n",
                1,
                r#"{"a":1}"#,
                "x\nwarn",
                "a failure with data",
            ),
            (1, r#"{"error":"bad","success":false,"type":"unknown_command"}"#, "", 1, "", "bad", "an error of the CLI"),
            (1, r#"{"success":false,"error":""}"#, "", 1, "", "agent-browser reported a failure without a message", ""),
            (0, "agent-browser 0.19.0\n", "", 0, "agent-browser 0.19.0\n", "", "not JSON"),
            (3, "", "boom", 3, "", "boom", "nothing"),
            (0, r#"{"other":1}"#, "", 0, r#"{"other":1}"#, "", "JSON that is not an answer"),
            (0, r#"{"success":"yes"}"#, "", 0, r#"{"success":"yes"}"#, "", "JSON that is not an answer"),
            (137, r#"{"success":true,"data":1}"#, "", 137, "1", "", "killed after its answer"),
        ];
        for (exit, stdout, stderr, exit_code, body, error, why) in rows {
            let answer = read(*exit, stdout, stderr);
            assert_eq!(
                (answer.exit_code, answer.body.render(1000).as_str(), answer.stderr.as_str()),
                (*exit_code, *body, *error),
                "{why}"
            );
        }
    }

    #[test]
    fn spec_1_7_output_beyond_the_cap_is_text_with_a_mark() {
        let stdout = Captured { bytes: br#"{"success":true,"data":"xxx"#.to_vec(), total: 1000 };
        let answer = Answer::read(&RawOutput { exit_code: 0, stdout, stderr: Captured::default() });
        assert!(answer.body.render(1000).ends_with("[... 973 bytes cut]"));
    }

    #[test]
    fn the_browser_is_gone() {
        assert!(read(1, r#"{"success":false,"error":"Failed to connect via CDP on port 9222"}"#, "").is_browser_gone());
        assert!(!read(1, r#"{"success":false,"error":"no element"}"#, "").is_browser_gone());
        let content = r#"{"success":true,"data":{"text":"Failed to connect via CDP"}}"#;
        assert!(!read(0, content, "").is_browser_gone(), "what a page says does not count");
    }

    #[test]
    fn the_daemon_did_not_come_up() {
        let without = |exit_code, stdout: &str| {
            RawOutput { exit_code, stdout: captured(stdout), stderr: Captured::default() }.is_without_daemon()
        };
        assert!(without(1, r#"{"success":false,"error":"Daemon failed to start (socket: /run/x.sock)"}"#));
        assert!(!without(0, r#"{"success":true,"data":{"text":"Daemon failed to start"}}"#));
        assert!(!without(1, r#"{"success":false,"error":"the page says: Daemon failed to start"}"#));
        assert!(!without(1, r#"{"success":false,"data":"Daemon failed to start","error":"no element"}"#));
    }

    #[test]
    fn an_open_was_overtaken_by_an_error_page() {
        let overtaken = |exit_code, error: &str| {
            let stdout = json!({"success": false, "data": null, "error": error}).to_string();
            RawOutput { exit_code, stdout: captured(&stdout), stderr: Captured::default() }.is_overtaken()
        };
        let by = |url: &str| {
            format!(
                r#"page.goto: Navigation to "http://a.example/" is interrupted by another navigation to "{url}"
Call log: navigating"#
            )
        };
        assert!(overtaken(1, &by("chrome-error://chromewebdata/")));
        assert!(!overtaken(1, &by("http://b.example/")), "the page's own doing");
        assert!(!overtaken(0, &by("chrome-error://chromewebdata/")));
        assert!(!overtaken(1, "page.goto: net::ERR_CONNECTION_REFUSED at http://a.example/"));
        assert!(!overtaken(1, &format!("the page says: {}", by("chrome-error://chromewebdata/"))));
    }

    #[test]
    fn the_browser_went_away() {
        let closed = |exit_code, error: &str| {
            let stdout = json!({"success": false, "data": null, "error": error}).to_string();
            RawOutput { exit_code, stdout: captured(&stdout), stderr: Captured::default() }.closed()
        };
        let message = "Target page, context or browser has been closed";
        assert_eq!(closed(1, &format!("browserContext.newPage: {message}")), Some(Closed::Before));
        assert_eq!(closed(1, &format!("locator.click: {message}\nCall log:")), Some(Closed::Under));
        assert_eq!(closed(1, "locator.click: Timeout"), None);
        assert_eq!(closed(0, message), None);
        assert_eq!(closed(1, &format!("the page says\n{message}")), None);
    }

    #[test]
    fn spec_2_6_landing_urls() {
        let urls = |data: Value| Body::Data(data).landing_urls();
        assert_eq!(urls(json!({"title": "x", "url": "https://a.example/"})), ["https://a.example/"]);
        assert_eq!(
            urls(json!({"snapshot": "url: http://10.0.0.1/", "origin": "https://b.example/"})),
            ["https://b.example/"]
        );
        assert_eq!(
            urls(
                json!({"tabs": [{"url": "http://10.0.0.1/", "active": false}, {"url": "https://c.example/", "active": true}]})
            ),
            ["https://c.example/"]
        );
        assert!(urls(json!({"clicked": true})).is_empty());
        assert!(urls(json!("https://a.example/")).is_empty());
    }

    #[test]
    fn answers_as_text() {
        let tree = "- heading \"A\" [ref=e1]\n- link \"B\" [ref=e2]";
        let refs = json!({"e1": {"role": "heading", "name": "A"}});
        let rows = [
            (json!({"snapshot": tree, "refs": refs, "origin": "https://a.example/"}), tree),
            (json!({"snapshot": tree, "refs": refs, "origin": "https://a.example/", "lifecycle": {}}), tree),
            (json!({"snapshot": "", "refs": {}, "origin": "about:blank"}), ""),
            (json!({"text": "two\nlines \"quoted\""}), "two\nlines \"quoted\""),
            (json!({"title": "T", "origin": "https://a.example/"}), "T"),
            (json!({"text": "x", "lifecycle": {"launched": false}}), "x"),
            (json!({"count": 3}), "3"),
            (json!({"visible": false}), "false"),
            (json!({"attribute": null}), "null"),
            (json!({"url": "https://a.example/"}), "https://a.example/"),
            (json!({"origin": "https://a.example/"}), r#"{"origin":"https://a.example/"}"#),
            (json!({"title": "T", "url": "https://a.example/"}), r#"{"title":"T","url":"https://a.example/"}"#),
            (json!({"selected": ["a"]}), r#"{"selected":["a"]}"#),
            (json!({"refs": 1, "snapshot": "- not one"}), r#"{"refs":1,"snapshot":"- not one"}"#),
            (json!({}), "{}"),
            (json!(null), "null"),
            (json!("text"), "\"text\""),
        ];
        for (data, expected) in rows {
            assert_eq!(Body::Data(data.clone()).render_text(1000), expected, "{data}");
        }
        assert_eq!(Body::Empty.render_text(1000), "");
        assert_eq!(Body::Text("not JSON\n".to_owned()).render_text(1000), "not JSON\n");
    }

    #[test]
    fn spec_1_7_answers_as_text_are_cut_with_a_mark() {
        let long = "x".repeat(5000);
        for data in [json!({"text": long}), json!({"snapshot": long, "refs": {}})] {
            let text = Body::Data(data).render_text(1000);
            assert!(text.chars().count() <= 1000 && text.ends_with(" characters cut]"), "{text}");
        }
        let both = Body::Data(json!({"title": long, "url": long})).render_text(1000);
        assert!(serde_json::from_str::<Value>(&both).is_ok(), "what is JSON stays JSON: {both}");
        assert_eq!(Body::Data(json!({"text": "x".repeat(1000)})).render_text(1000).len(), 1000, "control: it fits");
    }

    #[test]
    fn spec_1_8_what_is_masked_stays_masked_as_text() {
        let tree = "- textbox \"Password\" [ref=e1]: hunter2\n- text: token=hunter2";
        for data in [
            json!({"token": "hunter2"}),
            json!({"text": "Authorization: Bearer hunter2hunter2"}),
            json!({"attribute": "https://user:hunter2@a.example/"}),
            json!({"snapshot": tree, "refs": {}}),
            json!({"cookies": [{"name": "a", "value": "hunter2"}]}),
        ] {
            let mut body = Body::Data(data);
            assert!(body.render_text(1000).contains("hunter2"), "control");
            body.mask();
            let text = body.render_text(1000);
            assert!(!text.contains("hunter2") && text.contains("***"), "{text}");
        }
    }

    #[test]
    fn spec_1_6_typed_text_is_not_repeated() {
        let mut body = Body::Data(json!({"typed": "hunter2", "ok": true}));
        body.remove_echo("hunter2");
        assert_eq!(body, Body::Data(json!({"ok": true})));
        body.remove_echo("");
        assert_eq!(body, Body::Data(json!({"ok": true})));
    }
}
