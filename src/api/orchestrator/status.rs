//! Health, description and metrics of a runtime.

use crate::api::orchestrator::replies::{Capabilities, Capability, HealthReply, Meta, RuntimeMeta, WorkspaceMeta};
use crate::api::orchestrator::service::Runtime;
use browser_shell_browser::health::BrowserHealth;

/// Name that an orchestrator of this contract expects.
const NAME: &str = "gull";

/// Version of the contract.
const API_VERSION: &str = "v1";

/// Version of the contract's capability `browser`.
const BROWSER_VERSION: &str = "1.0";

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Runtime {
    /// Returns the state of the browser now.
    #[must_use]
    pub(crate) fn browser_health(&self) -> BrowserHealth {
        *self.browser_health.borrow()
    }

    /// Returns the reply of `/health` for a state of the browser.
    #[must_use]
    pub(crate) fn health(&self, health: BrowserHealth) -> HealthReply {
        HealthReply {
            status: health.status(),
            browser_active: health.is_active(),
            browser_ready: health.is_active(),
            session: self.identity.tenant.as_str().to_owned(),
            version: VERSION,
        }
    }

    /// Returns the reply of `/meta`.
    #[must_use]
    pub(crate) fn meta(&self) -> Meta {
        let workspace = self.identity.own_workspace();
        Meta {
            runtime: RuntimeMeta { name: NAME, version: VERSION, api_version: API_VERSION },
            workspace: WorkspaceMeta { mount_path: self.identity.mount.clone() },
            capabilities: Capabilities { browser: Capability { version: BROWSER_VERSION } },
            built_in_skills: self.skills.iter().map(|skill| skill.to_meta(&workspace)).collect(),
        }
    }

    /// Returns the text of `/metrics`.
    #[must_use]
    pub(crate) fn metrics_text(&self) -> String {
        let starts = self.chromium.as_ref().map_or(0, |chromium| chromium.starts());
        self.pipeline.services().metrics_text(self.browser_health(), starts)
    }
}
