//! Files of an installed program: executables, scripts, libraries.
//!
//! The file system is read once, so that planning a sandbox needs no I/O.
//!
//! Invariants: no folder with personal data or secrets of the machine is listed.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::installation::detect::{DAEMON, InstallationKind, package};

/// Files and folders that the programs in a sandbox need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramFiles {
    /// Files and folders to read.
    pub read: Vec<PathBuf>,
    /// Files to execute.
    pub execute: Vec<PathBuf>,
}

/// Folders of shared libraries.
const LIBRARIES: &[&str] = &["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store"];

/// Dynamic loaders. Running a dynamic program executes its loader.
const LOADERS: &[&str] = &[
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// Files that Node always reads.
const NODE: &[&str] = &["/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf", "/usr/local/ssl/openssl.cnf"];

/// Files that a dynamically linked C library may read.
const SYSTEM: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
];

/// Returns the files that load this binary: its libraries and its dynamic loader. A static one has none.
#[must_use]
pub fn loader_files(program: &Path) -> Vec<PathBuf> {
    let mut files = ProgramFiles::default();
    if let InstallationKind::Native { interpreter: Some(interpreter) } = InstallationKind::of(program) {
        files.add_libraries();
        files.add_program(&interpreter);
    }
    files.read.extend(files.execute);
    files.read
}

impl ProgramFiles {
    /// Finds the files of this agent-browser and, if it may need Node, of this `node`.
    #[must_use]
    pub fn find(program: &Path, node: Option<&Path>) -> Self {
        let mut files = Self::default();
        match InstallationKind::of(program) {
            // A static binary reads nothing else.
            InstallationKind::Native { interpreter: None } => {}
            InstallationKind::Native { interpreter: Some(interpreter) } => {
                files.add_libraries();
                files.add_program(&interpreter);
            }
            InstallationKind::Node => {
                files.add_libraries();
                for path in NODE {
                    files.add_read(Path::new(path));
                }
                for path in LOADERS {
                    files.add_program(Path::new(path));
                }
                if let Some(node) = node {
                    files.add_program(node);
                }
            }
        }
        files.add_program(program);
        if let Ok(program) = program.canonicalize() {
            files.add_script(&program);
            files.add_package(&program);
        }
        files
    }

    fn add_libraries(&mut self) {
        for path in LIBRARIES.iter().chain(SYSTEM) {
            self.add_read(Path::new(path));
        }
    }

    fn add_read(&mut self, path: &Path) {
        if path.exists() && !self.read.iter().any(|known| known == path) {
            self.read.push(path.to_owned());
        }
    }

    /// Adds a program by the given path and by its canonical path.
    fn add_program(&mut self, path: &Path) {
        for path in [Some(path.to_owned()), path.canonicalize().ok()].into_iter().flatten() {
            if path.is_file() && !self.execute.contains(&path) {
                self.execute.push(path);
            }
        }
    }

    /// Adds what a script needs: its interpreter, and the package's binaries in the same folder, of which it starts one.
    /// npm's wrapper is such a script.
    fn add_script(&mut self, program: &Path) {
        let mut start = Vec::new();
        let file = std::fs::File::open(program);
        if file.is_ok_and(|file| file.take(256).read_to_end(&mut start).is_err()) {
            return;
        }
        let Some(line) = start.strip_prefix(b"#!").and_then(|rest| rest.split(|byte| *byte == b'\n').next()) else {
            return;
        };
        let line = String::from_utf8_lossy(line);
        let Some(interpreter) = line.split_whitespace().next() else { return };
        self.add_program(Path::new(interpreter));
        let siblings = program.parent().and_then(|folder| std::fs::read_dir(folder).ok());
        for entry in siblings.into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b"agent-browser") {
                self.add_program(&entry.path());
            }
        }
    }

    /// Adds the package's scripts and the modules that Node finds for them, in `node_modules` of each parent folder.
    fn add_package(&mut self, program: &Path) {
        let package = package(program);
        let scripts = package.join(DAEMON);
        if !scripts.is_dir() {
            return;
        }
        self.add_read(&scripts);
        for folder in package.ancestors() {
            if folder.file_name().is_none_or(|name| name != "node_modules") {
                self.add_read(&folder.join("node_modules"));
            }
        }
        self.add_read(&package.join("package.json"));
    }
}

#[cfg(test)]
mod tests;
