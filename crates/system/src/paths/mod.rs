//! Files and folders of sessions, below two roots: the private runtime folder and the workspace.
//!
//! ```text
//! RUNTIME/secret                  the key of the names below
//! RUNTIME/s/NAME/KEY.sock, KEY.pid    agent-browser's own sockets. The name cannot be guessed: no rule of the kernel keeps
//!                                 a program of the same user from a socket whose path it knows
//! RUNTIME/s/NAME.x/               files of the host relay, which no program in the sandbox sees
//! RUNTIME/k/KEY/{home,tmp,cwd}    HOME, TMPDIR and working directory of the session's processes
//! RUNTIME/k/KEY.lock              held by the process that uses the session; removed with the session
//! RUNTIME/e/                      sessions of the egress guard's addresses, see `session_addresses`
//! RUNTIME/d/NAME/                 cookie and socket of a display, in a folder whose name cannot be guessed
//! RUNTIME/i/N/, N.lock            a runtime folder of its own for each `mcp --browser`, and the lock that it holds
//! RUNTIME/action-policy*.json     agent-browser's own policy, a second line of defense behind the grammar
//! WORKSPACE/KEY/                  screenshots
//! ```
//!
//! Invariants: only a session's key becomes a path component; links that others put there are not followed; a folder of
//! another user is not used.
//!
//! Requirements 1.2, 1.5 and 1.12.

mod error;
mod instance;
mod private_folder;
mod roots;
mod session;
mod session_addresses;
#[cfg(test)]
mod tests;

pub use error::PathError;
pub use instance::Instance;
pub use roots::Paths;
pub use roots::staging_folder;
pub use session::MAX_FILES;
pub use session::SessionPaths;
pub use session_addresses::{MAX_SESSION_ADDRESSES, check_folder, session_addresses};
pub use session_addresses::{SessionAddress, SessionAddresses};
