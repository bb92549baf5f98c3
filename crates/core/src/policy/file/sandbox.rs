//! Section `sandbox` of the policy file, and the settings file of srt, npm's sandbox runtime, as far as the sandbox uses it.
//!
//! Lists of domains and of denied and writable files of srt are added to the policy's own. Keys that the sandbox sets itself are
//! accepted and replaced. Every other key is a problem, because srt could have denied something by it.

use std::path::Path;

use serde_json::{Value, json};

use super::fields::{Choice, FieldKind, Fields, FlagValue, InvalidValue, Whole, read, type_name};
use super::text::{DOMAIN, IMAGE, NETWORK, PathKind, RuleKind};
use crate::json::{self, Problem};
use crate::policy::sandbox::{
    BackendName, BackendOptions, FilesystemRules, LifetimeRules, NetworkRules, ResourceLimits, SandboxMode,
    SandboxPolicy,
};

pub(super) fn sandbox(fields: &mut Fields<'_>, sandbox: &mut SandboxPolicy) {
    fields.field("enabled", "The sandbox as a whole. Default: true.", &FlagValue, &mut sandbox.enabled);
    let text = "The enforcement of the sandbox. Default: auto, the best one of the machine; srt and docker are used only if they are named.";
    let named = BackendName::ALL.iter().map(|backend| (backend.as_str(), Some(*backend)));
    fields.field("backend", text, &Choice::new([("auto", None)].into_iter().chain(named)), &mut sandbox.backend);
    let text = "per-session: a session sees its own files only. shared: sessions see each other's files. disabled: no sandbox. Default: per-session.";
    let modes = SandboxMode::ALL.iter().map(|mode| (mode.as_str(), *mode));
    fields.field("mode", text, &Choice::new(modes), &mut sandbox.mode);
    let text = "Refusal of sessions where the sandbox is not fully enforced. Default: false.";
    fields.field("require", text, &FlagValue, &mut sandbox.require);
    let text = "Files in addition to the session's own folders.";
    fields.section("filesystem", text, |fields| filesystem(fields, &mut sandbox.filesystem));
    fields.section("network", "Network of agent-browser itself.", |fields| network(fields, &mut sandbox.network));
    fields.section("runtime", "Lifetime of the sandbox.", |fields| lifetime(fields, &mut sandbox.runtime));
    fields.section("backends", "Options of single backends.", |fields| backends(fields, &mut sandbox.backends));

    if !sandbox.network.allowed_domains.is_empty() && sandbox.backend != Some(BackendName::Srt) {
        let message = "needs `sandbox.backend` to be `srt`; with every other backend agent-browser reaches the browser and nothing else";
        fields.problem(&["network", "allowedDomains"], message);
    }
    if sandbox.backend == Some(BackendName::Docker) && sandbox.backends.docker_image.is_none() {
        fields.problem(&["backends", "docker", "image"], "is missing; the backend `docker` needs the name of an image");
    }
}

fn filesystem(fields: &mut Fields<'_>, filesystem: &mut FilesystemRules) {
    let (path, rule) = (PathKind { home: fields.home() }, RuleKind { home: fields.home() });
    let text = "Files that must not be read, whatever allows it: paths, and names or wildcards such as .env, *.pem or ~/keys/*, where ~ is the home of the server's user.";
    filesystem.deny_read = fields.list("denyRead", text, &rule).unwrap_or_default();
    let text = "Paths that may be read and written in addition to the session's own folders, absolute or below ~.";
    filesystem.allow_write = fields.list("allowWrite", text, &path).unwrap_or_default();
    let text = "Files that must not be written, whatever allows it. The same forms as denyRead.";
    filesystem.deny_write = fields.list("denyWrite", text, &rule).unwrap_or_default();
}

fn network(fields: &mut Fields<'_>, network: &mut NetworkRules) {
    let text = "Domains that agent-browser itself may reach; for the backend srt only.";
    network.allowed_domains = fields.list("allowedDomains", text, &DOMAIN).unwrap_or_default();
    let text = "Domains that agent-browser itself must not reach; for the backend srt.";
    network.denied_domains = fields.list("deniedDomains", text, &DOMAIN).unwrap_or_default();
    let text = "Permission for agent-browser to listen on TCP ports. Default: false.";
    fields.field("allowLocalBinding", text, &FlagValue, &mut network.allow_local_binding);
}

fn lifetime(fields: &mut Fields<'_>, lifetime: &mut LifetimeRules) {
    let text = "Removal of a session's screenshots when the session ends. Default: true.";
    fields.field("cleanupOnExit", text, &FlagValue, &mut lifetime.cleanup_on_exit);
    let text = "The most seconds that one command of agent-browser may take, however it is sent. The timeout of the call may end it earlier. Default: no limit.";
    fields.field("timeout", text, &Whole(1..=300_u64), &mut lifetime.timeout);
}

fn backends(fields: &mut Fields<'_>, backends: &mut BackendOptions) {
    let path = PathKind { home: fields.home() };
    let text = "Landlock, seccomp and resource limits, without a helper program.";
    fields.section("landlock", text, |fields| resource_limits(fields, &mut backends.landlock));
    fields.section("bubblewrap", "Namespaces by bwrap.", |fields| {
        let text = "The path of bwrap. Default: found on PATH.";
        fields.field("program", text, &path, &mut backends.bubblewrap.program);
        resource_limits(fields, &mut backends.bubblewrap.limits);
    });
    fields.section("srt", "The sandbox runtime from npm.", |fields| {
        let text = "The path of srt. Default: found on PATH.";
        fields.field("program", text, &path, &mut backends.srt_program);
        let text = "A file of srt's own settings. Its domains, denied and writable files are added to those of this file, and deny wins.";
        fields.field("settingsPath", text, &path, &mut backends.srt_settings);
    });
    fields.section("docker", "A container of a container engine.", |fields| {
        let text = "The path of the engine's socket. Default: /var/run/docker.sock.";
        fields.field("socket", text, &path, &mut backends.docker_socket);
        let text = "The image. Its content is not used: the programs are mounted from this machine.";
        fields.field("image", text, &IMAGE, &mut backends.docker_image);
        let text = "Accepted, and without effect: the container has no network, whatever is named here.";
        fields.field("networkMode", text, &NETWORK, &mut backends.docker_network);
    });
}

fn resource_limits(fields: &mut Fields<'_>, limits: &mut ResourceLimits) {
    let text = "Processes and threads of the user, all sessions together. Default: 2048.";
    fields.field("maxProcesses", text, &Whole(64..=65_536_u64), &mut limits.max_processes);
    let text = "The largest file that can be written, in bytes. Default: 268435456.";
    fields.field("maxFileBytes", text, &Whole(1024 * 1024..=1_u64 << 40), &mut limits.max_file_bytes);
    let text = "Open files of a process. Default: 4096.";
    fields.field("maxOpenFiles", text, &Whole(256..=1_048_576_u64), &mut limits.max_open_files);
}

/// Keys of the sections that the sandbox sets itself, or that srt does not use on Linux. None of them denies anything.
const REPLACED_NETWORK: &[&str] = &[
    "strictAllowlist",
    "allowUnixSockets",
    "allowAllUnixSockets",
    "allowLocalBinding",
    "allowMachLookup",
    "deniedDomainReasons",
    "httpProxyPort",
    "socksProxyPort",
];
const REPLACED_FILESYSTEM: &[&str] = &["disabled", "allowRead", "allowGitConfig"];
const REPLACED: &[&str] = &[
    "allowAppleEvents",
    "allowPty",
    "bwrapPath",
    "enableWeakerNestedSandbox",
    "enableWeakerNetworkIsolation",
    "git",
    "ignoreViolations",
    "mandatoryDenySearchDepth",
    "ripgrep",
    "seccomp",
    "socatPath",
    "windows",
];

/// The rules of a settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SrtSettings {
    filesystem: FilesystemRules,
    network: NetworkRules,
}

impl SrtSettings {
    /// Adds the rules to those of a policy.
    pub fn add_to(self, policy: &mut SandboxPolicy) {
        let Self { filesystem, network } = self;
        policy.filesystem.deny_read.extend(filesystem.deny_read);
        policy.filesystem.allow_write.extend(filesystem.allow_write);
        policy.filesystem.deny_write.extend(filesystem.deny_write);
        policy.network.allowed_domains.extend(network.allowed_domains);
        policy.network.denied_domains.extend(network.denied_domains);
        policy.network.denied_addresses.extend(network.denied_addresses);
    }
}

/// Parses a settings file of srt, with this absolute folder in place of `~`.
///
/// # Errors
///
/// Every problem of the text.
pub fn parse_srt_settings(text: &str, home: Option<&Path>) -> Result<SrtSettings, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut settings = SrtSettings::default();
    match json::parse(text, &mut problems) {
        Ok(value) => read("", &value, home, &mut problems, |fields| srt_document(fields, &mut settings)),
        Err(problem) => problems.push(problem),
    }
    if problems.is_empty() { Ok(settings) } else { Err(problems) }
}

fn srt_document(fields: &mut Fields<'_>, settings: &mut SrtSettings) {
    fields.section("network", "", |fields| {
        let network = &mut settings.network;
        network.allowed_domains = fields.list("allowedDomains", "", &Word).unwrap_or_default();
        network.denied_domains = fields.list("deniedDomains", "", &Word).unwrap_or_default();
        network.denied_addresses = fields.list("deniedResolvedAddresses", "", &Word).unwrap_or_default();
        accept(fields, REPLACED_NETWORK);
    });
    fields.section("filesystem", "", |fields| {
        let (path, rule) = (PathKind { home: fields.home() }, RuleKind { home: fields.home() });
        let filesystem = &mut settings.filesystem;
        filesystem.deny_read = fields.list("denyRead", "", &rule).unwrap_or_default();
        filesystem.allow_write = fields.list("allowWrite", "", &path).unwrap_or_default();
        filesystem.deny_write = fields.list("denyWrite", "", &rule).unwrap_or_default();
        accept(fields, REPLACED_FILESYSTEM);
    });
    accept(fields, REPLACED);
}

fn accept(fields: &mut Fields<'_>, names: &[&'static str]) {
    for name in names {
        fields.field(name, "", &Anything, &mut ());
    }
}

/// A string whose syntax srt checks when it starts.
struct Word;

impl FieldKind for Word {
    type Output = String;

    fn schema(&self) -> Value {
        json!({ "type": "string" })
    }

    fn read(&self, value: &Value) -> Result<String, InvalidValue> {
        value.as_str().map(str::to_owned).ok_or_else(|| InvalidValue::new("a string", type_name(value)))
    }
}

/// A value that is not used.
struct Anything;

impl FieldKind for Anything {
    type Output = ();

    fn schema(&self) -> Value {
        json!({})
    }

    fn read(&self, _: &Value) -> Result<(), InvalidValue> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::policy::file::{parse, parse_for_home};
    use crate::policy::sandbox::{BackendName, FileRule, SandboxMode, SandboxPolicy};

    // Requirement 5.2.
    #[test]
    fn sandbox_policy_parses_and_has_defaults() {
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
        assert_eq!((policy.backend, policy.mode), (Some(BackendName::Bubblewrap), SandboxMode::Shared));
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

    // Requirement 5.2.
    #[test]
    fn sandbox_policy_problems_are_reported_at_once() {
        let problems = parse(
            r#"{"sandbox":{"enabled":"yes","backend":"chroot","mode":"per_session","require":1,"deny_read":[],
            "filesystem":{"denyRead":["~bob/x",5],"allowWrite":"/x","denyWrite":["/a/../b"],"allowRead":[]},
            "network":{"allowedDomains":["https://x"],"deniedDomains":["*"],"allowLocalBinding":0},
            "runtime":{"cleanupOnExit":"no","timeout":0},
            "backends":{"landlock":{"maxProcesses":1,"program":"/x"},"bubblewrap":{"program":"bwrap"},"srt":{"programm":"/x"},"docker":{"image":"-x","socket":1,"networkMode":"a b"},"gvisor":{}}}}"#,
        )
        .expect_err("wrong");
        insta::assert_snapshot!(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    }

    /// The forms that another program's users paste.
    // Requirement 5.2.
    #[test]
    fn published_forms_load_with_every_key() {
        let home = Some(Path::new("/home/u"));
        let complete = parse_for_home(include_str!("published/complete.json"), home).expect("valid").sandbox;
        assert!(complete.is_off() && complete.runtime.cleanup_on_exit && !complete.network.allow_local_binding);
        assert_eq!((complete.backend, complete.mode), (Some(BackendName::Srt), SandboxMode::PerSession));
        let denied = ["/home/u/.ssh", "/home/u/.gnupg"].map(|path| FileRule::Path(path.into()));
        assert_eq!(complete.filesystem.deny_read, denied);
        assert_eq!(complete.filesystem.allow_write, [PathBuf::from("/home/u/.vikingbot/workspace")]);
        let names: Vec<_> = complete.filesystem.deny_write.iter().filter_map(FileRule::pattern).collect();
        assert_eq!(names.iter().map(|name| name.as_str()).collect::<Vec<_>>(), [".env", "*.pem"]);
        assert_eq!(complete.runtime.timeout, Some(300));
        assert_eq!(complete.backends.srt_settings, Some("/home/u/.vikingbot/srt-settings.json".into()));
        assert_eq!(complete.backends.docker_image.as_deref(), Some("python:3.11-slim"));
        assert_eq!(complete.backends.docker_network.as_deref(), Some("bridge"));
        let short = parse_for_home(include_str!("published/short.json"), home).expect("valid").sandbox;
        assert_eq!((short.is_off(), short.backend), (false, Some(BackendName::Srt)));
        assert_eq!(short.network.allowed_domains, ["api.openai.com"]);
        assert_eq!(short.filesystem.deny_read, [FileRule::Path("/home/u/.ssh".into())]);
        let without = parse(include_str!("published/short.json")).expect_err("no home");
        let paths: Vec<_> = without.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(paths, ["sandbox.filesystem.denyRead[0]", "sandbox.filesystem.allowWrite[0]"]);
    }

    // Requirement 5.2.
    #[test]
    fn contradictory_sandbox_policy_is_a_problem() {
        for (text, path) in [
            (r#"{"sandbox":{"network":{"allowedDomains":["a.example"]}}}"#, "sandbox.network.allowedDomains"),
            (r#"{"sandbox":{"backend":"docker"}}"#, "sandbox.backends.docker.image"),
        ] {
            let problems = parse(text).expect_err(text);
            assert_eq!(problems.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), [path], "{text}");
        }
        assert!(parse(r#"{"sandbox":{"require":true}}"#).is_ok(), "control");
        let srt = r#"{"sandbox":{"backend":"srt","network":{"allowedDomains":["a.example"]}}}"#;
        assert!(parse(srt).is_ok(), "control");
    }

    // Requirement 5.2.
    #[test]
    fn required_sandbox_that_is_off_is_a_problem_of_the_sandbox() {
        let problems = |rest: &str| {
            let policy = parse(&format!(r#"{{"sandbox":{{"require":true{rest}}}}}"#)).expect("valid");
            policy.sandbox.problems().into_iter().map(|problem| problem.path).collect::<Vec<_>>()
        };
        for off in [r#","enabled":false"#, r#","mode":"disabled""#, r#","backend":"none""#] {
            assert_eq!(problems(off), ["sandbox.require"], "{off}");
        }
        assert!(problems("").is_empty(), "control");
        assert!(parse(r#"{"sandbox":{"enabled":false}}"#).expect("valid").sandbox.problems().is_empty(), "control");
    }

    // Requirement 5.2.
    #[test]
    fn backend_that_does_not_exist_is_answered_with_those_that_do() {
        let problems = parse(r#"{"sandbox":{"backend":"firecracker"}}"#).expect_err("refused");
        let text =
            "sandbox.backend: must be `auto`, `landlock`, `bubblewrap`, `srt`, `docker` or `none`, not `firecracker`";
        assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
        assert!(parse(r#"{"sandbox":{"backend":"landlock"}}"#).is_ok(), "control");
    }

    // Requirement 5.2.
    #[test]
    fn srt_settings_add_rules_and_replaced_keys_are_accepted() {
        let text = r#"{"network":{"allowedDomains":["b.example:443"],"deniedDomains":["*"],"deniedResolvedAddresses":["10.0.0.0/8"],
            "allowLocalBinding":true,"httpProxyPort":8080},
            "filesystem":{"denyRead":["~/.ssh"],"allowWrite":["~/w"],"denyWrite":[".env"],"allowRead":["/"],"disabled":true},
            "enableWeakerNestedSandbox":true,"ripgrep":{"command":"x"}}"#;
        let settings = parse_srt_settings(text, Some(Path::new("/home/u"))).expect("valid");
        let own = r#"{"sandbox":{"backend":"srt","network":{"allowedDomains":["a.example"]},"filesystem":{"denyRead":["/x"]}}}"#;
        let mut policy = parse(own).expect("valid").sandbox;
        settings.add_to(&mut policy);
        assert_eq!(policy.network.allowed_domains, ["a.example", "b.example:443"]);
        assert_eq!((policy.network.denied_domains.len(), policy.network.denied_addresses.len()), (1, 1));
        assert!(!policy.network.allow_local_binding, "the sandbox decides");
        assert_eq!(policy.filesystem.allow_write, [Path::new("/home/u/w")]);
        assert_eq!((policy.filesystem.deny_read.len(), policy.filesystem.deny_write.len()), (2, 1));
    }

    // Requirement 5.2.
    #[test]
    fn srt_settings_with_other_rules_are_a_problem() {
        for (text, path) in [
            (r#"{"credentials":{"files":[{"path":"/x","mode":"deny"}]}}"#, "credentials"),
            (r#"{"filesystem":{"denyread":[]}}"#, "filesystem.denyread"),
            (r#"{"filesystem":{"allowWrite":["src/"]}}"#, "filesystem.allowWrite[0]"),
            (r#"{"network":{"mitmProxy":{}}}"#, "network.mitmProxy"),
            (r#"{"network":{"deniedDomains":[],"deniedDomains":[]}}"#, "network.deniedDomains"),
            ("[]", ""),
            ("", ""),
        ] {
            let problems = parse_srt_settings(text, None).expect_err(text);
            assert_eq!(problems.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), [path], "{text}");
        }
        assert_eq!(parse_srt_settings("{}", None), Ok(SrtSettings::default()), "control");
    }
}
