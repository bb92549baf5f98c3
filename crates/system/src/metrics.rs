//! Metrics of a server, for Prometheus.
//!
//! Invariants: the values of a label are subcommands, decision codes and our own routes, so their number is bounded, and the subjects of
//! credentials, of which a text has at most 20. None is text of a request.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use browser_shell_core::auth::Subject;
use browser_shell_core::decision::Code;

/// Content type of the text (`OpenMetrics` 1.0.0).
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the buckets for durations, in seconds.
const BUCKETS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CallLabels {
    subcommand: &'static str,
    code: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CodeLabels {
    code: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DirectionLabels {
    direction: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SubjectLabels {
    subject: String,
}

/// Most subjects that have a line each. If more of them have sessions, none has a line.
const MAX_SUBJECTS: usize = 20;

/// Metrics of a server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    call_seconds: Histogram,
    requests: Family<RequestLabels, Counter>,
    connections: Family<CodeLabels, Counter>,
    connection_bytes: Family<DirectionLabels, Counter>,
    access_refusals: Family<CodeLabels, Counter>,
    sessions: Gauge,
    subject_sessions: Family<SubjectLabels, Gauge>,
    contexts: Gauge,
    browser_up: Gauge,
    browser_starts: Gauge,
    gate_refusals: Gauge,
    policy_up: Gauge,
    audit_up: Gauge,
    audit_lines_lost: Gauge,
    credentials_up: Gauge,
    memory: Gauge,
    /// Held while a text is made: the subjects of one are not those of another.
    making: Mutex<()>,
}

/// Values that are read at the moment of a scrape.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent values")]
pub struct Gauges {
    /// Number of open sessions.
    pub sessions: usize,
    /// Number of sessions of each subject that has some.
    pub subjects: BTreeMap<Subject, usize>,
    /// Number of browser contexts that the control gate made, `None` while it connects to a Chromium.
    pub contexts: Option<usize>,
    /// True if the browser answers.
    pub browser_is_up: bool,
    /// Number of times that the server has started its browser.
    pub browser_starts: u64,
    /// Number of methods that the control gate has refused.
    pub gate_refusals: u64,
    /// True if a policy is in force.
    pub policy_is_in_force: bool,
    /// True if audit lines are written.
    pub audit_is_writing: bool,
    /// Number of audit lines that were lost.
    pub audit_lines_lost: u64,
    /// True unless a file of keys cannot be used.
    pub credentials_are_usable: bool,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self {
            registry: Registry::default(),
            calls: Family::default(),
            call_seconds: Histogram::new(BUCKETS),
            requests: Family::default(),
            connections: Family::default(),
            connection_bytes: Family::default(),
            access_refusals: Family::default(),
            sessions: Gauge::default(),
            subject_sessions: Family::default(),
            contexts: Gauge::default(),
            browser_up: Gauge::default(),
            browser_starts: Gauge::default(),
            gate_refusals: Gauge::default(),
            policy_up: Gauge::default(),
            audit_up: Gauge::default(),
            audit_lines_lost: Gauge::default(),
            credentials_up: Gauge::default(),
            memory: Gauge::default(),
            making: Mutex::default(),
        };
        metrics.register()
    }
}

impl Metrics {
    fn register(mut self) -> Self {
        let registry = self.registry.sub_registry_with_prefix("browser_shell");
        registry.register("build", "The version that runs", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        registry.register("calls", "Commands, by subcommand and decision code", self.calls.clone());
        registry.register("call_seconds", "How long commands took, waiting included", self.call_seconds.clone());
        registry.register("http_requests", "Requests, by route and status", self.requests.clone());
        registry.register("connections", "Connections of pages, by decision code", self.connections.clone());
        registry.register("connection_bytes", "Bytes of pages, by direction", self.connection_bytes.clone());
        registry.register(
            "access_refusals",
            "Requests that were refused because of their credentials, by code",
            self.access_refusals.clone(),
        );
        registry.register("sessions", "Open sessions", self.sessions.clone());
        registry.register(
            "subject_sessions",
            "Open sessions of each subject, where there are at most 20",
            self.subject_sessions.clone(),
        );
        registry.register("contexts", "Browser contexts with cookies of their own", self.contexts.clone());
        registry.register("browser_up", "1 when the browser answers", self.browser_up.clone());
        registry.register(
            "browser_starts",
            "How often this server has started its browser",
            self.browser_starts.clone(),
        );
        registry.register(
            "gate_refusals",
            "How many methods and unknown events of the debugging protocol the control gate has refused",
            self.gate_refusals.clone(),
        );
        registry.register("policy_up", "1 when a policy is in force", self.policy_up.clone());
        registry.register("audit_up", "1 when audit lines are written", self.audit_up.clone());
        registry.register(
            "audit_lines_lost",
            "How many audit lines could not be written",
            self.audit_lines_lost.clone(),
        );
        registry.register(
            "credentials_up",
            "1 unless a file of keys cannot be used, so that its keys are refused",
            self.credentials_up.clone(),
        );
        registry.register_with_unit("memory", "Memory of this program", Unit::Bytes, self.memory.clone());
        self
    }

    /// Counts a command.
    pub fn count_call(&self, subcommand: Option<&'static str>, code: Code, elapsed: Duration) {
        let labels = CallLabels { subcommand: subcommand.unwrap_or("unknown"), code: code.as_str() };
        self.calls.get_or_create(&labels).inc();
        self.call_seconds.observe(elapsed.as_secs_f64());
    }

    /// Counts a connection of a page, with the bytes to its server and from it.
    pub fn count_connection(&self, code: Code, (up, down): (u64, u64)) {
        self.connections.get_or_create(&CodeLabels { code: code.as_str() }).inc();
        for (direction, bytes) in [("up", up), ("down", down)] {
            self.connection_bytes.get_or_create(&DirectionLabels { direction }).inc_by(bytes);
        }
    }

    /// Counts a request that is refused because of its credentials.
    pub fn count_access_refusal(&self, code: Code) {
        self.access_refusals.get_or_create(&CodeLabels { code: code.as_str() }).inc();
    }

    /// Counts a request. The route is one of ours, not the path of the request.
    pub fn count_request(&self, route: &'static str, status: u16) {
        self.requests.get_or_create(&RequestLabels { route, status }).inc();
    }

    /// Returns all metrics as text.
    #[must_use]
    pub fn to_text(&self, gauges: &Gauges) -> String {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        set(&self.sessions, gauges.sessions);
        self.subject_sessions.clear();
        if gauges.subjects.len() <= MAX_SUBJECTS {
            for (subject, sessions) in &gauges.subjects {
                let labels = SubjectLabels { subject: subject.to_string() };
                set(&self.subject_sessions.get_or_create(&labels), *sessions);
            }
        }
        if let Some(contexts) = gauges.contexts {
            set(&self.contexts, contexts);
        }
        self.browser_up.set(i64::from(gauges.browser_is_up));
        set(&self.browser_starts, gauges.browser_starts);
        set(&self.gate_refusals, gauges.gate_refusals);
        self.policy_up.set(i64::from(gauges.policy_is_in_force));
        self.audit_up.set(i64::from(gauges.audit_is_writing));
        set(&self.audit_lines_lost, gauges.audit_lines_lost);
        self.credentials_up.set(i64::from(gauges.credentials_are_usable));
        self.memory.set(own_memory().unwrap_or_default());
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Sets a gauge to a count, or to the largest number that it can have.
fn set(gauge: &Gauge, count: impl TryInto<i64>) {
    gauge.set(count.try_into().unwrap_or(i64::MAX));
}

/// Returns the resident memory of this process, in bytes; see `status` in proc(5).
fn own_memory() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(1024 * line.split_whitespace().next()?.parse::<i64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauges() -> Gauges {
        Gauges {
            sessions: 3,
            subjects: [("ada", 2), ("bob \"b\" \\", 1)]
                .map(|(name, count)| (Subject::new(name).expect("a subject"), count))
                .into(),
            contexts: Some(1),
            browser_is_up: true,
            browser_starts: 2,
            gate_refusals: 3,
            policy_is_in_force: true,
            audit_is_writing: true,
            audit_lines_lost: 4,
            credentials_are_usable: true,
        }
    }

    #[test]
    fn only_few_subjects_have_a_line() {
        let metrics = Metrics::default();
        let lines = |gauges: &Gauges| {
            metrics.to_text(gauges).lines().filter(|line| line.starts_with("browser_shell_subject_sessions{")).count()
        };
        assert_eq!(lines(&gauges()), 2);
        let subjects = |count: usize| {
            let subject = |number: usize| (Subject::new(&format!("s{number}")).expect("a subject"), 1);
            Gauges { subjects: (0..count).map(subject).collect(), ..gauges() }
        };
        assert_eq!(lines(&subjects(MAX_SUBJECTS)), MAX_SUBJECTS, "those that have no session any more have no line");
        assert_eq!(lines(&subjects(MAX_SUBJECTS + 1)), 0);
    }

    #[test]
    fn metrics_text_matches_snapshot() {
        let metrics = Metrics::default();
        metrics.count_call(Some("open"), Code::Ok, Duration::from_millis(20));
        metrics.count_call(None, Code::SubcommandUnknown, Duration::from_micros(50));
        metrics.count_request("/exec", 200);
        metrics.count_connection(Code::Allowed, (10, 200));
        metrics.count_connection(Code::HostDenied, (0, 0));
        metrics.count_access_refusal(Code::CredentialMissing);
        let text = metrics.to_text(&gauges());
        // The order of the label sets is not defined.
        let mut lines: Vec<_> = text
            .lines()
            .filter(|line| {
                !line.contains("_bucket{")
                    && !line.contains("_sum ")
                    && !line.starts_with("browser_shell_memory_bytes ")
            })
            .collect();
        lines.sort_unstable();
        insta::assert_snapshot!(lines.join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }
}
