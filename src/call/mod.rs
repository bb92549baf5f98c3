//! Calls: the pipeline that takes each one from its request to its reply.
//!
//! A [`CallRequest`] is validated, completed by the steps before the run, run, and then goes through the steps after the run,
//! as every refusal does. Each phase of a call has its own type in `phases.rs`.

mod after;
mod before;
mod engines;
mod phases;
mod pipeline;
mod prepare;
mod reply;
mod request;
mod run;
mod services;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod workspace;

pub(crate) use phases::FinishedCall;
pub use pipeline::Pipeline;
#[cfg(test)]
pub(crate) use reply::CallReply;
pub(crate) use request::{CallOptions, CallRequest, FileTarget, OutputStyle, PageAfterClose, TimeoutScope};
pub use services::{OutputWorker, Pages, Services};
