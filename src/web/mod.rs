//! What both doors that speak HTTP have in common.
//!
//! Decides how connections are accepted and for how long a client may take (`serve.rs`), and which requests are looked at at
//! all (`guard.rs`). It knows nothing of what is served.

pub mod guard;
pub mod serve;
