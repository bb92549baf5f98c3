//! Closing of idle sessions.

use std::time::Duration;

use crate::session::lease::Lease;
use crate::session::sessions::Sessions;
use crate::session::state::SessionState;

impl Sessions {
    /// Closes idle sessions until the future is dropped.
    pub(crate) async fn close_idle(&self) {
        let interval = (self.idle_timeout / 4).clamp(Duration::from_millis(100), Duration::from_secs(30));
        loop {
            tokio::time::sleep(interval).await;
            for (id, session) in self.table.all() {
                if session.idle_time() < self.idle_timeout {
                    continue;
                }
                let Ok(state) = session.state.clone().try_lock_owned() else { continue };
                let Some(slot) = self.slots.take() else { continue };
                // A session that is not open may belong to another process. A call may have ended since the first check.
                if matches!(*state, SessionState::Open(_)) && session.idle_time() >= self.idle_timeout {
                    tracing::info!(session = %id, "closing an idle session");
                    self.close(Lease { id, session, state, is_first: false, _slot: slot }).await;
                }
            }
        }
    }
}
