//! Seed corpora of the fuzz targets, replayed on the stable toolchain.
//!
//! Each file is an input that was or could be a problem. A target without seeds fails, and so do seeds without a
//! target.

#[path = "../../fuzz/checks.rs"]
mod checks;

use std::path::Path;

type Check = fn(&[u8]);

const TARGETS: &[(&str, Check)] = &[
    ("argv", checks::argv),
    ("credential", checks::credential),
    ("framing", checks::framing),
    ("gate_message", checks::gate_message),
    ("output", checks::output),
    ("policy_file", checks::policy_file),
    ("request", checks::request),
    ("rfb", checks::rfb),
    ("selector", checks::selector),
    ("url_policy", checks::url_policy),
    ("words", checks::words),
];

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

fn replay(target: &str) {
    let check = TARGETS.iter().find(|(name, _)| *name == target).expect("unknown target").1;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let seeds = names_in(&folder);
    assert!(seeds.len() >= 8, "{target} has only {} seeds", seeds.len());
    for seed in seeds {
        let input = std::fs::read(folder.join(&seed)).unwrap();
        let result = std::panic::catch_unwind(|| check(&input));
        assert!(result.is_ok(), "{target}/{seed} failed; the panic message is above");
    }
}

#[test]
fn argv_seeds_pass() {
    replay("argv");
}

#[test]
fn credential_seeds_pass() {
    replay("credential");
}

#[test]
fn framing_seeds_pass() {
    replay("framing");
}

#[test]
fn gate_message_seeds_pass() {
    replay("gate_message");
}

#[test]
fn output_seeds_pass() {
    replay("output");
}

#[test]
fn policy_file_seeds_pass() {
    replay("policy_file");
}

#[test]
fn request_seeds_pass() {
    replay("request");
}

#[test]
fn rfb_seeds_pass() {
    replay("rfb");
}

#[test]
fn selector_seeds_pass() {
    replay("selector");
}

#[test]
fn url_policy_seeds_pass() {
    replay("url_policy");
}

#[test]
fn words_seeds_pass() {
    replay("words");
}

#[test]
fn every_fuzz_target_is_replayed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let replayed: Vec<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let targets: Vec<_> =
        names_in(&root.join("fuzz_targets")).iter().map(|name| name.trim_end_matches(".rs").to_owned()).collect();
    assert_eq!(targets, replayed);
    assert_eq!(names_in(&root.join("corpus")), replayed);
}
