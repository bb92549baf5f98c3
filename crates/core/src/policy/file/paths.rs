//! Kinds of paths in the policy file. `~` is the home folder of the server's user.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::value::{FieldKind, InvalidValue, type_name};
use crate::policy::sandbox::{FileRule, Pattern, has_wildcard};

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
