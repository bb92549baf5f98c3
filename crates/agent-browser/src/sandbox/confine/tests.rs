use super::*;
use crate::sandbox::host::EnforcementLevel;

fn run_with(arguments: &[&str]) -> ConfineError {
    let Err(error) = run(&mut arguments.iter().map(OsString::from));
    error
}

#[test]
fn confine_config_round_trips_through_its_argument() {
    let config = ConfineConfig::new(Plan::default(), KernelFeatures { landlock: 6, seccomp: true });
    let [name, text] = config.arguments();
    assert_eq!(name, SUBCOMMAND);
    assert_eq!(parse_config::<ConfineConfig>(&mut [text].into_iter()).expect("parsed"), config);
}

#[test]
fn confine_without_config_starts_nothing() {
    for line in [&[][..], &["{}", "/bin/true"], &["", "/bin/true"]] {
        assert!(matches!(run_with(line), ConfineError::Config(_)), "{line:?}");
    }
    let config = ConfineConfig::new(Plan::default(), KernelFeatures { landlock: 0, seccomp: false });
    let [_, text] = config.arguments();
    assert!(matches!(run_with(&[text.to_str().expect("text")]), ConfineError::NoProgram), "control: it is valid");
}

// Requirement 5.2.
#[test]
fn missing_kernel_features_are_listed_by_version() {
    let rows: Vec<_> = [0, 1, 2, 3, 4, 5, 6, 7, 9]
        .map(|landlock| {
            let enforcement =
                Enforcement::without(missing(KernelFeatures { landlock, seccomp: true }, &Plan::default()));
            format!("{landlock}: {enforcement}")
        })
        .into();
    insta::assert_snapshot!(rows.join("\n"));
    let bare = missing(KernelFeatures { landlock: 6, seccomp: false }, &Plan::default());
    assert_eq!(bare, ["a filter for system calls"]);
}

#[test]
fn denial_inside_allowed_folder_is_not_reported_as_enforced() {
    let kernel = KernelFeatures { landlock: 9, seccomp: true };
    let plan = Plan { masked: vec!["/usr/lib/x".into()], read_only: vec!["/data/x".into()], ..Plan::default() };
    let found = missing(kernel, &plan);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(Enforcement::without(found).level, EnforcementLevel::Partial);
    assert_eq!(Enforcement::without(missing(kernel, &Plan::default())).level, EnforcementLevel::Full, "control");
}
