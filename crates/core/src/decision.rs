//! Decisions: outcomes of calls and connections as values with stable codes, each with its exit code and its advice.
//!
//! Requirements 1.9 and 2.7. The reply, the audit line, the proxy's answer and `policy explain` all render the same [`Decision`]. Tools
//! read codes and exit codes: codes are added, never renamed.
//!
//! Invariants: a reason names rules, registry blocks and positions, and never contains text that the agent sent, so
//! that it cannot leak that text.

use std::fmt;
use std::net::IpAddr;

use serde_json::{Map, Value};

/// Verdict, stable code, rule and its location. Every refusal is one.
///
/// ```
/// use browser_shell_core::decision::{Code, Decision};
///
/// let decision = Decision::new(Code::HostDenied, "the host is denied").at("open.deny_hosts[2]").about("a.example");
///
/// assert!(!decision.is_allowed());
/// assert_eq!(decision.code.class().exit_code(), Some(77));
/// // The text goes to the agent, so it leaves out the host.
/// assert_eq!(
///     decision.to_string(),
///     "host-denied at open.deny_hosts[2]: the host is denied; use another site or ask the operator"
/// );
///
/// let json = decision.to_json();
/// assert_eq!(json["verdict"], "deny");
/// assert_eq!(json["place"], "open.deny_hosts[2]");
/// assert_eq!(json["host"], "a.example");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Stable code.
    pub code: Code,
    /// Description of the rule, without any text of the request. Lower case, no final period.
    pub reason: String,
    /// JSON path of the rule in the policy file (`open.deny_hosts[2]`), or of the argument in the call (`argv[1]`).
    pub location: Option<String>,
    /// Host that the decision applies to, for the audit line and the operator's tools. Replies leave it out.
    pub host: Option<String>,
    /// Address that the decision depends on, if it depends on one.
    pub address: Option<IpAddr>,
}

impl Decision {
    /// Creates a decision with a reason and no location, host or address.
    #[must_use]
    pub fn new(code: Code, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), location: None, host: None, address: None }
    }

    /// Sets the location.
    #[must_use]
    pub fn at(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    /// Sets the location to the element at `position` of `argv`.
    #[must_use]
    pub(crate) fn at_element(self, position: usize) -> Self {
        self.at(format!("argv[{position}]"))
    }

    /// Sets the host.
    #[must_use]
    pub fn about(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Returns `true` if the call may go on.
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        matches!(self.code.class(), Class::Allowed)
    }

    /// Returns the decision as JSON, for `policy explain --json`. The location is in the member `place`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        let verdict = if self.is_allowed() { "allow" } else { "deny" };
        map.insert("verdict".into(), verdict.into());
        map.insert("code".into(), self.code.as_str().into());
        map.insert("reason".into(), self.reason.clone().into());
        map.insert("place".into(), self.location.clone().into());
        map.insert("host".into(), self.host.clone().into());
        map.insert("address".into(), self.address.map(|address| address.to_string()).into());
        map.insert("advice".into(), self.code.advice().into());
        Value::Object(map)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(location) = &self.location {
            write!(f, " at {location}")?;
        }
        write!(f, ": {}", self.reason)?;
        let advice = self.code.advice();
        if !self.is_allowed() && !advice.is_empty() {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}

/// Class of a code. Each class has one exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A call that may run, or that ran. The exit code is agent-browser's.
    Allowed,
    /// Refused arguments: `EX_USAGE`.
    Arguments,
    /// Refused by the policy: `EX_NOPERM`.
    Policy,
    /// Browser, agent-browser or one of their resources unavailable: `EX_UNAVAILABLE`.
    Unavailable,
    /// A limit reached for now: `EX_TEMPFAIL`.
    Busy,
    /// A call past its timeout: 124, as in `timeout(1)`.
    TimedOut,
    /// An unknown outcome, because the command may have run: a general failure.
    Unknown,
    /// A command that ran and failed for a known reason: a general failure.
    Failed,
    /// A call that the client canceled: 130, as a shell reports an interrupt.
    Cancelled,
}

impl Class {
    /// Returns the exit code of a call that ends this way, or `None` if agent-browser's exit code applies.
    #[must_use]
    pub const fn exit_code(self) -> Option<i32> {
        match self {
            Self::Allowed => None,
            Self::Arguments => Some(64),
            Self::Policy => Some(77),
            Self::Unavailable => Some(69),
            Self::Busy => Some(75),
            Self::TimedOut => Some(124),
            Self::Unknown | Self::Failed => Some(1),
            Self::Cancelled => Some(130),
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $class:ident, $advice:literal;)+) => {
        /// Stable code of a decision, in kebab case.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[doc = $doc])+ $variant,)+ }

        impl Code {
            /// All codes, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the code as replies, audit lines and `policy explain` print it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the class, which gives the exit code.
            #[must_use]
            pub const fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)+ }
            }

            /// Returns `true` if reasons with this code may contain text of a page, so that they are checked and masked like one.
            #[must_use]
            pub const fn describes_page(self) -> bool {
                matches!(
                    self,
                    Self::ElementAmbiguous
                        | Self::ElementDisabled
                        | Self::ElementHidden
                        | Self::ElementCovered
                        | Self::ElementReadOnly
                        | Self::OptionUnknown
                        | Self::NoEffect
                )
            }

            /// Returns advice on what to do next, empty if there is nothing to do.
            #[must_use]
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$variant => $advice,)+ }
            }
        }
    };
}

codes! {
    /// A call that ran and succeeded.
    Ok = "ok", Allowed, "";
    /// A command that agent-browser ran and that failed.
    CommandFailed = "command-failed", Allowed, "";
    /// A URL that the policy allows.
    Allowed = "allowed", Allowed, "";

    /// An invalid arguments object: a wrong type, a missing field or an unknown field.
    ArgumentsInvalid = "arguments-invalid", Arguments, "send session_id (string), argv (array) and optionally timeout_sec (number)";
    /// A session id with a character or length that is not allowed.
    SessionIdInvalid = "session-id-invalid", Arguments, "use 1 to 64 of a-z A-Z 0-9 . _ - and neither `.` nor `..`";
    /// A timeout out of range.
    TimeoutInvalid = "timeout-invalid", Arguments, "use a number of seconds within the range";
    /// A command line with an unclosed quote or a trailing backslash.
    WordsUnbalanced = "words-unbalanced", Arguments, "close the quote; quote text with spaces or quotes as '...', which keeps every character, or as \"...\", where \\\" is a quote and \\\\ is a backslash";
    /// An element with a character that is not allowed in it.
    CharacterNotAllowed = "character-not-allowed", Arguments, "remove it; line breaks are allowed only in the text of fill and type";
    /// An unknown subcommand.
    SubcommandUnknown = "subcommand-unknown", Arguments, "use open, snapshot, click, fill, type, press, wait, screenshot, close, dblclick, hover, focus, check, uncheck or select";
    /// A subcommand of agent-browser that no policy can enable.
    SubcommandForbidden = "subcommand-forbidden", Arguments, "read the page with snapshot and act with click, fill and press";
    /// A missing positional argument.
    ArgumentMissing = "argument-missing", Arguments, "add it";
    /// More positional arguments than the subcommand accepts.
    ArgumentUnexpected = "argument-unexpected", Arguments, "remove it; text with spaces is one element";
    /// A positional argument or a flag value of the wrong kind.
    ArgumentInvalid = "argument-invalid", Arguments, "correct this element and try again";
    /// A global flag of agent-browser.
    FlagGlobal = "flag-global", Arguments, "remove it: connection, session and output are fixed";
    /// A flag that the subcommand does not have.
    FlagUnknown = "flag-unknown", Arguments, "remove it or use a flag of this subcommand; only the text of fill, type, select and wait --text may begin with a dash";
    /// Flags or arguments that exclude each other, or a repeated flag.
    FlagConflict = "flag-conflict", Arguments, "use only one of them, and only once";

    /// An optional subcommand that the policy file does not enable.
    SubcommandNotEnabled = "subcommand-not-enabled", Policy, "work without it; only the operator can enable it, in subcommands.enable of the policy file";
    /// An optional subcommand of the runtime that the policy file does not enable.
    RuntimeNotEnabled = "runtime-not-enabled", Policy, "work without it; only the operator can enable it, in runtime.enable of the policy file";
    /// A policy file that cannot be read or is invalid.
    PolicyInvalid = "policy-invalid", Policy, "the operator must correct the policy file; `browser-shell policy check FILE` lists every problem";
    /// A text that is not a URL, or that browsers and this policy could parse differently.
    UrlMalformed = "url-malformed", Policy, "use an absolute URL such as https://example.com/path";
    /// A URL with user information before its host.
    UserInfoNotAllowed = "user-info-not-allowed", Policy, "remove the part before the @";
    /// A scheme other than http and https, or one that the policy file does not list.
    SchemeNotAllowed = "scheme-not-allowed", Policy, "use an https:// URL";
    /// `about:blank` where the policy file disables it.
    AboutBlankNotAllowed = "about-blank-not-allowed", Policy, "open an http or https page instead";
    /// A port on the list of denied ports, or one below 1024 that is not allowed.
    PortDenied = "port-denied", Policy, "use port 80 or 443, or one from 1024 on that is not denied, or ask the operator";
    /// A host on a deny list.
    HostDenied = "host-denied", Policy, "use another site or ask the operator";
    /// A host that is not on the allow list.
    HostNotInAllowlist = "host-not-in-allowlist", Policy, "use a site on the list or ask the operator to add this one";
    /// A name that never refers to a public host.
    HostNotPublic = "host-not-public", Policy, "use a public host name; the operator can allow its addresses in open.allow_cidrs";
    /// An address that is not globally reachable and not in `open.allow_cidrs`.
    AddressNotPublic = "address-not-public", Policy, "use a public host; the operator can allow the range in open.allow_cidrs";
    /// A name without an address.
    NameNotResolved = "name-not-resolved", Policy, "check the spelling of the host";
    /// A name whose lookup failed or timed out, so that its addresses are unknown.
    NameLookupFailed = "name-lookup-failed", Policy, "try again; if this persists, the operator must check DNS";

    /// A request that the egress guard does not forward.
    ProxyRequestInvalid = "proxy-request-invalid", Arguments, "send CONNECT host:port, or one absolute-form http request for each connection";
    /// A connection to the egress guard itself.
    GuardItself = "guard-itself", Policy, "use another address; only the egress guard listens there";
    /// A connection to an address of the egress guard that belongs to no session.
    SessionUnknown = "session-unknown", Policy, "open the page again; if this persists, the operator should run `browser-shell doctor`";
    /// A host that accepts no connection at any of its checked addresses.
    AddressUnreachable = "address-unreachable", Unavailable, "try again; if this persists, the site is down or the container's network cannot reach it";
    /// An upstream proxy of the egress guard that cannot be used.
    UpstreamUnavailable = "upstream-unavailable", Unavailable, "try again; if this persists, the operator must check egress.upstream and its credentials";

    /// A request without a credential, to a server that wants one.
    CredentialMissing = "credential-missing", Policy, "send `Authorization: Bearer TOKEN` or `X-AIO-API-Key: KEY`; the viewer also takes ?ticket= of POST /tickets";
    /// A request with more than one credential.
    CredentialRepeated = "credential-repeated", Policy, "send exactly one of a token, an API key and a ticket";
    /// A bearer token or an API key that is none of the server's.
    CredentialUnknown = "credential-unknown", Policy, "check the token or the key, or ask the operator for another one";
    /// A token that is not a signed JWT in the compact form, or has a header that is not supported.
    TokenMalformed = "token-malformed", Policy, "get a signed JWT (RFC 7519) from the authorization server";
    /// A token of a key that the server does not have.
    TokenKeyUnknown = "token-key-unknown", Policy, "get a new token; if this persists, the operator must add the authorization server's current keys";
    /// A token whose algorithm is not that of the key.
    TokenAlgorithmRefused = "token-algorithm-refused", Policy, "get a token that is signed with RS256, ES256 or EdDSA, as the server's key is";
    /// A token whose signature does not fit its content.
    TokenSignatureInvalid = "token-signature-invalid", Policy, "get a new token from the authorization server";
    /// A token whose claims lack one that is needed, or have one of the wrong type.
    TokenClaimsInvalid = "token-claims-invalid", Policy, "get a token with this claim from the authorization server";
    /// A token after its `exp`.
    TokenExpired = "token-expired", Policy, "get a new token; if it is new, compare the clocks";
    /// A token before its `nbf`.
    TokenNotYetValid = "token-not-yet-valid", Policy, "try again later; if the token is new, compare the clocks";
    /// A token of another issuer.
    TokenIssuerRefused = "token-issuer-refused", Policy, "get a token from the server's authorization server";
    /// A token for another server.
    TokenAudienceRefused = "token-audience-refused", Policy, "get a token for this server";
    /// A viewer ticket that is unknown, expired or used.
    TicketInvalid = "ticket-invalid", Policy, "get a new ticket from POST /tickets; each opens the viewer once, soon after";
    /// Too many viewer tickets that nobody has used yet.
    TooManyTickets = "too-many-tickets", Busy, "use the tickets that you have, or wait until they expire";
    /// A credential without the scope that the request needs.
    ScopeInsufficient = "scope-insufficient", Policy, "get a credential with this scope";
    /// A caller without a subject, where sessions belong to subjects.
    SubjectMissing = "subject-missing", Policy, "use a credential that names its subject";

    /// An agent-browser that cannot be started.
    AgentBrowserUnavailable = "agent-browser-unavailable", Unavailable, "the operator should run `browser-shell doctor`";
    /// A browser that does not respond.
    BrowserUnavailable = "browser-unavailable", Unavailable, "try again in a few seconds; if this persists, the operator should run `browser-shell doctor`";
    /// A control gate that cannot reach Chromium or cannot give the session its part of it.
    GateUnavailable = "gate-unavailable", Unavailable, "try again in a few seconds; if this persists, the operator should run `browser-shell doctor`";
    /// The port of the control gate's endpoint, which another program listens on.
    EndpointPortInUse = "endpoint-port-in-use", Unavailable, "try again in a few seconds; if this persists, the operator must end the program that listens on the port of --gate-port";
    /// A page whose passwords and one-time codes could not be determined, so that none of its content is returned.
    PageUnreadable = "page-unreadable", Unavailable, "try again; if this persists, reload the page or open another one";
    /// A page whose server has not answered yet, so that there is nothing to read or to act on.
    PageLoading = "page-loading", Failed, "wait a while and try again, or open another page";
    /// A page whose URL could not be determined, so that none of its content is returned.
    PageUnknown = "page-unknown", Unavailable, "take a snapshot to see which page is open, then try again";
    /// A page that the browser lost because it ended, so that the command would act on an empty one.
    PageLost = "page-lost", Unavailable, "open the page again; nothing ran";
    /// A tab whose process ended, so that the command would act on an empty one.
    TabCrashed = "tab-crashed", Unavailable, "open the page again; if it crashes again, use another one";
    /// A tab that was closed because it kept the browser from answering anybody.
    TabFlooded = "tab-flooded", Unavailable, "use another page: this one takes the whole browser's time";
    /// Folders of the session that cannot be used.
    WorkspaceUnavailable = "workspace-unavailable", Unavailable, "the operator should run `browser-shell doctor`";
    /// A sandbox that cannot be had, for another reason than those below: it enforces less than the policy requires, or gave no answer.
    SandboxUnavailable = "sandbox-unavailable", Unavailable, "the operator should run `browser-shell doctor`";
    /// A sandbox that the policy requires and switches off.
    SandboxDisabled = "sandbox-disabled", Unavailable, "the operator must switch the sandbox on, or remove sandbox.require from the policy file";
    /// A sandbox backend that cannot run on this machine.
    SandboxBackendUnsupported = "sandbox-backend-unsupported", Unavailable, "the operator should run `browser-shell doctor`, which lists the backends that this machine can run";
    /// A program that was to run in a sandbox that was not started or has ended.
    SandboxNotStarted = "sandbox-not-started", Unavailable, "close the session and open it again; if this persists, the operator should run `browser-shell doctor`";
    /// A sandbox that could not run a program, although its backend can run.
    SandboxExecutionFailed = "sandbox-execution-failed", Unavailable, "try again; if this persists, the operator should run `browser-shell doctor` and read the log";
    /// A workspace without room: on its volume, in its quota, or for one more file.
    WorkspaceFull = "workspace-full", Busy, "reuse a file name, delete files in the workspace, or close the session and open it again";
    /// A path that leads out of the workspace, or to something other than a file.
    FileOutside = "file-outside", Arguments, "use a path below the workspace, without symbolic links that lead out of it";
    /// A call whose line in the audit log could not be written, where the policy requires it.
    AuditUnavailable = "audit-unavailable", Busy, "the operator must make room for the audit file, or correct its folder; nothing ran";
    /// A call that waited in vain because the limit of concurrent calls was reached.
    Busy = "busy", Busy, "wait for running calls to end and try again";
    /// A new session beyond the limit of open sessions.
    TooManySessions = "too-many-sessions", Busy, "close a session that is no longer needed, or reuse one";
    /// A new tab beyond the limit of a session.
    TooManyTabs = "too-many-tabs", Busy, "close a tab that is no longer needed with tab close, or open the page in the active one";
    /// A session that another process holds.
    SessionInUse = "session-in-use", Busy, "use another session_id";
    /// A screenshot of a page that shows a password or a one-time code as plain text.
    PlainValueVisible = "plain-value-visible", Failed, "hide the value with the page's own control, or read the page with snapshot, which masks it";
    /// A selector or a wait that would tell something about a secret, although no answer shows it.
    SecretObservable = "secret-observable", Failed, "use a reference from a snapshot, an id, a class or the name of an element, and no words of its text";
    /// An answer to a dialog where none is open.
    NoDialog = "no-dialog", Failed, "continue without an answer; take a snapshot to see the page";
    /// A command that cannot run because the page has a dialog open.
    DialogOpen = "dialog-open", Failed, "answer it with dialog accept or dialog dismiss, then try again";
    /// A page behind HTTP authentication.
    LoginRequired = "login-required", Failed, "open a page that needs no login of this kind, or report that this one does";
    /// A PDF whose text cannot be read.
    PdfUnreadable = "pdf-unreadable", Failed, "use a page that has the content as HTML, or report that this PDF cannot be read";
    /// A reference whose element is gone, or that no snapshot gave.
    StaleReference = "stale-reference", Failed, "take a snapshot, and use its references";
    /// A selector that no element matches.
    ElementNotFound = "element-not-found", Failed, "take a snapshot, or use wait if the element comes later";
    /// A selector that several elements match.
    ElementAmbiguous = "element-ambiguous", Failed, "use one of the references";
    /// An act on an element that takes no input.
    ElementDisabled = "element-disabled", Failed, "fill in what the page wants first, then take a snapshot";
    /// An act on an element that nobody can see.
    ElementHidden = "element-hidden", Failed, "take a snapshot to see what the page shows";
    /// An act on an element that another one covers.
    ElementCovered = "element-covered", Failed, "close or use what covers it first";
    /// Text for an element that takes none.
    ElementReadOnly = "element-read-only", Failed, "use a field for text, or change this one by keys or a click";
    /// A choice that a select box does not have.
    OptionUnknown = "option-unknown", Failed, "use one of the options";
    /// An act that did not do what it was to do.
    NoEffect = "no-effect", Failed, "correct the text, or take a snapshot and act in another way";
    /// A call that took longer than its timeout. Every process that it started has ended, except a daemon that does not listen
    /// yet.
    TimedOut = "timed-out", TimedOut, "take a snapshot to see which page is open; use a longer timeout if the page is slow";
    /// A call that lost its connection to agent-browser. Every process that it started has ended.
    OutcomeUnknown = "outcome-unknown", Unknown, "take a snapshot to see whether the command ran before you repeat it";
    /// A call that the client canceled. Every process that it started has ended.
    Cancelled = "cancelled", Cancelled, "";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decision_codes_match_snapshot() {
        // Tools read names and exit codes: a change here changes the interface.
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
    fn every_refusal_has_advice() {
        for code in Code::ALL {
            let has_no_advice = matches!(code.class(), Class::Allowed | Class::Cancelled);
            assert_eq!(code.advice().is_empty(), has_no_advice, "{code}");
            assert!(code.as_str().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{code}");
        }
    }
}
