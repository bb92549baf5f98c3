//! Reads of the effect of an act.

use browser_shell_core::element::Verb;

use crate::engine::job::INTERVAL;

/// Number of times that an effect is read before it counts as none: pages may show it a moment later.
const READS: usize = 4;

/// The same for a box, which many pages check only when their server has agreed. A second press would undo that.
const BOX_READS: usize = 15;

/// Reads of an effect that are left.
pub(super) struct EffectReads {
    left: usize,
    is_first: bool,
}

impl EffectReads {
    /// Allows the reads of one act.
    pub(super) const fn of(verb: Verb) -> Self {
        let left = if matches!(verb, Verb::Check | Verb::Uncheck) { BOX_READS } else { READS };
        Self { left, is_first: true }
    }

    /// Waits for the next read. Returns false if there were enough.
    pub(super) async fn next(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        if !self.is_first {
            tokio::time::sleep(INTERVAL).await;
        }
        (self.left, self.is_first) = (self.left.saturating_sub(1), false);
        true
    }
}

/// Returns true if the effect of an act can be read.
pub(super) const fn has_effect(verb: Verb) -> bool {
    matches!(verb, Verb::Fill | Verb::Type | Verb::Check | Verb::Uncheck | Verb::Select | Verb::Focus)
}
