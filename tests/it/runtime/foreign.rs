//! Variables of the deployment files of the runtime that this one replaces, and of proxies.

use serde_json::json;

use super::{
    client::{HttpResponse, SESSION},
    server::{Runtime, Setup},
};

/// Starts a runtime with the variables of the shipped files for a shared browser.
fn shipped() -> Setup {
    let setup = Setup::stand_in();
    let port = setup.cdp().to_string();
    setup
        .without("BROWSER_SHELL_CDP_PORT")
        .with("GULL_MODE", "shared")
        .with("GULL_CDP_PORT", port)
        .with("AGENT_BROWSER_IDLE_TIMEOUT_MS", "600000")
}

/// Sends a command with this `Host`.
fn sent_to(runtime: &Runtime, host: &str, body: &str) -> HttpResponse {
    let lines = [format!("Host: {host}"), "Content-Type: application/json".to_owned()];
    runtime.request("POST", "/exec", &[&lines[0], &lines[1]], body)
}

/// Returns the message of a start that fails.
fn refusal(setup: &Setup) -> String {
    let output = setup.command().output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the arguments of the Chromium that a runtime has started.
fn chromium_arguments(runtime: &Runtime) -> String {
    runtime.chromium().expect("the runtime must start Chromium").command
}

// Requirement 4.1.
#[test]
fn shipped_shared_deployment_starts_own_chromium() {
    let agent = r#"--user-agent="Mozilla/5.0 (X11; Linux x86_64) Test/1.0" --disable-gpu"#;
    let hosts = "gull-service,gull-service.bay.svc.cluster.local";
    let runtime = shipped().with("GULL_CHROMIUM_ARGS", agent).with("BROWSER_SHELL_ALLOW_HOSTS", hosts).start();
    let arguments = chromium_arguments(&runtime);
    assert!(arguments.contains("--user-agent=Mozilla/5.0 (X11; Linux x86_64) Test/1.0"), "{arguments}");
    assert!(arguments.contains("--proxy-server=http://127.0.0.1:"), "it uses the egress guard: {arguments}");
    assert!(!arguments.contains(&runtime.mount().display().to_string()), "the profile is no tenant's: {arguments}");
    let body = json!({"cmd": "open http://93.184.215.14/", "sandbox_id": "one"}).to_string();
    for host in ["gull-service:8115", "gull-service.bay.svc.cluster.local:8115", "127.0.0.1:8115"] {
        assert_eq!(sent_to(&runtime, host, &body).expect_status(200).json()["exit_code"], json!(0), "{host}");
    }
    sent_to(&runtime, "evil.example:8115", &body).expect_status(403);
    // Many tenants: each request names its own.
    runtime.post("/exec", &json!({"cmd": "snapshot"})).expect_status(422);
    runtime.exec_with(&json!({"cmd": "snapshot", "sandbox_id": SESSION})).ok();
}

// Requirement 4.1.
#[test]
fn own_browser_of_shared_runtime_can_be_asked_for() {
    let runtime = Setup::stand_in().arguments(&["--mode", "shared", "--browser", "own"]).start();
    chromium_arguments(&runtime);
    runtime.exec_with(&json!({"cmd": "snapshot", "sandbox_id": "one"})).ok();
    let external = Setup::shared().start();
    assert!(external.chromium().is_none(), "control: the default of this mode");
}

// Requirement 4.1.
#[test]
fn foreign_variables_without_effect_keep_runtime_from_starting() {
    for (name, value, hint) in [
        ("GULL_MODE", "double", "--mode"),
        ("GULL_CDP_PORT", "0", "--cdp-port"),
        ("GULL_CDP_PORT", "9222x", "--cdp-port"),
        ("GULL_CHROMIUM_ARGS", "--user-agent=x --proxy-server=http://p:1", "egress.upstream"),
        ("GULL_CHROMIUM_ARGS", "--no-sandbox", "--chromium-sandbox"),
        ("GULL_CHROMIUM_ARGS", "--load-extension=/x", "--user-agent"),
        ("GULL_CHROMIUM_ARGS", "http://a.example/", "--user-agent"),
        ("GULL_CHROMIUM_ARGS", "--user-agent=\"x", "quote"),
        ("BROWSER_SHELL_USER_AGENT", "two\nlines", "user agent"),
        ("HTTP_PROXY", "http://someone:hunter2@proxy.example:3128", "egress.upstream"),
        ("https_proxy", "http://proxy.example:3128", "egress.upstream"),
        ("ALL_PROXY", "socks5://proxy.example", "egress.upstream"),
    ] {
        let message = refusal(&Setup::stand_in().with(name, value));
        let variable = if name == "BROWSER_SHELL_USER_AGENT" { "--user-agent" } else { name };
        assert!(message.contains(variable) && message.contains(hint), "{name}={value}: {message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
    let twice = Setup::stand_in().with("GULL_MODE", "shared").arguments(&["--mode", "single"]);
    assert!(refusal(&twice).contains("contradict"));
    let useless = Setup::stand_in().arguments(&["--mode", "shared", "--user-agent", "x"]);
    assert!(refusal(&useless).contains("--browser own"));
    let useless = Setup::stand_in().with("GULL_CHROMIUM_BIN", "/usr/bin/chromium").arguments(&["--mode", "shared"]);
    let message = refusal(&useless);
    assert!(message.contains("GULL_CHROMIUM_BIN has no effect") && message.contains("--browser own"), "{message}");
    // Control: empty variables, exceptions to a proxy, and a service's own variables mean nothing.
    let runtime = Setup::stand_in()
        .with("GULL_MODE", "")
        .with("HTTP_PROXY", "")
        .with("NO_PROXY", "localhost")
        .with("GULL_SERVICE_PORT", "tcp://10.0.0.1:8115")
        .start();
    runtime.exec("snapshot").ok();
}

// Requirement 4.1.
#[test]
fn proxy_variable_is_accepted_with_upstream_in_policy() {
    let upstream = json!({"egress": {"upstream": "http://proxy.example.com:3128"}});
    let runtime = Setup::stand_in().policy(&upstream).with("HTTP_PROXY", "http://proxy.example.com:3128").start();
    assert!(runtime.log().contains("egress.upstream"), "{}", runtime.log());
}
