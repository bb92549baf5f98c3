//! Our own engine, `cdp`: carries out actions over the gate's debugging sessions.
//!
//! An action is one function: find, check, act, wait for what the act began, read. Nothing here knows calls, policies or processes.
//!
//! Invariants: an act is made again only if the page got no input of it; no key and no button stays pressed, however the action ends.

#![cfg_attr(
    test,
    allow(
        clippy::needless_pass_by_value,
        clippy::too_many_lines,
        reason = "test helpers take values of json!, and tables of cases are long"
    )
)]

mod act;
mod carry_out;
mod file;
mod find;
mod job;
mod navigate;
mod observed;
mod outcome;
mod page;
mod tabs;
mod wait;

pub use carry_out::carry_out;
pub use job::Job;
pub use outcome::{Carried, Outcome};
