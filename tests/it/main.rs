//! Integration tests of the program as clients, pages and attackers use it.
//!
//! There is one module for each area. Tests that need a network namespace, Chromium or agent-browser are ignored here
//! and run by `./dev test`, which prepares these. All others run with a plain `cargo test`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    reason = "helpers take `json!` values, and case tables are long"
)]

mod harness;

mod call_at_server;
mod cdp_types;
mod child_process;
mod chromium_launch;
mod command_line;
mod confinement;
mod contention;
mod crates;
mod credentials;
mod descriptors;
mod dev_commands;
mod dns;
mod docs;
mod e2e;
mod egress;
mod fuzz_corpus;
mod http;
mod image_files;
mod interrupted_calls;
mod log_rotation;
mod policy_file;
mod pool;
mod protocol;
mod python_packages;
mod requirements;
mod runtime;
mod serve;
mod sessions;
mod shutdown;
mod soak;
mod sources;
mod stack;
mod stdio;
mod streamable_http;
mod words_vs_python;
