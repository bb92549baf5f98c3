//! What a sandbox adds to the start of a program, beside a bare start of the same program.
//!
//!     cargo bench --bench sandbox
//!
//! Each backend that can run here starts `/bin/true` as it would start agent-browser, in turns with bare starts, so that a busy
//! moment of the machine hits both alike. Prints a Markdown table; a backend that cannot run stands in it with its reason.

#![allow(missing_docs, reason = "a program, not a library")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a figure from a broken run is worse than none")]
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use browser_shell::exec::Program;
use browser_shell::places::SessionPlaces;
use browser_shell::sandbox::backends::{BACKENDS, Machine, Way};
use browser_shell::sandbox::parts::Parts;
use browser_shell::sandbox::plan::plan;
use browser_shell::sandbox::policy::{BackendName, SandboxPolicy};
use browser_shell::transport::find_on_path;

const ROUNDS: usize = 500;
const WARM: usize = 20;

fn main() {
    let folder = std::env::temp_dir().join(format!("browser-shell-bench-{}", std::process::id()));
    let below = |name: &str| folder.join(name);
    let session = SessionPlaces { key: "s".to_owned(), sockets: below("s"), private: below("k"), files: below("w") };
    std::fs::create_dir_all(&folder).unwrap();
    session.make().unwrap();
    session.make_files().unwrap();
    let bare = Program {
        path: Path::new("/bin/true").canonicalize().unwrap(),
        arguments: vec!["--session".into(), "s".into()],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: session.cwd(),
    };
    let parts = Parts::find(&bare.path, find_on_path("node").as_deref());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let own = PathBuf::from(env!("CARGO_BIN_EXE_browser-shell"));
    let machine = Machine { own: own.clone(), start: own, ..Machine::look() };
    let policy = SandboxPolicy::default();
    println!("| backend | enforced | bare start | confined start | added | ratio |\n|---|---|---|---|---|---|");
    for backend in BACKENDS.iter().filter(|backend| backend.name != BackendName::None) {
        // The others start one program for a session, and a request to that is no start.
        let Way::Wrap(wrap) = backend.way else { continue };
        let plan = plan(&policy, backend.name, &session, &parts, &below("action-policy.json"), 9222);
        let enforcement = match runtime.block_on((backend.probe)(&machine, &policy, &plan)) {
            Ok(enforcement) => enforcement,
            Err(why) => {
                println!("| `{}` | cannot run: {why} | | | | |", backend.name);
                continue;
            }
        };
        let confined = wrap(&machine, &policy, &plan, &bare).unwrap();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for round in 0..WARM + ROUNDS {
            let (one, other) = (time(&bare), time(&confined));
            if round >= WARM {
                before.push(one);
                after.push(other);
            }
        }
        let (before, after) = (median(&mut before), median(&mut after));
        println!(
            "| `{}` | {enforcement} | {:.2} ms | {:.2} ms | {:.2} ms | {:.1} |",
            backend.name,
            before * 1e3,
            after * 1e3,
            (after - before) * 1e3,
            after / before
        );
    }
    session.remove();
    let _ = std::fs::remove_dir_all(folder);
}

fn time(program: &Program) -> Duration {
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).env_clear().current_dir(&program.directory);
    command.envs(program.environment.iter().map(|(name, value)| (name.as_ref(), value)));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let status = command.status().unwrap();
    let took = began.elapsed();
    assert!(status.success(), "{program:?}: {status}");
    took
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, Duration::as_secs_f64)
}
