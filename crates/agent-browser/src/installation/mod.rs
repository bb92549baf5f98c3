//! Installed programs: location, kind and files.

pub mod detect;
pub mod files;
pub mod locate;
