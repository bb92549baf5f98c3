use super::*;

fn paths() -> SessionPaths {
    SessionPaths {
        key: "a".to_owned(),
        sockets: "/run/b/s/0123".into(),
        private: "/run/b/k/a".into(),
        files: "/workspace/a".into(),
    }
}

fn files() -> ProgramFiles {
    ProgramFiles { read: vec!["/usr/lib".into(), "/opt/ab/dist".into()], execute: vec!["/opt/ab/bin/ab".into()] }
}

fn plan_of(text: &str) -> Plan {
    let policy = browser_shell_core::policy::file::parse(text).expect("valid").sandbox;
    plan(&policy, BackendName::Landlock, &paths(), &files(), Path::new("/run/b/action-policy.json"), 9222)
}

// Requirement 5.2.
#[test]
fn plan_grants_own_folders_program_files_and_one_port() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan_of("{}")).expect("JSON"));
}

// Requirement 5.2.
#[test]
fn plan_names_nothing_outside_own_session_folders() {
    let plan = plan_of("{}");
    let all = [&plan.read, &plan.execute, &plan.write, &plan.sockets, &plan.devices];
    for forbidden in ["/run/b/s/4567", "/run/b/k/b", "/workspace/b", "/etc/shadow", "/etc/agent-browser", "/proc/1"] {
        for path in all.into_iter().flatten() {
            assert!(!Path::new(forbidden).starts_with(path), "{path:?} gives {forbidden}");
        }
    }
    let shared = plan_of(r#"{"sandbox":{"mode":"shared"}}"#);
    assert!(shared.write.iter().any(|path| Path::new("/workspace/b").starts_with(path)), "control: shared ones do");
}

// Requirement 5.2.
#[test]
fn plan_denials_override_grants() {
    let plan = plan_of(
        r#"{"sandbox":{"filesystem":{"allowWrite":["/data","/data2"],"denyRead":["/usr/lib/secret","/data2","/opt"],
        "denyWrite":["/data/old","/workspace"]}}}"#,
    );
    assert_eq!(plan.masked, [PathBuf::from("/usr/lib/secret")]);
    assert_eq!(plan.read_only, [PathBuf::from("/data/old")]);
    assert!(plan.write.contains(&"/data".into()) && !plan.write.contains(&"/data2".into()));
    assert!(!plan.read.contains(&"/opt/ab/dist".into()) && plan.execute.is_empty());
    assert!(!plan.write.contains(&paths().files) && plan.read.contains(&paths().files));
}

// Requirement 5.2.
#[test]
fn denied_file_is_denied_under_every_link_to_it() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path().canonicalize().expect("there");
    std::fs::create_dir_all(root.join("real/secret")).expect("made");
    std::os::unix::fs::symlink(root.join("real"), root.join("alias")).expect("linked");
    let with = |allowed: &str, denied: &str| {
        let root = root.display();
        plan_of(&format!(
            r#"{{"sandbox":{{"filesystem":{{"allowWrite":["{root}/{allowed}"],"denyRead":["{root}/{denied}"]}}}}}}"#
        ))
    };
    for denied in ["real", "alias"] {
        for allowed in ["real", "alias", "real/secret", "alias/secret"] {
            let plan = with(allowed, denied);
            assert!(!plan.write.iter().any(|path| path.starts_with(&root)), "{allowed}, {denied}: {plan:?}");
            let plan = with(allowed, &format!("{denied}/secret"));
            let (is_denied, masked) = (allowed.ends_with("secret"), root.join(allowed).join("secret"));
            assert_eq!(plan.write.contains(&root.join(allowed)), !is_denied, "{allowed}, {denied}");
            assert_eq!(plan.masked, if is_denied { vec![] } else { vec![masked] }, "{allowed}, {denied}");
        }
    }
    assert!(with("real", "other").write.contains(&root.join("real")), "control");
}

// Requirement 5.2.
#[test]
fn names_deny_files_of_policy_and_program_only() {
    let plan = plan_of(
        r#"{"sandbox":{"filesystem":{"allowWrite":["/data/x.pem","/data/y","/data/z"],"denyRead":["y","lib*","/opt/*/bin","home"],
        "denyWrite":["*.pem"]}}}"#,
    );
    assert!(plan.read.contains(&"/data/x.pem".into()) && !plan.write.contains(&"/data/x.pem".into()));
    assert!(!plan.write.contains(&"/data/y".into()) && plan.write.contains(&"/data/z".into()));
    assert!(!plan.read.contains(&"/usr/lib".into()) && plan.execute.is_empty());
    assert!(plan.write.contains(&paths().home()), "a name does not deny the session's own folders");
}

#[test]
fn plan_round_trips_as_text() {
    let plan = plan_of(r#"{"sandbox":{"network":{"allowLocalBinding":true}}}"#);
    let text = serde_json::to_string(&plan).expect("JSON");
    assert_eq!(serde_json::from_str::<Plan>(&text).expect("read"), plan);
    assert!(plan.bind);
}
