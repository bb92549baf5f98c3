//! Side effects of directives: waiting, starting processes, writing files.
//!
//! Every process that outlives a reply ends after ten minutes, in case a test fails to end it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::directives::File;
use crate::json::{array, object, text};

const LINGER_SECONDS: &str = "600";

/// An 8 by 6 pixel PNG in one color.
const PICTURE: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00,
    0x08, 0x00, 0x00, 0x00, 0x06, 0x08, 0x02, 0x00, 0x00, 0x00, 0x71, 0x67, 0x48, 0xac, 0x00, 0x00, 0x00, 0x11, 0x49,
    0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x50, 0x48, 0x58, 0x80, 0x15, 0x31, 0x0c, 0xa4, 0x04, 0x00, 0xbb, 0x77, 0x36,
    0x01, 0xaf, 0x96, 0x57, 0x9a, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

pub(crate) fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

pub(crate) fn print_stderr(bytes: &[u8]) {
    let _ = std::io::stderr().write_all(bytes);
}

/// Writes to stdout until the reader closes it.
pub(crate) fn endless() {
    let mut out = std::io::stdout().lock();
    let block = vec![b'x'; 65_536];
    if out.write_all(b"{\"success\":true,\"data\":{\"text\":\"").is_err() {
        return;
    }
    for _ in 0..16_384 {
        if out.write_all(&block).is_err() {
            return;
        }
    }
}

/// Replaces this process with one that ignores SIGTERM. Without `unsafe`, only a shell can do that; ignored signals
/// stay ignored across `exec`. Returns only on failure.
pub(crate) fn ignore_term(seconds: &str) -> String {
    let error = Command::new("/bin/sh").args(["-c", "trap '' TERM; exec sleep \"$0\"", seconds]).exec();
    format!("cannot run `/bin/sh`: {error}")
}

pub(crate) fn child_in_group() -> Result<(), String> {
    Command::new("sleep").arg(LINGER_SECONDS).spawn().map(drop).map_err(|error| format!("cannot run `sleep`: {error}"))
}

/// Starts a detached process with this environment, like agent-browser's daemon.
pub(crate) fn daemon(keep_output: bool, stubborn: bool) -> Result<u32, String> {
    let script = if stubborn { "trap '' TERM; exec sleep \"$0\"" } else { "exec sleep \"$0\"" };
    let mut command = Command::new("setsid");
    command.args(["/bin/sh", "-c", script, LINGER_SECONDS]).stdin(Stdio::null());
    if !keep_output {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let daemon = command.spawn().map_err(|error| format!("cannot run `setsid`: {error}"))?.id();
    wait_for_own_session(daemon)?;
    Ok(daemon)
}

/// Waits until `setsid` has moved a process out of this call's process group. Without that, the server may end the
/// group first, and the daemon with it. The real agent-browser has moved its daemon before the daemon's program runs.
fn wait_for_own_session(id: u32) -> Result<(), String> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        let line = std::fs::read_to_string(format!("/proc/{id}/stat"))
            .map_err(|error| format!("the daemon has ended: {error}"))?;
        // After the command name, which may contain any character: state, parent, process group, session.
        let session = line.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(3));
        if session == Some(id.to_string().as_str()) {
            return Ok(());
        }
        sleep_ms(1);
    }
    Err("`setsid` did not start a session".to_owned())
}

/// Runs a script in Node as a child of this process and returns its output, which must be JSON.
pub(crate) fn node(script: &str) -> Result<String, String> {
    let ran = Command::new("node").args(["-e", script]).stdin(Stdio::null()).output();
    let ran = ran.map_err(|error| format!("cannot run `node`: {error}"))?;
    print_stderr(&ran.stderr);
    let output = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
    if ran.status.success() { Ok(output) } else { Err(format!("`node`: {}, {output}", ran.status)) }
}

/// Returns true for the first N calls with `N-DIR`. Each call leaves a file in DIR.
pub(crate) fn first_times(rest: &str) -> Result<bool, String> {
    let (count, folder) = rest.split_once('-').ok_or("expected N-DIR")?;
    let count: usize = count.parse().map_err(|_| "expected N-DIR")?;
    let before = std::fs::read_dir(folder).map_err(|error| format!("cannot read `{folder}`: {error}"))?.count();
    let own = Path::new(folder).join(std::process::id().to_string());
    std::fs::write(&own, "").map_err(|error| format!("cannot write `{}`: {error}", own.display()))?;
    Ok(before < count)
}

/// Returns true if `count` calls ran at the same time.
pub(crate) fn meet(count: usize, folder: &str) -> Result<bool, String> {
    let own = Path::new(folder).join(std::process::id().to_string());
    std::fs::write(&own, "").map_err(|error| format!("cannot write `{}`: {error}", own.display()))?;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        let here = std::fs::read_dir(folder).map_err(|error| format!("cannot read `{folder}`: {error}"))?.count();
        if here >= count {
            return Ok(true);
        }
        sleep_ms(5);
    }
    let _ = std::fs::remove_file(own);
    Ok(false)
}

/// Returns true if no other call held the same folder at the same time.
pub(crate) fn alone(folder: &str) -> Result<bool, String> {
    let held = Path::new(folder).join("alone");
    match std::fs::create_dir(&held) {
        Ok(()) => {
            sleep_ms(50);
            std::fs::remove_dir(&held).map_err(|error| format!("cannot remove `{}`: {error}", held.display()))?;
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(format!("cannot create `{}`: {error}", held.display())),
    }
}

/// Describes the environment of this process.
pub(crate) fn process_state(argv: &[String]) -> String {
    let variables: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), text(&value.to_string_lossy())))
        .collect();
    let variables: Vec<(&str, String)> = variables.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap_or_default().trim().to_owned();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name is in parentheses and may contain any character. After it: state, parent, group, session.
    let mut ids = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(2);
    let mut id = || ids.next().unwrap_or("null").to_owned();
    object(&[
        ("env", object(&variables)),
        ("cwd", text(&std::env::current_dir().unwrap_or_default().to_string_lossy())),
        ("umask", text(&umask)),
        ("argv", array(argv)),
        ("fds", array(&descriptors())),
        ("pid", std::process::id().to_string()),
        ("pgid", id()),
        ("sid", id()),
    ])
}

/// Returns each open descriptor as `NUMBER TARGET`, without the one that reads the list.
fn descriptors() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return Vec::new();
    };
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let target = std::fs::read_link(entry.path()).ok()?;
            let own = target.to_string_lossy().ends_with("/fd");
            (!own).then(|| format!("{} {}", entry.file_name().to_string_lossy(), target.display()))
        })
        .collect();
    found.sort();
    found
}

impl File {
    /// Writes the file, following links and overwriting as agent-browser does.
    pub(crate) fn write_to(&self, path: &str) -> std::io::Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::Text => std::fs::write(path, "this is not a picture"),
            Self::Picture(size) => {
                let mut bytes = PICTURE.to_vec();
                bytes.resize(bytes.len().max(*size), 0);
                std::fs::write(path, bytes)
            }
        }
    }
}
