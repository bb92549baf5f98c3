//! Values that a runtime starts with, from arguments, environment and files.

use std::path::{Path, PathBuf};

use crate::api::orchestrator::identity::{DEFAULT_SESSION, RuntimeIdentity, Tenancy};
use crate::cli::error::CliError;
use crate::cli::runtime::arguments::RuntimeArguments;
use crate::cli::runtime::error::RuntimeError;
use browser_shell_core::tenant::TenantId;
use browser_shell_system::config::{DEFAULT_WORKSPACE, Settings};
use browser_shell_system::os::io_error::describe;

/// Maximum size of the token file, in bytes.
const MAX_TOKEN_FILE: u64 = 4096;

/// Minimum length of the token.
const MIN_TOKEN: usize = 16;

/// Returns a value unless it is empty: an environment variable that is set to nothing counts as not set.
pub(super) fn non_empty(value: Option<&str>) -> Option<String> {
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

/// Returns the identity of the runtime.
pub(super) fn identity(
    settings: &Settings,
    options: &RuntimeArguments,
    tenancy: Tenancy,
) -> Result<RuntimeIdentity, RuntimeError> {
    let name = non_empty(options.sandbox_id.as_deref())
        .or_else(|| non_empty(options.bay_sandbox_id.as_deref()))
        .unwrap_or_else(|| DEFAULT_SESSION.to_owned());
    let tenant = TenantId::new(&name).ok_or(RuntimeError::TenantId { name })?;
    let mount = options.workspace_mount.clone();
    if !Path::new(&mount).is_absolute() {
        return Err(RuntimeError::Mount(mount));
    }
    // The default of `--workspace` means the path that agents see.
    let is_default = settings.workspace == Path::new(DEFAULT_WORKSPACE);
    let workspace = if is_default { PathBuf::from(&mount) } else { settings.workspace.clone() };
    Ok(RuntimeIdentity { tenancy, tenant, workspace, mount, cargos: options.cargos.clone() })
}

/// Returns the settings of the sessions. Their folders are private; files are carried from there into the workspace.
pub(super) fn session_settings(
    settings: &Settings,
    options: &RuntimeArguments,
    cdp_port: u16,
) -> Result<Settings, CliError> {
    let mut settings = settings.clone();
    settings.cdp_port = cdp_port;
    settings.workspace = browser_shell_system::paths::staging_folder(&settings)?;
    if let Some(idle) = options.idle_timeout_ms {
        settings.idle_sec = idle.div_ceil(1000);
    }
    Ok(settings)
}

/// Checks that the runtime's ports differ. Port 0 is chosen by the system.
pub(super) fn check_distinct_ports(ports: [u16; 3]) -> Result<(), RuntimeError> {
    let repeated = ports
        .iter()
        .enumerate()
        .find(|(position, port)| **port > 0 && ports.iter().take(*position).any(|other| other == *port));
    repeated.map_or(Ok(()), |(_, port)| Err(RuntimeError::SamePort(*port)))
}

/// Reads the token: the only line of a file, without the line break.
pub(super) fn read_token(path: &Path) -> Result<String, RuntimeError> {
    let failed = |reason: &str| RuntimeError::Token { path: path.display().to_string(), reason: reason.to_owned() };
    let metadata = std::fs::metadata(path).map_err(|error| failed(&describe(&error)))?;
    if !metadata.is_file() || metadata.len() > MAX_TOKEN_FILE {
        return Err(failed("it is not a file of one short line"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&describe(&error)))?;
    let token = text.trim_end_matches(['\r', '\n']);
    if token.len() < MIN_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(failed(&format!(
            "it must hold one line of at least {MIN_TOKEN} visible ASCII characters; make one with `openssl rand -hex 32`"
        )));
    }
    Ok(token.to_owned())
}
