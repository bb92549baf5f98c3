//! Every outcome of a call as a value with a stable code.
//!
//! Decides which codes exist, which exit code each one means and what the reader should do next. The reply of the tool, the
//! audit line and `policy explain` all render the same [`Decision`]. It must never carry text that the agent sent: a reason
//! names rules, registry blocks and positions, so that an audit line cannot leak what was typed.

use std::fmt;
use std::net::IpAddr;

use serde_json::{Map, Value};

/// What kind of answer a code is; each class has one exit code (spec [1.9]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The call may run, or ran; the exit code is agent-browser's own.
    Ran,
    /// The arguments are refused: `EX_USAGE`.
    Arguments,
    /// The policy refuses: `EX_NOPERM`.
    Policy,
    /// The browser, agent-browser or what they need is not there: `EX_UNAVAILABLE`.
    Unavailable,
    /// Too much is going on: `EX_TEMPFAIL`.
    Busy,
    /// The time for the call is over; 124 as in `timeout(1)`.
    TimedOut,
    /// It is not known whether the command ran: a plain failure.
    Unknown,
    /// The client took the call back; 130 as a shell reports an interrupt.
    Cancelled,
}

impl Class {
    /// The exit code of a call that ends this way, `None` where agent-browser's own code counts.
    #[must_use]
    pub const fn exit_code(self) -> Option<i32> {
        match self {
            Self::Ran => None,
            Self::Arguments => Some(64),
            Self::Policy => Some(77),
            Self::Unavailable => Some(69),
            Self::Busy => Some(75),
            Self::TimedOut => Some(124),
            Self::Unknown => Some(1),
            Self::Cancelled => Some(130),
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $class:ident, $advice:literal;)+) => {
        /// The stable code of a decision, kebab-case. Codes are added, never renamed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[doc = $doc])+ $variant,)+ }

        impl Code {
            /// All codes, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The code as it stands in replies, audit lines and `policy explain`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The class, which gives the exit code.
            #[must_use]
            pub const fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)+ }
            }

            /// What the reader of the reply should do next; empty where there is nothing to do.
            #[must_use]
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$variant => $advice,)+ }
            }
        }
    };
}

codes! {
    /// The call ran and succeeded.
    Ok = "ok", Ran, "";
    /// agent-browser ran and reported a failure of its own.
    CommandFailed = "command-failed", Ran, "";
    /// The policy allows the URL.
    Allowed = "allowed", Ran, "";

    /// The arguments object as a whole is wrong: a type, a missing or an unknown field.
    ArgumentsInvalid = "arguments-invalid", Arguments, "send session_id (string), argv (array) and, if wanted, timeout_sec (number)";
    /// The session id does not have the allowed form.
    SessionIdInvalid = "session-id-invalid", Arguments, "use 1 to 64 of a-z A-Z 0-9 . _ - and neither `.` nor `..`";
    /// The time-out is out of range.
    TimeoutInvalid = "timeout-invalid", Arguments, "give a number of seconds within the range";
    /// A line of words cannot be split: a quote is not closed, or a backslash has nothing behind it.
    WordsUnbalanced = "words-unbalanced", Arguments, "close the quote; put text with spaces or quotes into '...', which keeps everything as it is, or into \"...\", where \\\" is a quote and \\\\ a backslash";
    /// An element holds a character that is never allowed there.
    CharacterNotAllowed = "character-not-allowed", Arguments, "remove it; line breaks are allowed only in the text of fill and type";
    /// No such subcommand.
    SubcommandUnknown = "subcommand-unknown", Arguments, "use open, snapshot, click, fill, type, press, wait, screenshot, close, dblclick, hover, focus, check, uncheck or select";
    /// The subcommand exists in agent-browser and is never available here.
    SubcommandForbidden = "subcommand-forbidden", Arguments, "read the page with snapshot and act with click, fill and press";
    /// A positional argument is missing.
    ArgumentMissing = "argument-missing", Arguments, "add it";
    /// There are more positional arguments than the subcommand takes.
    ArgumentUnexpected = "argument-unexpected", Arguments, "remove it; text with spaces is one element";
    /// A positional argument or the value of a flag does not have the form it needs.
    ArgumentInvalid = "argument-invalid", Arguments, "correct this element and try again";
    /// The element is a global flag of agent-browser.
    FlagGlobal = "flag-global", Arguments, "remove it: connection, session and output are fixed";
    /// The subcommand has no such flag.
    FlagUnknown = "flag-unknown", Arguments, "remove it or use a flag of the subcommand; only text of fill, type, select and wait --text may begin with a dash";
    /// Flags or arguments that exclude each other, or a flag given twice.
    FlagConflict = "flag-conflict", Arguments, "give one of them, once";

    /// The subcommand exists and the policy file does not enable it.
    SubcommandNotEnabled = "subcommand-not-enabled", Policy, "it is off unless the operator names it in subcommands.enable of the policy file; do without it";
    /// The subcommand exists for the runtime and the policy file does not enable it.
    RuntimeNotEnabled = "runtime-not-enabled", Policy, "it is off unless the operator names it in runtime.enable of the policy file; do without it";
    /// The policy file is there and cannot be used.
    PolicyInvalid = "policy-invalid", Policy, "the operator must correct the policy file; `browser-shell policy check FILE` lists every problem";
    /// The text is not a URL that a browser and this policy read the same way.
    UrlMalformed = "url-malformed", Policy, "give an absolute URL such as https://example.com/path";
    /// The URL carries user information before its host.
    UserInfoNotAllowed = "user-info-not-allowed", Policy, "remove the part before the @";
    /// The scheme is not http or https, or the file does not list it.
    SchemeNotAllowed = "scheme-not-allowed", Policy, "use an https:// URL";
    /// `about:blank` is switched off.
    AboutBlankNotAllowed = "about-blank-not-allowed", Policy, "open an http or https page instead";
    /// The port is on the list of denied ports.
    PortDenied = "port-denied", Policy, "use another port or ask the operator";
    /// The host is on a deny list.
    HostDenied = "host-denied", Policy, "use another site or ask the operator";
    /// There is an allow list and the host is not on it.
    HostNotInAllowlist = "host-not-in-allowlist", Policy, "use a site on the list or ask the operator to add this one";
    /// The name is one that never means a public host.
    HostNotPublic = "host-not-public", Policy, "use a public host name; the operator can name its addresses in open.allow_cidrs";
    /// An address is not globally reachable and not named in `open.allow_cidrs`.
    AddressNotPublic = "address-not-public", Policy, "use a public host; the operator can name the range in open.allow_cidrs";
    /// The name has no address.
    NameNotResolved = "name-not-resolved", Policy, "check the spelling of the host";
    /// The lookup of the name failed or took too long, so its addresses are unknown.
    NameLookupFailed = "name-lookup-failed", Policy, "try again; if it stays, the operator must check DNS";

    /// What the browser, or whoever else, sent to the egress guard is not a request that it forwards.
    ProxyRequestInvalid = "proxy-request-invalid", Arguments, "send CONNECT host:port, or one absolute-form http request for each connection";
    /// A connection would lead to the egress guard itself.
    GuardItself = "guard-itself", Policy, "use another address; nothing but the guard is there";
    /// Nothing accepts connections at the addresses that were checked.
    AddressUnreachable = "address-unreachable", Unavailable, "try again; if it stays, the site is down or the container's network does not lead there";
    /// The proxy behind the egress guard cannot be used.
    UpstreamUnavailable = "upstream-unavailable", Unavailable, "try again; if it stays, the operator must check egress.upstream and its credentials";

    /// agent-browser cannot be started.
    AgentBrowserUnavailable = "agent-browser-unavailable", Unavailable, "the operator should run `browser-shell doctor`";
    /// The browser does not answer.
    BrowserUnavailable = "browser-unavailable", Unavailable, "try again in a few seconds; if it stays, the operator should run `browser-shell doctor`";
    /// It could not be found out where the page is, so nothing of it is shown.
    PageUnknown = "page-unknown", Unavailable, "take a snapshot to see where the page is, then try again";
    /// The session's own folders cannot be used.
    WorkspaceUnavailable = "workspace-unavailable", Unavailable, "the operator should run `browser-shell doctor`";
    /// The session cannot have the sandbox that the policy wants.
    SandboxUnavailable = "sandbox-unavailable", Unavailable, "the operator should run `browser-shell doctor`";
    /// The session's folder holds as many files as it may.
    WorkspaceFull = "workspace-full", Busy, "reuse a file name, make room in the workspace, or close the session and open it again";
    /// The path of a file leads out of the workspace, or to what is no file.
    FileOutside = "file-outside", Arguments, "use a path below the workspace, without links that lead out of it";
    /// The limit of calls at the same time was reached for as long as the call could wait.
    Busy = "busy", Busy, "wait for running calls to end and try again";
    /// As many sessions are open as may be.
    TooManySessions = "too-many-sessions", Busy, "close a session that is no longer needed, or reuse one";
    /// Another process holds the session.
    SessionInUse = "session-in-use", Busy, "use another session_id";
    /// The call took longer than its time-out; everything it started was ended.
    TimedOut = "timed-out", TimedOut, "take a snapshot to see where the page is; give it more time if the page is slow";
    /// The connection to agent-browser was lost in mid-call; everything the call started was ended.
    OutcomeUnknown = "outcome-unknown", Unknown, "take a snapshot to see whether it was done before you do it again";
    /// The client cancelled the call; everything it started was ended.
    Cancelled = "cancelled", Cancelled, "";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One decision: what was decided, by which rule, and where that rule stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The stable code.
    pub code: Code,
    /// The rule in words, without any text of the request. Lower case, no full stop.
    pub reason: String,
    /// Where the rule stands: a JSON path in the policy file (`open.deny_hosts[2]`) or in the request (`argv[1]`).
    pub place: Option<String>,
    /// The host the decision is about. For the audit line and the operator's own tools, not for the reply.
    pub host: Option<String>,
    /// The address the decision is about, where one address decided it.
    pub address: Option<IpAddr>,
}

impl Decision {
    /// A decision with a reason and nothing else.
    #[must_use]
    pub fn new(code: Code, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), place: None, host: None, address: None }
    }

    /// The same decision with the place of its rule.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// The same decision with the host it is about.
    #[must_use]
    pub fn about(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Whether the call may go on.
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        matches!(self.code.class(), Class::Ran)
    }

    /// The decision as JSON, for `policy explain --json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        let verdict = if self.is_allowed() { "allow" } else { "deny" };
        map.insert("verdict".into(), verdict.into());
        map.insert("code".into(), self.code.as_str().into());
        map.insert("reason".into(), self.reason.clone().into());
        map.insert("place".into(), self.place.clone().into());
        map.insert("host".into(), self.host.clone().into());
        map.insert("address".into(), self.address.map(|address| address.to_string()).into());
        map.insert("advice".into(), self.code.advice().into());
        Value::Object(map)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(place) = &self.place {
            write!(f, " at {place}")?;
        }
        write!(f, ": {}", self.reason)?;
        let advice = self.code.advice();
        if !self.is_allowed() && !advice.is_empty() {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_a_contract() {
        // Names and exit codes are read by tools: a change here is a change of the interface (spec [1.9], [2.7]).
        let table: Vec<String> = Code::ALL
            .iter()
            .map(|code| {
                let exit = code.class().exit_code().map_or_else(|| "own".to_owned(), |exit| exit.to_string());
                format!("{exit:>4} {code}")
            })
            .collect();
        insta::assert_snapshot!(table.join("\n"));
    }

    #[test]
    fn every_refusal_says_what_to_do() {
        for code in Code::ALL {
            let silent = matches!(code.class(), Class::Ran | Class::Cancelled);
            assert_eq!(code.advice().is_empty(), silent, "{code}");
            assert!(code.as_str().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{code}");
        }
    }
}
