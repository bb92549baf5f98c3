//! The part `sandbox` of the policy file: from JSON to a [`SandboxPolicy`], or to every problem.
//!
//! Decides the format of this part, as `file.rs` does for the rest. Must never accept two members that contradict each other.

use std::path::{Component, PathBuf};

use serde_json::Value;

use super::file::Reader;
use crate::sandbox::policy::{BackendName, Backends, Filesystem, Limits, Mode, Network, Runtime, SandboxPolicy};

const LIMITS: &[&str] = &["maxProcesses", "maxFileBytes", "maxOpenFiles"];

impl Reader {
    /// Reads the part; `path` is where it stands.
    pub(super) fn sandbox(&mut self, path: &str, value: &Value) -> SandboxPolicy {
        const KNOWN: &[&str] =
            &["enabled", "backend", "mode", "require", "filesystem", "network", "runtime", "backends"];
        let mut sandbox = SandboxPolicy::default();
        for (name, path, value) in self.members(path, value, KNOWN) {
            match name {
                "enabled" => sandbox.enabled = self.flag(&path, value, true),
                "backend" => sandbox.backend = self.backend(&path, value),
                "mode" => match value.as_str() {
                    Some("per-session") => sandbox.mode = Mode::PerSession,
                    Some("shared") => sandbox.mode = Mode::Shared,
                    Some("disabled") => sandbox.mode = Mode::Disabled,
                    _ => self.problem(&path, "must be `per-session`, `shared` or `disabled`"),
                },
                "require" => sandbox.require = self.flag(&path, value, false),
                "filesystem" => sandbox.filesystem = self.filesystem(&path, value),
                "network" => sandbox.network = self.network(&path, value),
                "runtime" => sandbox.runtime = self.runtime(&path, value),
                "backends" => sandbox.backends = self.backends(&path, value),
                _ => {}
            }
        }
        if sandbox.require && sandbox.is_off() {
            self.problem(&format!("{path}.require"), "cannot be true while the sandbox is switched off");
        }
        if !sandbox.network.allowed_domains.is_empty() && sandbox.backend != Some(BackendName::Srt) {
            let message = "needs `sandbox.backend` to be `srt`; with every other one agent-browser reaches the browser and nothing else, which is all that it needs";
            self.problem(&format!("{path}.network.allowedDomains"), message);
        }
        if sandbox.backend == Some(BackendName::Docker) && sandbox.backends.docker_image.is_none() {
            self.problem(&format!("{path}.backends.docker.image"), "must be given for the backend `docker`");
        }
        sandbox
    }

    fn flag(&mut self, path: &str, value: &Value, otherwise: bool) -> bool {
        value.as_bool().unwrap_or_else(|| {
            self.problem(path, "must be true or false");
            otherwise
        })
    }

    fn backend(&mut self, path: &str, value: &Value) -> Option<BackendName> {
        let named = BackendName::ALL.iter().copied().find(|name| value.as_str() == Some(name.as_str()));
        if named.is_none() && value.as_str() != Some("auto") {
            self.problem(path, "must be `auto`, `landlock`, `bubblewrap`, `srt`, `docker` or `none`");
        }
        named
    }

    fn filesystem(&mut self, path: &str, value: &Value) -> Filesystem {
        let mut filesystem = Filesystem::default();
        for (name, path, value) in self.members(path, value, &["denyRead", "allowWrite", "denyWrite"]) {
            let paths = self.paths(&path, value);
            match name {
                "denyRead" => filesystem.deny_read = paths,
                "allowWrite" => filesystem.allow_write = paths,
                _ => filesystem.deny_write = paths,
            }
        }
        filesystem
    }

    fn paths(&mut self, path: &str, value: &Value) -> Vec<PathBuf> {
        let texts = self.strings(path, value);
        texts.into_iter().filter_map(|(_, path, text)| self.absolute(&path, text)).collect()
    }

    /// A path that means the same to every reader.
    fn absolute(&mut self, path: &str, text: &str) -> Option<PathBuf> {
        let found = PathBuf::from(text);
        let plain = found.is_absolute() && !found.components().any(|part| part == Component::ParentDir);
        if !plain || text.contains('\0') || text.contains('*') {
            self.problem(path, format!("`{text}` must be an absolute path without `..` and wildcards"));
            return None;
        }
        Some(found)
    }

    fn network(&mut self, path: &str, value: &Value) -> Network {
        let mut network = Network::default();
        for (name, path, value) in self.members(path, value, &["allowedDomains", "deniedDomains", "allowLocalBinding"])
        {
            match name {
                "allowedDomains" => network.allowed_domains = self.domains(&path, value),
                "deniedDomains" => network.denied_domains = self.domains(&path, value),
                _ => network.allow_local_binding = self.flag(&path, value, false),
            }
        }
        network
    }

    fn domains(&mut self, path: &str, value: &Value) -> Vec<String> {
        let mut domains = Vec::new();
        for (_, path, text) in self.strings(path, value) {
            let name = text.strip_prefix("*.").unwrap_or(text);
            match super::url::normalise_host(name) {
                Ok(_) => domains.push(text.to_owned()),
                Err(message) => self.problem(&path, message),
            }
        }
        domains
    }

    fn runtime(&mut self, path: &str, value: &Value) -> Runtime {
        let mut runtime = Runtime::default();
        for (name, path, value) in self.members(path, value, &["cleanupOnExit", "timeout"]) {
            match name {
                "cleanupOnExit" => runtime.cleanup_on_exit = self.flag(&path, value, true),
                _ => runtime.timeout = Some(self.whole(&path, value, 1, 120)),
            }
        }
        runtime
    }

    fn backends(&mut self, path: &str, value: &Value) -> Backends {
        let mut backends = Backends::default();
        for (name, path, value) in self.members(path, value, &["landlock", "bubblewrap", "srt", "docker"]) {
            match name {
                "landlock" => {
                    for (name, path, value) in self.members(&path, value, LIMITS) {
                        self.limit(&mut backends.landlock, name, &path, value);
                    }
                }
                "bubblewrap" => {
                    let known: Vec<_> = ["program"].iter().chain(LIMITS).copied().collect();
                    for (name, path, value) in self.members(&path, value, &known) {
                        if name == "program" {
                            backends.bubblewrap.program = self.program(&path, value);
                        } else {
                            self.limit(&mut backends.bubblewrap.limits, name, &path, value);
                        }
                    }
                }
                "srt" => {
                    for (_, path, value) in self.members(&path, value, &["program"]) {
                        backends.srt_program = self.program(&path, value);
                    }
                }
                _ => {
                    for (name, path, value) in self.members(&path, value, &["socket", "image"]) {
                        match (name, value.as_str()) {
                            ("socket", _) => backends.docker_socket = self.program(&path, value),
                            (_, Some(image)) if !image.is_empty() && !image.starts_with('-') => {
                                backends.docker_image = Some(image.to_owned());
                            }
                            _ => self.problem(&path, "must be the name of an image"),
                        }
                    }
                }
            }
        }
        backends
    }

    fn limit(&mut self, limits: &mut Limits, name: &str, path: &str, value: &Value) {
        match name {
            "maxProcesses" => limits.max_processes = self.whole(path, value, 64, 65_536),
            "maxFileBytes" => limits.max_file_bytes = self.whole(path, value, 1024 * 1024, 1 << 40),
            _ => limits.max_open_files = self.whole(path, value, 256, 1_048_576),
        }
    }

    fn program(&mut self, path: &str, value: &Value) -> Option<PathBuf> {
        let Some(text) = value.as_str() else {
            self.problem(path, "must be a string");
            return None;
        };
        self.absolute(path, text)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::policy::file::parse;
    use crate::sandbox::policy::{BackendName, Mode, SandboxPolicy};

    #[test]
    fn spec_5_2_a_full_part_is_valid_and_no_part_is_the_default() {
        let policy = parse(
            r#"{"sandbox":{"enabled":true,"backend":"bubblewrap","mode":"shared","require":true,
            "filesystem":{"denyRead":["/usr/lib/x"],"allowWrite":["/data"],"denyWrite":["/data/old"]},
            "network":{"allowedDomains":[],"deniedDomains":["*.bad.example"],"allowLocalBinding":true},
            "runtime":{"cleanupOnExit":false,"timeout":60},
            "backends":{"landlock":{"maxProcesses":100},"bubblewrap":{"program":"/usr/bin/bwrap","maxFileBytes":1048576,"maxOpenFiles":256},
            "srt":{"program":"/usr/bin/srt"},"docker":{"socket":"/run/docker.sock","image":"x"}}}}"#,
        )
        .expect("valid")
        .sandbox;
        assert!(policy.enabled && policy.require && policy.network.allow_local_binding);
        assert_eq!((policy.backend, policy.mode), (Some(BackendName::Bubblewrap), Mode::Shared));
        assert_eq!(policy.filesystem.allow_write, [PathBuf::from("/data")]);
        assert_eq!((policy.runtime.cleanup_on_exit, policy.runtime.timeout), (false, Some(60)));
        assert_eq!(
            (policy.backends.landlock.max_processes, policy.backends.bubblewrap.limits.max_open_files),
            (100, 256)
        );
        for text in ["{}", r#"{"sandbox":{}}"#, r#"{"sandbox":{"backend":"auto"}}"#] {
            let default = parse(text).expect("valid").sandbox;
            assert_eq!(default, SandboxPolicy::default());
            assert!(!default.is_off(), "on by default");
        }
    }

    #[test]
    fn spec_5_2_all_problems_of_the_sandbox_are_reported_at_once() {
        let problems = parse(
            r#"{"sandbox":{"enabled":"yes","backend":"chroot","mode":"per_session","require":1,"deny_read":[],
            "filesystem":{"denyRead":["etc",5],"allowWrite":"/x","denyWrite":["/a/../b"],"allowRead":[]},
            "network":{"allowedDomains":["https://x"],"deniedDomains":["*"],"allowLocalBinding":0},
            "runtime":{"cleanupOnExit":"no","timeout":0},
            "backends":{"landlock":{"maxProcesses":1,"program":"/x"},"bubblewrap":{"program":"bwrap"},"srt":{"programm":"/x"},"docker":{"image":"-x","socket":1},"gvisor":{}}}}"#,
        )
        .expect_err("wrong");
        insta::assert_snapshot!(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn spec_5_2_what_contradicts_itself_is_a_problem() {
        for (text, place) in [
            (r#"{"sandbox":{"require":true,"enabled":false}}"#, "sandbox.require"),
            (r#"{"sandbox":{"require":true,"mode":"disabled"}}"#, "sandbox.require"),
            (r#"{"sandbox":{"require":true,"backend":"none"}}"#, "sandbox.require"),
            (r#"{"sandbox":{"network":{"allowedDomains":["a.example"]}}}"#, "sandbox.network.allowedDomains"),
            (r#"{"sandbox":{"backend":"docker"}}"#, "sandbox.backends.docker.image"),
        ] {
            let problems = parse(text).expect_err(text);
            assert_eq!(problems.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), [place], "{text}");
        }
        assert!(parse(r#"{"sandbox":{"require":true}}"#).is_ok(), "control");
        let srt = r#"{"sandbox":{"backend":"srt","network":{"allowedDomains":["a.example"]}}}"#;
        assert!(parse(srt).is_ok(), "control");
    }
}
