use super::*;
use crate::sandbox::enforcement::{Enforcement, EnforcementLevel};

// Requirement 5.2.
#[test]
fn missing_kernel_features_are_listed_by_version() {
    let rows: Vec<_> = [0, 1, 2, 3, 4, 5, 6, 7, 9]
        .map(|landlock| {
            let enforcement =
                Enforcement::without(KernelFeatures { landlock, seccomp: true }.missing(&Plan::default()));
            format!("{landlock}: {enforcement}")
        })
        .into();
    insta::assert_snapshot!(rows.join("\n"));
    let bare = KernelFeatures { landlock: 6, seccomp: false }.missing(&Plan::default());
    assert_eq!(bare, ["a filter for system calls"]);
}

#[test]
fn denial_inside_allowed_folder_is_not_reported_as_enforced() {
    let kernel = KernelFeatures { landlock: 9, seccomp: true };
    let plan = Plan { masked: vec!["/usr/lib/x".into()], read_only: vec!["/data/x".into()], ..Plan::default() };
    let missing = kernel.missing(&plan);
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert_eq!(Enforcement::without(missing).level, EnforcementLevel::Partial);
    assert_eq!(Enforcement::without(kernel.missing(&Plan::default())).level, EnforcementLevel::Full, "control");
}
