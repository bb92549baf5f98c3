//! Settings file of srt, npm's sandbox runtime, as far as the sandbox uses it.
//!
//! Lists of domains and of denied and writable files are added to the policy's own. Keys that the sandbox sets itself are
//! accepted and replaced. Every other key is a problem, because srt could have denied something by it.

use std::path::Path;

use serde_json::{Value, json};

use super::fields::{Fields, read};
use super::paths::{PathKind, RuleKind};
use super::value::{FieldKind, InvalidValue, type_name};
use crate::json;
use crate::policy::problem::Problem;
use crate::policy::sandbox::{FilesystemRules, NetworkRules, SandboxPolicy};

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
        Ok(value) => read("", &value, home, &mut problems, |fields| document(fields, &mut settings)),
        Err(problem) => problems.push(problem),
    }
    if problems.is_empty() { Ok(settings) } else { Err(problems) }
}

fn document(fields: &mut Fields<'_>, settings: &mut SrtSettings) {
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
    use super::*;
    use crate::policy::file::parse;

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
