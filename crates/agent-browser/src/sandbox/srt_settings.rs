//! File of srt's own settings, whose rules are added to those of the policy.
//!
//! Invariants: a file that cannot be read or understood completely is an error, because srt could have denied something by it.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use browser_shell_core::policy::file::{MAX_BYTES, parse_srt_settings};
use browser_shell_core::policy::sandbox::{BackendName, FileRule, SandboxPolicy};
use rustix::fs::OFlags;
use thiserror::Error;

use browser_shell_system::policy_source::home;

/// Reason why a settings file of srt cannot be used.
#[derive(Debug, Error)]
pub enum SrtSettingsError {
    /// The file cannot be read.
    #[error("cannot read srt's settings `{}`, which sandbox.backends.srt.settingsPath names: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file has problems.
    #[error("srt's settings `{}`: {problems}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All problems.
        problems: String,
    },
}

/// Returns the policy with the rules of its settings file, if srt is its backend and it names one.
///
/// # Errors
///
/// If the file cannot be read, or has a problem.
pub(super) fn merged(policy: &SandboxPolicy) -> Result<Cow<'_, SandboxPolicy>, SrtSettingsError> {
    let Some(path) = policy.backends.srt_settings.as_ref().filter(|_| policy.backend == Some(BackendName::Srt)) else {
        return Ok(Cow::Borrowed(policy));
    };
    if policy.is_off() {
        return Ok(Cow::Borrowed(policy));
    }
    let text = read(path).map_err(|source| SrtSettingsError::Unreadable { path: path.clone(), source })?;
    let settings = parse_srt_settings(&text, home().as_deref()).map_err(|problems| SrtSettingsError::Invalid {
        path: path.clone(),
        problems: problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    })?;
    let mut merged = policy.clone();
    settings.add_to(&mut merged);
    // A program in the sandbox must not change the rules of the next one.
    merged.filesystem.deny_write.push(FileRule::Path(path.clone()));
    Ok(Cow::Owned(merged))
}

fn read(path: &Path) -> io::Result<String> {
    // Opening a pipe must not wait; it is refused below.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser_shell_core::policy::file::parse;

    fn policy(path: &Path, more: &str) -> SandboxPolicy {
        let path = path.display();
        let text =
            format!(r#"{{"sandbox":{{"backend":"srt","backends":{{"srt":{{"settingsPath":"{path}"}}}}{more}}}}}"#);
        parse(&text).expect("valid").sandbox
    }

    // Requirement 5.2.
    #[test]
    fn srt_settings_file_is_merged_or_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("srt.json");
        let merge = |more: &str| merged(&policy(&path, more)).map(Cow::into_owned).map_err(|error| error.to_string());
        assert!(merge("").expect_err("no file").starts_with("cannot read srt's settings `"));
        for (text, message) in [
            ("", "not valid JSON"),
            (r#"{"credentials":{}}"#, "credentials: unknown key"),
            (r#"{"filesystem":{"denyRead":["../x"]}}"#, "filesystem.denyRead[0]: "),
        ] {
            std::fs::write(&path, text).expect("written");
            let error = merge("").expect_err(text);
            assert!(error.contains(message), "{error}");
        }
        std::fs::write(&path, vec![b' '; usize::try_from(MAX_BYTES).expect("small") + 1]).expect("written");
        assert!(merge("").is_err(), "too large");
        std::fs::write(
            &path,
            r#"{"filesystem":{"denyRead":["/x"],"denyWrite":["*.pem"]},"network":{"deniedDomains":["a.b"]}}"#,
        )
        .expect("written");
        let merged = merge("").expect("valid");
        assert_eq!(merged.filesystem.deny_read, [FileRule::Path("/x".into())]);
        assert_eq!(merged.filesystem.deny_write.len(), 2, "the file itself is denied too: {merged:?}");
        assert_eq!(merged.network.denied_domains, ["a.b"]);
        std::fs::remove_file(&path).expect("removed");
        let off = policy(&path, r#","enabled":false"#);
        assert_eq!(super::merged(&off).expect("not needed").into_owned(), off);
    }
}
