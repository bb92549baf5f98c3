//! `browser-shell serve`.

mod arguments;
mod error;
mod health;
mod run;

pub(super) use arguments::{ScreenChoice, ServeArguments};
pub(super) use run::run;
