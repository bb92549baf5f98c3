//! Invariants for any input, one function for each fuzz target.
//!
//! The fuzzer calls these functions, and the ordinary tests call them with the seed corpora. Each panics when its
//! invariant is violated. None depends on the network, on time or on an earlier call.

// Each fuzz target uses one of the functions.
#![allow(dead_code)]

use browser_shell_core::agent_browser::AgentBrowser;
use browser_shell_core::auth::{ApiKeys, ClaimRules, KeySet, TokenRules};
use browser_shell_core::gate::{ClientMessage, Handling, Level, classify};
use browser_shell_core::grammar::{self, Profile, find_global_flag};
use browser_shell_core::output::{CapturedStream, CommandResult, RawOutput};
use browser_shell_core::policy::url::{PageUrl, parse as parse_url};
use browser_shell_core::policy::{Evaluation, Policy, file};
use browser_shell_core::request::CallArguments;
use browser_shell_core::rfb::{Access, RfbError, ViewerMessage, ViewerParser, ViewerReader};
use browser_shell_core::selector::SelectorChain;
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;

/// Checks `argv`, one element for each line. An accepted command prints to an equivalent command and contains no global flag.
/// A command that only the daemon accepts says that it must not be passed to the CLI.
pub(crate) fn argv(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A line break inside an element is written as a form feed, which no element may contain.
    let elements: Vec<String> = text.lines().map(|line| line.replace('\u{c}', "\n")).collect();
    for profile in PROFILES {
        elements_in(profile, &elements);
    }
}

const PROFILES: [Profile; 3] = [Profile::Tool, Profile::Strict, Profile::Compat];

fn elements_in(profile: Profile, elements: &[String]) {
    let strict = grammar::parse(profile, elements, |_| true);
    let Ok(command) = strict else { return };
    let printed = command.to_argv();
    assert_eq!(grammar::parse(profile, &printed, |_| true).as_ref(), Ok(&command), "{printed:?}");
    for element in &printed {
        // The only global flag that is also a flag of a row.
        let is_own = command.row.name == "screenshot" && element == "--full";
        assert!(is_own || find_global_flag(element).is_none(), "{printed:?}");
        assert!(!element.contains('\0'), "{printed:?}");
    }
}

/// Checks selectors: a chain prints to an equal one, and begins with something to search for.
pub(crate) fn selector(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some(chain) = SelectorChain::parse(text) else { return };
    assert!(!chain.parts_before_position().is_empty(), "{text:?}");
    let printed = chain.to_string();
    assert_eq!(SelectorChain::parse(&printed).as_ref(), Some(&chain), "{text:?} as {printed:?}");
}

/// Checks word splitting: words contain only characters of the line, and quoting them gives the same words again.
pub(crate) fn words(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else { return };
    let Ok(words) = grammar::words::split(line) else { return };
    let mut rest = line.chars();
    assert!(words.iter().flat_map(|word| word.chars()).all(|c| rest.any(|other| other == c)), "{line:?}");
    let quoted: Vec<_> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    assert_eq!(grammar::words::split(&quoted.join(" ")).as_ref(), Ok(&words), "{line:?}");
    for profile in PROFILES {
        elements_in(profile, &words);
    }
}

/// Checks URLs: an accepted URL is http, https or about:blank and prints to the same host, and no deny rule allows
/// it.
pub(crate) fn url_policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(target) = parse_url(text) else { return };
    assert_eq!(parse_url(target.as_str()).as_ref(), Ok(&target), "{text:?}");
    let PageUrl::Web(page) = &target else { return };
    assert!(matches!(page.url.scheme(), "http" | "https"), "{text:?}");
    assert!(!page.host.to_string().is_empty(), "{text:?}");
    let allowed = |policy: &Policy| match policy.check(&target) {
        Evaluation::Decided(decision) => decision.is_allowed(),
        Evaluation::Lookup(_) => policy.check_addresses(page, &[[93, 184, 215, 14].into()]).is_allowed(),
    };
    let host = Value::from(page.host.to_string());
    for rule in [
        format!("\"deny_hosts\":[{host}]"),
        format!("\"deny_ports\":[{}]", page.port.max(1)),
        "\"allow_hosts\":[]".into(),
    ] {
        // A host that is only valid in a URL, such as an address in brackets, may be invalid in a file.
        let Ok(strict) = file::parse(&format!("{{\"open\":{{{rule}}}}}")) else { continue };
        assert!(!allowed(&strict) || page.port == 0, "{text:?} under {rule}");
    }
    for private in [[127, 0, 0, 1], [10, 0, 0, 1], [169, 254, 169, 254]] {
        let decision = Policy::default().check_addresses(page, &[private.into()]);
        assert!(!decision.is_allowed(), "{text:?} at {private:?}");
    }
}

/// Checks policy files: the same text gives the same result, and every problem has a message.
pub(crate) fn policy_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let parse = || file::parse_for_home(text, Some(std::path::Path::new("/home/u")));
    let first = parse();
    assert_eq!(first, parse());
    if let Err(problems) = first {
        assert!(!problems.is_empty());
        assert!(problems.iter().all(|problem| !problem.message.is_empty()));
    }
}

/// Checks files of keys and tokens: problems have messages, no text is a token of a fixed key, and no API key is its own hash.
pub(crate) fn credential(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(problems) = KeySet::parse(text) {
        assert!(!problems.is_empty() && problems.iter().all(|problem| !problem.message.is_empty()));
    }
    match ApiKeys::parse(text) {
        Ok(keys) => assert!(text.split_whitespace().all(|word| keys.find(word).is_none()), "{text:?}"),
        Err(problems) => assert!(!problems.is_empty() && problems.iter().all(|problem| !problem.message.is_empty())),
    }
    // The example of RFC 8037 A.2, whose private key signed nothing but the example of A.4, which has no claims.
    let key = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    let keys = KeySet::parse(key).expect("a valid key");
    let leeway = Duration::ZERO;
    let rules = TokenRules { issuer: None, audiences: Vec::new(), leeway, claims: ClaimRules::Base };
    let decision =
        keys.verify(text, &rules, Duration::from_secs(2_000_000_000)).expect_err("no token is signed by the key");
    assert!(decision.code.as_str().starts_with("token-"), "{decision}");
}

/// Checks agent-browser's output: a rendered reply keeps its limit, data stays JSON, and a failure stays a failure.
pub(crate) fn output(data: &[u8]) {
    let (exit_code, stdout) = data.split_first().map_or((0, data), |(first, rest)| (i32::from(*first), rest));
    let stdout = CapturedStream { bytes: stdout.to_vec(), total: stdout.len() as u64 };
    let mut answer = CommandResult::parse(&RawOutput { exit_code, stdout, stderr: CapturedStream::default() });
    if exit_code != 0 {
        assert_ne!(answer.exit_code, 0);
    }
    let is_data = matches!(answer.body, browser_shell_core::output::Body::Data(_));
    let _ = answer.body.landing_urls();
    answer.body.remove_echo("x");
    answer.body.mask();
    for limit in [64, 300, 30_000] {
        for rendered in [answer.body.render(limit), answer.body.render_visible(limit)] {
            assert!(rendered.chars().count() <= limit);
            if is_data {
                serde_json::from_str::<Value>(&rendered).expect("data must remain JSON");
                assert!(rendered.ends_with('\n') && rendered.lines().count() == 1, "data is one line");
            }
        }
    }
}

/// Checks call arguments: a refusal names a location, and accepted values are within their limits.
pub(crate) fn request(data: &[u8]) {
    let Ok(Value::Object(arguments)) = serde_json::from_slice(data) else { return };
    match CallArguments::from_json(&arguments) {
        Ok(request) => {
            assert!(request.timeout.is_none_or(|timeout| (1.0..=120.0).contains(&timeout.as_secs_f64())));
            let key = request.session.key(64);
            assert!(!key.is_empty() && !key.starts_with(['.', '-']) && !key.contains('/'));
        }
        Err(decision) => assert!(decision.location.is_some(), "{decision}"),
    }
}

/// Checks messages to the control gate: an accepted message written from its parsed members is the same message, and the browser
/// itself gets none as it was sent.
pub(crate) fn gate_message(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(message) = ClientMessage::parse(text) else { return };
    let params = message.params.map(RawValue::get);
    let members = [
        Some(format!(r#""id":{},"method":{}"#, message.id, Value::from(&*message.method))),
        params.map(|params| format!(r#""params":{params}"#)),
        message.session_id.as_deref().map(|session| format!(r#""sessionId":{}"#, Value::from(session))),
    ];
    let written = format!("{{{}}}", members.into_iter().flatten().collect::<Vec<_>>().join(","));
    assert!(params.is_none_or(|params| params.starts_with('{') && params.ends_with('}')), "{text:?}");
    let again = ClientMessage::parse(&written).expect("a written message must be accepted");
    assert_eq!((again.id, &again.method, &again.session_id), (message.id, &message.method, &message.session_id));
    assert_eq!(again.params.map(RawValue::get), params, "{text:?}");
    for client in [AgentBrowser::Node, AgentBrowser::Native] {
        for level in [Level::Root, Level::Page, Level::Frame, Level::Worker] {
            let Some(rule) = classify(client, level, &message.method) else { continue };
            assert_eq!(rule.method, message.method);
            assert!(rule.levels.contains(&level) && rule.clients.contains(&client), "{text:?}");
            let is_of_browser =
                ["Browser.", "PageUrl.", "Storage."].iter().any(|domain| rule.method.starts_with(domain));
            let is_forwarded = rule.handling == Handling::Forward;
            assert!(!is_forwarded || (level != Level::Root && !is_of_browser), "{text:?} at {level:?}");
        }
    }
}

/// Checks what a viewer sends, after a byte that is the size of its pieces. Pieces change nothing, and what is passed on to the screen
/// consists of messages that would be passed on again. A reader finds no input in what a watcher sends.
pub(crate) fn rfb(data: &[u8]) {
    let Some((size, sent)) = data.split_first() else { return };
    let pass = |access, bytes: &[u8], size: usize| -> (Vec<u8>, Result<(), RfbError>) {
        let (mut parser, mut passed) = (ViewerParser::new(access), Vec::new());
        let result = bytes.chunks(size).try_for_each(|piece| parser.read(piece, &mut passed));
        (passed, result)
    };
    let [watched, controlled] = [Access::Watch, Access::Control].map(|access| {
        let (passed, result) = pass(access, sent, usize::MAX);
        let in_pieces = pass(access, sent, usize::from(*size).max(1));
        assert_eq!((&in_pieces.0, in_pieces.1), (&passed, result));
        assert_eq!(pass(access, &passed, usize::MAX), (passed.clone(), Ok(())), "{access:?}");
        assert!(passed.len() <= sent.len());
        (passed, result)
    });
    assert_eq!(watched.1, controlled.1);
    assert!(watched.0.len() <= controlled.0.len());
    let read = |access, size: usize| {
        let (mut reader, mut messages) = (ViewerReader::new(access), Vec::new());
        let result = sent.chunks(size).try_for_each(|piece| reader.read(piece, &mut messages));
        (messages, result)
    };
    for access in [Access::Watch, Access::Control] {
        let (messages, result) = read(access, usize::MAX);
        assert_eq!(read(access, usize::from(*size).max(1)), (messages.clone(), result));
        let is_input = |message| matches!(message, &ViewerMessage::Key { .. } | &ViewerMessage::Pointer { .. });
        assert!(access == Access::Control || !messages.iter().any(is_input));
    }
}

/// Checks stdio framing: after any bytes, the server answers a valid request.
pub(crate) fn framing(data: &[u8]) {
    framing::check(data);
}

mod framing {
    use std::sync::Arc;
    use std::time::Duration;

    use browser_shell::testing::AuditLog;
    use browser_shell::testing::Dns;
    use browser_shell::testing::ExecError;
    use browser_shell::testing::McpServer;
    use browser_shell::testing::Paths;
    use browser_shell::testing::PolicySource;
    use browser_shell::testing::Settings;
    use browser_shell::testing::{ControlGate, Endpoints};
    use browser_shell::testing::{EngineChoice, Sessions};
    use browser_shell::testing::{Invocation, Transport};
    use browser_shell::testing::{OutputWorker, Pages, Pipeline, Services};
    use browser_shell_core::agent_browser::AgentBrowser;
    use browser_shell_core::output::{CapturedStream, RawOutput};
    use browser_shell_core::policy::Engine;
    use clap::Parser;
    use futures::future::BoxFuture;
    use rmcp::ServiceExt;
    use rmcp::transport::async_rw::AsyncRwTransport;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio_util::task::TaskTracker;

    const HELLO: &str = concat!(
        r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
        r#""clientInfo":{"name":"fuzz","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n"
    );

    /// The id is unlikely to occur in an input.
    const LAST: &str = "\n{\"jsonrpc\":\"2.0\",\"id\":\"the-last-question\",\"method\":\"tools/list\"}\n";

    /// A transport that returns the same success for every command.
    struct Instant;

    impl Transport for Instant {
        fn run<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>> {
            let bytes = br#"{"success":true,"data":{"done":true}}"#.to_vec();
            let stdout = CapturedStream { total: bytes.len() as u64, bytes };
            Box::pin(std::future::ready(Ok(RawOutput { exit_code: 0, stdout, stderr: CapturedStream::default() })))
        }
    }

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        settings: Settings,
    }

    fn server(root: &std::path::Path) -> McpServer {
        let path = |name: &str| root.join(name).into_os_string();
        let flags = ["--workspace", "--runtime-dir"];
        let arguments = flags.iter().flat_map(|flag| [(*flag).into(), path(flag.trim_start_matches('-'))]);
        let settings = Cli::parse_from(std::iter::once("fuzz".into()).chain(arguments)).settings;
        let paths = Paths::open(&settings, super::Profile::Tool).expect("cannot open the paths");
        let policy = PolicySource::new(root.join("policy"));
        let gate = ControlGate::without_browser(policy.clone());
        let endpoints = Arc::new(Endpoints::new(gate.clone(), AgentBrowser::Node, None));
        let context = Services {
            policy,
            // Neither file exists, so no name is resolved.
            dns: Dns::with_files(root.join("resolv.conf"), root.join("hosts")),
            sessions: Sessions::new(&settings, paths, endpoints, EngineChoice::ByPolicy(Engine::AgentBrowser), true),
            transport: Arc::new(Instant),
            gate,
            ensure_browser: None,
            pages: Pages::default(),
            audit: AuditLog::discard().expect("cannot open the audit log"),
            metrics: Arc::default(),
            background: TaskTracker::new(),
            output_worker: OutputWorker::default(),
        };
        McpServer::new(Arc::new(Pipeline::new(Arc::new(context))))
    }

    pub(super) fn check(data: &[u8]) {
        let root = tempfile::tempdir().expect("cannot create a folder");
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("cannot build the executor");
        runtime.block_on(async {
            let (client, ours) = tokio::io::duplex(64 * 1024);
            let (input, output) = tokio::io::split(ours);
            let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(64 * 1024);
            let serving = tokio::spawn(server(root.path()).serve(transport));
            let (answers, mut questions) = tokio::io::split(client);
            let input = [HELLO.as_bytes(), data, LAST.as_bytes()].concat();
            let asking = tokio::spawn(async move {
                let _ = questions.write_all(&input).await;
                questions
            });
            let found = async {
                let mut lines = BufReader::new(answers).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    if line.contains("the-last-question") && line.contains("\"tools\"") {
                        return true;
                    }
                }
                false
            };
            let answered = tokio::time::timeout(Duration::from_mins(1), found).await;
            assert!(matches!(answered, Ok(true)), "no reply to the last request: {:?}", String::from_utf8_lossy(data));
            asking.abort();
            serving.abort();
        });
        runtime.shutdown_background();
    }
}
