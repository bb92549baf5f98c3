//! Calls: the pipeline that takes each one from its request to its reply.
//!
//! A [`CallRequest`] is validated, completed by the steps before the run, run, and then goes through the steps after the run,
//! as every refusal does. Each phase of a call has its own type in `phases.rs`.

mod after;
mod agent_browser;
mod before;
mod cdp;
mod local;
mod options;
mod output_worker;
mod pages;
mod phases;
mod pipeline;
mod prepare;
mod probe;
mod refusals;
mod reply;
mod request;
mod run;
mod services;
mod step;
mod tabs;
#[cfg(test)]
pub(crate) mod testing;
mod time;
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
