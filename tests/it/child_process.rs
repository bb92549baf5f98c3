//! Environment, working directory and arguments of agent-browser (spec [1.2], [1.12]).

use serde_json::Value;

use super::harness::server::stand_in_env;

// Requirement 1.12.
#[test]
fn child_gets_environment_from_scratch() {
    let nasty = [
        ("NODE_OPTIONS", "--require /tmp/x.js"),
        ("AGENT_BROWSER_CONFIG", "/tmp/x.json"),
        ("AGENT_BROWSER_SESSION", "other"),
        ("AGENT_BROWSER_EXECUTABLE_PATH", "/tmp/x"),
        ("HTTP_PROXY", "http://127.0.0.1:1"),
        ("ALL_PROXY", "http://127.0.0.1:1"),
        ("LD_LIBRARY_PATH", "/tmp"),
        ("SOME_TOKEN", "hunter2"),
    ];
    let server = nasty.iter().fold(stand_in_env(), |env, (name, value)| env.with(name, *value)).serve();
    let data = server.call("s", &["click", "#fake-env"]).ok().data();
    let variables = data["env"].as_object().unwrap();
    let mut names: Vec<&str> = variables.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "AGENT_BROWSER_ACTION_POLICY",
            "AGENT_BROWSER_DEFAULT_TIMEOUT",
            "AGENT_BROWSER_IDLE_TIMEOUT_MS",
            "AGENT_BROWSER_NO_VERSION_CHECK",
            "AGENT_BROWSER_SOCKET_DIR",
            "HOME",
            "LANG",
            "NO_PROXY",
            "PATH",
            "TMPDIR",
        ]
    );
    let path = |name: &str| std::path::PathBuf::from(variables[name].as_str().unwrap());
    assert!(path("HOME").is_dir() && path("TMPDIR").is_dir() && path("AGENT_BROWSER_SOCKET_DIR").is_dir());
    assert_eq!(data["umask"], "0077");
}

// Requirement 1.12.
#[test]
fn no_configuration_can_be_planted_in_cwd() {
    let server = stand_in_env().serve();
    let data = server.call("s", &["click", "#fake-env"]).ok().data();
    let directory = std::path::PathBuf::from(data["cwd"].as_str().unwrap());
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "the working directory must be empty");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&directory).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o500);
    assert_ne!(directory, std::env::current_dir().unwrap(), "it must not be the server's working directory");
}

// Requirement 1.2.
#[test]
fn command_line_always_has_the_fixed_prefix() {
    let server = stand_in_env().with("BROWSER_SHELL_CDP_PORT", "9555").serve();
    let data = server.call("s-1", &["click", "#fake-echo"]).ok().data();
    let port = data["argv"][3].clone();
    let number: u16 = port.as_str().and_then(|port| port.parse().ok()).expect("a port");
    assert!(number > 1023 && number != 9555, "it is the session's endpoint, not Chromium's port");
    let mut expected = ["--session", "s-1", "--cdp", "", "--json", "click", "#fake-echo"].map(Value::from).to_vec();
    expected[3] = port;
    assert_eq!(data["argv"], Value::from(expected));
}

#[test]
fn children_cannot_gain_privileges() {
    let server = stand_in_env().serve();
    server.call("s", &["click", "#fake-daemon"]).ok();
    let daemon = server.processes().into_iter().next().expect("the daemon must run");
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.id)).unwrap();
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
}
