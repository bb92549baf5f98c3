use super::*;
use crate::installation::detect::tests::program_with;
use std::fs;

#[test]
fn node_package_needs_program_scripts_and_modules() {
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
    let files = ProgramFiles::find(&link, None);
    assert!(files.execute.contains(&link) && files.execute.contains(&program));
    let below: Vec<_> = files.read.iter().filter_map(|path| path.strip_prefix(&root).ok()).collect();
    let expected = [
        "a/node_modules/agent-browser/dist",
        "a/node_modules/agent-browser/node_modules",
        "a/node_modules",
        "a/node_modules/agent-browser/package.json",
    ];
    assert_eq!(below, expected.map(Path::new));
}

#[test]
fn script_needs_interpreter_and_adjacent_binaries() {
    let root = tempfile::tempdir().expect("a folder");
    let path = |name: &str| root.path().canonicalize().expect("there").join(name);
    for (name, text) in [("agent-browser.js", "#!/bin/sh -e\n"), ("agent-browser-linux-x64", "x"), ("other", "x")] {
        fs::write(path(name), text).expect("written");
    }
    let has = |program: &str, wanted: PathBuf| ProgramFiles::find(&path(program), None).execute.contains(&wanted);
    assert!(has("agent-browser.js", "/bin/sh".into()) && has("agent-browser.js", path("agent-browser-linux-x64")));
    assert!(!has("agent-browser.js", path("other")));
    assert!(!has("agent-browser-linux-x64", "/bin/sh".into()), "control: a binary brings neither");
    assert!(!has("agent-browser-linux-x64", path("agent-browser.js")));
}

#[test]
fn dynamic_binary_needs_loader_and_static_needs_nothing() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path().canonicalize().expect("there");
    let path = |name: &str| root.join(name);
    fs::write(path("node"), "x").expect("written");
    fs::write(path("loader"), "x").expect("written");
    fs::write(path("static"), program_with(None)).expect("written");
    fs::write(path("dynamic"), program_with(path("loader").to_str())).expect("written");
    fs::write(path("script"), "#!/bin/sh\n").expect("written");
    let files = |program: &str| ProgramFiles::find(&path(program), Some(&path("node")));
    assert_eq!(files("static"), ProgramFiles { read: Vec::new(), execute: vec![path("static")] });
    let dynamic = files("dynamic");
    assert_eq!(dynamic.execute, [path("loader"), path("dynamic")]);
    assert!(dynamic.read.iter().any(|path| path.starts_with("/lib") || path.starts_with("/nix")), "{dynamic:?}");
    assert!(files("script").execute.contains(&path("node")), "control");
}

#[test]
fn program_without_scripts_exposes_nothing_of_its_folder() {
    let root = tempfile::tempdir().expect("a folder");
    let program = root.path().join("ab");
    fs::write(&program, "").expect("written");
    let files = ProgramFiles::find(&program, None);
    assert!(!files.read.iter().any(|path| path.starts_with(root.path())), "{files:?}");
    assert!(files.execute.contains(&program), "control");
}
