use std::os::unix::fs::symlink;

use super::*;
use browser_shell_core::policy::file::parse;

/// A folder with a file of each kind.
fn files() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().canonicalize().expect("there");
    for folder in ["read/below", "write/a/b", "write/keys"] {
        fs::create_dir_all(path.join(folder)).expect("made");
    }
    for file in ["read/x.pem", "read/below/x.pem", "write/.env", "write/a/b/.env", "write/keys/x.pem", "write/other"] {
        fs::write(path.join(file), "").expect("written");
    }
    (root, path)
}

fn rules(text: &str) -> FilesystemRules {
    parse(&format!(r#"{{"sandbox":{{"filesystem":{text}}}}}"#)).expect(text).sandbox.filesystem
}

fn plan(root: &Path) -> Plan {
    Plan { read: vec![root.join("read")], write: vec![root.join("write")], ..Plan::default() }
}

fn below(root: &Path, mut paths: Vec<PathBuf>) -> Vec<String> {
    paths.sort();
    paths.iter().map(|path| path.strip_prefix(root).expect("inside").to_str().expect("text").to_owned()).collect()
}

// Requirement 5.2.
#[test]
fn names_are_found_in_every_allowed_folder() {
    let (_folder, root) = files();
    let found = |text: &str| {
        let plan = find(&rules(text), &plan(&root)).expect("searched");
        (below(&root, plan.masked), below(&root, plan.read_only))
    };
    let none: [String; 0] = [];
    assert_eq!(found(r#"{"denyWrite":[".env"]}"#), (vec![], ["write/.env", "write/a/b/.env"].map(Into::into).into()));
    let (masked, read_only) = found(r#"{"denyRead":["*.pem"]}"#);
    assert_eq!(masked, ["read/below/x.pem", "read/x.pem", "write/keys/x.pem"]);
    assert_eq!(read_only, none);
    let (_, read_only) = found(r#"{"denyWrite":["*.pem"]}"#);
    assert_eq!(read_only, ["write/keys/x.pem"], "nothing is writable in the other folder");
    assert_eq!(found(r#"{"denyRead":["keys"],"denyWrite":["*.pem"]}"#), (vec!["write/keys".into()], vec![]));
    let path = format!(r#"{{"denyWrite":["{}/write/*/x.pem"]}}"#, root.display());
    assert_eq!(found(&path).1, ["write/keys/x.pem"]);
    assert_eq!(found(r#"{"denyRead":["nothing*"]}"#).0, none, "control");
}

// Requirement 5.2.
#[test]
fn link_denies_its_target_only_in_allowed_folders() {
    let (_folder, root) = files();
    symlink(root.join("write/other"), root.join("write/a/link.pem")).expect("linked");
    symlink("/etc/passwd", root.join("write/outside.pem")).expect("linked");
    symlink("/etc", root.join("write/etc")).expect("linked");
    let plan = find(&rules(r#"{"denyWrite":["*.pem","passwd"]}"#), &plan(&root)).expect("searched");
    assert_eq!(below(&root, plan.read_only), ["write/keys/x.pem", "write/other"]);
}

// Requirement 5.2.
#[test]
fn folder_under_two_paths_is_searched_under_both() {
    let (_folder, root) = files();
    symlink(root.join("read"), root.join("alias")).expect("linked");
    let plan = Plan { read: vec![root.join("alias"), root.join("read")], ..Plan::default() };
    let text = format!(r#"{{"denyRead":["{}/read/*.pem"]}}"#, root.display());
    let found = find(&rules(&text), &plan).expect("searched");
    assert_eq!(below(&root, found.masked), ["alias/x.pem", "read/x.pem"]);
}

// Requirement 5.2.
#[test]
fn later_and_absent_files_are_reported_as_missing() {
    let (_folder, root) = files();
    let plan = Plan { read_only: vec![root.join("write/new")], ..plan(&root) };
    let missing = |text: &str, plan: &Plan| missing(&rules(text), plan);
    let later = missing(r#"{"denyWrite":[".env","*.pem"]}"#, &plan);
    assert_eq!(later.len(), 2, "{later:?}");
    assert_eq!(later[0], "filesystem.denyWrite of `.env`, `*.pem` for files that are made later");
    assert!(later[1].ends_with("write/new`, which does not exist yet"), "{later:?}");
    fs::write(root.join("write/new"), "").expect("written");
    assert_eq!(missing(r#"{"denyRead":["/elsewhere/*.pem","/x"]}"#, &plan), [""; 0], "control");
}

// Requirement 5.2.
#[test]
fn search_of_too_many_matches_is_refused() {
    let (_folder, root) = files();
    for number in 0..=MAX_FOUND {
        fs::write(root.join(format!("write/{number}.key")), "").expect("written");
    }
    let error = find(&rules(r#"{"denyWrite":["*.key"]}"#), &plan(&root)).expect_err("refused");
    assert!(matches!(error, SearchError::TooManyMatches), "{error}");
    assert!(find(&rules(r#"{"denyWrite":["1.key"]}"#), &plan(&root)).is_ok(), "control");
}
