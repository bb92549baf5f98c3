//! The tool's reply to one call, checked against its documented shape.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

/// The tool's reply to one call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallReply {
    pub(crate) session: String,
    pub(crate) code: i64,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) picture: Option<Vec<u8>>,
}

impl CallReply {
    /// Parses a reply. Fails unless it has exactly the documented shape.
    #[track_caller]
    pub(crate) fn read(reply: &Value) -> Self {
        let result = reply.get("result").unwrap_or_else(|| panic!("no result: {reply}"));
        let content = result["content"].as_array().unwrap();
        assert_eq!(content[0]["type"], "text", "{reply}");
        let text = content[0]["text"].as_str().unwrap();
        let body: Value = serde_json::from_str(text).expect("the text content must be JSON");
        assert_eq!(body, result["structuredContent"], "text and structured content must be equal");
        let mut keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["exit_code", "session_id", "stderr", "stdout"]);
        let code = body["exit_code"].as_i64().unwrap();
        assert_eq!(result["isError"].as_bool().unwrap_or(false), code != 0, "{reply}");
        let picture = content.get(1).filter(|item| item["type"] == "image").map(|item| {
            assert_eq!(item["mimeType"], "image/png");
            BASE64_STANDARD.decode(item["data"].as_str().unwrap()).unwrap()
        });
        let field = |name: &str| body[name].as_str().unwrap().to_owned();
        Self { session: field("session_id"), code, stdout: field("stdout"), stderr: field("stderr"), picture }
    }

    /// Fails unless the call succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "the call should succeed: {self:?}");
        self
    }

    /// Fails unless the call ended with this exit code and an error message.
    #[track_caller]
    pub(crate) fn fails_with(self, code: i64) -> Self {
        assert_eq!(self.code, code, "expected exit code {code}: {self:?}");
        assert!(!self.stderr.trim().is_empty(), "a failure needs a message on stderr: {self:?}");
        self
    }

    /// Parses stdout as one line of compact JSON.
    #[track_caller]
    pub(crate) fn data(&self) -> Value {
        json_line(&self.stdout, self)
    }

    /// Returns the page text of a `snapshot`.
    #[track_caller]
    pub(crate) fn page(&self) -> String {
        self.data()["snapshot"].as_str().unwrap_or_else(|| panic!("no snapshot in {self:?}")).to_owned()
    }

    /// Returns the `@ref` of an element in a `snapshot`.
    #[track_caller]
    pub(crate) fn reference(&self, role: &str, name: &str) -> String {
        let data = self.data();
        let found = data["refs"]
            .as_object()
            .unwrap()
            .iter()
            .find(|(_, element)| element["role"] == role && element["name"] == name);
        let (reference, _) = found.unwrap_or_else(|| panic!("no {role} `{name}` in {data}"));
        format!("@{reference}")
    }
}

/// Parses the stdout of a reply as one line of compact JSON. A failure shows the reply.
#[track_caller]
pub(crate) fn json_line(stdout: &str, reply: &dyn std::fmt::Debug) -> Value {
    let data = serde_json::from_str(stdout).unwrap_or_else(|_| panic!("stdout must be JSON: {reply:?}"));
    assert_eq!(stdout.find('\n'), Some(stdout.len() - 1), "data must be one line with a line feed: {reply:?}");
    data
}
