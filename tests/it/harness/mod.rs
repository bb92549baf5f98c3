//! Servers under test and their processes, for the tests with a browser and for those without.

pub(crate) mod engine;
pub(crate) mod processes;
pub(crate) mod server;
