//! The policy file: from text to a valid [`Policy`], or to every problem at once (spec [2.1], [2.2]).
//!
//! Decides the format. Unknown keys, wrong types, values out of range and keys that stand twice are problems, each with its
//! JSON path. Must never turn an invalid value into a default, and never return a policy together with a problem.

use std::fmt;
use std::path::PathBuf;

use ipnet::IpNet;
use serde_json::{Map, Value};

use super::url::{Host, Target, normalise_host};
use super::{Egress, EgressLimits, EgressMode, Limits, Names, Open, Policy, Upstream, address, json, url};
use crate::argv::Dialect;
use crate::argv::table::{Availability, GRAMMAR};

/// Where the policy file is when no setting says otherwise.
pub const DEFAULT_PATH: &str = "/etc/agent-browser/browser-shell.policy.json";

/// A larger policy file is refused unread.
pub const MAX_BYTES: u64 = 1024 * 1024;

/// The JSON Schema (2020-12) of the file, for editors and other tools.
pub const SCHEMA: &str = include_str!("data/policy.schema.json");

/// One problem of a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The JSON path, such as `open.allow_hosts[3]`; empty for the document as a whole.
    pub path: String,
    /// What is wrong and what to write instead. Lower case, no full stop.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "(document)" } else { &self.path };
        write!(f, "{path}: {}", self.message)
    }
}

/// Reads a policy.
///
/// # Errors
///
/// Every problem of the text, in the order of the document.
pub fn parse(text: &str) -> Result<Policy, Vec<Problem>> {
    let document = json::read(text)?;
    let mut reader = Reader { problems: Vec::new() };
    let policy = reader.policy(&document);
    if reader.problems.is_empty() { Ok(policy) } else { Err(reader.problems) }
}

/// Walks the document and collects problems; what it returns counts only if there are none.
pub(super) struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    pub(super) fn problem(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(Problem { path: path.to_owned(), message: message.into() });
    }

    fn policy(&mut self, document: &Value) -> Policy {
        const KNOWN: &[&str] = &["$schema", "open", "subcommands", "runtime", "limits", "egress", "sandbox"];
        let mut policy = Policy::default();
        for (name, path, value) in self.members("", document, KNOWN) {
            match name {
                "$schema" if !value.is_string() => self.problem(&path, "must be a string"),
                "open" => policy.open = self.open(&path, value),
                "subcommands" => policy.enabled = self.subcommands(&path, value),
                "runtime" => policy.runtime_enabled = self.runtime_subcommands(&path, value),
                "limits" => policy.limits = self.limits(&path, value),
                "egress" => policy.egress = self.egress(&path, value),
                "sandbox" => policy.sandbox = self.sandbox(&path, value),
                _ => {}
            }
        }
        policy
    }

    /// The known members of an object; anything else is a problem.
    pub(super) fn members<'a>(
        &mut self,
        path: &str,
        value: &'a Value,
        known: &[&'static str],
    ) -> Vec<(&'static str, String, &'a Value)> {
        let empty = Map::new();
        let object = value.as_object().unwrap_or_else(|| {
            self.problem(path, "must be an object");
            &empty
        });
        let mut members = Vec::new();
        for (name, _) in object {
            if !known.contains(&name.as_str()) {
                let hint = closest(name, known).map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
                self.problem(&json::member(path, name), format!("unknown key{hint}"));
            }
        }
        if let Some(object) = value.as_object() {
            for name in known {
                if let Some(member) = object.get(*name) {
                    members.push((*name, json::member(path, name), member));
                }
            }
        }
        members
    }

    fn open(&mut self, path: &str, value: &Value) -> Open {
        const KNOWN: &[&str] = &[
            "allow_schemes",
            "allow_about_blank",
            "allow_hosts",
            "allow_host_suffixes",
            "deny_hosts",
            "deny_host_suffixes",
            "allow_cidrs",
            "deny_ports",
        ];
        let mut open = Open::default();
        for (name, path, value) in self.members(path, value, KNOWN) {
            match name {
                "allow_schemes" => (open.http, open.https) = self.schemes(&path, value),
                "allow_about_blank" => match value.as_bool() {
                    Some(allowed) => open.about_blank = allowed,
                    None => self.problem(&path, "must be true or false"),
                },
                "allow_hosts" => open.allow_hosts = Some(self.hosts(&path, value)),
                "allow_host_suffixes" => open.allow_host_suffixes = Some(self.suffixes(&path, value)),
                "deny_hosts" => open.deny_hosts = self.hosts(&path, value),
                "deny_host_suffixes" => open.deny_host_suffixes = self.suffixes(&path, value),
                "allow_cidrs" => open.allow_cidrs = self.cidrs(&path, value),
                "deny_ports" => open.deny_ports = self.ports(&path, value),
                _ => {}
            }
        }
        open
    }

    fn items<'a>(&mut self, path: &str, value: &'a Value) -> Vec<(usize, String, &'a Value)> {
        let Some(array) = value.as_array() else {
            self.problem(path, "must be an array");
            return Vec::new();
        };
        array.iter().enumerate().map(|(position, item)| (position, format!("{path}[{position}]"), item)).collect()
    }

    pub(super) fn strings<'a>(&mut self, path: &str, value: &'a Value) -> Vec<(usize, String, &'a str)> {
        let mut strings = Vec::new();
        for (position, path, item) in self.items(path, value) {
            match item.as_str() {
                Some(text) => strings.push((position, path, text)),
                None => self.problem(&path, "must be a string"),
            }
        }
        strings
    }

    fn schemes(&mut self, path: &str, value: &Value) -> (bool, bool) {
        let (mut http, mut https) = (false, false);
        for (_, path, scheme) in self.strings(path, value) {
            match scheme {
                "http" => http = true,
                "https" => https = true,
                other => {
                    self.problem(
                        &path,
                        format!("`{other}` is not a scheme that can be allowed; use `http` or `https`"),
                    );
                }
            }
        }
        (http, https)
    }

    fn hosts(&mut self, path: &str, value: &Value) -> Names {
        let mut names = Names::default();
        for (position, path, text) in self.strings(path, value) {
            match normalise_host(text) {
                Ok(host) => names.insert(host.to_string(), position),
                Err(message) => self.problem(&path, message),
            }
        }
        names
    }

    fn suffixes(&mut self, path: &str, value: &Value) -> Names {
        let mut names = Names::default();
        for (position, path, text) in self.strings(path, value) {
            let Some(rest) = text.strip_prefix('.') else {
                self.problem(&path, format!("`{text}` must begin with a dot; write `.{text}`"));
                continue;
            };
            match normalise_host(rest) {
                Ok(Host::Name(name)) => names.insert(format!(".{name}"), position),
                Ok(Host::Address(_)) => {
                    self.problem(&path, format!("`{text}` is an address; suffixes match names only"));
                }
                Err(message) => self.problem(&path, message),
            }
        }
        names
    }

    fn cidrs(&mut self, path: &str, value: &Value) -> Vec<IpNet> {
        let mut nets = Vec::new();
        for (_, path, text) in self.strings(path, value) {
            match address::parse_cidr(text) {
                Ok(net) => nets.push(net),
                Err(message) => self.problem(&path, message),
            }
        }
        nets
    }

    fn ports(&mut self, path: &str, value: &Value) -> Vec<u16> {
        let mut ports = Vec::new();
        for (_, path, item) in self.items(path, value) {
            match item.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0) {
                Some(port) => ports.push(port),
                None => self.problem(&path, "must be a port number, 1 to 65535"),
            }
        }
        ports
    }

    fn subcommands(&mut self, path: &str, value: &Value) -> Vec<&'static str> {
        let mut enabled = Vec::new();
        for (_, path, value) in self.members(path, value, &["enable"]) {
            for (_, path, name) in self.strings(&path, value) {
                match GRAMMAR.iter().find(|row| row.name == name) {
                    Some(row) if row.availability == Availability::Optional => enabled.push(row.name),
                    Some(_) => self.problem(&path, format!("`{name}` is always on; remove it")),
                    None => {
                        let optional: Vec<_> = optional_subcommands().collect();
                        let message =
                            format!("`{name}` cannot be enabled; the optional subcommands are {}", optional.join(", "));
                        self.problem(&path, message);
                    }
                }
            }
        }
        enabled
    }

    fn runtime_subcommands(&mut self, path: &str, value: &Value) -> Vec<&'static str> {
        let mut enabled = Vec::new();
        for (_, path, value) in self.members(path, value, &["enable"]) {
            for (_, path, name) in self.strings(&path, value) {
                if let Some(name) = optional_runtime_subcommands().find(|optional| *optional == name) {
                    enabled.push(name);
                } else {
                    let optional: Vec<_> = optional_runtime_subcommands().collect();
                    let message = format!(
                        "`{name}` cannot be enabled; the optional subcommands of the runtime are {}",
                        optional.join(", ")
                    );
                    self.problem(&path, message);
                }
            }
        }
        enabled
    }

    fn limits(&mut self, path: &str, value: &Value) -> Limits {
        let mut limits = Limits::default();
        for (name, path, value) in
            self.members(path, value, &["max_timeout_sec", "max_output_chars", "max_image_bytes"])
        {
            match name {
                "max_timeout_sec" => limits.max_timeout_sec = Some(self.whole(&path, value, 1, 120)),
                "max_output_chars" => {
                    let most = limits.max_output_chars as u64;
                    limits.max_output_chars = usize::try_from(self.whole(&path, value, 1_000, most)).unwrap_or(1_000);
                }
                "max_image_bytes" => limits.max_image_bytes = self.whole(&path, value, 0, limits.max_image_bytes),
                _ => {}
            }
        }
        limits
    }

    /// A whole number within a range; limits can only be made tighter.
    pub(super) fn whole(&mut self, path: &str, value: &Value, least: u64, most: u64) -> u64 {
        if let Some(number) = value.as_u64().filter(|number| (least..=most).contains(number)) {
            number
        } else {
            self.problem(path, format!("must be a whole number from {least} to {most}"));
            least
        }
    }

    fn egress(&mut self, path: &str, value: &Value) -> Egress {
        let known = &["mode", "allow_ports", "upstream", "upstream_credentials_file", "limits"];
        let mut egress = Egress::default();
        let mut credentials = None;
        for (name, path, value) in self.members(path, value, known) {
            match name {
                "mode" => match value.as_str() {
                    Some("public") => egress.mode = EgressMode::Public,
                    Some("allowlist") => egress.mode = EgressMode::Allowlist,
                    Some("off") => egress.mode = EgressMode::Off,
                    _ => self.problem(&path, "must be `public`, `allowlist` or `off`"),
                },
                "allow_ports" => egress.allow_ports = self.ports(&path, value),
                "upstream" => egress.upstream = self.upstream(&path, value),
                "upstream_credentials_file" => credentials = self.credentials(&path, value),
                "limits" => egress.limits = self.egress_limits(&path, value),
                _ => {}
            }
        }
        match (&mut egress.upstream, credentials) {
            (Some(upstream), file) => upstream.credentials_file = file,
            (None, Some(_)) if value.get("upstream").is_none() => {
                let path = json::member(path, "upstream_credentials_file");
                self.problem(&path, "has no effect without `egress.upstream`; name the proxy there or remove it");
            }
            _ => {}
        }
        egress
    }

    /// A proxy as `http://host:port`. It is the operator's own, so its address need not be public.
    fn upstream(&mut self, path: &str, value: &Value) -> Option<Upstream> {
        let hint = "write a proxy as `http://proxy.example.com:3128`";
        let text = value.as_str().unwrap_or_default();
        // Without a port it would be 80, which is hardly ever meant.
        let with_port =
            text.trim_end_matches('/').rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        match url::parse(text) {
            Ok(Target::Page(page)) if page.url.scheme() == "http" && with_port && page.url.path() == "/" => {
                if page.url.query().is_none() && page.url.fragment().is_none() && page.port > 0 {
                    return Some(Upstream { host: page.host, port: page.port, credentials_file: None });
                }
                self.problem(path, format!("is not a proxy; {hint}"));
            }
            Err(decision) if decision.code == crate::decision::Code::UserInfoNotAllowed => {
                self.problem(path, "must not hold credentials; put `user:password` into a file and name it in `egress.upstream_credentials_file`");
            }
            _ => self.problem(path, format!("is not a proxy; {hint}")),
        }
        None
    }

    fn credentials(&mut self, path: &str, value: &Value) -> Option<PathBuf> {
        match value.as_str().map(PathBuf::from) {
            Some(file) if file.is_absolute() => Some(file),
            _ => {
                self.problem(path, "must be the absolute path of a file with one line `user:password`");
                None
            }
        }
    }

    fn egress_limits(&mut self, path: &str, value: &Value) -> EgressLimits {
        let mut limits = EgressLimits::default();
        let size = |number: u64, most: usize| usize::try_from(number).unwrap_or(most).min(most);
        let known = &["max_connections", "idle_sec", "max_header_bytes", "max_bytes"];
        for (name, path, value) in self.members(path, value, known) {
            match name {
                "max_connections" => limits.max_connections = size(self.whole(&path, value, 1, 1024), 1024),
                "idle_sec" => limits.idle_sec = self.whole(&path, value, 1, 3600),
                "max_header_bytes" => limits.max_header_bytes = size(self.whole(&path, value, 1024, 65_536), 65_536),
                "max_bytes" => limits.max_bytes = Some(self.whole(&path, value, 1, 1 << 50)),
                _ => {}
            }
        }
        limits
    }
}

/// The subcommands that a policy file can switch on.
pub fn optional_subcommands() -> impl Iterator<Item = &'static str> {
    GRAMMAR.iter().filter(|row| row.availability == Availability::Optional).map(|row| row.name)
}

/// The subcommands of the runtime's compat profile that a policy file can switch on there.
pub fn optional_runtime_subcommands() -> impl Iterator<Item = &'static str> {
    Dialect::Compat.rows().filter(|row| Dialect::Compat.needs_enabling(row)).map(|row| row.name)
}

/// The known key that a mistyped one most likely means.
fn closest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let similar = known.iter().map(|known| (strsim::jaro_winkler(name, known), *known));
    similar.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> String {
        match parse(text) {
            Ok(_) => "valid".to_owned(),
            Err(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        }
    }

    #[test]
    fn spec_2_2_a_full_file_is_valid() {
        let policy = parse(
            r#"{"open":{"allow_schemes":["https"],"allow_about_blank":false,"allow_hosts":["Example.COM","10.0.0.5","B\u00fccher.example"],
            "allow_host_suffixes":[".Example.org"],"deny_hosts":["bad.example.org"],"deny_host_suffixes":[".ads.example.org"],
            "allow_cidrs":["10.0.0.0/8","fd00::/8","192.168.1.5"],"deny_ports":[25]},
            "subcommands":{"enable":["back","tab"]},"runtime":{"enable":["cookies"]},"limits":{"max_timeout_sec":60,"max_output_chars":5000,"max_image_bytes":0},"egress":{"mode":"allowlist","allow_ports":[88],"upstream":"http://Proxy.example:3128","upstream_credentials_file":"/run/secrets/proxy",
            "limits":{"max_connections":10,"idle_sec":5,"max_header_bytes":2048,"max_bytes":1000}}}"#,
        )
        .expect("valid");
        assert!(!policy.open.http && policy.open.https && !policy.open.about_blank);
        assert_eq!(policy.allow_place("example.com").as_deref(), Some("open.allow_hosts[0]"));
        assert_eq!(policy.allow_place("xn--bcher-kva.example").as_deref(), Some("open.allow_hosts[2]"));
        assert_eq!(policy.allow_place("a.example.org").as_deref(), Some("open.allow_host_suffixes[0]"));
        assert_eq!(policy.enabled, ["back", "tab"]);
        assert!(policy.enables("back") && !policy.enables("cookies"));
        assert!(policy.runtime_enables("cookies") && !policy.runtime_enables("back"));
        assert_eq!(policy.limits, Limits { max_timeout_sec: Some(60), max_output_chars: 5000, max_image_bytes: 0 });
        let proxy = Upstream {
            host: Host::Name("proxy.example".to_owned()),
            port: 3128,
            credentials_file: Some("/run/secrets/proxy".into()),
        };
        let limits = EgressLimits { max_connections: 10, idle_sec: 5, max_header_bytes: 2048, max_bytes: Some(1000) };
        let egress = Egress { mode: EgressMode::Allowlist, allow_ports: vec![88], upstream: Some(proxy), limits };
        assert_eq!(policy.egress, egress);
    }

    #[test]
    fn spec_2_2_all_problems_are_reported_at_once() {
        insta::assert_snapshot!(problems(
            r#"{"opne":{},"open":{"allow_schemes":["https","file"],"allow_about_blank":"yes","allow_hosts":["*.example.com",".example.com","https://example.com/","example.com:80","",5],
            "allow_host_suffixes":["example.com",".10.0.0.1","."],"deny_hosts":"bad.example","allow-hosts":[],"allow_cidrs":["10.0.0.1/8","10.0.0.0/40","intranet"],"deny_ports":[0,70000,"80"]},
            "subcommands":{"enable":["eval","open","back","fly"]},"limits":{"max_timeout_sec":121,"max_output_chars":10,"max_image_bytes":-1,"foo.bar":1},"egress":{"mode":"none","upstream":1,"allow_ports":[0],"upstream_credentials_file":"proxy","limits":{"max_connections":0,"idle_sec":"5","max_header_bytes":70000,"max_bytes":0,"max_tunnels":1}}}"#
        ));
    }

    #[test]
    fn all_problems_of_the_part_for_the_runtime_are_reported_at_once() {
        insta::assert_snapshot!(
            [
                r#"{"runtime":[]}"#,
                r#"{"runtime":{"enable":"cookies","enabel":[],"profile":"compat"}}"#,
                r#"{"runtime":{"enable":["cookies","find","back","eval",1]},"subcommands":{"enable":["cookies"]}}"#,
            ]
            .map(problems)
            .join("\n")
        );
        assert_eq!(problems(r#"{"runtime":{}}"#), "valid");
        assert!(!parse("{}").expect("valid").runtime_enables("cookies"), "off unless it is named");
    }

    #[test]
    fn documents_that_are_not_one_object_are_refused() {
        insta::assert_snapshot!(
            [
                "",
                "[]",
                "null",
                "{",
                "{} {}",
                "{\"open\":{\"deny_hosts\":[\"a.example\"],\"deny_hosts\":[]}}",
                "{\"open\":null}",
                "\u{feff}{}",
            ]
            .map(|text| format!("{text:?}\n  {}", problems(text)))
            .join("\n")
        );
    }

    #[test]
    fn the_schema_and_the_parser_agree() {
        let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
        let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
        let rows: &[&str] = &[
            "{}",
            r#"{"$schema":"x"}"#,
            r#"{"$schema":1}"#,
            r#"{"open":{}}"#,
            r#"{"open":[]}"#,
            r#"{"open":{"allow_schemes":["http"]}}"#,
            r#"{"open":{"allow_schemes":["ftp"]}}"#,
            r#"{"open":{"allow_about_blank":0}}"#,
            r#"{"open":{"allow_hosts":[]}}"#,
            r#"{"open":{"allow_hosts":[1]}}"#,
            r#"{"open":{"allow_hosts":["*.example.com"]}}"#,
            r#"{"open":{"allow_hosts":[".example.com"]}}"#,
            r#"{"open":{"allow_host_suffixes":["example.com"]}}"#,
            r#"{"open":{"allow_host_suffixes":[".example.com"]}}"#,
            r#"{"open":{"deny_ports":[0]}}"#,
            r#"{"open":{"deny_ports":[65535]}}"#,
            r#"{"open":{"deny_ports":[65536]}}"#,
            r#"{"open":{"deny_ports":[1.5]}}"#,
            r#"{"open":{"other":1}}"#,
            r#"{"subcommands":{"enable":["back"]}}"#,
            r#"{"subcommands":{"enable":["eval"]}}"#,
            r#"{"subcommands":{"enable":["open"]}}"#,
            r#"{"runtime":{}}"#,
            r#"{"runtime":{"enable":[]}}"#,
            r#"{"runtime":{"enable":["cookies"]}}"#,
            r#"{"runtime":{"enable":["back"]}}"#,
            r#"{"runtime":{"enable":"cookies"}}"#,
            r#"{"runtime":{"other":[]}}"#,
            r#"{"limits":{"max_timeout_sec":0}}"#,
            r#"{"limits":{"max_timeout_sec":120}}"#,
            r#"{"limits":{"max_output_chars":30001}}"#,
            r#"{"limits":{"max_image_bytes":4194304}}"#,
            r#"{"limits":{"max_image_bytes":4194305}}"#,
            r#"{"egress":{"mode":"off"}}"#,
            r#"{"egress":{"mode":"maybe"}}"#,
            r#"{"egress":{"allow_ports":[88]}}"#,
            r#"{"egress":{"allow_ports":[0]}}"#,
            r#"{"egress":{"upstream":"http://proxy.example:3128"}}"#,
            r#"{"egress":{"upstream":"http://[fd00::1]:3128/"}}"#,
            r#"{"egress":{"upstream":"http://proxy.example"}}"#,
            r#"{"egress":{"upstream":"https://proxy.example:3128"}}"#,
            r#"{"egress":{"upstream":"http://user:password@proxy.example:3128"}}"#,
            r#"{"egress":{"upstream":"http://proxy.example:3128/path"}}"#,
            r#"{"egress":{"upstream":"http://proxy.example:3128","upstream_credentials_file":"/run/secrets/proxy"}}"#,
            r#"{"egress":{"upstream":"http://proxy.example:3128","upstream_credentials_file":"proxy"}}"#,
            r#"{"egress":{"upstream_credentials_file":"/run/secrets/proxy"}}"#,
            r#"{"egress":{"limits":{"max_connections":1024,"idle_sec":3600,"max_header_bytes":1024,"max_bytes":1}}}"#,
            r#"{"egress":{"limits":{"max_connections":1025}}}"#,
            r#"{"egress":{"limits":{"idle_sec":0}}}"#,
            r#"{"egress":{"limits":{"max_bytes":0}}}"#,
            r#"{"egress":{"limits":{"max_header_bytes":65537}}}"#,
            r#"{"sandbox":{}}"#,
            r#"{"sandbox":{"enabled":false}}"#,
            r#"{"sandbox":{"enabled":0}}"#,
            r#"{"sandbox":{"backend":"auto","mode":"shared","require":true}}"#,
            r#"{"sandbox":{"backend":"other"}}"#,
            r#"{"sandbox":{"mode":"per_session"}}"#,
            r#"{"sandbox":{"filesystem":{"denyRead":["/x"],"allowWrite":[],"denyWrite":["/y/z"]}}}"#,
            r#"{"sandbox":{"filesystem":{"denyRead":["x"]}}}"#,
            r#"{"sandbox":{"filesystem":{"read":[]}}}"#,
            r#"{"sandbox":{"network":{"allowLocalBinding":true,"deniedDomains":["a.example"]}}}"#,
            r#"{"sandbox":{"network":{"allowLocalBinding":1}}}"#,
            r#"{"sandbox":{"runtime":{"cleanupOnExit":true,"timeout":120}}}"#,
            r#"{"sandbox":{"runtime":{"timeout":121}}}"#,
            r#"{"sandbox":{"backends":{"landlock":{"maxProcesses":64,"maxFileBytes":1048576,"maxOpenFiles":256}}}}"#,
            r#"{"sandbox":{"backends":{"landlock":{"maxProcesses":63}}}}"#,
            r#"{"sandbox":{"backends":{"bubblewrap":{"program":"/usr/bin/bwrap","maxProcesses":64}}}}"#,
            r#"{"sandbox":{"backends":{"bubblewrap":{"program":"bwrap"}}}}"#,
            r#"{"sandbox":{"backends":{"srt":{"program":"/usr/bin/srt"},"docker":{"socket":"/s","image":"x"}}}}"#,
            r#"{"sandbox":{"backends":{"none":{}}}}"#,
            r#"{"other":1}"#,
            "[]",
        ];
        for text in rows {
            let value: Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(validator.is_valid(&value), parse(text).is_ok(), "{text}: {}", problems(text));
        }
        let listed: Vec<_> = schema["$defs"]["optionalSubcommand"]["enum"].as_array().expect("a list").clone();
        assert_eq!(listed, optional_subcommands().map(Value::from).collect::<Vec<_>>());
        let listed = &schema["properties"]["runtime"]["properties"]["enable"]["items"]["enum"];
        assert_eq!(*listed, optional_runtime_subcommands().map(Value::from).collect::<Value>());
    }
}
