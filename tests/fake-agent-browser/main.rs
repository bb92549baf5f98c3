//! A stand-in for agent-browser's command line, for tests and benchmarks. It answers at once, in the
//! output format of version 0.19.0, and misbehaves as a test requests.
//!
//! It proves nothing about agent-browser or about a page. It has no daemon, no browser and no flag
//! parser, so it shows how *we* treat answers, not that agent-browser gives them. The tests with the
//! real programs show that.
//!
//! It never reads its environment to decide what to do (the caller sets that from scratch), never
//! opens a connection, and never leaves a process running for longer than ten minutes.
//!
//! Directives are part of the arguments. A directive is the end of an argument, from `#fake-` on:
//! `click '#fake-sleep-500'`, `fill @e1 '#fake-env'`, `open http://93.184.215.14/#fake-fail`. In an
//! http(s) address it may also be the path: `open http://93.184.215.14/fake-sleep-500`.
//! Several arguments may contain one directive each. They run from left to right, and the last one
//! that produces an answer determines it. `N` is a whole number.
//!
//! | directive | effect |
//! |---|---|
//! | `sleep-N` | waits N ms and continues |
//! | `ignore-term`, `ignore-term-N` | becomes a process that ignores SIGTERM for N s (600) and prints nothing |
//! | `child` | starts a child in the same process group, then both stay for 600 s |
//! | `daemon` | starts a detached child (`setsid`, own session, 600 s) with this environment; data `{daemon: pid}` |
//! | `daemon-pipe` | the same, and the child keeps stdout and stderr open |
//! | `daemon-stubborn` | the same as `daemon`, and the child ignores SIGTERM |
//! | `meet-N-DIR` | leaves a file in DIR and waits (at most 30 s) for N of them; data `{met: bool}` |
//! | `alone-DIR` | holds `DIR/alone` for 50 ms; data `{alone: bool}`: false if another call held it |
//! | `fail` | `{success: false, error}`, exit 1; `fail-TEXT` sets the error to TEXT |
//! | `exit-N` | `{success: false, error}`, exit N |
//! | `exit0-fail` | `{success: false, error}`, exit 0 |
//! | `cli-fail` | an error of the CLI itself: `{error, success: false, type}`, exit 1 |
//! | `cdp-down` | the error of a missing browser, exit 1 |
//! | `no-daemon-N-DIR` | the error of a daemon that did not start, exit 1, for the first N calls, which leave files in DIR; then continues |
//! | `no-response-N-DIR` | the error of a daemon that did not answer, exit 1, for the first N calls, which leave files in DIR; then continues |
//! | `overtaken-N-DIR` | the error of an `open` that an error page interrupted, exit 1, for the first N calls, which leave files in DIR; then continues |
//! | `no-page` | the error of a browser without a tab, exit 1 |
//! | `abort` | dies of SIGABRT without an answer |
//! | `text`, `text-TEXT` | prints text that is not JSON, exit 0 |
//! | `text-fail` | prints text that is not JSON, exit 1 |
//! | `empty` | prints nothing, exit 0 |
//! | `half` | prints the first half of an answer, exit 0 |
//! | `bad-utf8` | an answer with bytes that are not UTF-8 |
//! | `stderr-TEXT` | prints TEXT on stderr and continues |
//! | `stderr-big-N` | prints N bytes on stderr and continues |
//! | `big-N` | data `{text}` of N bytes |
//! | `wide-N` | data `{refs}` with N small entries |
//! | `endless` | prints until the reader closes stdout (at most 1 GiB) |
//! | `env` | data `{env: {..}, cwd, umask, argv: [..], fds: [..], pid, pgid, sid}` |
//! | `node-SCRIPT` | runs SCRIPT in Node as a child, like agent-browser's daemon; data is its output, which must be JSON |
//! | `echo` | data `{argv: [..]}` |
//! | `secret` | data with many secrets, each containing `fakesecret`, and `kept`, which is not one; another secret on stderr |
//! | `secret-fail` | the same secrets in the error text, exit 1 |
//! | `landing-URL` | answers with URL as the page's address (`url` and `origin`) |
//! | `png-N` | `screenshot` writes N bytes: a picture, then padding that decoders skip |
//! | `no-file`, `not-png` | `screenshot` succeeds, but writes nothing, or text |
//!
//! `open http://HOST/fake-landing?to=ADDRESS` (percent-encoded) lands at ADDRESS. `wait N` waits
//! N ms. `--version` prints the pinned version.
//!
//! State between calls exists only if a test requests it: if `NAME.calls` exists next to this program
//! (create a hard link of the program in a separate folder), every call appends its arguments to it as a
//! line of JSON. If `NAME.tab` exists, it contains the address of the only tab: `open` writes it, and
//! everything that reports an address reads it.

#![allow(missing_docs, reason = "a program, not a library")]

mod actions;
mod directives;
mod json;
mod slow_daemon;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use directives::{Answer, Directive};
use json::{object, text};

fn main() -> ExitCode {
    let argv: Vec<String> = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    if let [script, socket] = &argv[..]
        && script.ends_with(slow_daemon::SCRIPT)
    {
        return slow_daemon::run(script.as_ref(), socket.as_ref());
    }
    record_call(&argv);
    if argv.iter().any(|arg| arg == "--version" || arg == "-V") {
        return print_and_exit("agent-browser 0.19.0\n", 0);
    }
    let Some((subcommand, operands)) = split(&argv) else {
        return print_and_exit("{\"error\":\"No command given\",\"success\":false,\"type\":\"usage\"}\n", 1);
    };
    let mut answer = None;
    for directive in Directive::all(&subcommand, &operands) {
        match directive.run(&argv) {
            Ok(Some(last)) => answer = Some(last),
            Ok(None) => {}
            Err(problem) => return fail(&problem, 97),
        }
    }
    match answer {
        Some(Answer::Data(data)) => succeed(&data),
        Some(Answer::Failure(error, code)) => fail(&error, code),
        Some(Answer::Raw(bytes, code)) => {
            print(&bytes);
            ExitCode::from(code)
        }
        Some(Answer::Landing(url)) => default_answer(&subcommand, &operands, Some(url), None),
        Some(Answer::File(kind)) => default_answer(&subcommand, &operands, None, Some(kind)),
        None => default_answer(&subcommand, &operands, None, None),
    }
}

/// Returns the subcommand and its operands. The flags before it belong to the caller.
fn split(argv: &[String]) -> Option<(String, Vec<String>)> {
    let mut rest = argv.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--session" | "--cdp" => drop(rest.next()),
            flag if flag.starts_with('-') => {}
            subcommand => return Some((subcommand.to_owned(), rest.cloned().collect())),
        }
    }
    None
}

/// Gives the answer of a well-behaved page.
fn default_answer(
    subcommand: &str,
    args: &[String],
    landing: Option<String>,
    file: Option<directives::File>,
) -> ExitCode {
    let done = |verb: &str| succeed(&object(&[(verb, "true".to_owned())]));
    let positional = args.iter().find(|arg| !arg.starts_with('-'));
    let landed = landing.is_some();
    let address = || landing.clone().or_else(|| tab_file().and_then(|path| std::fs::read_to_string(path).ok()));
    let here = || address().unwrap_or_else(|| "http://93.184.215.14/".to_owned());
    match subcommand {
        "open" | "goto" | "navigate" => {
            let url = landing.unwrap_or_else(|| args.first().cloned().unwrap_or_default());
            if let Some(path) = tab_file().filter(|path| path.exists()) {
                let _ = std::fs::write(path, &url);
            }
            let title = if url == "about:blank" { "" } else { "A page" };
            succeed(&object(&[("title", text(title)), ("url", text(&url))]))
        }
        "snapshot" => succeed(&object(&[
            (
                "refs",
                "{\"e1\":{\"name\":\"More\",\"role\":\"link\"},\"e2\":{\"name\":\"Name\",\"role\":\"textbox\"}}"
                    .to_owned(),
            ),
            ("snapshot", text("- heading \"A page\" [level=1]\n- link \"More\" [ref=e1]\n- textbox \"Name\" [ref=e2]")),
            ("origin", text(&here())),
        ])),
        // Only newer versions report the address after a click. Here a directive requests it.
        "click" | "dblclick" if landed => succeed(&object(&[("clicked", "true".to_owned()), ("url", text(&here()))])),
        "click" | "dblclick" => done("clicked"),
        "fill" => done("filled"),
        "type" => done("typed"),
        "press" => done("pressed"),
        "hover" => done("hovered"),
        "focus" => done("focused"),
        "check" => done("checked"),
        "uncheck" => done("unchecked"),
        "scroll" | "scrollintoview" => done("scrolled"),
        "close" => done("closed"),
        "select" => {
            let values: Vec<String> = args.iter().skip(1).map(|value| text(value)).collect();
            succeed(&object(&[("selected", format!("[{}]", values.join(",")))]))
        }
        "wait" => {
            if let Some(ms) = args.first().and_then(|arg| arg.parse().ok()) {
                actions::sleep_ms(ms);
            }
            done("waited")
        }
        "back" | "forward" | "reload" => succeed(&object(&[("url", text(&here()))])),
        "drag" => done("dragged"),
        "mouse" => done("moved"),
        "get" => succeed(&match positional.map(String::as_str) {
            Some("url") => object(&[("url", text(&here()))]),
            Some("title") => object(&[("title", text("A page"))]),
            Some("box") => object(&[("box", "{\"height\":100,\"width\":200,\"x\":8,\"y\":8}".to_owned())]),
            Some("count") => object(&[("count", "1".to_owned())]),
            Some("attr") => {
                // A field that the tests name so holds a password.
                let is_password = args.get(1).is_some_and(|selector| selector.contains("password"));
                let value = if is_password { "password" } else { "text of the page" };
                object(&[("attribute", text("type")), ("value", text(value)), ("origin", text(&here()))])
            }
            // It does not keep what was filled in.
            Some("value") => object(&[("value", "null".to_owned()), ("origin", text(&here()))]),
            Some(what) => object(&[(what, text("text of the page")), ("origin", text(&here()))]),
            None => return fail("Missing arguments for: get", 1),
        }),
        "is" => done(positional.map_or("visible", String::as_str)),
        "tab" => succeed(&object(&[
            ("tabs", format!("[{{\"index\":0,\"url\":{},\"title\":\"A page\",\"active\":true}}]", text(&here()))),
            ("active", "0".to_owned()),
        ])),
        "screenshot" | "pdf" => {
            // A flag may follow the path.
            let Some(path) = args.iter().rfind(|arg| !arg.starts_with("--")).filter(|path| path.starts_with('/'))
            else {
                return fail("the last argument is not an absolute path", 1);
            };
            let kind = file.unwrap_or(directives::File::Picture(0));
            match kind.write_to(path) {
                Ok(()) => succeed(&object(&[("path", text(path))])),
                Err(error) => fail(&format!("cannot write `{path}`: {error}"), 1),
            }
        }
        other => print_and_exit(
            &format!(
                "{{\"error\":{},\"success\":false,\"type\":\"unknown_command\"}}\n",
                text(&format!("Unknown command: {other}"))
            ),
            1,
        ),
    }
}

fn succeed(data: &str) -> ExitCode {
    print_and_exit(&format!("{{\"success\":true,\"data\":{data},\"error\":null}}\n"), 0)
}

fn fail(error: &str, code: u8) -> ExitCode {
    print_and_exit(&format!("{{\"success\":false,\"data\":null,\"error\":{}}}\n", text(error)), code)
}

fn print_and_exit(line: &str, code: u8) -> ExitCode {
    print(line.as_bytes());
    ExitCode::from(code)
}

/// Ignores errors, because some tests stop reading on purpose.
fn print(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

fn record_call(argv: &[String]) {
    if let Some(path) = file_next_to_program("calls")
        && let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(path)
    {
        // A single write, so that parallel calls do not mix their lines.
        let _ = file.write_all(format!("{}\n", json::array(argv)).as_bytes());
    }
}

fn tab_file() -> Option<PathBuf> {
    file_next_to_program("tab")
}

fn file_next_to_program(extension: &str) -> Option<PathBuf> {
    let mut path = std::env::current_exe().ok()?.into_os_string();
    path.push(".");
    path.push(extension);
    Some(path.into())
}
