//! Decisions: outcomes of calls and connections as values with stable codes.
//!
//! The reply, the audit line, the proxy's answer and `policy explain` all render the same [`Decision`].
//!
//! Invariants: a reason names rules, registry blocks and positions, and never contains text that the agent sent, so
//! that it cannot leak that text.

mod code;

use std::fmt;
use std::net::IpAddr;

use serde_json::{Map, Value};

pub use code::{Class, Code};

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
