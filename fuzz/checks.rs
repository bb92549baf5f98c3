//! What must hold for any input, one function for each fuzz target.
//!
//! The same functions run under the fuzzer and, on the seed corpora, in the ordinary tests. Each panics when its promise is
//! broken; none depends on the network, on time or on an earlier call.

// Every fuzz target uses one of them.
#![allow(dead_code)]

use browser_shell::argv::{self, Dialect, globals::global_flag};
use browser_shell::output::{Answer, Captured, RawOutput};
use browser_shell::policy::url::{Target, parse as parse_url};
use browser_shell::policy::{Policy, Verdict, file};
use browser_shell::request::Request;
use serde_json::Value;

/// One element a line: what is accepted prints to something that means the same, and holds no global flag. What is accepted
/// beyond that says that the CLI must not get it.
pub(crate) fn argv(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A line break inside of an element is written as a form feed, which no element may hold.
    let elements: Vec<String> = text.lines().map(|line| line.replace('\u{c}', "\n")).collect();
    for dialect in DIALECTS {
        elements_in(dialect, &elements);
    }
}

const DIALECTS: [Dialect; 3] = [Dialect::Tool, Dialect::Strict, Dialect::Compat];

fn elements_in(dialect: Dialect, elements: &[String]) {
    let strict = argv::parse(dialect, elements, |_| true);
    match argv::parse_for_daemon(dialect, elements, |_| true) {
        Ok(command) if command.refusal_by_cli().is_some() => {
            assert_eq!(strict.as_ref().err(), command.refusal_by_cli());
        }
        free => assert_eq!(free, strict, "{elements:?}"),
    }
    let Ok(command) = strict else { return };
    assert_eq!(command.refusal_by_cli(), None, "{elements:?}");
    let printed = command.to_argv();
    assert_eq!(argv::parse(dialect, &printed, |_| true).as_ref(), Ok(&command), "{printed:?}");
    for element in &printed {
        // The one global flag that a row has as its own.
        let is_own = dialect == Dialect::Compat && command.row.name == "screenshot" && element == "--full";
        assert!(is_own || global_flag(element).is_none(), "{printed:?}");
        assert!(!element.contains('\0'), "{printed:?}");
    }
}

/// A line: nothing of its words is made up, and quoted again they come back. As a command they are like any other elements.
pub(crate) fn words(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else { return };
    let Ok(words) = argv::words::split(line) else { return };
    let mut rest = line.chars();
    assert!(words.iter().flat_map(|word| word.chars()).all(|c| rest.any(|other| other == c)), "{line:?}");
    let quoted: Vec<_> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    assert_eq!(argv::words::split(&quoted.join(" ")).as_ref(), Ok(&words), "{line:?}");
    for dialect in DIALECTS {
        elements_in(dialect, &words);
    }
}

/// A URL: what is accepted is http, https or about:blank, prints to the same host, and no deny rule makes it allowed.
pub(crate) fn url_policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(target) = parse_url(text) else { return };
    assert_eq!(parse_url(target.as_str()).as_ref(), Ok(&target), "{text:?}");
    let Target::Page(page) = &target else { return };
    assert!(matches!(page.url.scheme(), "http" | "https"), "{text:?}");
    assert!(!page.host.to_string().is_empty(), "{text:?}");
    let allowed = |policy: &Policy| match policy.check(&target) {
        Verdict::Decided(decision) => decision.is_allowed(),
        Verdict::Lookup(_) => policy.check_addresses(page, &[[93, 184, 215, 14].into()]).is_allowed(),
    };
    let host = Value::from(page.host.to_string());
    for rule in [
        format!("\"deny_hosts\":[{host}]"),
        format!("\"deny_ports\":[{}]", page.port.max(1)),
        "\"allow_hosts\":[]".into(),
    ] {
        // A host that only a URL can hold, such as an address in brackets, may not be one for a file.
        let Ok(strict) = file::parse(&format!("{{\"open\":{{{rule}}}}}")) else { continue };
        assert!(!allowed(&strict) || page.port == 0, "{text:?} under {rule}");
    }
    for private in [[127, 0, 0, 1], [10, 0, 0, 1], [169, 254, 169, 254]] {
        let decision = Policy::default().check_addresses(page, &[private.into()]);
        assert!(!decision.is_allowed(), "{text:?} at {private:?}");
    }
}

/// A policy file: the same text gives the same answer, and every problem says something.
pub(crate) fn policy_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let first = file::parse(text);
    assert_eq!(first, file::parse(text));
    if let Err(problems) = first {
        assert!(!problems.is_empty());
        assert!(problems.iter().all(|problem| !problem.message.is_empty()));
    }
}

/// What agent-browser printed: what is rendered keeps to its limit, data stays JSON, and a failure stays one.
pub(crate) fn output(data: &[u8]) {
    let (exit_code, stdout) = data.split_first().map_or((0, data), |(first, rest)| (i32::from(*first), rest));
    let stdout = Captured { bytes: stdout.to_vec(), total: stdout.len() as u64 };
    let mut answer = Answer::read(&RawOutput { exit_code, stdout, stderr: Captured::default() });
    if exit_code != 0 {
        assert_ne!(answer.exit_code, 0);
    }
    let is_data = matches!(answer.body, browser_shell::output::Body::Data(_));
    let _ = answer.body.landing_urls();
    answer.body.remove_echo("x");
    answer.body.mask();
    for limit in [64, 300, 30_000] {
        let rendered = answer.body.render(limit);
        assert!(rendered.chars().count() <= limit);
        if is_data {
            serde_json::from_str::<Value>(&rendered).expect("data stays JSON");
        }
    }
}

/// The arguments of a call: whatever is refused names a place, and what is accepted is within its limits.
pub(crate) fn request(data: &[u8]) {
    let Ok(Value::Object(arguments)) = serde_json::from_slice(data) else { return };
    match Request::from_arguments(&arguments) {
        Ok(request) => {
            assert!(request.timeout.is_none_or(|timeout| (1.0..=120.0).contains(&timeout.as_secs_f64())));
            let key = request.session.key(64);
            assert!(!key.is_empty() && !key.starts_with(['.', '-']) && !key.contains('/'));
        }
        Err(decision) => assert!(decision.place.is_some(), "{decision}"),
    }
}

/// Bytes on standard input: the server lives on and answers a correct request after them.
pub(crate) fn framing(data: &[u8]) {
    framing::check(data);
}

mod framing {
    use std::sync::Arc;
    use std::time::Duration;

    use browser_shell::audit::AuditLog;
    use browser_shell::browser::Browser;
    use browser_shell::config::Settings;
    use browser_shell::dns::Dns;
    use browser_shell::exec::ExecError;
    use browser_shell::mcp::server::Server;
    use browser_shell::output::{Captured, RawOutput};
    use browser_shell::pipeline::{Context, Pipeline, Workbench, steps};
    use browser_shell::places::Places;
    use browser_shell::policy_source::PolicySource;
    use browser_shell::session::Sessions;
    use browser_shell::transport::{Invocation, Transport};
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

    /// The id is one that no input is likely to hold.
    const LAST: &str = "\n{\"jsonrpc\":\"2.0\",\"id\":\"the-last-question\",\"method\":\"tools/list\"}\n";

    /// Answers every command with the same success.
    struct Instant;

    impl Transport for Instant {
        fn name(&self) -> &'static str {
            "instant"
        }

        fn run<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<RawOutput, ExecError>> {
            let bytes = br#"{"success":true,"data":{"done":true}}"#.to_vec();
            let stdout = Captured { total: bytes.len() as u64, bytes };
            Box::pin(std::future::ready(Ok(RawOutput { exit_code: 0, stdout, stderr: Captured::default() })))
        }
    }

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        settings: Settings,
    }

    fn server(root: &std::path::Path) -> Server {
        let path = |name: &str| root.join(name).into_os_string();
        let flags = ["--policy", "--workspace", "--runtime-dir"];
        let arguments = flags.iter().flat_map(|flag| [(*flag).into(), path(flag.trim_start_matches('-'))]);
        let settings = Cli::parse_from(std::iter::once("fuzz".into()).chain(arguments)).settings;
        let places = Places::open(&settings, super::Dialect::Tool).expect("opened");
        let context = Context {
            policy: PolicySource::new(settings.policy.clone()),
            // Neither file is there: no name is looked up.
            dns: Dns::with_files(root.join("resolv.conf"), root.join("hosts")),
            sessions: Sessions::new(&settings, places, true),
            transport: Arc::new(Instant),
            browser: Browser::new(1),
            wake: None,
            audit: AuditLog::discard().expect("opened"),
            background: TaskTracker::new(),
            answers: Workbench::default(),
        };
        Server::new(Arc::new(Pipeline::new(Arc::new(context), steps())))
    }

    pub(super) fn check(data: &[u8]) {
        let root = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
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
            assert!(
                matches!(answered, Ok(true)),
                "the last question was not answered: {:?}",
                String::from_utf8_lossy(data)
            );
            asking.abort();
            serving.abort();
        });
        runtime.shutdown_background();
    }
}
