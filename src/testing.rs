//! Facade for this repository's integration tests, benches and fuzz targets.
//!
//! It is not a stable interface: any commit can change it.

// A server with a transport of the test's own: fuzz/checks.rs.
pub use crate::api::mcp::server::McpServer;
pub use crate::call::{OutputWorker, Pages, Pipeline, Services};
pub use crate::session::{EngineChoice, Sessions};
pub use browser_shell_agent_browser::gateway::Endpoints;
pub use browser_shell_agent_browser::{Invocation, Transport};
pub use browser_shell_browser::gate::ControlGate;
pub use browser_shell_system::audit::AuditLog;
pub use browser_shell_system::config::Settings;
pub use browser_shell_system::os::exec::ExecError;
pub use browser_shell_system::paths::Paths;
pub use browser_shell_system::policy_source::PolicySource;

// Commands and events of the debugging protocol: tests/it/cdp_types.rs.
pub use browser_shell_cdp::protocol::{Described, described};

// Authentication: tests/it/auth.
pub use crate::api::auth::{AuthRefusal, Authenticator, CredentialSettings, CredentialsError, require};

// Name resolution: tests/it/dns.rs.
pub use browser_shell_system::os::dns::{Dns, LookupError};

// Addresses of the egress guard for sessions: tests/it/egress.
pub use browser_shell_system::paths::{SessionAddress, SessionAddresses};

// Limits that the documentation states: tests/it/docs.rs.
pub use crate::api::orchestrator::requests::{BATCH_TIMEOUT, EXEC_TIMEOUT, MAX_COMMANDS};

// Sandboxes: tests/it/confinement, benches/sandbox.rs.
pub use browser_shell_agent_browser::installation::files::ProgramFiles;
pub use browser_shell_agent_browser::sandbox::BACKENDS;
pub use browser_shell_agent_browser::sandbox::backend::LaunchMode;
pub use browser_shell_agent_browser::sandbox::confine::ConfineConfig;
pub use browser_shell_agent_browser::sandbox::host::SandboxHost;
pub use browser_shell_agent_browser::sandbox::plan::{Plan, plan};
pub use browser_shell_system::confinement::KernelFeatures;
pub use browser_shell_system::os::exec::Program;
pub use browser_shell_system::os::exec::find_on_path;
pub use browser_shell_system::paths::SessionPaths;
