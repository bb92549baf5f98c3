//! Kernel rules of a Chromium: its TCP ports, its files, as data with reasons, and its system calls; and what a running one shows of
//! them.
//!
//! Invariants: where the kernel has such rules, Chromium connects to the egress guard and to Unix sockets only, and uses the
//! files of its rules only; a rule that the kernel has and that cannot be set is an error; no folder of people, no secret of the runtime
//! and no configuration of ours is in the list of the system; a program's own folder is added only if nothing private is in it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use landlock::{
    Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope,
};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use browser_shell_system::confinement::seccomp::{FilterError, network_filter};
use browser_shell_system::confinement::{KernelFeatures, abi, allow, drop_capabilities};

/// First version of Landlock's ABI with rules for TCP.
const TCP_ABI: u8 = 4;

/// First version of Landlock's ABI with rules for signals and abstract sockets.
const SCOPE_ABI: u8 = 6;

/// Capabilities that root keeps: for a profile in a folder of another user. Others would, for example, let it read the memory
/// maps and the environment of other processes in spite of Landlock.
const FILE_CAPABILITIES: CapabilitySet =
    CapabilitySet::CHOWN.union(CapabilitySet::DAC_OVERRIDE).union(CapabilitySet::DAC_READ_SEARCH);

/// Rules of a Chromium.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaunchRules {
    /// TCP ports that Chromium may connect to.
    pub connect: Vec<u16>,
    /// TCP ports that Chromium may listen on.
    #[serde(default)]
    pub bind: Vec<u16>,
    /// Files that Chromium may use.
    #[serde(default)]
    pub files: FileRules,
    /// Version of the kernel's Landlock ABI.
    pub landlock: u8,
    /// True if system calls are filtered.
    pub seccomp: bool,
}

/// Returns true if the kernel prevents connections and datagrams past the guard. The rule for TCP and the filter need each
/// other: each alone leaves ways that only the other one closes.
#[must_use]
pub fn is_enforced() -> bool {
    let kernel = KernelFeatures::detect();
    kernel.landlock >= TCP_ABI && kernel.seccomp
}

/// Returns true if the kernel has rules for files.
#[must_use]
pub fn confines_files() -> bool {
    KernelFeatures::detect().landlock > 0
}

/// Returns the rules that this kernel lacks, for a message.
#[must_use]
pub fn missing(kernel: KernelFeatures) -> Vec<&'static str> {
    let mut missing = Vec::new();
    if kernel.landlock == 0 {
        missing.push("rules for files: Chromium may use all files of its user");
    }
    if kernel.landlock < TCP_ABI {
        missing.push("rules for TCP: only flags and policies keep Chromium from connecting past the egress guard");
    }
    if !kernel.seccomp {
        missing.push("filter for system calls: only flags and policies keep Chromium from sending datagrams");
    }
    missing
}

/// Reason why a process could not be restricted.
#[derive(Debug, Error)]
pub enum RulesError {
    #[error("cannot restrict the process: {0}")]
    Process(#[from] Errno),
    #[error("cannot restrict connections and files: {0}")]
    Landlock(#[from] RulesetError),
    #[error("cannot build the system call filter: {0}")]
    Filter(#[from] FilterError),
    #[error("cannot set the system call filter: {0}")]
    ApplyFilter(#[from] seccompiler::Error),
}

impl LaunchRules {
    /// Restricts this process.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule cannot be set. The process must end then.
    pub(crate) fn apply(&self) -> Result<(), RulesError> {
        // A core dump would contain the browser's whole memory.
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        rustix::thread::set_no_new_privs(true)?;
        drop_capabilities(FILE_CAPABILITIES)?;
        if self.landlock > 0 {
            self.restrict()?;
        }
        // Set here, outside Chromium's own filters: the stricter answer counts.
        if self.seccomp {
            seccompiler::apply_filter(&network_filter()?)?;
        }
        Ok(())
    }

    fn restrict(&self) -> Result<(), RulesetError> {
        let abi = abi(self.landlock);
        let all = AccessFs::from_all(abi);
        let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(all)?;
        if self.landlock >= TCP_ABI {
            rules = rules.handle_access(AccessNet::from_all(abi))?;
        }
        if self.landlock >= SCOPE_ABI {
            rules = rules.scope(Scope::from_all(abi))?;
        }
        let mut rules = rules.create()?;
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        // Everything but devices, which nobody creates.
        let write: BitFlags<AccessFs> = all & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock);
        for (paths, access) in [
            (&self.files.execute, read | AccessFs::Execute),
            (&self.files.read, read),
            (&self.files.write, write),
            (&self.files.change, read | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev),
            (&self.files.sockets, AccessFs::ResolveUnix.into()),
        ] {
            for path in paths {
                let access = access & all;
                if !access.is_empty() {
                    rules = allow(rules, path, access)?;
                }
            }
        }
        if self.landlock >= TCP_ABI {
            for port in &self.connect {
                rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
            }
            for port in &self.bind {
                rules = rules.add_rule(NetPort::new(*port, AccessNet::BindTcp))?;
            }
        }
        rules.restrict_self().map(|_| ())
    }
}

/// Programs, libraries and their data.
const EXECUTE: &[&str] = &[
    "/usr",
    // Links into /usr, or folders of their own on older systems.
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    // Chrome's own packages.
    "/opt",
    // Programs of the runtime's image.
    "/nix/store",
];

/// Files that are only read.
const READ: &[&str] = &[
    // The list of devices and processors.
    "/sys",
    // Fonts and their caches.
    "/etc/fonts",
    "/var/cache/fontconfig",
    // Certificates.
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    // Chromium's managed policies, preferences and flags, in the folders of its distributions.
    "/etc/browser",
    "/etc/chromium",
    "/etc/chromium.d",
    "/etc/chromium-browser",
    "/etc/opt",
    // The C library: accounts, names, libraries, language, time.
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/gai.conf",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/resolv.conf",
    "/etc/timezone",
    // The desktop's libraries, which a Chromium with a window loads.
    "/etc/X11",
    "/etc/alternatives",
    "/etc/dconf",
    "/etc/drirc",
    "/etc/glvnd",
    "/etc/gtk-3.0",
    "/etc/machine-id",
    "/etc/mailcap",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/vulkan",
    "/etc/xdg",
    // Random data.
    "/dev/random",
    "/dev/urandom",
];

/// Existing files that are written to.
const CHANGE: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];

/// Facts about the processes, and settings of the kernel that root may change.
const PROCESSES: &str = "/proc";

/// Files that a Chromium may use. Paths that do not exist have no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FileRules {
    /// Folders of programs and libraries, which are also read.
    pub execute: Vec<PathBuf>,
    /// Files and folders that are read.
    pub read: Vec<PathBuf>,
    /// Folders in which everything can be created, changed and removed.
    pub write: Vec<PathBuf>,
    /// Existing files that are also written to.
    pub change: Vec<PathBuf>,
    /// Folders of Unix sockets to connect to.
    pub sockets: Vec<PathBuf>,
}

impl FileRules {
    /// Returns the files of the system that each Chromium needs, with its renderer sandbox if `sandboxed`: that writes the maps of user ids,
    /// and its scores for the memory killer. The processes of others are out of reach then: Landlock refuses all that needs the right to trace.
    #[must_use]
    pub(crate) fn of_system(sandboxed: bool) -> Self {
        let list = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        let mut files = Self { execute: list(EXECUTE), read: list(READ), change: list(CHANGE), ..Self::default() };
        let of_processes = if sandboxed { &mut files.change } else { &mut files.read };
        of_processes.push(PROCESSES.into());
        files
    }

    /// Adds a program, and its folder unless one of the private folders is in it.
    pub(crate) fn add_program(&mut self, program: &Path, private: &[&Path]) {
        let real = program.canonicalize().ok();
        for path in [Some(program), real.as_deref()].into_iter().flatten() {
            let folder = path.parent().filter(|folder| is_program_folder(folder, private));
            let added = folder.unwrap_or(path).to_owned();
            if !self.execute.contains(&added) {
                self.execute.push(added);
            }
        }
    }

    /// Adds the files that variables name: fonts, certificates, and folders of libraries.
    pub(crate) fn add_variables(&mut self, variables: &[(&str, OsString)]) {
        for (name, value) in variables {
            let libraries = *name == "LD_LIBRARY_PATH";
            let paths = std::env::split_paths(value).filter(|path| path.is_absolute() && path.parent().is_some());
            if libraries { &mut self.execute } else { &mut self.read }.extend(paths);
        }
    }
}

/// Returns true for a folder that holds a program and nothing private. The root folder holds everything.
fn is_program_folder(folder: &Path, private: &[&Path]) -> bool {
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = resolved(folder);
    folder.parent().is_some() && !private.iter().any(|path| resolved(path).starts_with(&folder))
}

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

    // Requirement 5.1.
    #[test]
    fn system_files_have_no_homes_secrets_or_own_settings() {
        let files = FileRules::of_system(true);
        assert!(files.write.is_empty() && files.sockets.is_empty());
        // Root could have the kernel start a program of its choice by a file below it.
        let proc = PathBuf::from("/proc");
        let bare = FileRules::of_system(false);
        assert!(files.change.contains(&proc) && bare.read.contains(&proc) && !bare.change.contains(&proc));
        let all: Vec<_> = [files.execute, files.read, files.change].concat();
        for refused in [
            "/",
            "/home/a/.bashrc",
            "/root/.bashrc",
            "/run/browser-shell/secret",
            "/var/run/secrets/kubernetes.io/serviceaccount/token",
            "/workspace/a",
            "/tmp/a",
            "/etc/shadow",
            "/etc/agent-browser/browser-shell.policy.json",
        ] {
            assert!(!all.iter().any(|path| Path::new(refused).starts_with(path)), "{refused}");
        }
        assert!(all.iter().any(|path| Path::new("/usr/lib/chromium/chromium").starts_with(path)), "control");
    }

    #[test]
    fn program_folder_is_added_unless_something_private_is_in_it() {
        let added = |program: &str, private: &str| {
            let mut files = FileRules::default();
            files.add_program(Path::new(program), &[Path::new(private)]);
            files.execute
        };
        assert_eq!(added("/srv/chrome/chrome", "/srv/data/browser"), [PathBuf::from("/srv/chrome")]);
        assert_eq!(added("/srv/chrome", "/srv/data/browser"), [PathBuf::from("/srv/chrome")]);
        assert_eq!(added("/chrome", "/srv/data/browser"), [PathBuf::from("/chrome")]);
    }

    #[test]
    fn variables_add_absolute_paths_only() {
        let mut files = FileRules::default();
        let variables =
            [("FONTCONFIG_FILE", "/f/fonts.conf".into()), ("LD_LIBRARY_PATH", "/l/a:relative:/:/l/b".into())];
        files.add_variables(&variables);
        assert_eq!(files.read, [PathBuf::from("/f/fonts.conf")]);
        assert_eq!(files.execute, [PathBuf::from("/l/a"), PathBuf::from("/l/b")]);
    }

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
