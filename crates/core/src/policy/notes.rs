//! Notes about sandbox settings that are valid and do less, or something else, than their name suggests.

use super::sandbox::{BackendName, FileRule, SandboxPolicy};

impl SandboxPolicy {
    /// Returns a note for each setting that this program does not apply as it is written. Each begins with the setting's path.
    ///
    /// They depend on the policy alone. The enforcement on a machine is a matter of its backends.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.backend == Some(BackendName::Firecracker) {
            notes.push("sandbox.backend: this version has no backend `firecracker`, so no session begins; choose `landlock`, `bubblewrap`, `srt` or `docker`".to_owned());
        }
        for (name, rules) in [("denyRead", &self.filesystem.deny_read), ("denyWrite", &self.filesystem.deny_write)] {
            let patterns: Vec<_> = rules.iter().filter_map(FileRule::pattern).collect();
            if !patterns.is_empty() {
                let list =
                    patterns.iter().map(|pattern| format!("`{}`", pattern.as_str())).collect::<Vec<_>>().join(", ");
                notes.push(format!(
                    "sandbox.filesystem.{name}: bubblewrap, srt and docker apply {list} to the files that exist when a program starts; landlock cannot apply it; `browser-shell doctor` reports what is missing on a machine"
                ));
            }
        }
        if !(self.network.allowed_domains.is_empty() && self.network.denied_domains.is_empty()) {
            let scope = if self.backend == Some(BackendName::Srt) {
                "are for agent-browser itself, by srt's proxies"
            } else {
                "have no effect: agent-browser itself reaches the browser and no domain"
            };
            notes.push(format!("sandbox.network: the domains {scope}; `open` and `egress` decide about pages"));
        }
        if self.backends.srt_settings.is_some() && self.backend != Some(BackendName::Srt) {
            notes.push("sandbox.backends.srt.settingsPath: has no effect unless `sandbox.backend` is `srt`".to_owned());
        }
        if let Some(network) = self.backends.docker_network.as_deref().filter(|network| *network != "none") {
            notes.push(format!(
                "sandbox.backends.docker.networkMode: `{network}` has no effect; the container has no network, and agent-browser reaches only the browser's port"
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::policy::file::parse_for_home;

    fn notes(text: &str) -> Vec<String> {
        parse_for_home(text, Some(Path::new("/home/u"))).expect("valid").sandbox.notes()
    }

    // Requirement 5.2.
    #[test]
    fn settings_with_other_effect_have_a_note() {
        for (setting, begin) in [
            (r#""backend":"firecracker""#, "sandbox.backend: "),
            (r#""filesystem":{"denyRead":["id_*"]}"#, "sandbox.filesystem.denyRead: "),
            (r#""filesystem":{"denyWrite":["/x",".env"]}"#, "sandbox.filesystem.denyWrite: "),
            (r#""network":{"deniedDomains":["a.example"]}"#, "sandbox.network: the domains have no effect"),
            (r#""backend":"srt","network":{"allowedDomains":["a.example"]}"#, "sandbox.network: the domains are for"),
            (r#""backends":{"srt":{"settingsPath":"~/s.json"}}"#, "sandbox.backends.srt.settingsPath: "),
            (r#""backends":{"docker":{"networkMode":"bridge"}}"#, "sandbox.backends.docker.networkMode: `bridge` "),
        ] {
            let found = notes(&format!(r#"{{"sandbox":{{{setting}}}}}"#));
            assert!(matches!(&found[..], [note] if note.starts_with(begin)), "{setting}: {found:?}");
        }
        for setting in [
            r#""filesystem":{"denyRead":["~/.ssh"],"allowWrite":["~/x"],"denyWrite":["/x"]}"#,
            r#""backend":"srt","network":{"allowedDomains":[]},"backends":{"srt":{"settingsPath":"/s.json"}}"#,
            r#""runtime":{"timeout":300},"backends":{"docker":{"networkMode":"none"}}"#,
        ] {
            assert_eq!(notes(&format!(r#"{{"sandbox":{{{setting}}}}}"#)), [""; 0], "control: {setting}");
        }
    }
}
