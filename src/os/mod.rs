//! Operating-system interface: processes, re-execution, name resolution and standard error.

pub(crate) mod dns;
pub(crate) mod exec;
pub(crate) mod http_client;
pub(crate) mod log;
pub(crate) mod processes;
pub(crate) mod reexec;
