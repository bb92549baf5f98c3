//! A running Chromium, as far as other processes can see it: its program, and the rules that it is under.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Restrictions of a process that its status shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Restrictions {
    /// True if the process can gain no rights.
    no_new_privileges: bool,
    /// Number of filters for system calls.
    filters: u32,
}

impl Restrictions {
    fn of(process: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(process.join("status")).ok()?)
    }

    /// Parses the text of `/proc/PID/status`.
    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            value.trim().parse::<u32>().ok()
        };
        Some(Self { no_new_privileges: field("NoNewPrivs")? == 1, filters: field("Seccomp_filters")? })
    }

    /// Returns true if the process has more filters than this one, which starts in the same container.
    const fn is_beyond(self, own: Self) -> bool {
        self.no_new_privileges && self.filters > own.filters
    }
}

/// Returns true if the Chromium with this debugging port runs under launch rules; `None` if it is not visible. Landlock's rules
/// cannot be seen from outside, so the filter that is set with them stands for both.
#[must_use]
pub fn runs_under_rules(port: u16) -> Option<bool> {
    let own = Restrictions::of(Path::new("/proc/self"))?;
    let browser = processes_with_port(port).find_map(|process| Restrictions::of(&process))?;
    Some(browser.is_beyond(own))
}

/// Returns the program of the Chromium with this debugging port; `None` if it is not visible, or belongs to another user.
#[must_use]
pub fn program_of(port: u16) -> Option<PathBuf> {
    processes_with_port(port).find_map(|process| fs::read_link(process.join("exe")).ok())
}

/// Returns the folders in `/proc` of each first process of Chromium with this debugging port.
fn processes_with_port(port: u16) -> impl Iterator<Item = PathBuf> {
    let flag = format!("--remote-debugging-port={port}");
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    processes
        .filter(move |process| fs::read(process.join("cmdline")).is_ok_and(|line| is_browser(&line, flag.as_bytes())))
}

/// Returns true if a command line is that of Chromium's first process with this flag. Its other processes have a type.
fn is_browser(line: &[u8], flag: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == 0);
    let program = words.next().and_then(|path| Path::new(OsStr::from_bytes(path)).file_name());
    let is_chromium = program.is_some_and(|name| {
        let name = name.as_bytes();
        [b"chrom".as_slice(), b"google-chrome", b"headless_shell"].iter().any(|start| name.starts_with(start))
    });
    let words: Vec<&[u8]> = words.collect();
    is_chromium && words.contains(&flag) && !words.iter().any(|word| word.starts_with(b"--type="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_more_filters_than_our_own_count_as_rules() {
        let parse = |privileges, filters| {
            Restrictions::parse(&format!(
                "Name:\tx\nNoNewPrivs:\t{privileges}\nSeccomp:\t2\nSeccomp_filters:\t{filters}\n"
            ))
            .expect("a status")
        };
        let own = parse(0, 1);
        assert!(parse(1, 2).is_beyond(own), "control");
        assert!(!parse(1, 1).is_beyond(own), "the filter of the container");
        assert!(!parse(0, 2).is_beyond(own));
        assert_eq!(Restrictions::parse("NoNewPrivs:\t1\n"), None, "an old kernel does not count filters");
    }

    #[test]
    fn first_process_of_chromium_is_found_by_its_flag() {
        let flag = b"--remote-debugging-port=9222";
        for line in
            ["chromium", "/usr/lib/chromium/chromium", "/opt/google/chrome/chrome", "/usr/bin/chromium.unconfined"]
        {
            assert!(is_browser(format!("{line}\0-x\0--remote-debugging-port=9222\0").as_bytes(), flag), "{line}");
        }
        for line in [
            "chromium\0--remote-debugging-port=92220\0",
            "chromium\0--type=renderer\0--remote-debugging-port=9222\0",
            "bash\0--remote-debugging-port=9222\0",
            "",
        ] {
            assert!(!is_browser(line.as_bytes(), flag), "{line}");
        }
    }
}
