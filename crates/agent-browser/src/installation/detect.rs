//! Detection of the kind of an agent-browser, and its location.
//!
//! The kind follows from the file, not from the version.
//!
//! Invariants: the program is never run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use elf::ElfStream;
use elf::abi::PT_INTERP;
use elf::endian::AnyEndian;

use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_system::config::Settings;
use browser_shell_system::os::exec::find_on_path;

/// The folder of a Node daemon's files, relative to the package.
pub const DAEMON: &str = "dist";

/// The longest path of an interpreter, in bytes.
const MAX_INTERPRETER: u64 = 4096;

/// The form of an installed program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallationKind {
    /// A command line with a daemon in Node, npm's wrapper script, or an unknown file. Each may need Node.
    Node,
    /// A binary that is its own daemon.
    Native {
        /// The dynamic loader; `None` for a static binary.
        interpreter: Option<PathBuf>,
    },
}

impl InstallationKind {
    /// Detects the kind of a program from its file.
    #[must_use]
    pub fn of(program: &Path) -> Self {
        let Ok(program) = program.canonicalize() else { return Self::Node };
        if package(&program).join(DAEMON).is_dir() {
            return Self::Node;
        }
        binary(&program).unwrap_or(Self::Node)
    }

    /// Returns the kind of agent-browser that such a program is.
    #[must_use]
    pub const fn agent_browser(&self) -> AgentBrowser {
        match self {
            Self::Node => AgentBrowser::Node,
            Self::Native { .. } => AgentBrowser::Native,
        }
    }
}

/// Returns the folder of the npm package that has this program in `bin`.
#[must_use]
pub fn package(program: &Path) -> &Path {
    program.parent().and_then(Path::parent).unwrap_or(program)
}

/// Returns the kind of an ELF binary; `None` for other files, and for binaries that cannot be read.
fn binary(program: &Path) -> Option<InstallationKind> {
    let mut start = [0; 4];
    File::open(program).ok()?.read_exact(&mut start).ok()?;
    if start != elf::abi::ELFMAGIC {
        return None;
    }
    let mut binary = ElfStream::<AnyEndian, _>::open_stream(File::open(program).ok()?).ok()?;
    let Some(segment) = binary.segments().iter().find(|segment| segment.p_type == PT_INTERP).copied() else {
        return Some(InstallationKind::Native { interpreter: None });
    };
    if segment.p_filesz > MAX_INTERPRETER {
        return None;
    }
    let name = binary.segment_data(&segment).ok()?;
    let name = name.strip_suffix(b"\0").unwrap_or(name);
    Some(InstallationKind::Native { interpreter: Some(PathBuf::from(std::str::from_utf8(name).ok()?)) })
}

/// Returns the agent-browser program: as set, else the first on PATH, else its bare name, which the error then shows.
#[must_use]
pub fn find_agent_browser(settings: &Settings) -> PathBuf {
    let configured =
        settings.agent_browser.as_deref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    configured.or_else(|| find_on_path("agent-browser")).unwrap_or_else(|| PathBuf::from("agent-browser"))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;

    /// Returns a 64-bit ELF file with at most one segment and no code.
    pub(crate) fn program_with(interpreter: Option<&str>) -> Vec<u8> {
        let name = interpreter.map(|name| [name.as_bytes(), b"\0"].concat());
        let mut bytes = elf::abi::ELFMAGIC.to_vec();
        // 64 bits, little-endian, version 1
        bytes.extend([2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(3_u16.to_le_bytes());
        bytes.extend(62_u16.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        // entry, segments at 64, no sections
        for word in [0_u64, 64, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(0_u32.to_le_bytes());
        for half in [64_u16, 56, u16::from(name.is_some()), 64, 0, 0] {
            bytes.extend(half.to_le_bytes());
        }
        if let Some(name) = name {
            bytes.extend(PT_INTERP.to_le_bytes());
            bytes.extend(4_u32.to_le_bytes());
            let length = name.len() as u64;
            for word in [64 + 56, 0, 0, length, length, 1] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(name);
        }
        bytes
    }

    #[test]
    fn program_kind_is_detected_from_its_content() {
        let root = tempfile::tempdir().expect("a folder");
        let path = |name: &str| root.path().join("bin").join(name);
        fs::create_dir(root.path().join("bin")).expect("made");
        let loader = "/lib64/ld-linux-x86-64.so.2";
        let long = "/x".repeat(4096);
        let rows: &[(&str, Vec<u8>, InstallationKind)] = &[
            ("dynamic", program_with(Some(loader)), InstallationKind::Native { interpreter: Some(loader.into()) }),
            ("static", program_with(None), InstallationKind::Native { interpreter: None }),
            ("script", b"#!/usr/bin/env node\n".to_vec(), InstallationKind::Node),
            ("empty", Vec::new(), InstallationKind::Node),
            ("half a binary", program_with(Some(loader))[..70].to_vec(), InstallationKind::Node),
            ("an interpreter path that is too long", program_with(Some(&long)), InstallationKind::Node),
        ];
        for (name, bytes, kind) in rows {
            fs::write(path(name), bytes).expect("written");
            assert_eq!(InstallationKind::of(&path(name)), *kind, "{name}");
        }
        assert_eq!(InstallationKind::of(&path("nowhere")), InstallationKind::Node);
        let link = root.path().join("link");
        std::os::unix::fs::symlink(path("static"), &link).expect("linked");
        assert_eq!(InstallationKind::of(&link).agent_browser(), AgentBrowser::Native, "through a link");
        fs::create_dir(root.path().join(DAEMON)).expect("made");
        assert_eq!(
            InstallationKind::of(&link),
            InstallationKind::Node,
            "the same binary with a daemon in Node beside it"
        );
    }
}
