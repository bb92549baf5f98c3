//! Installed programs: location, kind and files.

pub(crate) mod detect;
pub(crate) mod files;
pub(crate) mod locate;
