//! Command line for people and supervisors.
//!
//! Each command is a thin layer over the library. Results go to standard output and everything else to standard error, so that
//! scripts can use both.

mod arguments;
mod call;
mod credentials;
mod doctor;
mod egress;
mod error;
mod helpers;
mod host_name;
mod mcp;
mod output;
mod own_browser;
mod policy;
mod process;
mod run;
mod runtime;
mod serve;
mod services;
mod shell;
mod task;

pub use run::main;
