//! Facade for this repository's integration tests, benches and fuzz targets.
//!
//! It is not a stable interface: any commit can change it.

// A server with a transport of the test's own: fuzz/checks.rs.
pub use crate::agent_browser::{Invocation, Transport};
pub use crate::api::mcp::server::McpServer;
pub use crate::audit::AuditLog;
pub use crate::call::{OutputWorker, Pages, Pipeline, Services};
pub use crate::config::Settings;
pub use crate::gate::ControlGate;
pub use crate::os::exec::ExecError;
pub use crate::paths::Paths;
pub use crate::policy_source::PolicySource;
pub use crate::session::{EngineChoice, Sessions};

// Commands and events of the debugging protocol: tests/it/cdp_types.rs.
pub use crate::browser::cdp::protocol::{Described, described};

// Authentication: tests/it/auth.
pub use crate::api::auth::{AuthRefusal, Authenticator, CredentialSettings, CredentialsError, require};

// Name resolution: tests/it/dns.rs.
pub use crate::os::dns::{Dns, LookupError};

// Addresses of the egress guard for sessions: tests/it/egress.
pub use crate::paths::{SessionAddress, SessionAddresses};

// Limits that the documentation states: tests/it/docs.rs.
pub use crate::api::orchestrator::requests::{BATCH_TIMEOUT, EXEC_TIMEOUT, MAX_COMMANDS};

// Sandboxes: tests/it/confinement, benches/sandbox.rs.
pub use crate::installation::files::ProgramFiles;
pub use crate::installation::locate::find_on_path;
pub use crate::os::exec::Program;
pub use crate::paths::SessionPaths;
pub use crate::sandbox::backend::LaunchMode;
pub use crate::sandbox::confine::ConfineConfig;
pub use crate::sandbox::host::SandboxHost;
pub use crate::sandbox::kernel::KernelFeatures;
pub use crate::sandbox::plan::{Plan, plan};
pub use crate::sandbox::select::BACKENDS;
