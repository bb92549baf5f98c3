//! A stand-in for agent-browser's command line, for tests and benches. It answers at once, in the
//! shapes of version 0.19.0, and misbehaves in the ways that a test asks for.
//!
//! What it does not prove: anything about agent-browser or about a page. It has no daemon, no
//! browser and no flag parser of its own, so what passes here shows how *we* treat the answers,
//! never that agent-browser gives them. That is for the tests with the real parts.
//!
//! It must never read its environment to decide what to do (the caller sets that from scratch),
//! never open a connection, and never leave a process running for longer than ten minutes.
//!
//! Its orders come in the arguments. An order is the end of an argument, from `#fake-` on:
//! `click '#fake-sleep-500'`, `fill @e1 '#fake-env'`, `open http://93.184.215.14/#fake-fail`; in an
//! http(s) address it may also be the path: `open http://93.184.215.14/fake-sleep-500`.
//! Several arguments may carry one order each; they are followed from left to right, and the last
//! one that answers gives the answer. `N` is a whole number.
//!
//! | order | what happens |
//! |---|---|
//! | `sleep-N` | waits N ms, then goes on |
//! | `ignore-term`, `ignore-term-N` | becomes a process that ignores SIGTERM for N s (600) and says nothing |
//! | `child` | starts a child in the same process group, then both stay for 600 s |
//! | `daemon` | starts a detached child (`setsid`, own session, 600 s) with this environment; data `{daemon: pid}` |
//! | `daemon-pipe` | the same, and the child keeps stdout and stderr open |
//! | `daemon-stubborn` | the same as `daemon`, and the child ignores SIGTERM |
//! | `meet-N-DIR` | leaves a file in DIR and waits (30 s at most) for N of them; data `{met: bool}` |
//! | `alone-DIR` | holds `DIR/alone` for 50 ms; data `{alone: bool}`: false if another call held it |
//! | `fail` | `{success: false, error}`, exit 1; `fail-TEXT` makes TEXT the error |
//! | `exit-N` | `{success: false, error}`, exit N |
//! | `exit0-fail` | `{success: false, error}`, exit 0 |
//! | `cli-fail` | the shape of an error of the CLI itself: `{error, success: false, type}`, exit 1 |
//! | `cdp-down` | the error of a browser that is not there, exit 1 |
//! | `no-daemon-N-DIR` | the error of a daemon that did not start, exit 1, the first N times, which leave files in DIR; then goes on |
//! | `overtaken-N-DIR` | the error of an `open` that an error page overtook, exit 1, the first N times, which leave files in DIR; then goes on |
//! | `no-page` | the error of a browser without a tab, exit 1 |
//! | `abort` | dies of SIGABRT without an answer |
//! | `text`, `text-TEXT` | prints text that is not JSON, exit 0 |
//! | `text-fail` | prints text that is not JSON, exit 1 |
//! | `empty` | prints nothing, exit 0 |
//! | `half` | prints the first half of an answer, exit 0 |
//! | `bad-utf8` | an answer with bytes that are not UTF-8 |
//! | `stderr-TEXT` | TEXT on stderr, then goes on |
//! | `stderr-big-N` | N bytes on stderr, then goes on |
//! | `big-N` | data `{text}` of N bytes |
//! | `wide-N` | data `{refs}` with N small entries |
//! | `endless` | prints until nobody reads any more (1 GiB at most) |
//! | `env` | data `{env: {..}, cwd, umask, argv: [..], fds: [..], pid, pgid, sid}` |
//! | `node-SCRIPT` | has Node run SCRIPT as a child, as agent-browser has its daemon; data is what it prints, which is JSON |
//! | `echo` | data `{argv: [..]}` |
//! | `secret` | data full of secrets, each with `fakesecret` in it, and `kept`, which is none; one more on stderr |
//! | `secret-fail` | the same secrets in the error text, exit 1 |
//! | `landing-URL` | answers with URL as the page's address (`url` and `origin`) |
//! | `png-N` | `screenshot` writes N bytes: a picture, then padding that decoders skip |
//! | `no-file`, `not-png` | `screenshot` answers well, but writes nothing, or text |
//!
//! `open http://HOST/fake-landing?to=ADDRESS` (percent-encoded) lands at ADDRESS. `wait N` waits
//! N ms. `--version` prints the version that is pinned.
//!
//! Memory between calls, only for a test that asks for it: when `NAME.calls` lies beside this
//! program (make a hard link of it in a folder of the test's own), every call adds its argument
//! vector to it as a line of JSON; when `NAME.tab` does, it is the address of the one tab, which
//! `open` writes and everything that reports an address reads.

#![allow(missing_docs, reason = "a program, not a library")]

mod acts;
mod json;
mod orders;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use json::{object, text};
use orders::{Answer, Order};

fn main() -> ExitCode {
    let argv: Vec<String> = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    remember(&argv);
    if argv.iter().any(|arg| arg == "--version" || arg == "-V") {
        return say("agent-browser 0.19.0\n", 0);
    }
    let Some((subcommand, operands)) = split(&argv) else {
        return say("{\"error\":\"No command given\",\"success\":false,\"type\":\"usage\"}\n", 1);
    };
    let mut answer = None;
    for order in Order::all(&subcommand, &operands) {
        match order.follow(&argv) {
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
        Some(Answer::Landing(url)) => ordinary(&subcommand, &operands, Some(url), None),
        Some(Answer::File(kind)) => ordinary(&subcommand, &operands, None, Some(kind)),
        None => ordinary(&subcommand, &operands, None, None),
    }
}

/// The subcommand and what follows it; the flags before it are the caller's.
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

/// What a page that does as it is told would answer.
fn ordinary(subcommand: &str, args: &[String], landing: Option<String>, file: Option<orders::File>) -> ExitCode {
    let done = |verb: &str| succeed(&object(&[(verb, "true".to_owned())]));
    let positional = args.iter().find(|arg| !arg.starts_with('-'));
    let landed = landing.is_some();
    let address = || landing.clone().or_else(|| tab().and_then(|path| std::fs::read_to_string(path).ok()));
    let here = || address().unwrap_or_else(|| "http://93.184.215.14/".to_owned());
    match subcommand {
        "open" | "goto" | "navigate" => {
            let url = landing.unwrap_or_else(|| args.first().cloned().unwrap_or_default());
            if let Some(path) = tab().filter(|path| path.exists()) {
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
        // Only newer versions tell the address after a click; here it is told when a test asks for it.
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
                acts::sleep_ms(ms);
            }
            done("waited")
        }
        "back" | "forward" | "reload" => succeed(&object(&[("url", text(&here()))])),
        "get" => succeed(&match positional.map(String::as_str) {
            Some("url") => object(&[("url", text(&here()))]),
            Some("title") => object(&[("title", text("A page"))]),
            Some("count") => object(&[("count", "1".to_owned())]),
            Some(what) => object(&[(what, text("what the page says")), ("origin", text(&here()))]),
            None => return fail("Missing arguments for: get", 1),
        }),
        "is" => done(positional.map_or("visible", String::as_str)),
        "tab" => succeed(&object(&[
            ("tabs", format!("[{{\"index\":0,\"url\":{},\"title\":\"A page\",\"active\":true}}]", text(&here()))),
            ("active", "0".to_owned()),
        ])),
        "screenshot" | "pdf" => {
            // a flag may follow it
            let Some(path) = args.iter().rfind(|arg| !arg.starts_with("--")).filter(|path| path.starts_with('/'))
            else {
                return fail("the last argument is no absolute path", 1);
            };
            let kind = file.unwrap_or(orders::File::Picture(0));
            match kind.write_to(path) {
                Ok(()) => succeed(&object(&[("path", text(path))])),
                Err(error) => fail(&format!("cannot write `{path}`: {error}"), 1),
            }
        }
        other => say(
            &format!(
                "{{\"error\":{},\"success\":false,\"type\":\"unknown_command\"}}\n",
                text(&format!("Unknown command: {other}"))
            ),
            1,
        ),
    }
}

fn succeed(data: &str) -> ExitCode {
    say(&format!("{{\"success\":true,\"data\":{data},\"error\":null}}\n"), 0)
}

fn fail(error: &str, code: u8) -> ExitCode {
    say(&format!("{{\"success\":false,\"data\":null,\"error\":{}}}\n", text(error)), code)
}

fn say(line: &str, code: u8) -> ExitCode {
    print(line.as_bytes());
    ExitCode::from(code)
}

/// A reader that has gone away is no failure: some tests stop reading on purpose.
fn print(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

fn remember(argv: &[String]) {
    if let Some(path) = beside("calls")
        && let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(path)
    {
        // One write, so that calls side by side do not mix their lines.
        let _ = file.write_all(format!("{}\n", json::array(argv)).as_bytes());
    }
}

fn tab() -> Option<PathBuf> {
    beside("tab")
}

fn beside(extension: &str) -> Option<PathBuf> {
    let mut path = std::env::current_exe().ok()?.into_os_string();
    path.push(".");
    path.push(extension);
    Some(path.into())
}
