//! Policy file: from text to a valid [`Policy`], or to every problem in it.
//!
//! Each section is one function that visits its fields. With an object, the visit reads it; without one, it
//! returns the JSON Schema. So reader and schema cannot disagree. `docs/design/policy-file.md` has the alternatives.
//!
//! Invariants:
//! - Unknown keys, duplicate keys, wrong types and values out of range are problems, and all of them are reported at once.
//! - No invalid value becomes a default, and no policy is returned together with a problem.

mod browser;
mod fields;
mod sandbox;
mod text;

use std::path::Path;

use serde_json::{Value, json};

use crate::grammar::Profile;
use crate::json::{self, Problem};
use crate::policy::browser::{Isolation, SessionSelector};
use crate::policy::rules::{
    AnswerStyle, CallLimits, EgressLimits, EgressMode, EgressRules, Engine, HostSet, OpenRules, OutputRules, Policy,
    SessionAccess, SessionRules, Subresources,
};
use browser::{browser, subject};
use fields::{Choice, FieldKind, Fields, FlagValue, InvalidValue, PORT, Whole, describe, read};
use sandbox::sandbox;
use text::{ANY, BLOCK, CREDENTIALS_FILE, HOST, HOST_OR_SUFFIX, PROXY, SESSION_PATTERN, SUFFIX};

pub use sandbox::{SrtSettings, parse_srt_settings};

/// The path of the policy file where no setting names another one.
pub const DEFAULT_PATH: &str = "/etc/agent-browser/browser-shell.policy.json";

/// The size in bytes above which a policy file is refused unread.
pub const MAX_BYTES: u64 = 1024 * 1024;

/// Parses a policy file in which no path begins with `~`.
///
/// ```
/// use browser_shell_core::policy::file::parse;
///
/// let policy = parse(r#"{"subcommands": {"enable": ["back"]}}"#).expect("a valid policy");
/// assert!(policy.enables("back"));
///
/// let problems = parse(r#"{"opne": {}, "limits": {"max_timeout_sec": 121}}"#).expect_err("two problems");
/// let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
/// assert_eq!(
///     lines,
///     [
///         "opne: unknown key; did you mean `open`?",
///         "limits.max_timeout_sec: must be a whole number from 1 to 120, not `121`",
///     ]
/// );
/// ```
///
/// # Errors
///
/// Every problem of the text: duplicate keys first, then the others, section by section.
pub fn parse(text: &str) -> Result<Policy, Vec<Problem>> {
    parse_for_home(text, None)
}

/// Parses a policy file, with this absolute folder in place of `~`. Without a folder, `~` is a problem.
///
/// # Errors
///
/// As for [`parse`].
pub fn parse_for_home(text: &str, home: Option<&Path>) -> Result<Policy, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut policy = Policy::default();
    match json::parse(text, &mut problems) {
        Ok(value) => read("", &value, home, &mut problems, |fields| document(fields, &mut policy)),
        Err(problem) => problems.push(problem),
    }
    if problems.is_empty() { Ok(policy) } else { Err(problems) }
}

/// Returns the JSON Schema (2020-12) of policy files, for editors and other tools.
#[must_use]
pub fn schema() -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "browser-shell policy",
        "description": "Rules for the browser and its agent. Without a file: any public http or https host, and no optional subcommand. Deny wins over allow; unknown keys are errors."
    });
    let fields = describe(|fields| document(fields, &mut Policy::default()));
    if let (Some(schema), Value::Object(mut fields)) = (schema.as_object_mut(), fields) {
        schema.append(&mut fields);
    }
    schema
}

fn document(fields: &mut Fields<'_>, policy: &mut Policy) {
    fields.field("$schema", "The schema, for editors; ignored.", &ANY, &mut String::new());
    let text = "URLs that may be opened. Checked before a page is opened, and again where the browser lands.";
    fields.section("open", text, |fields| policy.open = open(fields).into());
    let text = "Rules for some sessions. The deny lists of open and of all entries that match apply; every other field of the first matching entry that has it replaces that of open.";
    if let Some(sessions) = fields.objects("sessions", text, session) {
        policy.sessions = sessions.into_iter().flatten().collect();
    }
    let text = "The program that carries out calls. cdp: this program itself. agent-browser: its CLI for each call. Without it the front end decides. A change applies to sessions that begin after it.";
    fields.field("engine", text, &engines(), &mut policy.engine);
    fields.section("subcommands", "Optional subcommands of the tool.", |fields| {
        let text = "Subcommands to switch on, in their read-only and navigation forms.";
        policy.enabled_subcommands =
            fields.list("enable", text, &OptionalSubcommand(Profile::Tool)).unwrap_or_default();
    });
    fields.section("runtime", "Optional subcommands of the runtime's compat profile.", |fields| {
        let text = "Subcommands of that profile to switch on.";
        policy.enabled_runtime_subcommands =
            fields.list("enable", text, &OptionalSubcommand(Profile::Compat)).unwrap_or_default();
    });
    fields.section("output", "Form of the answers of the tool.", |fields| output(fields, &mut policy.output));
    fields.section("audit", "Audit log of calls.", |fields| {
        let text = "true: calls are refused while their lines cannot be written. Default: false, so that calls run and lines are lost.";
        fields.field("require", text, &FlagValue, &mut policy.audit.require);
    });
    let text = "Limits of a call. They can only be tighter than the built-in ones.";
    fields.section("limits", text, |fields| call_limits(fields, &mut policy.limits));
    fields.section("access", "Callers with credentials, at a server that checks them.", |fields| {
        let text = "The sessions that a subject may use. any: all of them. own: its own, so that the same session id means another session for each subject; a screen with the windows of all sessions then needs the scope admin, and browser.isolation must be session. Default: any.";
        let kinds = SessionAccess::ALL.iter().map(|kind| (kind.as_str(), *kind));
        fields.field("sessions", text, &Choice::new(kinds), &mut policy.access.sessions);
    });
    let text = "Sessions in the browser.";
    fields.section("browser", text, |fields| browser(fields, &mut policy.browser));
    if policy.access.sessions == SessionAccess::Own && policy.browser.isolation != Some(Isolation::Session) {
        let message = "own needs sessions that share nothing in the browser; set browser.isolation to session";
        fields.problem(&["access", "sessions"], message);
    }
    if policy.access.sessions == SessionAccess::Any {
        let message = "sessions belong to no subject; set access.sessions to own";
        let rules = policy.sessions.iter().enumerate();
        for (position, _) in rules.filter(|(_, rules)| rules.selector.subject.is_some()) {
            fields.problem_in_item("sessions", position, "subject", message);
        }
        for state in policy.browser.state.iter().filter(|state| state.selector.subject.is_some()) {
            fields.problem(&["browser", "state", state.selector.pattern.as_str(), "subject"], message);
        }
    }
    let mut old_engine: Option<Engine> = None;
    fields.section("snapshot", "Older place of the field engine.", |fields| {
        let text = "Older name of the field engine: gate means cdp.";
        fields.field("engine", text, &Choice::new(Engine::OLD_NAMES.iter().copied()), &mut old_engine);
    });
    if old_engine.is_some() {
        if policy.engine.is_some() {
            fields.problem(&["snapshot", "engine"], "is the older name of engine, which is here too; remove this one");
        }
        (policy.engine, policy.has_old_engine_field) = (old_engine, true);
    }
    let text = "Connections of the browser. The deny lists of `open` apply in every mode.";
    fields.section("egress", text, |fields| egress(fields, &mut policy.egress));
    let text = "Confinement of a session's agent-browser. A change applies to sessions that begin after it.";
    fields.section("sandbox", text, |fields| sandbox(fields, &mut policy.sandbox));
    let is_cdp = policy.engine == Some(Engine::Cdp) && !policy.has_old_engine_field;
    let runs_nothing = policy.sessions.iter().all(|rules| rules.engine != Some(Engine::AgentBrowser));
    if is_cdp && runs_nothing && policy.sandbox.backend.is_some() {
        let message = "is the sandbox of agent-browser, which the engine `cdp` does not run; remove it, or set engine to agent-browser";
        fields.problem(&["sandbox", "backend"], message);
    }
}

fn session(fields: &mut Fields<'_>) -> Option<SessionRules> {
    let mut pattern = None;
    let text = "The sessions: a session id, in which * stands for any characters.";
    fields.required("match", text, &SESSION_PATTERN, &mut pattern);
    let subject = subject(
        fields,
        "The subject that they belong to, or * for any. It needs access.sessions to be own. Default: it does not matter.",
    );
    let (mut rules, mut engine) = (OpenRules::default(), None);
    fields.section("open", "The same fields as in the section open of the file.", |fields| rules = open(fields));
    fields.field(
        "engine",
        "The program that carries out their calls, as the field engine of the file.",
        &engines(),
        &mut engine,
    );
    pattern.map(|pattern| SessionRules { selector: SessionSelector { pattern, subject }, open: rules, engine })
}

fn engines() -> Choice<Engine> {
    Choice::new(Engine::ALL.iter().map(|engine| (engine.as_str(), *engine)))
}

fn open(fields: &mut Fields<'_>) -> OpenRules {
    let mut open = OpenRules::default();
    let scheme = Choice::new(["http", "https"].map(|scheme| (scheme, scheme)));
    open.allow_schemes = fields.list("allow_schemes", "A subset of http and https. Default: both.", &scheme);
    let text = "Permission to open about:blank. Default: true.";
    fields.field("allow_about_blank", text, &FlagValue, &mut open.allow_about_blank);
    let text = "Exact hosts that may be opened. If this or allow_host_suffixes is present, even empty, a URL must match one of them.";
    open.allow_hosts = fields.list("allow_hosts", text, &HOST).map(HostSet::from);
    let text = "Suffixes of hosts that may be opened, each with its leading dot: .example.com matches a.example.com, not example.com.";
    open.allow_host_suffixes = fields.list("allow_host_suffixes", text, &SUFFIX).map(HostSet::from);
    let text = "Exact hosts that are refused, whatever allows them.";
    open.deny_hosts = fields.list("deny_hosts", text, &HOST).unwrap_or_default().into();
    let text = "Suffixes of hosts that are refused, whatever allows them.";
    open.deny_host_suffixes = fields.list("deny_host_suffixes", text, &SUFFIX).unwrap_or_default().into();
    let text =
        "Address blocks that are allowed although they are not public, such as an intranet. Host bits must be zero.";
    open.allow_cidrs = fields.list("allow_cidrs", text, &BLOCK);
    open.deny_ports = fields.list("deny_ports", "Ports that are refused.", &PORT).unwrap_or_default();
    open
}

fn call_limits(fields: &mut Fields<'_>, limits: &mut CallLimits) {
    let most = CallLimits::default();
    let text = "The longest timeout that a call may ask for, in seconds. Default: the limit of the front end, which is 120 for the tool.";
    fields.field("max_timeout_sec", text, &Whole(1..=120_u64), &mut limits.max_timeout_sec);
    let text = "The most characters of stdout and of stderr in a reply. Default: 30000.";
    fields.field("max_output_chars", text, &Whole(1_000..=most.max_output_chars), &mut limits.max_output_chars);
    let text = "The largest screenshot that is returned, in bytes of PNG; 0 returns none. Default: 4194304.";
    fields.field("max_image_bytes", text, &Whole(0..=most.max_image_bytes), &mut limits.max_image_bytes);
}

/// Returns the subcommands and forms that `subcommands.enable` can name.
pub fn optional_subcommands() -> impl Iterator<Item = &'static str> {
    optional(Profile::Tool)
}

/// Returns the subcommands of the runtime's compat profile that `runtime.enable` can name.
pub fn optional_runtime_subcommands() -> impl Iterator<Item = &'static str> {
    optional(Profile::Compat)
}

fn optional(profile: Profile) -> impl Iterator<Item = &'static str> {
    let rows = profile.rows().filter(move |row| profile.needs_enabling(row)).map(|row| row.name);
    rows.chain(profile.optional_forms())
}

/// The name of a subcommand that is off in a profile unless the policy enables it.
struct OptionalSubcommand(Profile);

impl OptionalSubcommand {
    fn choice(&self) -> Choice<&'static str> {
        Choice::new(optional(self.0).map(|name| (name, name)))
    }
}

impl FieldKind for OptionalSubcommand {
    type Output = &'static str;

    fn schema(&self) -> Value {
        self.choice().schema()
    }

    fn read(&self, value: &Value) -> Result<&'static str, InvalidValue> {
        let row = value.as_str().and_then(|name| self.0.row(name));
        match row.filter(|row| !self.0.needs_enabling(row)) {
            Some(row) => Err(InvalidValue::from_message(format!("`{}` is always on; remove it", row.name))),
            None => self.choice().read(value),
        }
    }
}

fn egress(fields: &mut Fields<'_>, egress: &mut EgressRules) {
    let text = "public: any public host, and the addresses of open.allow_cidrs. allowlist: in addition, every connection must match the allow lists of open. off: any address but loopback and 0.0.0.0/8. Default: public.";
    let modes = EgressMode::ALL.iter().map(|mode| (mode.as_str(), *mode));
    fields.field("mode", text, &Choice::new(modes), &mut egress.mode);
    let text = "public: pages load from any host that the mode allows. A list: connections may go only to these hosts, to hosts with these suffixes (with a leading dot), and to the allow lists of open. Default: public.";
    if let Some(hosts) = fields.list_or_word("subresources", text, "public", &HOST_OR_SUFFIX) {
        egress.subresources = Subresources::Listed(hosts.into());
    }
    let text = "Ports below 1024 that pages and connections may use in addition to 80 and 443.";
    egress.allow_ports = fields.list("allow_ports", text, &PORT).unwrap_or_default();
    let text = "The HTTP proxy that the guard connects through, such as http://proxy.example.com:3128.";
    fields.field("upstream", text, &PROXY, &mut egress.upstream);
    let text = "The absolute path of a file with one line user:password for that proxy.";
    let mut credentials_file = None;
    fields.field("upstream_credentials_file", text, &CREDENTIALS_FILE, &mut credentials_file);
    let message = "has no effect without `egress.upstream`; name the proxy there or remove this";
    fields.requires("upstream_credentials_file", "upstream", message);
    if let Some(upstream) = &mut egress.upstream {
        upstream.credentials_file = credentials_file;
    }
    fields.section("limits", "Limits of connections.", |fields| egress_limits(fields, &mut egress.limits));
}

fn egress_limits(fields: &mut Fields<'_>, limits: &mut EgressLimits) {
    let text = "The most connections at the same time. Default: 512.";
    fields.field("max_connections", text, &Whole(1..=1024_usize), &mut limits.max_connections);
    let text = "Seconds without a byte after which a connection is closed. Default: 300.";
    fields.field("idle_sec", text, &Whole(1..=3600_u64), &mut limits.idle_sec);
    let text = "The most bytes of a request's header. Default: 65536.";
    fields.field("max_header_bytes", text, &Whole(1024..=65_536_usize), &mut limits.max_header_bytes);
    let text = "The most bytes of one connection, both directions together. Default: no limit.";
    fields.field("max_bytes", text, &Whole(1..=1_u64 << 50), &mut limits.max_bytes);
}

fn output(fields: &mut Fields<'_>, output: &mut OutputRules) {
    let text = "data: an answer is an object whose stdout is JSON. text: plain text for a language model, without the list of references. text-with-code: the same, with the exit code and the code as structured content, which several clients show a model in place of the text and the picture. Default: data.";
    let styles = AnswerStyle::ALL.iter().map(|style| (style.as_str(), *style));
    fields.field("style", text, &Choice::new(styles), &mut output.style);
}

#[cfg(test)]
mod tests;
