//! Operating-system interface: programs, processes, re-execution, connections, name resolution, randomness, small files, file
//! locks, error texts and standard error.

pub mod accept;
pub mod dns;
pub mod exec;
pub mod file_lock;
pub mod http_client;
pub mod io_error;
pub mod log;
pub mod processes;
pub mod programs;
pub mod random;
pub mod reexec;
pub mod text_file;
