//! The one interface to agent-browser, and the ways behind it.
//!
//! Decides what a way to talk to agent-browser gets and gives. Everything that differs between the ways belongs behind
//! [`Transport`]; policy, grammar and output rules must never depend on which one is used.

mod auto;
mod cli;
mod daemon;
pub mod proof;
mod tabs;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::argv::Command;
use crate::exec::ExecError;
use crate::output::RawOutput;
use crate::places::SessionPlaces;
use crate::sandbox::Sandbox;

pub use auto::Auto;
pub(crate) use cli::child_path;
pub use cli::{Cli, find_agent_browser, find_on_path};

/// One command for one session.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The session's places; its key is the session's name.
    pub session: &'a SessionPlaces,
    /// The command, checked and completed.
    pub command: &'a Command,
    /// How long it may take.
    pub timeout: Duration,
    /// Says when the client takes the call back.
    pub cancel: &'a CancellationToken,
    /// What is remembered of the session.
    pub link: &'a Link,
    /// What agent-browser runs in.
    pub sandbox: &'a dyn Sandbox,
}

/// A way to run commands.
pub trait Transport: Send + Sync {
    /// Its name, for `doctor` and the log.
    fn name(&self) -> &'static str;

    /// Whether a command may get past agent-browser's CLI, so that its texts may be the CLI's own words.
    fn can_pass_the_cli(&self) -> bool {
        false
    }

    /// Runs a command. The caller makes sure that a session runs one at a time, and after an error ends what the session has
    /// running.
    fn run<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>>;
}

/// What is remembered of a session between its calls. It goes with the session.
#[derive(Debug, Default)]
pub struct Link(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    warm: bool,
    took: Option<&'static str>,
}

impl Link {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the last command went well, so that the session has a daemon which was started as it should be.
    fn is_warm(&self) -> bool {
        self.state().warm
    }

    fn set_warm(&self, warm: bool) {
        self.state().warm = warm;
    }

    /// Notes the way that a command takes.
    pub fn took(&self, name: &'static str) {
        self.state().took = Some(name);
    }

    /// The way that the last command took, if there was one since this was asked last.
    #[must_use]
    pub fn take_way(&self) -> Option<&'static str> {
        self.state().took.take()
    }
}
