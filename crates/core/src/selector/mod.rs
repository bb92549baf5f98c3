//! Selector chains: selectors of parts between `>>`, such as `#cart >> role=button[name="Buy"] >> nth=0`.
//!
//! No version of agent-browser understands all of them, so the control gate finds their elements. The parts mean what they mean
//! in Playwright. A selector with any other part, such as `xpath=`, is no chain.
//!
//! Invariants: a printed chain parses to an equal one; a plain CSS selector is no chain.

mod chain;
mod parse;
mod print;
mod quoted;
mod role;
#[cfg(test)]
mod tests;

pub use chain::{SelectorChain, SelectorPart, TextMatch};
pub use role::{NameMatch, NameOperator, RoleMatch, RoleState, StateMatch, StateValue};
