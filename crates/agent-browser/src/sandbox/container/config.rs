//! Configuration that the sandbox init and the host relay receive as JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sandbox::confine::ConfineConfig;
use crate::sandbox::host::SandboxHost;
use crate::sandbox::plan::Plan;
use browser_shell_system::paths::SessionPaths;

/// The socket where the sandbox init takes requests, in the session's socket folder.
pub(super) const REQUEST_SOCKET: &str = "r";

/// The socket that is forwarded to the browser's port, in the same folder.
pub(super) const BROWSER_SOCKET: &str = "p";

/// Configuration of the host relay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelayConfig {
    /// The session's socket folder.
    pub sockets: PathBuf,
    /// The browser's port on the host.
    pub port: u16,
    /// The way to start the sandbox.
    pub start: RelayStart,
}

/// A way to start a sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelayStart {
    /// A program that runs the sandbox init.
    Program {
        /// The program and its arguments.
        line: Vec<String>,
        /// Its complete environment, except the session's marker.
        environment: Vec<(String, String)>,
        /// Its working directory.
        directory: PathBuf,
    },
    /// A container of an engine.
    Container {
        /// The engine's socket.
        engine: PathBuf,
        /// The request that creates the container.
        create: Value,
    },
}

/// Configuration of the sandbox init.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitConfig {
    /// The confinement of each program.
    pub confine: ConfineConfig,
    /// This program's file.
    pub executable: PathBuf,
    /// The session's socket folder.
    pub sockets: PathBuf,
    /// The browser's port.
    pub port: u16,
    /// True if programs get the environment variables of the sandbox's proxies.
    pub proxies: bool,
}

impl InitConfig {
    /// Creates the configuration for a sandbox with its own file view and without proxies.
    #[must_use]
    pub fn new(host: &SandboxHost, plan: &Plan, paths: &SessionPaths) -> Self {
        Self {
            confine: ConfineConfig::new(plan.for_private_view(), host.kernel),
            executable: host.executable.clone(),
            sockets: paths.sockets.clone(),
            port: plan.browser_port(),
            proxies: false,
        }
    }
}
