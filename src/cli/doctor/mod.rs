//! Command `browser-shell doctor`: checks of everything that a call needs, with a fix for each failure.
//!
//! Invariants: the names of checks and the JSON keys are stable.

mod age;
mod check;
mod checks;
mod chromium;
mod command;
mod egress_guard;
mod sandbox;
mod serve;

pub(super) use command::{DoctorArguments, run};
