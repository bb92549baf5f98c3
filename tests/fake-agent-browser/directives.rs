//! Parsing and execution of directives; the table is in `main.rs`.
//!
//! An unknown directive is an error (exit 97), so that a misspelled test cannot pass.

use crate::actions;
use crate::json::{array, object, text};
use crate::slow_daemon;

/// One directive: its name and its argument.
pub(crate) struct Directive {
    name: &'static str,
    argument: String,
    problem: Option<String>,
}

/// The answer that a directive requests in place of the ordinary one.
pub(crate) enum Answer {
    /// `success: true` with this data.
    Data(String),
    /// `success: false` with this error and exit code.
    Failure(String, u8),
    /// These bytes and this exit code.
    Raw(Vec<u8>, u8),
    /// The ordinary answer of the subcommand, with this address.
    Landing(String),
    /// The ordinary answer of `screenshot`, with this file.
    File(File),
}

/// The file that `screenshot` writes.
pub(crate) enum File {
    /// A picture, padded to this many bytes.
    Picture(usize),
    /// Nothing.
    Nothing,
    /// Text.
    Text,
}

/// A longer name comes before its prefix.
const NAMES: &[&str] = &[
    "sleep",
    "ignore-term",
    "child",
    "daemon-pipe",
    "daemon-stubborn",
    "daemon",
    "meet",
    "alone",
    "fail",
    "exit0-fail",
    "exit",
    "cli-fail",
    "cdp-down",
    "no-daemon",
    "slow-daemon",
    "overtaken",
    "no-page",
    "no-response",
    "abort",
    "text-fail",
    "text",
    "empty",
    "half",
    "bad-utf8",
    "stderr-big",
    "stderr",
    "big",
    "wide",
    "endless",
    "env",
    "echo",
    "secret-fail",
    "secret",
    "landing",
    "png",
    "no-file",
    "not-png",
    "node",
];

const MARK: &str = "#fake-";

impl Directive {
    /// Returns the directives in these arguments, from left to right.
    pub(crate) fn all(subcommand: &str, args: &[String]) -> Vec<Self> {
        // The output path of a screenshot is chosen by the caller and contains no directives.
        let own_path = subcommand == "screenshot" || subcommand == "pdf";
        let count = if own_path { args.len().saturating_sub(1) } else { args.len() };
        args.iter().take(count).filter_map(|arg| Self::find(arg)).collect()
    }

    fn find(arg: &str) -> Option<Self> {
        if let Some((_, directive)) = arg.split_once(MARK) {
            return Some(Self::parse(directive));
        }
        let address = arg.strip_prefix("http://").or_else(|| arg.strip_prefix("https://"))?;
        let (_, directive) = address.split_once("/fake-")?;
        if let Some(target) = directive.strip_prefix("landing?to=") {
            return Some(Self { name: "landing", argument: percent_decoded(target), problem: None });
        }
        Some(Self::parse(directive.split(['?', '#']).next().unwrap_or(directive)))
    }

    fn parse(directive: &str) -> Self {
        for name in NAMES {
            match directive.strip_prefix(name) {
                Some("") => {
                    return Self { name, argument: String::new(), problem: None };
                }
                Some(rest) => {
                    if let Some(rest) = rest.strip_prefix('-') {
                        return Self { name, argument: rest.to_owned(), problem: None };
                    }
                }
                None => {}
            }
        }
        Self {
            name: "",
            argument: String::new(),
            problem: Some(format!("the stand-in has no directive `{directive}`")),
        }
    }

    fn number(&self) -> Result<usize, String> {
        self.argument
            .parse()
            .map_err(|_| format!("`{}` of the directive `{}` is not a number", self.argument, self.name))
    }

    fn argument_or(&self, text: &str) -> String {
        if self.argument.is_empty() { text.to_owned() } else { self.argument.clone() }
    }

    /// Runs the directive and returns its answer, if any.
    pub(crate) fn run(self, argv: &[String]) -> Result<Option<Answer>, String> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let failure = |error: &str, code| Ok(Some(Answer::Failure(error.to_owned(), code)));
        let raw = |bytes: &[u8], code| Ok(Some(Answer::Raw(bytes.to_vec(), code)));
        let data = |data: String| Ok(Some(Answer::Data(data)));
        match self.name {
            "sleep" => {
                actions::sleep_ms(self.number()? as u64);
                Ok(None)
            }
            "stderr" => {
                actions::print_stderr(self.argument.as_bytes());
                Ok(None)
            }
            "stderr-big" => {
                actions::print_stderr("e".repeat(self.number()?).as_bytes());
                Ok(None)
            }
            "ignore-term" => Err(actions::ignore_term(&self.argument_or("600"))),
            "child" => {
                actions::child_in_group()?;
                actions::sleep_ms(600_000);
                Ok(None)
            }
            "daemon" | "daemon-pipe" | "daemon-stubborn" => {
                let pid = actions::daemon(self.name == "daemon-pipe", self.name == "daemon-stubborn")?;
                data(object(&[("daemon", pid.to_string())]))
            }
            "meet" => {
                let (count, folder) = self.argument.split_once('-').ok_or("`meet` expects N-DIR")?;
                let count = count.parse().map_err(|_| "`meet` expects N-DIR")?;
                data(object(&[("met", actions::meet(count, folder)?.to_string())]))
            }
            "alone" => data(object(&[("alone", actions::alone(&self.argument)?.to_string())])),
            "fail" => failure(&self.argument_or("Action on \"#fake-fail\" timed out"), 1),
            "exit" => {
                failure("the action failed", u8::try_from(self.number()?).map_err(|_| "an exit code is 0 to 255")?)
            }
            "exit0-fail" => failure("the action failed", 0),
            "cli-fail" => raw(
                b"{\"error\":\"Missing arguments for: click\",\"success\":false,\"type\":\"missing_arguments\"}\n",
                1,
            ),
            "cdp-down" => failure("Failed to connect via CDP on port 9222. Make sure the browser is running.", 1),
            "no-daemon" => {
                let gone = "Daemon failed to start (socket: /run/s/fake.sock)";
                if actions::first_times(self.argument.as_str())? { failure(gone, 1) } else { Ok(None) }
            }
            "no-response" => {
                let lost = "Failed to read: Connection reset by peer (os error 104) (the command reached the daemon but no response came \
                    back; it may or may not have run, so it was not retried)";
                if actions::first_times(self.argument.as_str())? { failure(lost, 1) } else { Ok(None) }
            }
            "slow-daemon" => {
                let gone = "Daemon failed to start (socket: /run/s/fake.sock)";
                if slow_daemon::start(argv, &self.argument)? { Ok(None) } else { failure(gone, 1) }
            }
            "overtaken" => {
                let by = "is interrupted by another navigation to \"chrome-error://chromewebdata/\"";
                let error = format!("page.goto: Navigation to \"http://a.example/\" {by}");
                if actions::first_times(self.argument.as_str())? { failure(&error, 1) } else { Ok(None) }
            }
            "no-page" => failure("No page found. Make sure the browser has at least one tab.", 1),
            "abort" => std::process::abort(),
            "text" => raw(format!("{}\n", self.argument_or("this is not JSON")).as_bytes(), 0),
            "text-fail" => raw(b"this is not JSON, and it failed\n", 1),
            "empty" => raw(b"", 0),
            "half" => raw(b"{\"success\":true,\"data\":{\"cli", 0),
            "bad-utf8" => {
                raw(b"{\"success\":true,\"data\":{\"text\":\"before \xff\xfe\x80 after\"},\"error\":null}\n", 0)
            }
            "big" => data(object(&[("text", text(&"x".repeat(self.number()?)))])),
            "wide" => {
                let refs: Vec<String> = (0..self.number()?)
                    .map(|n| format!("\"e{n}\":{{\"name\":\"Entry {n}\",\"role\":\"link\"}}"))
                    .collect();
                data(object(&[("refs", format!("{{{}}}", refs.join(",")))]))
            }
            "endless" => {
                actions::endless();
                raw(b"", 0)
            }
            "env" => data(actions::process_state(argv)),
            "node" => data(actions::node(&self.argument)?),
            "echo" => data(object(&[("argv", array(argv))])),
            "secret" => {
                actions::print_stderr(b"Authorization: Bearer fakesecret-on-stderr-0123456789\n");
                data(secrets())
            }
            "secret-fail" => {
                failure(&format!("the page said: Bearer fakesecret.in.error-0123456789, {JWT}, {USERINFO}"), 1)
            }
            "landing" => Ok(Some(Answer::Landing(self.argument))),
            "png" => Ok(Some(Answer::File(File::Picture(self.number()?)))),
            "no-file" => Ok(Some(Answer::File(File::Nothing))),
            "not-png" => Ok(Some(Answer::File(File::Text))),
            other => Err(format!("the directive `{other}` is not implemented")),
        }
    }
}

const JWT: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.fakesecretQssw5c0123456789abcdefghij";
const USERINFO: &str = "https://someone:fakesecret@example.com/path";

fn secrets() -> String {
    let value = || text("fakesecret-0123456789");
    object(&[
        ("kept", text("this is no secret")),
        ("password", value()),
        ("token", value()),
        ("cookie", text("id=fakesecret-0123456789; path=/")),
        ("api_key", value()),
        ("nested", object(&[("Authorization", text("Basic fakesecret0123456789==")), ("client_secret", value())])),
        ("list", format!("[{}]", object(&[("access_token", value())]))),
        ("header", text("Bearer fakesecret.abc-def_0123456789")),
        ("jwt", text(&format!("before {JWT} after"))),
        ("link", text(USERINFO)),
    ])
}

fn percent_decoded(value: &str) -> String {
    let mut out = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = tail
            .get(..2)
            .and_then(|two| std::str::from_utf8(two).ok())
            .and_then(|two| u8::from_str_radix(two, 16).ok());
        match hex {
            Some(byte) if first == b'%' => {
                out.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
