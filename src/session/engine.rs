//! Choice of the engine of sessions.

use browser_shell_core::policy::{Engine, Policy};

/// Choice of the engine of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// That of the policy, or this one if it names none.
    ByPolicy(Engine),
    /// This one, whatever the policy names.
    Always(Engine),
}

impl EngineChoice {
    /// Returns the engine of a session under its policy, `None` where there is no valid one.
    #[must_use]
    pub(crate) fn of(self, policy: Option<&Policy>) -> Engine {
        match self {
            Self::ByPolicy(default) => policy.and_then(Policy::engine).unwrap_or(default),
            Self::Always(engine) => engine,
        }
    }
}
