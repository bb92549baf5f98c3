//! Keymap of the display, in place of the shell and the compiler that Xvnc starts for it.
//!
//! Xvnc runs `/bin/sh -c '"…/xkbcomp" … "/tmp/server-1.xkm"'`, writes the names of the wanted parts to the command, and reads the
//! file that it made. `./display.nix` puts this program's path there instead of the shell's. It writes one keymap, which the build
//! compiled.

#![forbid(unsafe_code)]

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitCode;

/// Compiled keymap, from the build.
const KEYMAP: &[u8] = include_bytes!(env!("KEYMAP"));

/// `EX_USAGE` of sysexits.
const USAGE: u8 = 64;

/// `EX_CANTCREAT` of sysexits.
const NOT_CREATED: u8 = 73;

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1).map(|argument| argument.into_string().unwrap_or_default());
    let command = match (arguments.next().as_deref(), arguments.next(), arguments.next()) {
        (Some("-c"), Some(command), None) => command,
        _ => String::new(),
    };
    let Some(output) = keymap_file(&command) else {
        eprintln!("not a command that compiles a keymap: `{command}`");
        return ExitCode::from(USAGE);
    };
    match write(output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write `{output}`: {error}");
            ExitCode::from(NOT_CREATED)
        }
    }
}

/// Returns the file that a command of Xvnc makes: its last argument, in quotes. Only the name that Xvnc uses is accepted.
fn keymap_file(command: &str) -> Option<&str> {
    let (before, file) = command.strip_suffix('"')?.rsplit_once('"')?;
    let number = file.strip_prefix("/tmp/server-")?.strip_suffix(".xkm")?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    (before.contains("xkbcomp\" ") && is_number).then_some(file)
}

/// Writes the keymap to a new file. Xvnc's text is read to its end, because Xvnc waits until it is.
///
/// # Errors
///
/// Returns the error of the system if the text cannot be read or the file cannot be written.
fn write(output: &str) -> io::Result<()> {
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    match fs::remove_file(output) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(output)?.write_all(KEYMAP)
}
