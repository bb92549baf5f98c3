//! The one integration binary: the program as a client, a page or an attacker meets it.
//!
//! One module for each kind of meeting. Tests that need a network of their own, Chromium or agent-browser are ignored here and
//! run by `./dev test`, which makes those first; everything else runs with a plain `cargo test`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics, in its helpers too"
)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    reason = "helpers of tests take what json! makes, and a table of cases is long on purpose"
)]

mod harness;

mod child;
mod command_line;
mod confinement;
mod contention;
mod docs;
mod e2e;
mod egress;
mod endings;
mod environment;
mod fuzz_corpus;
mod grammar_vs_cli;
mod http;
mod launch;
mod lookups;
mod processes;
mod protocol;
mod runtime;
mod sessions;
mod soak;
mod stack;
mod stdio;
mod streamable_http;
mod words_vs_python;
