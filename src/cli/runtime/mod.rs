//! `browser-shell runtime`.

mod arguments;
mod error;
mod foreign;
mod serve;
mod setup;

#[cfg(test)]
mod tests;

pub(super) use arguments::RuntimeArguments;
pub(super) use serve::run;
