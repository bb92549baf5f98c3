//! Operating-system interface: processes, re-execution, connections, name resolution, randomness, small files, file
//! locks, error texts and standard error.

pub(crate) mod accept;
pub(crate) mod dns;
pub(crate) mod exec;
pub(crate) mod file_lock;
pub(crate) mod http_client;
pub(crate) mod io_error;
pub(crate) mod log;
pub(crate) mod processes;
pub(crate) mod random;
pub(crate) mod reexec;
pub(crate) mod text_file;
