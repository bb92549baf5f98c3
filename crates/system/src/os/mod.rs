//! Operating-system interface: programs, processes, re-execution, connections, handshakes, name resolution, files, randomness, load, error
//! texts and standard error.

pub mod connections;
pub mod dns;
pub mod exec;
pub mod files;
mod kernel;
pub mod log;
pub mod processes;
pub mod reexec;
pub mod websocket;

pub use kernel::{describe, is_out_of_space, load, random_bytes};
