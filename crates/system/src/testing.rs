//! Programs for tests of this crate and of those that use it.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::os::exec::Program;

/// Returns a shell that runs a script.
#[must_use]
pub fn shell(script: &str) -> Program {
    Program {
        path: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        directory: "/".into(),
    }
}

/// Writes an executable script.
///
/// Another process writes it. A child that a parallel test starts inherits the open files of this process until it executes
/// its program, and Linux refuses to execute a file that is open for writing.
///
/// # Errors
///
/// Returns an error if the shell does not start or cannot write the file.
pub fn write_script(path: &Path, script: &str) -> io::Result<()> {
    let mut writer = Command::new("/bin/sh")
        .args(["-c", r#"cat > "$0" && chmod 700 "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = writer.stdin.take() {
        input.write_all(script.as_bytes())?;
    }
    if writer.wait()?.success() { Ok(()) } else { Err(io::Error::other(path.display().to_string())) }
}
