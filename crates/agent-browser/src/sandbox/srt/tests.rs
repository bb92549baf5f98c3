use super::*;
use browser_shell_core::policy::file::parse;

fn host() -> SandboxHost {
    SandboxHost::with(6, "/bin/sh")
}

fn programs() -> Programs {
    Programs {
        srt: "/srt".into(),
        bwrap: "/bwrap".into(),
        socat: "/proc/socat".into(),
        rg: "/rg".into(),
        bash: "/proc/bash".into(),
    }
}

// Requirement 5.2.
#[test]
fn srt_settings_contain_only_plan_and_domains() {
    let policy = parse(
        r#"{"sandbox":{"backend":"srt","network":{"allowedDomains":["a.example","*.b.example"],"deniedDomains":["x.b.example"]}}}"#,
    )
    .expect("valid")
    .sandbox;
    let plan = Plan {
        read: vec!["/proc/meminfo".into()],
        write: vec!["/tmp".into(), "/nowhere".into()],
        masked: vec!["/tmp/hidden".into()],
        read_only: vec!["/tmp/fixed".into()],
        connect: vec![9222],
        ..Plan::default()
    };
    let host = SandboxHost { executable: "/nowhere/browser-shell".into(), ..host() };
    let value = settings(&host, &policy, &plan, &programs(), Path::new("/proc"));
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).expect("JSON"));
    let paths = SessionPaths {
        key: "s".to_owned(),
        sockets: "/run/b/s/0123".into(),
        private: "/run/b/k/s".into(),
        files: "/workspace/s".into(),
    };
    let config = init_config(&host, &policy, &plan, &paths);
    assert_eq!(config.confine.plan.connect, [9222, 3128, 1080]);
    assert!(config.proxies);
    let without = init_config(&host, &SandboxPolicy::default(), &plan, &paths);
    assert_eq!(without.confine.plan.connect, [9222], "without domains the proxies cannot be reached");
    assert!(!without.proxies);
}

#[tokio::test]
async fn missing_srt_is_reported() {
    let policy = parse(r#"{"sandbox":{"backends":{"srt":{"program":"/nowhere/srt"}}}}"#).expect("valid").sandbox;
    let error = probe(&host(), &policy, &Plan::default()).await.expect_err("refused").to_string();
    assert!(error.contains("there is no `/nowhere/srt`"), "{error}");
}

fn policy(path: &Path, more: &str) -> SandboxPolicy {
    let path = path.display();
    let text = format!(r#"{{"sandbox":{{"backend":"srt","backends":{{"srt":{{"settingsPath":"{path}"}}}}{more}}}}}"#);
    parse(&text).expect("valid").sandbox
}

// Requirement 5.2.
#[test]
fn srt_settings_file_is_merged_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("srt.json");
    let merge =
        |more: &str| with_settings_file(&policy(&path, more)).map(Cow::into_owned).map_err(|error| error.to_string());
    assert!(merge("").expect_err("no file").starts_with("cannot read srt's settings `"));
    for (text, message) in [
        ("", "not valid JSON"),
        (r#"{"credentials":{}}"#, "credentials: unknown key"),
        (r#"{"filesystem":{"denyRead":["../x"]}}"#, "filesystem.denyRead[0]: "),
    ] {
        fs::write(&path, text).expect("written");
        let error = merge("").expect_err(text);
        assert!(error.contains(message), "{error}");
    }
    fs::write(&path, vec![b' '; usize::try_from(MAX_BYTES).expect("small") + 1]).expect("written");
    assert!(merge("").is_err(), "too large");
    fs::write(&path, r#"{"filesystem":{"denyRead":["/x"],"denyWrite":["*.pem"]},"network":{"deniedDomains":["a.b"]}}"#)
        .expect("written");
    let merged = merge("").expect("valid");
    assert_eq!(merged.filesystem.deny_read, [FileRule::Path("/x".into())]);
    assert_eq!(merged.filesystem.deny_write.len(), 2, "the file itself is denied too: {merged:?}");
    assert_eq!(merged.network.denied_domains, ["a.b"]);
    fs::remove_file(&path).expect("removed");
    let off = policy(&path, r#","enabled":false"#);
    assert_eq!(with_settings_file(&off).expect("not needed").into_owned(), off);
}
