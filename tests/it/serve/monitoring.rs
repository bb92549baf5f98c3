//! Debian's Prometheus, which reads the metrics of a running server and takes the rules and the dashboard's queries.
//!
//! Its package is large, so `tests/e2e/setup extras` installs it for `./dev test all` only. `monitoring_names_metrics_and_codes_that_exist`
//! is in every run.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use super::super::{
    e2e::test_env::{prometheus, require_test_network},
    harness::{processes::wait_for, server::free_port},
};
use super::server::{DRIVE_KEY, Server, WATCH_KEY, stand_in_settings};

const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/monitoring/alerts.yaml");
const DASHBOARD: &str = include_str!("../../../deploy/monitoring/grafana.json");

/// A running Prometheus.
struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    fn start(configuration: &Path, data: &Path) -> Self {
        let port = free_port();
        let mut command = prometheus("prometheus");
        command.arg("--config.file").arg(configuration).arg("--storage.tsdb.path").arg(data);
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
        Self { child, port }
    }

    /// Returns the data of an answer of its interface, or `None` while there is none.
    fn ask(&self, path: &str, query: &str) -> Option<Value> {
        let mut command = Command::new("curl");
        command.args(["--silent", "--get", "--data-urlencode", &format!("query={query}")]);
        command.arg(format!("http://127.0.0.1:{}/api/v1/{path}", self.port));
        let answer: Value = serde_json::from_slice(&command.output().unwrap().stdout).ok()?;
        (answer["status"] == "success").then(|| answer["data"].clone())
    }

    /// Returns the value of the only series that a query finds.
    fn value(&self, query: &str) -> Option<String> {
        let data = self.ask("query", query)?;
        let [series] = data["result"].as_array()?.as_slice() else { return None };
        Some(series["value"][1].as_str()?.to_owned())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns true if promtool takes a configuration, with its rules.
fn is_taken(configuration: &Path) -> bool {
    prometheus("promtool").args(["check", "config"]).arg(configuration).output().unwrap().status.success()
}

#[test]
#[ignore = "needs the test network and a large package: run ./dev test all --part 7"]
fn prometheus_reads_the_metrics_and_takes_the_rules() {
    require_test_network();
    let keys = [("ada", "drive", DRIVE_KEY), ("bob", "drive", WATCH_KEY)];
    let server = Server::start_with_key_list(stand_in_settings(), &keys);
    for session in ["s1", "s2"] {
        assert_eq!(server.call(session, &["open", "about:blank"]).0, 0);
    }
    assert_ne!(server.call("s1", &["eval", "1"]).0, 0);

    let configure = |name: &str, rules: &str| -> PathBuf {
        let configuration = json!({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [rules],
            "scrape_configs": [{
                "job_name": "browser-shell",
                "static_configs": [{"targets": [format!("127.0.0.1:{}", server.health_port())]}],
            }],
        });
        server.env().write_file(name, &configuration.to_string())
    };
    let configuration = configure("prometheus.yml", RULES);
    assert!(is_taken(&configuration));
    let wrong = std::fs::read_to_string(RULES).unwrap().replacen("expr: ", "expr: sum(", 1);
    let wrong = server.env().write_file("wrong-rules.yml", &wrong);
    assert!(!is_taken(&configure("wrong.yml", wrong.to_str().unwrap())), "control");

    let prometheus = Prometheus::start(&configuration, &Path::new(server.env().folder()).join("prometheus"));
    for (query, value) in [
        ("up", "1"),
        ("browser_shell_sessions", "2"),
        ("browser_shell_subject_sessions{subject=\"ada\"}", "2"),
        ("browser_shell_calls_total{subcommand=\"open\",code=\"ok\"}", "2"),
        ("sum(browser_shell_calls_total{code!=\"ok\"})", "1"),
        ("browser_shell_call_seconds_count", "3"),
        ("browser_shell_browser_up + browser_shell_policy_up + browser_shell_audit_up", "3"),
    ] {
        wait_for(query, || (prometheus.value(query)? == value).then_some(()));
    }
    let rules = wait_for("evaluated rules", || {
        let data = prometheus.ask("rules", "")?;
        let rules = data["groups"][0]["rules"].as_array()?.clone();
        rules.iter().all(|rule| rule["health"] != "unknown").then_some(rules)
    });
    assert!(rules.len() >= 6 && rules.iter().all(|rule| rule["health"] == "ok"), "{rules:?}");

    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let queries: Vec<_> =
        panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap()).map(|target| &target["expr"]).collect();
    assert!(queries.len() >= 10, "{queries:?}");
    for query in queries {
        assert!(prometheus.ask("query", query.as_str().unwrap()).is_some(), "{query}");
    }
    assert!(prometheus.ask("query", "sum by (").is_none(), "control");
}
