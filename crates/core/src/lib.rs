//! Pure core of browser-shell: decisions, arguments, command grammar, policy and output rules.
//!
//! Invariants: no I/O, no clock, no asynchronous code. The dependencies of this crate provide none of these.
//!
//! - [`action`]: what a command asks of our own engine
//! - [`auth`]: credentials, and the rights that they give
//! - [`decision`]: outcomes with stable codes
//! - [`element`]: checks before and after acts on elements that the control gate finds
//! - [`request`], [`session_id`]: arguments of a call, and the names that agents and orchestrators choose
//! - [`grammar`]: subcommands and their parser
//! - [`policy`]: URL policy and sandbox configuration
//! - [`route`], [`rfb`]: the public port of a server: its routes, and what viewers may send to the screen
//! - [`shares`]: shares of what a server has a limited number of
//! - [`snapshot`]: snapshots of pages, and the search for elements in them
//! - [`selector`]: selectors whose elements the control gate finds
//! - [`keyboard`]: keys, and what a page gets of them
//! - [`url_pattern`]: patterns of URLs that commands wait for
//! - [`pdf`]: text of PDFs
//! - [`output`]: parsing, masking and truncation of agent-browser's output

#![cfg_attr(
    test,
    allow(
        clippy::needless_pass_by_value,
        clippy::too_many_lines,
        reason = "test helpers take `json!` values, and tables of test cases are long"
    )
)]

pub mod action;
pub mod agent_browser;
pub mod auth;
pub mod decision;
pub mod element;
pub mod gate;
pub mod grammar;
mod json;
pub mod keyboard;
pub mod output;
pub mod pdf;
pub mod policy;
pub mod request;
pub mod rfb;
pub mod route;
pub mod selector;
pub mod session_id;
pub mod shares;
pub mod snapshot;
pub mod typed_texts;
pub mod url_pattern;
