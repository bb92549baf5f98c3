//! Check of the sandbox, and of what each backend can do on this machine.

use crate::cli::doctor::check::Check;
use browser_shell_agent_browser::sandbox::SandboxFactory;
use browser_shell_agent_browser::sandbox::enforcement::EnforcementLevel;
use browser_shell_core::decision::Decision;
use browser_shell_core::grammar::Profile;
use browser_shell_core::policy::sandbox::{BackendName, SandboxMode};
use browser_shell_core::session_id::SessionId;
use browser_shell_system::config::Settings;
use browser_shell_system::paths::Paths;
use browser_shell_system::policy_source::PolicySource;

const NAME: &str = "sandbox";

/// Checks the sandbox of sessions. A backend that cannot run is an error if the policy names it: else a machine needs only one.
pub(super) async fn check(settings: &Settings, policy: &PolicySource) -> Vec<Check> {
    let Ok((paths, _)) = Paths::inspect(settings, Profile::Tool) else {
        return vec![Check::failed(NAME, "the socket folder cannot be used", "fix the socket folder first")];
    };
    let Some(id) = SessionId::new("doctor") else { return Vec::new() };
    let policy = match policy.current() {
        Ok(policy) => policy,
        Err(error) => {
            let fix = "correct the policy file; no session starts until then";
            return vec![Check::failed(NAME, Decision::from(error).reason, fix)];
        }
    };
    let survey = SandboxFactory::new(settings, &paths).survey(&policy.sandbox, &paths.session(&id)).await;
    let chosen = match &survey.chosen {
        Err(error) => {
            let fix = "change sandbox.backend or sandbox.require in the policy file to fit this machine; no session starts until then";
            Check::failed(NAME, error.to_string(), fix)
        }
        Ok(chosen) if chosen.is_off => Check::warned(
            NAME,
            "OFF, as the policy file says: agent-browser has all rights of this user",
            "remove what switches it off from `sandbox` of the policy file: enabled, mode or backend",
        ),
        Ok(chosen) if chosen.enforcement.level == EnforcementLevel::None => Check::failed(
            NAME,
            "none: agent-browser has all rights of this user",
            "use a kernel with Landlock (full enforcement needs Linux 6.12 or newer), or install bubblewrap",
        ),
        Ok(chosen) => {
            let scope =
                if survey.mode == SandboxMode::Shared { "shared by all sessions" } else { "each session its own" };
            let found = format!("{}: {}; {scope}", chosen.name, chosen.enforcement);
            if chosen.enforcement.level == EnforcementLevel::Full {
                Check::passed(NAME, found)
            } else {
                Check::warned(NAME, found, "see docs/how-to/hardening.md for what full enforcement needs")
            }
        }
    };
    let named = policy.sandbox.backend.filter(|_| !policy.sandbox.is_off());
    let backends = survey.backends.into_iter().map(|(name, result)| match result {
        Ok(enforcement) => Check::passed(check_name(name), format!("can run: {enforcement}")),
        Err(reason) if named == Some(name) => Check::failed(
            check_name(name),
            format!("cannot run: {reason}; sandbox.backend of the policy file names it"),
            "make it run, or name another backend",
        ),
        Err(reason) => Check::passed(check_name(name), format!("cannot run: {reason}; not asked for")),
    });
    let notes = policy.sandbox.notes().into_iter().map(|note| Check::passed("- note", note));
    std::iter::once(chosen).chain(backends).chain(notes).collect()
}

const fn check_name(backend: BackendName) -> &'static str {
    match backend {
        BackendName::Landlock => "- landlock",
        BackendName::Bubblewrap => "- bubblewrap",
        BackendName::Srt => "- srt",
        BackendName::Docker => "- docker",
        BackendName::None => "- none",
    }
}
