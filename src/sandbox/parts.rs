//! What agent-browser consists of on this machine: programs, scripts, libraries.
//!
//! Decides by looking at the file system once, so that a plan can be made without. Must never name a folder that holds data
//! of people or secrets of the machine.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::agent_browser::{DAEMON, Kind, package};

/// Files and folders of the programs that run in a sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// To read.
    pub read: Vec<PathBuf>,
    /// To run.
    pub execute: Vec<PathBuf>,
}

/// Where libraries are.
const LIBRARIES: &[&str] = &["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store"];

/// What loads libraries into programs; running one is running it.
const LOADERS: &[&str] = &[
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// What Node reads whatever it does.
const NODE: &[&str] = &["/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf", "/usr/local/ssl/openssl.cnf"];

/// What a C library with libraries beside it reads whatever it does.
const SYSTEM: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
];

/// What a binary is loaded by and with.
#[must_use]
pub fn needs(program: &Path) -> Vec<PathBuf> {
    let mut parts = Parts::default();
    if let Kind::Native { interpreter: Some(interpreter) } = Kind::of(program) {
        parts.add_libraries();
        parts.add_program(&interpreter);
    }
    parts.read.extend(parts.execute);
    parts.read
}

impl Parts {
    /// Looks for the parts of this agent-browser and, where it may need it, this `node`.
    #[must_use]
    pub fn find(program: &Path, node: Option<&Path>) -> Self {
        let mut parts = Self::default();
        match Kind::of(program) {
            // It brings all that it reads.
            Kind::Native { interpreter: None } => {}
            Kind::Native { interpreter: Some(interpreter) } => {
                parts.add_libraries();
                parts.add_program(&interpreter);
            }
            Kind::Node => {
                parts.add_libraries();
                for path in NODE {
                    parts.add_read(Path::new(path));
                }
                for path in LOADERS {
                    parts.add_program(Path::new(path));
                }
                if let Some(node) = node {
                    parts.add_program(node);
                }
            }
        }
        parts.add_program(program);
        if let Ok(program) = program.canonicalize() {
            parts.add_script(&program);
            parts.add_package(&program);
        }
        parts
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

    /// A program by the name that it is called by, and by its own.
    fn add_program(&mut self, path: &Path) {
        for path in [Some(path.to_owned()), path.canonicalize().ok()].into_iter().flatten() {
            if path.is_file() && !self.execute.contains(&path) {
                self.execute.push(path);
            }
        }
    }

    /// What a program that is a script needs: its interpreter, and the binaries of the package beside it, of which it starts one.
    /// npm's own command is such a script.
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
        let beside = program.parent().and_then(|folder| std::fs::read_dir(folder).ok());
        for entry in beside.into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b"agent-browser") {
                self.add_program(&entry.path());
            }
        }
    }

    /// The scripts beside the program, and the modules that Node finds for them: in `node_modules` of each folder above.
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
mod tests {
    use super::*;
    use crate::agent_browser::tests::program_with;
    use std::fs;

    #[test]
    fn a_package_is_its_program_its_scripts_and_the_modules_that_node_finds() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("there");
        let package = root.join("a/node_modules/agent-browser");
        for name in ["bin", "dist", "node_modules", "secrets"] {
            fs::create_dir_all(package.join(name)).expect("made");
        }
        let program = package.join("bin/ab");
        fs::write(&program, "").expect("written");
        fs::write(package.join("package.json"), "{}").expect("written");
        let link = root.join("link");
        std::os::unix::fs::symlink(&program, &link).expect("linked");
        let parts = Parts::find(&link, None);
        assert!(parts.execute.contains(&link) && parts.execute.contains(&program));
        let below: Vec<_> = parts.read.iter().filter_map(|path| path.strip_prefix(&root).ok()).collect();
        let expected = [
            "a/node_modules/agent-browser/dist",
            "a/node_modules/agent-browser/node_modules",
            "a/node_modules",
            "a/node_modules/agent-browser/package.json",
        ];
        assert_eq!(below, expected.map(Path::new));
    }

    #[test]
    fn a_script_brings_its_interpreter_and_the_binaries_beside_it() {
        let root = tempfile::tempdir().expect("a folder");
        let path = |name: &str| root.path().canonicalize().expect("there").join(name);
        for (name, text) in [("agent-browser.js", "#!/bin/sh -e\n"), ("agent-browser-linux-x64", "x"), ("other", "x")] {
            fs::write(path(name), text).expect("written");
        }
        let has = |program: &str, wanted: PathBuf| Parts::find(&path(program), None).execute.contains(&wanted);
        assert!(has("agent-browser.js", "/bin/sh".into()) && has("agent-browser.js", path("agent-browser-linux-x64")));
        assert!(!has("agent-browser.js", path("other")));
        assert!(!has("agent-browser-linux-x64", "/bin/sh".into()), "control: a binary brings neither");
        assert!(!has("agent-browser-linux-x64", path("agent-browser.js")));
    }

    #[test]
    fn a_native_program_brings_what_loads_it_and_a_static_one_nothing() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("there");
        let path = |name: &str| root.join(name);
        fs::write(path("node"), "x").expect("written");
        fs::write(path("loader"), "x").expect("written");
        fs::write(path("static"), program_with(None)).expect("written");
        fs::write(path("dynamic"), program_with(path("loader").to_str())).expect("written");
        fs::write(path("script"), "#!/bin/sh\n").expect("written");
        let parts = |program: &str| Parts::find(&path(program), Some(&path("node")));
        assert_eq!(parts("static"), Parts { read: Vec::new(), execute: vec![path("static")] });
        let dynamic = parts("dynamic");
        assert_eq!(dynamic.execute, [path("loader"), path("dynamic")]);
        assert!(dynamic.read.iter().any(|path| path.starts_with("/lib") || path.starts_with("/nix")), "{dynamic:?}");
        assert!(parts("script").execute.contains(&path("node")), "control");
    }

    #[test]
    fn a_program_without_scripts_brings_nothing_of_its_folder() {
        let root = tempfile::tempdir().expect("a folder");
        let program = root.path().join("ab");
        fs::write(&program, "").expect("written");
        let parts = Parts::find(&program, None);
        assert!(!parts.read.iter().any(|path| path.starts_with(root.path())), "{parts:?}");
        assert!(parts.execute.contains(&program), "control");
    }
}
