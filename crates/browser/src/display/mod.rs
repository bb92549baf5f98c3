//! Display of a server: an X server that no other program can use, with the screen on a private socket.
//!
//! `Xvnc` is the X server and the server of the screen in one. It listens on no port. Chromium is its only client, without a window
//! manager; viewers come through the bridge in `api/public_port`. `docs/design/serve.md` explains why.
//!
//! Invariants: the display ends with this program, even if it is killed; only who can read its cookie can connect.

mod config;
mod cookie;
pub mod helper;
mod supervisor;

pub use config::{DisplayConfig, SOCKETS, find};
pub use supervisor::{DisplaySupervisor, RunningDisplay};
