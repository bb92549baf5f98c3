//! Calls: the pipeline that takes each one from its request to its reply.
//!
//! A [`CallRequest`] is validated, completed by the steps before the run, run, and then goes through the steps after the run,
//! as every refusal does. Each phase of a call has its own type in `phases.rs`.

mod act;
mod after;
mod alone;
mod before;
mod begin;
mod early;
mod effect;
mod execute;
mod find_element;
mod history;
mod local;
mod options;
mod outcome;
mod output_worker;
mod pages;
mod phases;
mod picture;
mod pipeline;
mod prepare;
mod question;
mod read_back;
mod refusals;
mod reply;
mod request;
mod run;
mod services;
mod snapshot;
mod step;
mod steps;
mod tabs;
#[cfg(test)]
pub(crate) mod testing;
mod time;
mod wait;
pub(crate) mod workspace;

pub(crate) use options::{CallOptions, FileTarget, OutputStyle, PageAfterClose, TimeoutScope};
pub use output_worker::OutputWorker;
pub use pages::Pages;
pub(crate) use phases::FinishedCall;
pub use pipeline::Pipeline;
#[cfg(test)]
pub(crate) use reply::CallReply;
pub(crate) use request::CallRequest;
pub use services::Services;
