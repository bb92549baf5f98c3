//! Policy: the URLs and connections that the browser may use, and the confinement of agent-browser.
//!
//! [`file::parse`] reads a policy file. [`Policy::check`] decides about URLs, [`Policy::check_connection`] about connections.
//!
//! ```
//! use browser_shell_core::policy::url::{PageUrl, parse as parse_url};
//! use browser_shell_core::policy::{Evaluation, Policy, file};
//!
//! let policy: Policy = file::parse(r#"{"open": {"deny_hosts": ["bad.example", "1.1.1.1"]}}"#).expect("a valid policy");
//!
//! // A public address is allowed; nothing has to be looked up.
//! let Evaluation::Decided(decision) = policy.check(&parse_url("https://8.8.8.8/").expect("a URL")) else { panic!() };
//! assert!(decision.is_allowed());
//!
//! // A refusal has a stable code and the location of its rule.
//! let Evaluation::Decided(decision) = policy.check(&parse_url("https://bad.example/").expect("a URL")) else { panic!() };
//! assert_eq!(decision.code.as_str(), "host-denied");
//! assert_eq!(decision.location.as_deref(), Some("open.deny_hosts[0]"));
//!
//! // A name is allowed only if all of its addresses are. The caller looks them up.
//! let target = parse_url("https://example.com/").expect("a URL");
//! assert_eq!(policy.check(&target), Evaluation::Lookup("example.com".to_owned()));
//! let PageUrl::Web(page) = target else { panic!() };
//! let decision = policy.check_addresses(&page, &["8.8.8.8".parse().expect("an address"), [10, 0, 0, 1].into()]);
//! assert_eq!(decision.code.as_str(), "address-not-public");
//! ```

mod address;
mod browser;
pub mod connection;
mod evaluate;
pub mod file;
mod notes;
mod rules;
pub mod sandbox;
pub mod url;

pub use crate::json::Problem;
pub(crate) use address::{parse_cidr, position_of_block};
pub use browser::{
    BrowserRules, BrowserState, CookiePartition, Isolation, SameSite, SessionPattern, SessionSelector, StateCookie,
    StateItem, StateOrigin, StateSource, StorageState, SubjectChoice,
};
pub use evaluate::Evaluation;
pub use rules::{
    AccessRules, AnswerStyle, AuditRules, CallLimits, EgressLimits, EgressMode, EgressRules, Engine, OutputRules,
    Policy, SessionAccess, Upstream,
};

#[cfg(test)]
mod tests;
