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
