//! Reads of the effect of an act.

use std::time::Duration;

use browser_shell_core::element::{Verb, may_have_effect};

use crate::call::outcome::Output;
use crate::call::time::INTERVAL;
use crate::os::exec::ExecError;

/// Number of times that an effect is read before it counts as none: pages may show it a moment later.
const EFFECT_READS: usize = 4;

/// Time for an effect to be read.
pub(super) const EFFECT_TIME: Duration = Duration::from_secs(5);

/// Reads of an effect that are left.
pub(super) struct EffectReads(usize);

impl EffectReads {
    /// Allows the reads of one act.
    pub(super) const fn new() -> Self {
        Self(EFFECT_READS)
    }

    /// Waits for the next read. Returns false if there were enough.
    pub(super) async fn next(&mut self) -> bool {
        if self.0 < EFFECT_READS && self.0 > 0 {
            tokio::time::sleep(INTERVAL).await;
        }
        let is_left = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        is_left
    }
}

/// Returns true if the effect of an act can be read.
pub(super) const fn has_effect(verb: Verb) -> bool {
    matches!(verb, Verb::Fill | Verb::Type | Verb::Check | Verb::Uncheck | Verb::Select | Verb::Focus)
}

/// Returns true if an act ended and may have had its effect.
pub(super) fn is_done(verb: Verb, result: &Result<Option<Output>, ExecError>) -> bool {
    match result {
        Ok(Some(Output::Raw(raw))) => may_have_effect(verb, raw),
        Ok(Some(Output::Own(reply))) => reply.exit_code == 0,
        Ok(None) | Err(_) => false,
    }
}
