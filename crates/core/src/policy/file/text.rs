//! Kinds of text in the policy file: hosts, address blocks, paths and the like. In a path, `~` is the home folder of the server's user.

use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

use ipnet::IpNet;
use serde_json::{Value, json};

use super::fields::{FieldKind, InvalidValue, type_name};
use crate::decision::Code;
use crate::policy::address::parse_cidr;
use crate::policy::browser::{SessionPattern, SubjectChoice};
use crate::policy::rules::Upstream;
use crate::policy::sandbox::{FileRule, Pattern, has_wildcard};
use crate::policy::url::{Host, PageUrl, normalize_host, parse};
use crate::session_id::Subject;

/// A string with a syntax.
pub(super) struct Text<T> {
    /// A noun phrase for messages, with an example.
    pub(super) expected: &'static str,
    /// A regular expression for the schema, which may accept more than `parse`.
    pub(super) pattern: &'static str,
    pub(super) parse: fn(&str) -> Result<T, InvalidValue>,
}

impl<T> FieldKind for Text<T> {
    type Output = T;

    fn schema(&self) -> Value {
        json!({ "type": "string", "pattern": self.pattern })
    }

    fn read(&self, value: &Value) -> Result<T, InvalidValue> {
        let text = value.as_str().ok_or_else(|| InvalidValue::new(self.expected, type_name(value)))?;
        (self.parse)(text)
    }
}

/// Any string.
pub(super) const ANY: Text<String> = Text { expected: "a string", pattern: "", parse: |text| Ok(text.to_owned()) };

/// An exact host, normalized.
pub(super) const HOST: Text<String> =
    Text { expected: "a host such as `example.com`", pattern: "^[^.*/@][^*/@]*$", parse: parse_host };

/// A suffix of host names with its leading dot, normalized.
pub(super) const SUFFIX: Text<String> =
    Text { expected: "a suffix such as `.example.com`", pattern: r"^\.[^.*/@:][^*/@:]*$", parse: parse_suffix };

/// An exact host, or a suffix with its leading dot.
pub(super) const HOST_OR_SUFFIX: Text<String> = Text {
    expected: "a host such as `example.com` or a suffix such as `.example.com`",
    pattern: "^[^*/@]+$",
    parse: |text| {
        if text.starts_with('.') {
            return parse_suffix(text);
        }
        parse_host(text)
    },
};

/// A session id, or a pattern of session ids.
pub(super) const SESSION_PATTERN: Text<SessionPattern> = Text {
    expected: PATTERN_SYNTAX,
    pattern: "^[A-Za-z0-9._*-]{1,128}$",
    parse: |text| SessionPattern::new(text).ok_or_else(|| InvalidValue::new(PATTERN_SYNTAX, format!("`{text}`"))),
};

/// A subject of credentials, or `*` for all of them.
pub(super) const SUBJECT: Text<SubjectChoice> = Text {
    expected: SUBJECT_SYNTAX,
    pattern: "^.{1,255}$",
    parse: |text| {
        if text == "*" {
            return Ok(SubjectChoice::Any);
        }
        let invalid = || InvalidValue::from_message(format!("must be {SUBJECT_SYNTAX}"));
        Subject::new(text).map(SubjectChoice::Only).ok_or_else(invalid)
    },
};

/// An address or an address block.
pub(super) const BLOCK: Text<IpNet> = Text {
    expected: "an address block such as `10.0.0.0/8`",
    pattern: "^[0-9A-Fa-f.:/]{2,}$",
    parse: |text| parse_cidr(text).map_err(InvalidValue::from_message),
};

/// A domain of a sandbox's own network, with `*.` before it for the names below it.
pub(super) const DOMAIN: Text<String> =
    Text { expected: DOMAIN_SYNTAX, pattern: r"^(\*\.)?[^.*/@][^*/@]*$", parse: parse_domain };

/// An HTTP proxy.
pub(super) const PROXY: Text<Upstream> =
    Text { expected: PROXY_SYNTAX, pattern: "^[Hh][Tt][Tt][Pp]://[^/@?#]+:[0-9]{1,5}/?$", parse: parse_proxy };

/// The file with the credentials for a proxy.
pub(super) const CREDENTIALS_FILE: Text<PathBuf> =
    Text { expected: CREDENTIALS_SYNTAX, pattern: "^/", parse: parse_credentials_file };

/// The name of a container image.
pub(super) const IMAGE: Text<String> = Text { expected: IMAGE_SYNTAX, pattern: "^[^-]", parse: parse_image };

/// The network mode of a container.
pub(super) const NETWORK: Text<String> =
    Text { expected: NETWORK_SYNTAX, pattern: "^[A-Za-z0-9][A-Za-z0-9_.:-]*$", parse: parse_network };

const PATTERN_SYNTAX: &str = "a session id, with `*` for any characters, such as `u1-*`";
const SUBJECT_SYNTAX: &str = "a subject of 1 to 255 bytes without control characters, or `*` for any";
const DOMAIN_SYNTAX: &str = "a domain such as `example.com` or `*.example.com`";
const NETWORK_SYNTAX: &str = "`none`, `bridge`, `host` or the name of a network";
const PROXY_SYNTAX: &str = "a proxy such as `http://proxy.example.com:3128`";
const CREDENTIALS_SYNTAX: &str = "the absolute path of a file with one line `user:password`";
const IMAGE_SYNTAX: &str = "the name of an image";

fn parse_host(text: &str) -> Result<String, InvalidValue> {
    match normalize_host(text) {
        Ok(host) => Ok(host.to_string()),
        Err(_) if is_range(text) => Err(InvalidValue::from_message(format!(
            "`{text}` is a range of addresses, and a host is one; `open.allow_cidrs` has blocks such as `10.0.0.0/8`"
        ))),
        Err(error) => Err(InvalidValue::from_message(error)),
    }
}

/// Returns `true` for a block of addresses, and for a first and a last one.
fn is_range(text: &str) -> bool {
    let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
    text.parse::<IpNet>().is_ok()
        || text.split_once('-').is_some_and(|(first, last)| is_address(first) && is_address(last))
}

fn parse_suffix(text: &str) -> Result<String, InvalidValue> {
    let Some(rest) = text.strip_prefix('.') else {
        let name = Some(text.trim_start_matches(['*', '.'])).filter(|name| !name.is_empty()).unwrap_or("example.com");
        return Err(InvalidValue::from_message(format!("`{text}` must begin with a dot; write `.{name}`")));
    };
    match normalize_host(rest) {
        Ok(Host::Name(name)) => Ok(format!(".{name}")),
        Ok(Host::Address(_)) => {
            let message = format!("`{text}` is an address; put `{rest}` into the list of hosts instead");
            Err(InvalidValue::from_message(message))
        }
        Err(error) => Err(InvalidValue::from_message(error)),
    }
}

fn parse_domain(text: &str) -> Result<String, InvalidValue> {
    match normalize_host(text.strip_prefix("*.").unwrap_or(text)) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(InvalidValue::new(DOMAIN_SYNTAX, format!("`{text}`"))),
    }
}

/// Parses `http://host:port`. The proxy is the operator's own, so its address need not be public.
///
/// No message repeats the text: it may hold a password.
fn parse_proxy(text: &str) -> Result<Upstream, InvalidValue> {
    // Without a port it would be 80, which is hardly ever meant.
    let has_port = text.trim_end_matches('/').rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    match parse(text) {
        Ok(PageUrl::Web(page))
            if has_port
                && page.port > 0
                && page.url.scheme() == "http"
                && page.url.path() == "/"
                && page.url.query().is_none()
                && page.url.fragment().is_none() =>
        {
            Ok(Upstream { host: page.host, port: page.port, credentials_file: None })
        }
        Err(decision) if decision.code == Code::UserInfoNotAllowed => Err(InvalidValue::from_message(
            "must not hold credentials; put `user:password` into a file and name it in `egress.upstream_credentials_file`",
        )),
        _ => Err(InvalidValue::from_message(format!("must be {PROXY_SYNTAX}"))),
    }
}

fn parse_credentials_file(text: &str) -> Result<PathBuf, InvalidValue> {
    let path = PathBuf::from(text);
    if path.is_absolute() { Ok(path) } else { Err(InvalidValue::from_message(format!("must be {CREDENTIALS_SYNTAX}"))) }
}

fn parse_image(text: &str) -> Result<String, InvalidValue> {
    if text.is_empty() || text.starts_with('-') {
        return Err(InvalidValue::new(IMAGE_SYNTAX, format!("`{text}`")));
    }
    Ok(text.to_owned())
}

fn parse_network(text: &str) -> Result<String, InvalidValue> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_.:-".contains(character);
    if text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.chars().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err(InvalidValue::new(NETWORK_SYNTAX, format!("`{text}`")))
}

const PATH_SYNTAX: &str = "an absolute path or one that begins with `~/`, without `..` and wildcards";
const RULE_SYNTAX: &str = "an absolute path, one that begins with `~/`, or a name such as `*.pem`, without `..`";

/// The path of a file or folder, absolute or below `~`.
pub(super) struct PathKind<'a> {
    /// The home folder, if it is known.
    pub(super) home: Option<&'a Path>,
}

impl FieldKind for PathKind<'_> {
    type Output = PathBuf;

    fn schema(&self) -> Value {
        json!({ "type": "string", "pattern": "^(/|~(/|$))[^*]*$" })
    }

    fn read(&self, value: &Value) -> Result<PathBuf, InvalidValue> {
        let text = value.as_str().ok_or_else(|| InvalidValue::new(PATH_SYNTAX, type_name(value)))?;
        if text.contains('*') {
            return Err(InvalidValue::new(PATH_SYNTAX, format!("`{text}`")));
        }
        match PathPlace::of(text, PATH_SYNTAX)? {
            PathPlace::Root => Ok(PathBuf::from(text)),
            PathPlace::Home(rest) => Ok(below(known(self.home, text)?, rest)),
            PathPlace::Anywhere => Err(InvalidValue::new(PATH_SYNTAX, format!("`{text}`"))),
        }
    }
}

/// A rule that denies files: a path, a name or a pattern.
pub(super) struct RuleKind<'a> {
    /// The home folder, if it is known.
    pub(super) home: Option<&'a Path>,
}

impl FieldKind for RuleKind<'_> {
    type Output = FileRule;

    fn schema(&self) -> Value {
        json!({ "type": "string", "pattern": r"^[^!{}\\][^{}\\]*$" })
    }

    fn read(&self, value: &Value) -> Result<FileRule, InvalidValue> {
        let text = value.as_str().ok_or_else(|| InvalidValue::new(RULE_SYNTAX, type_name(value)))?;
        let place = PathPlace::of(text, RULE_SYNTAX)?;
        if text.contains(['{', '}', '\\']) || text.starts_with('!') {
            let message = format!(
                "`{text}` has a `!`, a brace or a backslash, which have no meaning here; write one entry for each name"
            );
            return Err(InvalidValue::from_message(message));
        }
        // All that is in a folder is the folder itself, for a rule that denies.
        let mut plain = text.trim_end_matches('/');
        while let Some(folder) = plain.strip_suffix("/**").filter(|folder| !folder.is_empty()) {
            plain = folder.trim_end_matches('/');
        }
        let pattern = |folder: Option<&Path>, plain: &str| {
            let pattern = Pattern::new(folder, plain).map(FileRule::Pattern);
            pattern
                .ok_or_else(|| InvalidValue::from_message(format!("`{text}` has a bracket without an end or content")))
        };
        match place {
            PathPlace::Root if has_wildcard(plain) => pattern(None, plain),
            PathPlace::Root => Ok(FileRule::Path(PathBuf::from(if plain.is_empty() { "/" } else { plain }))),
            PathPlace::Home(_) => {
                let home = known(self.home, text)?;
                let rest = plain.trim_start_matches('~').trim_start_matches('/');
                if has_wildcard(rest) { pattern(Some(home), rest) } else { Ok(FileRule::Path(below(home, rest))) }
            }
            PathPlace::Anywhere => pattern(None, plain),
        }
    }
}

/// The beginning of a path.
enum PathPlace<'a> {
    Root,
    /// The home folder, with the rest of the path.
    Home(&'a str),
    /// Neither: a name, or several.
    Anywhere,
}

impl<'a> PathPlace<'a> {
    /// Returns the beginning of a path that has no `..`, no `.` in front, and no other user's `~`.
    fn of(text: &'a str, expected: &str) -> Result<Self, InvalidValue> {
        let is_plain =
            Path::new(text).components().all(|part| !matches!(part, Component::ParentDir | Component::CurDir));
        if text.is_empty() || text.contains('\0') || !is_plain {
            return Err(InvalidValue::new(expected, format!("`{text}`")));
        }
        match text.strip_prefix('~') {
            None if text.starts_with('/') => Ok(Self::Root),
            None => Ok(Self::Anywhere),
            Some("") => Ok(Self::Home("")),
            Some(rest) => match rest.strip_prefix('/') {
                Some(rest) => Ok(Self::Home(rest.trim_start_matches('/'))),
                None => Err(InvalidValue::from_message(format!(
                    "`{text}` must begin with `~/` or be an absolute path; the home of another user is not looked up"
                ))),
            },
        }
    }
}

/// Returns a path in a folder. An empty path is the folder.
fn below(folder: &Path, rest: &str) -> PathBuf {
    if rest.is_empty() { folder.to_owned() } else { folder.join(rest) }
}

fn known<'a>(home: Option<&'a Path>, text: &str) -> Result<&'a Path, InvalidValue> {
    home.ok_or_else(|| {
        let message =
            format!("`{text}` begins with `~`, and the server's user has no home folder; write an absolute path");
        InvalidValue::from_message(message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Result<FileRule, String> {
        RuleKind { home: Some(Path::new("/home/u")) }.read(&text.into()).map_err(|error| error.to_string())
    }

    // Requirement 5.2.
    #[test]
    fn tilde_is_home_in_paths_and_rules() {
        let kind = PathKind { home: Some(Path::new("/home/u")) };
        for (text, path) in [("~", "/home/u"), ("~/", "/home/u"), ("~/a/b", "/home/u/a/b"), ("/a/~", "/a/~")] {
            assert_eq!(kind.read(&text.into()).expect(text), PathBuf::from(path), "{text}");
            assert_eq!(rule(text), Ok(FileRule::Path(path.into())), "{text}");
        }
        for text in ["~root/x", "~x", "~/../x", "~/a/..", "a", "", "./a", "/a\0", "/a*"] {
            assert!(kind.read(&text.into()).is_err(), "{text}");
        }
        for kind in [None, Some("")].map(|_| PathKind { home: None }) {
            let error = kind.read(&"~/x".into()).expect_err("unknown").to_string();
            assert!(error.contains("has no home folder"), "{error}");
            assert_eq!(kind.read(&"/x".into()).expect("control"), PathBuf::from("/x"));
        }
        assert!(RuleKind { home: None }.read(&"~/*.pem".into()).is_err());
    }

    // Requirement 5.2.
    #[test]
    fn rules_are_paths_names_or_patterns() {
        for (text, path) in [("/a", "/a"), ("/a/", "/a"), ("/a/**", "/a"), ("~/a/**/**", "/home/u/a"), ("/", "/")] {
            assert_eq!(rule(text), Ok(FileRule::Path(path.into())), "{text}");
        }
        for (text, matching) in [
            (".env", "/w/.env"),
            ("secrets/", "/w/secrets"),
            ("secrets/**", "/w/secrets"),
            ("**", "/w/x"),
            ("/a/*.pem", "/a/x.pem"),
            ("~/*.pem", "/home/u/x.pem"),
            ("~/a*/**", "/home/u/ab"),
            ("/**", "/w"),
        ] {
            let rule = rule(text).expect(text);
            assert!(rule.pattern().expect(text).matches(Path::new(matching)), "{text}: {rule:?}");
        }
        for text in ["", "..", "a/../b", "./.env", "~u/x", "*.{pem,key}", "!.env", r"a\*", "[a", "a\0"] {
            assert!(rule(text).is_err(), "{text}");
        }
    }
}
